//! The kernels for softmax: channels of a voxel together.
//!
//! With `m` the largest logit, `d_c = z_c - m`, `e_c = exp(d_c)` and `s` their sum, `p_c = e_c / s` and `log p_c = d_c - log s`. What
//! `p_c` lacks to 1 is the sum of the other `e` by `s`: no digits are lost where a prediction is sure.
//!
//! Some tens of voxels go through one short loop after the other. A loop over all of it would be one chain of operations that wait for
//! each other, longer than a core looks ahead; and in few voxels the next are already on their way from memory.

use fearless_simd::{Select, Simd, SimdBase};

use super::lanes::{Goal, Mask, add_sums, only, power, total};
use super::plan::{Factors, Layout, Plan, Pointwise, Power, Sums};
use crate::number::Number;
use crate::tile::STRIP;
use crate::voxels::{Rows, Voxels};

/// Numbers of the voxels of a strip.
type Strip<F> = [F; STRIP];

/// A strip of voxels: its first, and what has been found of it.
struct Part<'a, 'v, F> {
    voxels: &'a Voxels<'v, F>,
    from: usize,
    /// `d` of each channel.
    d: &'a mut [Strip<F>],
    /// `e` of each channel.
    e: &'a mut [Strip<F>],
    /// `s`.
    sum: Strip<F>,
    /// `1 / s`.
    full: Strip<F>,
}

/// Elements `at..` of a row.
#[inline(always)]
fn load<S: Simd, F: Number>(simd: S, row: &[F], at: usize) -> F::Wide<S> {
    F::Wide::<S>::from_slice(simd, &row[at..at + F::LANES])
}

#[inline(always)]
fn put<S: Simd, F: Number>(v: F::Wide<S>, row: &mut [F], at: usize) {
    v.store_slice(&mut row[at..at + F::LANES]);
}

impl<'a, 'v, F: Number> Part<'a, 'v, F> {
    #[inline(always)]
    fn new(voxels: &'a Voxels<'v, F>, d: &'a mut [Strip<F>], e: &'a mut [Strip<F>]) -> Self {
        Self { voxels, from: 0, d, e, sum: [F::default(); STRIP], full: [F::default(); STRIP] }
    }

    /// Goes to the voxels from `from` on.
    #[inline(always)]
    fn go<S: Simd>(&mut self, simd: S, from: usize) {
        let n = self.d.len();
        self.from = from;
        // Channel by channel, so that each is read in long pieces. The largest logits are kept where their sums will be.
        for c in 0..n {
            let (row, d) = (&self.voxels.logits(c)[from..from + STRIP], &mut self.d[c]);
            for at in (0..STRIP).step_by(F::LANES) {
                let z: F::Wide<S> = load(simd, row, at);
                put(z, d, at);
                let most = if c == 0 { z } else { z.max(load(simd, &self.sum, at)) };
                put(most, &mut self.sum, at);
            }
        }
        for c in 0..n {
            let (d, e) = (&mut self.d[c], &mut self.e[c]);
            for at in (0..STRIP).step_by(F::LANES) {
                let less = load::<S, F>(simd, d, at) - load(simd, &self.sum, at);
                put(less, d, at);
                let [r, scale] = F::reduce_exp(simd, F::clamp_exp(simd, less));
                put(r, e, at);
                put(scale, &mut self.full, at);
            }
            for at in (0..STRIP).step_by(F::LANES) {
                let parts = [load(simd, e, at), load(simd, &self.full, at)];
                put(F::raise_exp(simd, parts), e, at);
            }
        }
        let one = F::Wide::<S>::splat(simd, F::from_f64(1.0));
        for at in (0..STRIP).step_by(F::LANES) {
            let mut sum: F::Wide<S> = load(simd, &self.e[0], at);
            for c in 1..n {
                sum += load(simd, &self.e[c], at);
            }
            put(sum, &mut self.sum, at);
            put(one / sum, &mut self.full, at);
        }
    }

    #[inline(always)]
    fn label<S: Simd>(&self, simd: S, at: usize) -> F::Wide<S> {
        load(simd, self.voxels.labels, self.from + at)
    }

    /// Where voxels count.
    #[inline(always)]
    fn keep<S: Simd>(&self, simd: S, at: usize) -> Mask<S, F> {
        self.label(simd, at).simd_ge(F::Wide::<S>::splat(simd, F::default()))
    }

    /// `1 / s`, 0 where excluded.
    #[inline(always)]
    fn inverse<S: Simd>(&self, simd: S, at: usize) -> F::Wide<S> {
        only::<S, F>(simd, self.keep(simd, at), load(simd, &self.full, at))
    }

    /// The targets of a channel.
    #[inline(always)]
    fn goal<S: Simd>(&self, simd: S, c: usize, at: usize) -> F::Wide<S> {
        load(simd, self.voxels.goals(c), self.from + at)
    }

    /// One channel, and the sum of the others.
    #[inline(always)]
    fn channel<S: Simd>(&self, simd: S, c: usize, at: usize) -> Channel<F::Wide<S>> {
        let mut others = F::Wide::<S>::splat(simd, F::default());
        for k in 0..self.e.len() {
            if k != c {
                others += load(simd, &self.e[k], at);
            }
        }
        let (d, e) = (load(simd, &self.d[c], at), load(simd, &self.e[c], at));
        Channel { d, e, others, sum: load(simd, &self.sum, at), full: load(simd, &self.full, at) }
    }

    /// The labelled channel, and its weight.
    #[inline(always)]
    fn pick<S: Simd>(&self, simd: S, plan: &Plan<F>, at: usize) -> (Channel<F::Wide<S>>, F::Wide<S>) {
        let label = self.label(simd, at);
        let (mut d, mut e): (F::Wide<S>, F::Wide<S>) = (load(simd, &self.d[0], at), load(simd, &self.e[0], at));
        let mut others = only::<S, F>(simd, !is_class::<S, F>(simd, label, 0), e);
        let mut weight = F::Wide::<S>::splat(simd, plan.positive[0]);
        for c in 1..self.e.len() {
            let is = is_class::<S, F>(simd, label, c);
            let other = load(simd, &self.e[c], at);
            d = is.select(load(simd, &self.d[c], at), d);
            e = is.select(other, e);
            others += only::<S, F>(simd, !is, other);
            if plan.weighted {
                weight = is.select(F::Wide::<S>::splat(simd, plan.positive[c]), weight);
            }
        }
        (Channel { d, e, others, sum: load(simd, &self.sum, at), full: load(simd, &self.full, at) }, weight)
    }
}

/// The exponential of one channel, the sum of the others, and what all have in common.
#[derive(Clone, Copy)]
struct Channel<V> {
    d: V,
    e: V,
    others: V,
    sum: V,
    full: V,
}

/// `log(1 + r)`, `-log p` less the channel's own `d`.
#[inline(always)]
fn log_sum<S: Simd, F: Number>(simd: S, of: &Channel<F::Wide<S>>) -> F::Wide<S> {
    // What the rounding of the sum lost is put back: it is all there is where the channel's probability is near 1.
    F::log(simd, of.sum) + (of.others - (of.sum - of.e)) * of.full
}

/// Calls `$f` with index targets of few channels in arrays of constant length, which are unrolled into registers; with others
/// in vectors. Code of the first kind is large, so there is none in double precision.
macro_rules! with_channels {
    ($voxels:expr, $($name:ident = $value:expr),+ => $f:ident $arguments:tt) => {
        match ($voxels.channels, !$voxels.is_one_hot() && F::LANES == f32::LANES) {
            (2, true) => with_channels!(@array 2; $($name = $value),+ => $f $arguments),
            (3, true) => with_channels!(@array 3; $($name = $value),+ => $f $arguments),
            (4, true) => with_channels!(@array 4; $($name = $value),+ => $f $arguments),
            (n, _) => {
                $(let $name = &mut vec![$value; n][..];)+
                if $voxels.is_one_hot() {
                    with_channels!(@call $f true $arguments)
                } else {
                    with_channels!(@call $f false $arguments)
                }
            }
        }
    };
    (@array $n:literal; $($name:ident = $value:expr),+ => $f:ident $arguments:tt) => {{
        $(let $name = &mut [$value; $n];)+
        with_channels!(@call $f false $arguments)
    }};
    (@call $f:ident $one_hot:literal ($($argument:expr),+)) => { $f::<S, F, $one_hot>($($argument),+) };
}

/// Adds the sums of some voxels.
#[inline(always)]
pub(super) fn sums<S: Simd, F: Number>(simd: S, plan: &Plan<F>, voxels: &Voxels<'_, F>, out: &mut [f64]) {
    let (zero, strip) = (F::Wide::<S>::splat(simd, F::default()), [F::default(); STRIP]);
    with_channels!(voxels, d = strip, e = strip, first = zero, second = zero, third = zero =>
        sums_with (simd, plan, Part::new(voxels, d, e), out, [first, second, third]));
}

#[inline(always)]
fn sums_with<S: Simd, F: Number, const ONE_HOT: bool>(
    simd: S,
    plan: &Plan<F>,
    mut part: Part<'_, '_, F>,
    out: &mut [f64],
    [first, second, third]: [&mut [F::Wide<S>]; 3],
) {
    let zero = F::Wide::<S>::splat(simd, F::default());
    let (mut pointwise, mut weight) = (zero, zero);
    let n = first.len();
    for from in (0..part.voxels.len).step_by(STRIP) {
        part.go(simd, from);
        // One loop for each case, so that channels are unrolled and nothing is decided in them. Macros and no closures, for
        // a closure that is not inlined would not be compiled for the instruction set.
        macro_rules! add {
            ($kind:expr, |$c:ident, $at:ident, $label:ident| $goal:expr) => {
                for $at in (0..STRIP).step_by(F::LANES) {
                    let ($label, inverse) = (part.label(simd, $at), part.inverse(simd, $at));
                    for $c in 0..n {
                        let to = [&mut first[$c], &mut second[$c], &mut third[$c]];
                        let e: F::Wide<S> = load(simd, &part.e[$c], $at);
                        add_sums::<S, F>(simd, $kind, e * inverse, $goal, to);
                    }
                }
            };
        }
        match (plan.sums, ONE_HOT) {
            (Sums::Nothing, _) => {}
            (Sums::Plain, false) => add!(Sums::Plain, |c, at, label| Goal::Is(is_class::<S, F>(simd, label, c))),
            (Sums::Squared, false) => add!(Sums::Squared, |c, at, label| Goal::Is(is_class::<S, F>(simd, label, c))),
            (Sums::Rates, false) => add!(Sums::Rates, |c, at, label| Goal::Is(is_class::<S, F>(simd, label, c))),
            (kind, true) => add!(kind, |c, at, _label| Goal::Number(part.goal(simd, c, at))),
        }
        if plan.pointwise == Pointwise::Nothing {
            continue;
        }
        for at in (0..STRIP).step_by(F::LANES) {
            let (term, w) = if ONE_HOT {
                (soft_term::<S, F>(simd, plan, &part, at), zero)
            } else {
                let (of, w) = part.pick(simd, plan, at);
                (w * term::<S, F>(simd, plan, &of), w)
            };
            let keep = part.keep(simd, at);
            pointwise += only::<S, F>(simd, keep, term);
            weight += only::<S, F>(simd, keep, w);
        }
    }
    for c in 0..n {
        out[c] += total::<S, F>(first[c]);
        out[n + c] += total::<S, F>(second[c]);
        out[2 * n + c] += total::<S, F>(third[c]);
    }
    let layout = Layout { channels: n };
    out[layout.pointwise()] += total::<S, F>(pointwise);
    out[layout.weight()] += total::<S, F>(weight);
}

/// Where the label is a class.
#[inline(always)]
fn is_class<S: Simd, F: Number>(simd: S, label: F::Wide<S>, c: usize) -> Mask<S, F> {
    label.simd_eq(F::Wide::<S>::splat(simd, class(c)))
}

/// A channel as a label.
#[expect(clippy::cast_precision_loss, reason = "channels are below 2^24")]
#[inline(always)]
fn class<F: Number>(c: usize) -> F {
    F::from_f64(c as f64)
}

/// `-log p` of a channel, for the focal loss times a power of what `p` lacks to 1.
#[inline(always)]
fn term<S: Simd, F: Number>(simd: S, plan: &Plan<F>, of: &Channel<F::Wide<S>>) -> F::Wide<S> {
    let log = log_sum::<S, F>(simd, of) - of.d;
    match plan.pointwise {
        Pointwise::Focal(gamma) => log * power::<S, F>(simd, gamma, of.others * of.full),
        _ => log,
    }
}

/// The sum of [`term`] over channels, weighted by the targets.
#[inline(always)]
fn soft_term<S: Simd, F: Number>(simd: S, plan: &Plan<F>, part: &Part<'_, '_, F>, at: usize) -> F::Wide<S> {
    let zero = F::Wide::<S>::splat(simd, F::default());
    let mut sum = zero;
    for c in 0..part.e.len() {
        let g = part.goal(simd, c, at);
        let value = term::<S, F>(simd, plan, &part.channel(simd, c, at)) * g * plan.positive[c];
        // A class that is not asked for adds nothing, even where its probability is 0.
        sum += only::<S, F>(simd, g.simd_ne(zero), value);
    }
    sum
}

/// Writes the gradient of some voxels.
#[inline(always)]
pub(super) fn gradient<S: Simd, F: Number>(
    simd: S,
    plan: &Plan<F>,
    factors: &Factors<F>,
    voxels: &Voxels<'_, F>,
    out: &mut Rows<'_, '_, F>,
) {
    let (zero, strip) = (F::Wide::<S>::splat(simd, F::default()), [F::default(); STRIP]);
    with_channels!(voxels, d = strip, e = strip, p = zero, dp = zero =>
        gradient_with (simd, plan, factors, Part::new(voxels, d, e), [p, dp], out));
}

#[inline(always)]
fn gradient_with<S: Simd, F: Number, const ONE_HOT: bool>(
    simd: S,
    plan: &Plan<F>,
    factors: &Factors<F>,
    mut part: Part<'_, '_, F>,
    [p, dp]: [&mut [F::Wide<S>]; 2],
    out: &mut Rows<'_, '_, F>,
) {
    let zero = F::Wide::<S>::splat(simd, F::default());
    let (n, whole) = (p.len(), part.voxels.whole());
    let mut steep = [F::default(); STRIP];
    for from in (0..part.voxels.len).step_by(STRIP) {
        part.go(simd, from);
        // Through softmax, dz_c = p_c (dp_c - sum_k p_k dp_k); the pointwise terms have dz_c = p_c sum_k t_k - t_c.
        let has_pointwise = plan.pointwise != Pointwise::Nothing;
        if has_pointwise {
            for at in (0..STRIP).step_by(F::LANES) {
                let common = if ONE_HOT {
                    let mut common = zero;
                    for c in 0..n {
                        let g = part.goal(simd, c, at);
                        let steep = steepness::<S, F>(simd, plan, &part.channel(simd, c, at));
                        let t = only::<S, F>(simd, g.simd_ne(zero), steep * g * plan.positive[c] * factors.scale);
                        common += t;
                        // The difference is not needed any more.
                        put(t, &mut part.d[c], at);
                    }
                    common
                } else {
                    let (of, weight) = part.pick(simd, plan, at);
                    let steep = steepness::<S, F>(simd, plan, &of) * weight * factors.scale;
                    only::<S, F>(simd, part.keep(simd, at), steep)
                };
                put(common, &mut steep, at);
            }
        }
        macro_rules! write {
            (|$c:ident, $p:ident, $b:ident, $target:ident| $slope:expr, |$i:ident, $at:ident, $label:ident| $own:expr) => {
                for $at in (0..STRIP).step_by(F::LANES) {
                    let ($label, inverse) = (part.label(simd, $at), part.inverse(simd, $at));
                    let mut common: F::Wide<S> = load(simd, &steep, $at);
                    for $c in 0..n {
                        let $p = load(simd, &part.e[$c], $at) * inverse;
                        let $b = F::Wide::<S>::splat(simd, factors.constant[$c]);
                        let a = F::Wide::<S>::splat(simd, factors.target[$c]);
                        let $target = if ONE_HOT {
                            part.goal(simd, $c, $at) * a
                        } else {
                            only::<S, F>(simd, is_class::<S, F>(simd, $label, $c), a)
                        };
                        p[$c] = $p;
                        dp[$c] = $slope;
                        common -= $p * dp[$c];
                    }
                    for $i in 0..n {
                        put(p[$i] * (dp[$i] + common) - $own, &mut part.e[$i], $at);
                    }
                }
            };
        }
        match (plan.sums, has_pointwise, ONE_HOT) {
            (Sums::Nothing, _, false) => {
                write!(|c, q, _b, _a| zero, |c, at, label| own::<S, F>(simd, label, c, &steep, at))
            }
            (Sums::Nothing, false, true) => write!(|c, q, _b, _a| zero, |c, at, label| zero),
            (Sums::Nothing, true, true) => write!(|c, q, _b, _a| zero, |c, at, label| load(simd, &part.d[c], at)),
            (Sums::Squared, true, false) => {
                write!(|c, q, b, a| b * q - a, |c, at, label| own::<S, F>(simd, label, c, &steep, at));
            }
            (Sums::Squared, true, true) => write!(|c, q, b, a| b * q - a, |c, at, label| load(simd, &part.d[c], at)),
            (Sums::Squared, false, _) => write!(|c, q, b, a| b * q - a, |c, at, label| zero),
            (_, true, false) => write!(|c, q, b, a| b - a, |c, at, label| own::<S, F>(simd, label, c, &steep, at)),
            (_, true, true) => write!(|c, q, b, a| b - a, |c, at, label| load(simd, &part.d[c], at)),
            (_, false, _) => write!(|c, q, b, a| b - a, |c, at, label| zero),
        }
        // In long pieces, as they were read.
        for c in 0..n {
            let (row, dz) = (&mut out.channel(c, whole)[from..from + STRIP], &part.e[c]);
            for at in (0..STRIP).step_by(F::LANES) {
                put(load::<S, F>(simd, dz, at), row, at);
            }
        }
    }
}

/// What the labelled channel has of the pointwise term.
#[inline(always)]
fn own<S: Simd, F: Number>(simd: S, label: F::Wide<S>, c: usize, steep: &Strip<F>, at: usize) -> F::Wide<S> {
    only::<S, F>(simd, is_class::<S, F>(simd, label, c), load(simd, steep, at))
}

/// Minus the derivative of [`term`] with respect to `log p`: 1 for cross-entropy,
/// `u^gamma - gamma u^(gamma - 1) p log p` for the focal term.
#[inline(always)]
fn steepness<S: Simd, F: Number>(simd: S, plan: &Plan<F>, of: &Channel<F::Wide<S>>) -> F::Wide<S> {
    let Pointwise::Focal(gamma) = plan.pointwise else {
        return F::Wide::<S>::splat(simd, F::from_f64(1.0));
    };
    let u = of.others * of.full;
    // Clamped, for p log p is 0 at 0.
    let entropy = of.e * of.full * (F::clamp_exp(simd, of.d) - log_sum::<S, F>(simd, of));
    match gamma {
        Power::Zero => F::Wide::<S>::splat(simd, F::from_f64(1.0)),
        Power::One => u - entropy,
        Power::Two => u * (u - entropy - entropy),
        Power::Other(exponent) => {
            let raised = power::<S, F>(simd, gamma, u);
            let steep = raised - raised / u * entropy * exponent;
            only::<S, F>(simd, u.simd_ne(F::Wide::<S>::splat(simd, F::default())), steep)
        }
    }
}

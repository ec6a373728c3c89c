//! The kernels for softmax: channels of a voxel together.
//!
//! With `m` the largest logit, `d_c = z_c - m`, `e_c = exp(d_c)` and `s` their sum, `p_c = e_c / s` and `log p_c = d_c - log s`. What
//! `p_c` lacks to 1 is the sum of the other `e` by `s`: no digits are lost where a prediction is sure.

use fearless_simd::{Select, Simd, SimdBase};

use super::lanes::{Goal, Mask, add_sums, only, power, total};
use super::plan::{Factors, Layout, Plan, Pointwise, Power, Sums};
use crate::number::Number;
use crate::tile::Tile;

/// Exponentials of one vector of voxels.
struct Exps<V> {
    /// `sum_c e_c`.
    sum: V,
    /// Its inverse.
    full: V,
    /// The same, 0 where excluded.
    inverse: V,
}

/// Loads a vector of every channel, less the largest, to `d`, and its exponentials to `e`.
#[inline(always)]
fn exponentials<S: Simd, F: Number>(
    simd: S,
    tile: &[F],
    (row, at): (usize, usize),
    keep: Mask<S, F>,
    d: &mut [F::Wide<S>],
    e: &mut [F::Wide<S>],
) -> Exps<F::Wide<S>> {
    let n = d.len();
    let mut most = F::Wide::<S>::from_slice(simd, &tile[at..at + F::LANES]);
    d[0] = most;
    for c in 1..n {
        d[c] = F::Wide::<S>::from_slice(simd, &tile[c * row + at..c * row + at + F::LANES]);
        most = most.max(d[c]);
    }
    let mut sum = F::Wide::<S>::splat(simd, F::default());
    for c in 0..n {
        d[c] -= most;
        e[c] = F::exp_core(simd, F::clamp_exp(simd, d[c]));
        sum += e[c];
    }
    let full = F::Wide::<S>::splat(simd, F::from_f64(1.0)) / sum;
    Exps { sum, full, inverse: only::<S, F>(simd, keep, full) }
}

/// The exponential of one channel, and the sum of the others.
#[derive(Clone, Copy)]
struct Channel<V> {
    d: V,
    e: V,
    others: V,
}

impl<V> Channel<V> {
    /// `log(1 + r)`, `-log p` less the channel's own `d`.
    #[inline(always)]
    fn log_sum<S: Simd, F: Number<Wide<S> = V>>(&self, simd: S, exps: &Exps<V>) -> V
    where
        V: Copy + std::ops::Sub<Output = V> + std::ops::Mul<Output = V> + std::ops::Add<Output = V>,
    {
        // What the rounding of the sum lost is put back: it is all there is where the channel's probability is near 1.
        F::log(simd, exps.sum) + (self.others - (exps.sum - self.e)) * exps.full
    }
}

/// Calls `$f` with index targets of few channels in arrays of constant length, which are unrolled into registers; with others
/// in vectors. Code of the first kind is large, so there is none in double precision.
macro_rules! with_channels {
    ($tile:expr, $zero:expr, ($($name:ident),+) => $f:ident($($argument:expr),+)) => {
        match ($tile.channels, $tile.goals.is_empty() && F::LANES == f32::LANES) {
            (2, true) => { $(let $name = &mut [$zero; 2];)+ $f::<S, F, false>($($argument),+) }
            (3, true) => { $(let $name = &mut [$zero; 3];)+ $f::<S, F, false>($($argument),+) }
            (4, true) => { $(let $name = &mut [$zero; 4];)+ $f::<S, F, false>($($argument),+) }
            (n, _) => {
                $(let $name = &mut vec![$zero; n][..];)+
                if $tile.goals.is_empty() { $f::<S, F, false>($($argument),+) } else { $f::<S, F, true>($($argument),+) }
            }
        }
    };
}

/// Adds the sums of a tile.
#[inline(always)]
pub(super) fn sums<S: Simd, F: Number>(simd: S, plan: &Plan<F>, tile: &Tile<F>, out: &mut [f64]) {
    let zero = F::Wide::<S>::splat(simd, F::default());
    with_channels!(tile, zero, (d, e, first, second, third) =>
        sums_with(simd, plan, tile, out, d, e, [first, second, third]));
}

#[inline(always)]
fn sums_with<S: Simd, F: Number, const ONE_HOT: bool>(
    simd: S,
    plan: &Plan<F>,
    tile: &Tile<F>,
    out: &mut [f64],
    d: &mut [F::Wide<S>],
    e: &mut [F::Wide<S>],
    [first, second, third]: [&mut [F::Wide<S>]; 3],
) {
    let zero = F::Wide::<S>::splat(simd, F::default());
    let (mut pointwise, mut weight) = (zero, zero);
    let n = d.len();
    for at in (0..tile.len).step_by(F::LANES) {
        let label = F::Wide::<S>::from_slice(simd, &tile.labels[at..at + F::LANES]);
        let keep = label.simd_ge(zero);
        let exps = exponentials::<S, F>(simd, &tile.logits, (tile.row, at), keep, d, e);
        // One loop for each case, so that channels are unrolled and nothing is decided in them. Macros and no closures, for
        // a closure that is not inlined would not be compiled for the instruction set.
        macro_rules! add {
            ($kind:expr, $c:ident => $goal:expr) => {
                for $c in 0..n {
                    let to = [&mut first[$c], &mut second[$c], &mut third[$c]];
                    add_sums::<S, F>(simd, $kind, e[$c] * exps.inverse, $goal, to);
                }
            };
        }
        match (plan.sums, ONE_HOT) {
            (Sums::Nothing, _) => {}
            (Sums::Plain, false) => add!(Sums::Plain, c => Goal::Is(is_class::<S, F>(simd, label, c))),
            (Sums::Squared, false) => add!(Sums::Squared, c => Goal::Is(is_class::<S, F>(simd, label, c))),
            (Sums::Rates, false) => add!(Sums::Rates, c => Goal::Is(is_class::<S, F>(simd, label, c))),
            (kind, true) => add!(kind, c => Goal::Number(load_goal::<S, F>(simd, tile, c, at))),
        }
        if plan.pointwise != Pointwise::Nothing {
            let (term, w) = if ONE_HOT {
                (soft_term::<S, F>(simd, plan, tile, at, &exps, d, e), zero)
            } else {
                let (of, w) = pick::<S, F>(simd, plan, label, d, e);
                (w * term::<S, F>(simd, plan, &of, &exps), w)
            };
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

/// The targets of a channel.
#[inline(always)]
fn load_goal<S: Simd, F: Number>(simd: S, tile: &Tile<F>, c: usize, at: usize) -> F::Wide<S> {
    F::Wide::<S>::from_slice(simd, &tile.goals[c * tile.row + at..c * tile.row + at + F::LANES])
}

/// A channel as a label.
#[expect(clippy::cast_precision_loss, reason = "channels are below 2^24")]
#[inline(always)]
fn class<F: Number>(c: usize) -> F {
    F::from_f64(c as f64)
}

/// `-log p` of a channel, for the focal loss times a power of what `p` lacks to 1.
#[inline(always)]
fn term<S: Simd, F: Number>(simd: S, plan: &Plan<F>, of: &Channel<F::Wide<S>>, exps: &Exps<F::Wide<S>>) -> F::Wide<S> {
    let log = of.log_sum::<S, F>(simd, exps) - of.d;
    match plan.pointwise {
        Pointwise::Focal(gamma) => {
            let lack = of.others * exps.full;
            log * power::<S, F>(simd, gamma, lack)
        }
        _ => log,
    }
}

/// The sum of [`term`] over channels, weighted by the targets.
#[inline(always)]
fn soft_term<S: Simd, F: Number>(
    simd: S,
    plan: &Plan<F>,
    tile: &Tile<F>,
    at: usize,
    exps: &Exps<F::Wide<S>>,
    d: &[F::Wide<S>],
    e: &[F::Wide<S>],
) -> F::Wide<S> {
    let zero = F::Wide::<S>::splat(simd, F::default());
    let mut sum = zero;
    for c in 0..d.len() {
        let g = load_goal::<S, F>(simd, tile, c, at);
        let value = term::<S, F>(simd, plan, &channel::<S, F>(simd, d, e, c), exps) * g * plan.positive[c];
        // A class that is not asked for adds nothing, even where its probability is 0.
        sum += only::<S, F>(simd, g.simd_ne(zero), value);
    }
    sum
}

/// One channel, and the sum of the others.
#[inline(always)]
fn channel<S: Simd, F: Number>(simd: S, d: &[F::Wide<S>], e: &[F::Wide<S>], c: usize) -> Channel<F::Wide<S>> {
    let mut others = F::Wide::<S>::splat(simd, F::default());
    for k in 0..d.len() {
        if k != c {
            others += e[k];
        }
    }
    Channel { d: d[c], e: e[c], others }
}

/// The labelled channel, and its weight.
#[inline(always)]
fn pick<S: Simd, F: Number>(
    simd: S,
    plan: &Plan<F>,
    label: F::Wide<S>,
    d: &[F::Wide<S>],
    e: &[F::Wide<S>],
) -> (Channel<F::Wide<S>>, F::Wide<S>) {
    let first = is_class::<S, F>(simd, label, 0);
    let mut of = Channel { d: d[0], e: e[0], others: only::<S, F>(simd, !first, e[0]) };
    let mut weight = F::Wide::<S>::splat(simd, plan.positive[0]);
    for c in 1..d.len() {
        let is = is_class::<S, F>(simd, label, c);
        of.d = is.select(d[c], of.d);
        of.e = is.select(e[c], of.e);
        of.others += only::<S, F>(simd, !is, e[c]);
        if plan.weighted {
            weight = is.select(F::Wide::<S>::splat(simd, plan.positive[c]), weight);
        }
    }
    (of, weight)
}

/// Turns the logits of a tile into their gradient.
#[inline(always)]
pub(super) fn gradient<S: Simd, F: Number>(simd: S, plan: &Plan<F>, factors: &Factors<F>, tile: &mut Tile<F>) {
    let zero = F::Wide::<S>::splat(simd, F::default());
    with_channels!(tile, zero, (d, e, dp) => gradient_with(simd, plan, factors, tile, d, e, dp));
}

#[inline(always)]
fn gradient_with<S: Simd, F: Number, const ONE_HOT: bool>(
    simd: S,
    plan: &Plan<F>,
    factors: &Factors<F>,
    tile: &mut Tile<F>,
    d: &mut [F::Wide<S>],
    e: &mut [F::Wide<S>],
    dp: &mut [F::Wide<S>],
) {
    let zero = F::Wide::<S>::splat(simd, F::default());
    let n = d.len();
    for at in (0..tile.len).step_by(F::LANES) {
        let label = F::Wide::<S>::from_slice(simd, &tile.labels[at..at + F::LANES]);
        let keep = label.simd_ge(zero);
        let exps = exponentials::<S, F>(simd, &tile.logits, (tile.row, at), keep, d, e);
        // Through softmax, dz_c = p_c (dp_c - sum_k p_k dp_k); the pointwise terms have dz_c = p_c sum_k t_k - t_c.
        let (mut common, mut picked) = (zero, zero);
        if plan.pointwise == Pointwise::Nothing {
        } else if ONE_HOT {
            for c in 0..n {
                let g = load_goal::<S, F>(simd, tile, c, at);
                let steep = steepness::<S, F>(simd, plan, &channel::<S, F>(simd, d, e, c), &exps);
                let t = steep * g * plan.positive[c] * factors.scale;
                dp[c] = only::<S, F>(simd, g.simd_ne(zero), t);
                common += dp[c];
            }
            // The differences are not needed any more.
            d.copy_from_slice(dp);
        } else {
            let (of, weight) = pick::<S, F>(simd, plan, label, d, e);
            let steep = steepness::<S, F>(simd, plan, &of, &exps) * weight * factors.scale;
            picked = only::<S, F>(simd, keep, steep);
            common = picked;
        }
        macro_rules! overlap {
            (|$constant:ident, $p:ident| $along:expr, |$c:ident, $a:ident| $toward:expr) => {
                for $c in 0..n {
                    e[$c] *= exps.inverse;
                    let $p = e[$c];
                    let $constant = F::Wide::<S>::splat(simd, factors.constant[$c]);
                    let $a = F::Wide::<S>::splat(simd, factors.target[$c]);
                    dp[$c] = $along - $toward;
                    common -= $p * dp[$c];
                }
            };
        }
        match (plan.sums, ONE_HOT) {
            (Sums::Nothing, _) => {
                for c in 0..n {
                    e[c] *= exps.inverse;
                    dp[c] = zero;
                }
            }
            (Sums::Squared, false) => {
                overlap!(|b, p| b * p, |c, a| only::<S, F>(simd, is_class::<S, F>(simd, label, c), a));
            }
            (Sums::Squared, true) => overlap!(|b, p| b * p, |c, a| load_goal::<S, F>(simd, tile, c, at) * a),
            (_, false) => overlap!(|b, _p| b, |c, a| only::<S, F>(simd, is_class::<S, F>(simd, label, c), a)),
            (_, true) => overlap!(|b, _p| b, |c, a| load_goal::<S, F>(simd, tile, c, at) * a),
        }
        macro_rules! store {
            (|$c:ident| $dz:expr) => {
                for $c in 0..n {
                    let to = $c * tile.row + at;
                    ($dz).store_slice(&mut tile.logits[to..to + F::LANES]);
                }
            };
        }
        match (plan.pointwise, ONE_HOT) {
            (Pointwise::Nothing, _) => store!(|c| e[c] * (dp[c] + common)),
            (_, false) => {
                store!(|c| e[c] * (dp[c] + common) - only::<S, F>(simd, is_class::<S, F>(simd, label, c), picked));
            }
            (_, true) => store!(|c| e[c] * (dp[c] + common) - d[c]),
        }
    }
}

/// Minus the derivative of [`term`] with respect to `log p`: 1 for cross-entropy,
/// `u^gamma - gamma u^(gamma - 1) p log p` for the focal term.
#[inline(always)]
fn steepness<S: Simd, F: Number>(
    simd: S,
    plan: &Plan<F>,
    of: &Channel<F::Wide<S>>,
    exps: &Exps<F::Wide<S>>,
) -> F::Wide<S> {
    let Pointwise::Focal(gamma) = plan.pointwise else {
        return F::Wide::<S>::splat(simd, F::from_f64(1.0));
    };
    let u = of.others * exps.full;
    // Clamped, for p log p is 0 at 0.
    let entropy = of.e * exps.full * (F::clamp_exp(simd, of.d) - of.log_sum::<S, F>(simd, exps));
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

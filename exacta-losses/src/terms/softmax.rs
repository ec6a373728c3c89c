//! The kernels for softmax: channels of a voxel together.
//!
//! With `m` the largest logit, `e_c = exp(z_c - m)` and `r` the sum of the others' `e`, `1 + r` is the normaliser, `-log(1 + r)`
//! the logarithm of the largest probability and `r / (1 + r)` what it lacks to 1: no digits are lost where a prediction is sure.

use fearless_simd::{Select, Simd, SimdBase};

use super::lanes::{Goal, Mask, add_sums, exponent, log_one_plus, only, power, total};
use super::plan::{Factors, Layout, Plan, Pointwise, Sums};
use crate::number::Number;
use crate::tile::Tile;

/// Exponentials of one vector of voxels.
struct Exps<V> {
    /// `1 / (1 + r)`, 0 where excluded.
    inverse: V,
    /// The same also where excluded.
    full: V,
    /// `r`.
    rest: V,
    /// `1 + r`, rounded.
    sum: V,
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
    let zero = F::Wide::<S>::splat(simd, F::default());
    let one = F::Wide::<S>::splat(simd, F::from_f64(1.0));
    let load = |c: usize| F::Wide::<S>::from_slice(simd, &tile[c * row + at..c * row + at + F::LANES]);
    let n = d.len();
    d[0] = load(0);
    let mut most = d[0];
    for c in 1..n {
        d[c] = load(c);
        most = most.max(d[c]);
    }
    let (mut rest, mut ties) = (zero, zero - one);
    for c in 0..n {
        d[c] -= most;
        e[c] = F::exp(simd, d[c]);
        let top = d[c].simd_eq(zero);
        rest += top.select(zero, e[c]);
        ties += top.select(one, zero);
    }
    let rest = rest + ties;
    let sum = rest + one;
    let full = one / sum;
    Exps { inverse: only::<S, F>(simd, keep, full), full, rest, sum }
}

/// Runs `$body` with arrays of a constant number of channels where that is small, else with vectors.
macro_rules! with_channels {
    ($channels:expr, $zero:expr, ($($name:ident),+) => $body:expr) => {
        match $channels {
            2 => { $(let $name = &mut [$zero; 2];)+ $body }
            3 => { $(let $name = &mut [$zero; 3];)+ $body }
            4 => { $(let $name = &mut [$zero; 4];)+ $body }
            n => { $(let $name = &mut vec![$zero; n][..];)+ $body }
        }
    };
}

/// Adds the sums of a tile.
#[inline(always)]
pub(super) fn sums<S: Simd, F: Number>(simd: S, plan: &Plan<F>, tile: &Tile<F>, out: &mut [f64]) {
    let zero = F::Wide::<S>::splat(simd, F::default());
    with_channels!(tile.channels, zero, (d, e, first, second, third) =>
        sums_with(simd, plan, tile, out, d, e, [first, second, third]));
}

#[inline(always)]
fn sums_with<S: Simd, F: Number>(
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
    let one_hot = !tile.goals.is_empty();
    for at in (0..tile.len).step_by(F::LANES) {
        let label = F::Wide::<S>::from_slice(simd, &tile.labels[at..at + F::LANES]);
        let keep = label.simd_ge(zero);
        let exps = exponentials::<S, F>(simd, &tile.logits, (tile.row, at), keep, d, e);
        let goal = |c: usize| goal::<S, F>(simd, tile, one_hot, label, c, at);
        if plan.sums != Sums::Nothing {
            for c in 0..n {
                let to = [&mut first[c], &mut second[c], &mut third[c]];
                add_sums::<S, F>(simd, plan.sums, e[c] * exps.inverse, goal(c), to);
            }
        }
        if plan.pointwise != Pointwise::Nothing {
            let (term, w) = pointwise_term::<S, F>(simd, plan, tile, one_hot, at, label, &exps, d, e);
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

#[inline(always)]
fn goal<S: Simd, F: Number>(
    simd: S,
    tile: &Tile<F>,
    one_hot: bool,
    label: F::Wide<S>,
    c: usize,
    at: usize,
) -> Goal<S, F> {
    if one_hot {
        Goal::Number(F::Wide::<S>::from_slice(simd, &tile.goals[c * tile.row + at..c * tile.row + at + F::LANES]))
    } else {
        Goal::Is(label.simd_eq(F::Wide::<S>::splat(simd, class(c))))
    }
}

/// A channel as a label.
#[expect(clippy::cast_precision_loss, reason = "channels are below 2^24")]
#[inline(always)]
fn class<F: Number>(c: usize) -> F {
    F::from_f64(c as f64)
}

/// Cross-entropy or focal term of some voxels, and the weight of their labels.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "parts of one loop")]
fn pointwise_term<S: Simd, F: Number>(
    simd: S,
    plan: &Plan<F>,
    tile: &Tile<F>,
    one_hot: bool,
    at: usize,
    label: F::Wide<S>,
    exps: &Exps<F::Wide<S>>,
    d: &[F::Wide<S>],
    e: &[F::Wide<S>],
) -> (F::Wide<S>, F::Wide<S>) {
    let zero = F::Wide::<S>::splat(simd, F::default());
    let log_sum = log_one_plus::<S, F>(simd, exps.rest, exps.sum, exps.full);
    let focal = |lack: F::Wide<S>| match plan.pointwise {
        Pointwise::Focal(gamma) => power::<S, F>(simd, gamma, lack, || F::log(simd, lack)),
        _ => F::Wide::<S>::splat(simd, F::from_f64(1.0)),
    };
    if one_hot {
        let mut term = zero;
        for c in 0..d.len() {
            let Goal::Number(g) = goal::<S, F>(simd, tile, true, label, c, at) else { continue };
            let log = d[c] - log_sum;
            let value = g * (log_sum - d[c]) * focal(lack::<S, F>(simd, d[c], e[c], exps)) * plan.positive[c];
            // A class that is not asked for adds nothing, even where its probability is 0.
            term += g.simd_eq(zero).select(zero, value);
            let _ = log;
        }
        return (term, zero);
    }
    let picked = pick::<S, F>(simd, plan, label, d, e);
    let value = (log_sum - picked.d) * picked.weight;
    (value * focal(lack::<S, F>(simd, picked.d, picked.e, exps)), picked.weight)
}

/// What a probability lacks to 1.
#[inline(always)]
fn lack<S: Simd, F: Number>(simd: S, d: F::Wide<S>, e: F::Wide<S>, exps: &Exps<F::Wide<S>>) -> F::Wide<S> {
    let zero = F::Wide::<S>::splat(simd, F::default());
    d.simd_eq(zero).select(exps.rest, exps.sum - e) * exps.full
}

/// Values of the labelled channel.
struct Picked<V> {
    d: V,
    e: V,
    weight: V,
}

#[inline(always)]
fn pick<S: Simd, F: Number>(
    simd: S,
    plan: &Plan<F>,
    label: F::Wide<S>,
    d: &[F::Wide<S>],
    e: &[F::Wide<S>],
) -> Picked<F::Wide<S>> {
    let mut out = Picked { d: d[0], e: e[0], weight: F::Wide::<S>::splat(simd, plan.positive[0]) };
    for c in 1..d.len() {
        let is = label.simd_eq(F::Wide::<S>::splat(simd, class(c)));
        out.d = is.select(d[c], out.d);
        out.e = is.select(e[c], out.e);
        if plan.weighted {
            out.weight = is.select(F::Wide::<S>::splat(simd, plan.positive[c]), out.weight);
        }
    }
    out
}

/// Turns the logits of a tile into their gradient.
#[inline(always)]
pub(super) fn gradient<S: Simd, F: Number>(simd: S, plan: &Plan<F>, factors: &Factors<F>, tile: &mut Tile<F>) {
    let zero = F::Wide::<S>::splat(simd, F::default());
    with_channels!(tile.channels, zero, (d, e, dp) => gradient_with(simd, plan, factors, tile, d, e, dp));
}

#[inline(always)]
fn gradient_with<S: Simd, F: Number>(
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
    let one_hot = !tile.goals.is_empty();
    for at in (0..tile.len).step_by(F::LANES) {
        let label = F::Wide::<S>::from_slice(simd, &tile.labels[at..at + F::LANES]);
        let keep = label.simd_ge(zero);
        let exps = exponentials::<S, F>(simd, &tile.logits, (tile.row, at), keep, d, e);
        // Through softmax, dz_c = p_c (dp_c - sum_k p_k dp_k); the pointwise terms have dz_c = p_c sum_k t_k - t_c.
        let mut common = zero;
        if plan.sums != Sums::Nothing {
            for c in 0..n {
                let p = e[c] * exps.inverse;
                let constant = F::Wide::<S>::splat(simd, factors.constant[c]);
                let along = if plan.sums == Sums::Squared { constant * p } else { constant };
                let a = F::Wide::<S>::splat(simd, factors.target[c]);
                dp[c] = match goal::<S, F>(simd, tile, one_hot, label, c, at) {
                    Goal::Is(mask) => along - only::<S, F>(simd, mask, a),
                    Goal::Number(g) => along - a * g,
                };
                common -= p * dp[c];
            }
        }
        let mut picked = zero;
        let has_pointwise = plan.pointwise != Pointwise::Nothing;
        if has_pointwise {
            let log_sum = match plan.pointwise {
                Pointwise::Focal(_) => log_one_plus::<S, F>(simd, exps.rest, exps.sum, exps.full),
                _ => zero,
            };
            let steep = |d, e| only::<S, F>(simd, keep, steepness::<S, F>(simd, plan, &exps, log_sum, d, e));
            if one_hot {
                for c in 0..n {
                    let Goal::Number(g) = goal::<S, F>(simd, tile, true, label, c, at) else { continue };
                    let t = steep(d[c], e[c]) * g * plan.positive[c] * factors.scale;
                    let t = g.simd_eq(zero).select(zero, t);
                    common += t;
                    // The exponential is needed below; the difference is not.
                    d[c] = t;
                }
            } else {
                let of = pick::<S, F>(simd, plan, label, d, e);
                picked = steep(of.d, of.e) * of.weight * factors.scale;
                common += picked;
            }
        }
        for c in 0..n {
            let p = e[c] * exps.inverse;
            let mut dz = p * (dp[c] + common);
            if has_pointwise {
                dz -= if one_hot {
                    d[c]
                } else {
                    only::<S, F>(simd, label.simd_eq(F::Wide::<S>::splat(simd, class(c))), picked)
                };
            }
            dz.store_slice(&mut tile.logits[c * tile.row + at..c * tile.row + at + F::LANES]);
        }
    }
}

/// Minus the derivative of a pointwise term with respect to its `log p`, for weight 1: 1 for cross-entropy,
/// `u^gamma - gamma u^(gamma - 1) p log p` for the focal term.
#[inline(always)]
fn steepness<S: Simd, F: Number>(
    simd: S,
    plan: &Plan<F>,
    exps: &Exps<F::Wide<S>>,
    log_sum: F::Wide<S>,
    d: F::Wide<S>,
    e: F::Wide<S>,
) -> F::Wide<S> {
    let one = F::Wide::<S>::splat(simd, F::from_f64(1.0));
    let Pointwise::Focal(gamma) = plan.pointwise else { return one };
    if exponent(gamma) == F::default() {
        return one;
    }
    let zero = F::Wide::<S>::splat(simd, F::default());
    let u = lack::<S, F>(simd, d, e, exps);
    let p = e * exps.full;
    // p log p is 0 at 0.
    let entropy = e.simd_eq(zero).select(zero, p * (d - log_sum));
    let raised = power::<S, F>(simd, gamma, u, || F::log(simd, u));
    let steep = raised - raised / u * entropy * exponent(gamma);
    u.simd_eq(zero).select(zero, steep)
}

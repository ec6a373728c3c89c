//! The kernels for sigmoid and for predictions as they are: one channel after the other.

use fearless_simd::{Select, Simd, SimdBase};

use super::lanes::{Goal, Mask, add_sums, exponent, log_one_plus, only, power_of, total};
use super::plan::{Factors, Layout, Plan, Pointwise, Sums};
use crate::number::Number;
use crate::voxels::{Rows, Voxels};

/// Prediction of some voxels and what follows from it.
struct Prediction<V> {
    /// `p`, 0 where excluded.
    p: V,
    /// `1 - p`.
    q: V,
    /// `log p`.
    log_p: V,
    /// `log (1 - p)`.
    log_q: V,
}

#[inline(always)]
fn predict<S: Simd, F: Number>(
    simd: S,
    sigmoid: bool,
    logs: bool,
    keep: Mask<S, F>,
    z: F::Wide<S>,
) -> Prediction<F::Wide<S>> {
    let zero = F::Wide::<S>::splat(simd, F::default());
    let one = F::Wide::<S>::splat(simd, F::from_f64(1.0));
    if !sigmoid {
        return Prediction { p: z, q: one - z, log_p: zero, log_q: zero };
    }
    let small = F::exp(simd, zero - z.abs());
    let sum = small + one;
    let large = one / sum;
    let positive = z.simd_ge(zero);
    let (p, q) = (positive.select(large, small * large), positive.select(small * large, large));
    let (log_p, log_q) = if logs {
        // log(1 + e^-|z|), to which the larger of 0 and -z, or of 0 and z, is added.
        let log = log_one_plus::<S, F>(simd, small, sum, large);
        (positive.select(zero, z) - log, positive.select(zero - z, zero) - log)
    } else {
        (zero, zero)
    };
    Prediction { p: only::<S, F>(simd, keep, p), q, log_p, log_q }
}

#[expect(clippy::cast_precision_loss, reason = "channels are below 2^24")]
#[inline(always)]
fn goal<S: Simd, F: Number>(simd: S, voxels: &Voxels<'_, F>, label: F::Wide<S>, c: usize, at: usize) -> Goal<S, F> {
    if voxels.is_one_hot() {
        Goal::Number(F::Wide::<S>::from_slice(simd, &voxels.goals(c)[at..at + F::LANES]))
    } else {
        Goal::Is(label.simd_eq(F::Wide::<S>::splat(simd, F::from_f64(c as f64))))
    }
}

/// Adds the sums of some voxels.
#[inline(always)]
pub(super) fn sums<S: Simd, F: Number>(
    simd: S,
    plan: &Plan<F>,
    sigmoid: bool,
    voxels: &Voxels<'_, F>,
    out: &mut [f64],
) {
    let zero = F::Wide::<S>::splat(simd, F::default());
    let n = voxels.channels;
    let layout = Layout { channels: n };
    let has_pointwise = plan.pointwise != Pointwise::Nothing;
    for c in 0..n {
        let (mut first, mut second, mut third, mut pointwise) = (zero, zero, zero, zero);
        let logits = voxels.logits(c);
        for at in (0..voxels.len).step_by(F::LANES) {
            let label = F::Wide::<S>::from_slice(simd, &voxels.labels[at..at + F::LANES]);
            let keep = label.simd_ge(zero);
            let z = F::Wide::<S>::from_slice(simd, &logits[at..at + F::LANES]);
            let prediction = predict::<S, F>(simd, sigmoid, has_pointwise, keep, z);
            let goal = goal::<S, F>(simd, voxels, label, c, at);
            if plan.sums != Sums::Nothing {
                let to = [&mut first, &mut second, &mut third];
                add_sums::<S, F>(simd, plan.sums, prediction.p, goal, to);
            }
            if has_pointwise {
                let (g, absent) = number::<S, F>(simd, goal);
                let Prediction { p, q, log_p, log_q } = prediction;
                let (up, down) = match plan.pointwise {
                    Pointwise::Focal(gamma) => (
                        power_of::<S, F>(simd, gamma, q, log_q) * log_p,
                        power_of::<S, F>(simd, gamma, p, log_p) * log_q,
                    ),
                    _ => (log_p, log_q),
                };
                // What is not asked for adds nothing, even where its probability is 0.
                let up = only::<S, F>(simd, g.simd_ne(zero), up * g * plan.positive[c]);
                let down = only::<S, F>(simd, absent.simd_ne(zero), down * absent * plan.negative[c]);
                pointwise -= only::<S, F>(simd, keep, up + down);
            }
        }
        out[c] += total::<S, F>(first);
        out[n + c] += total::<S, F>(second);
        out[2 * n + c] += total::<S, F>(third);
        out[layout.pointwise()] += total::<S, F>(pointwise);
    }
}

/// `g` and `1 - g`.
#[inline(always)]
fn number<S: Simd, F: Number>(simd: S, goal: Goal<S, F>) -> (F::Wide<S>, F::Wide<S>) {
    let one = F::Wide::<S>::splat(simd, F::from_f64(1.0));
    let g = match goal {
        Goal::Is(mask) => only::<S, F>(simd, mask, one),
        Goal::Number(g) => g,
    };
    (g, one - g)
}

/// Writes the gradient of some voxels.
#[inline(always)]
pub(super) fn gradient<S: Simd, F: Number>(
    simd: S,
    plan: &Plan<F>,
    sigmoid: bool,
    factors: &Factors<F>,
    voxels: &Voxels<'_, F>,
    out: &mut Rows<'_, '_, F>,
) {
    let zero = F::Wide::<S>::splat(simd, F::default());
    let focal = matches!(plan.pointwise, Pointwise::Focal(_));
    for c in 0..voxels.channels {
        let a = F::Wide::<S>::splat(simd, factors.target[c]);
        let constant = F::Wide::<S>::splat(simd, factors.constant[c]);
        let logits = voxels.logits(c);
        for at in (0..voxels.len).step_by(F::LANES) {
            let label = F::Wide::<S>::from_slice(simd, &voxels.labels[at..at + F::LANES]);
            let keep = label.simd_ge(zero);
            let z = F::Wide::<S>::from_slice(simd, &logits[at..at + F::LANES]);
            let prediction = predict::<S, F>(simd, sigmoid, focal, keep, z);
            let (g, absent) = number::<S, F>(simd, goal::<S, F>(simd, voxels, label, c, at));
            let mut dz = zero;
            if plan.sums != Sums::Nothing {
                let along = if plan.sums == Sums::Squared { constant * prediction.p } else { constant };
                dz = along - a * g;
                if sigmoid {
                    dz *= prediction.p * prediction.q;
                }
            }
            let (up, down) = match plan.pointwise {
                Pointwise::Nothing => (zero, zero),
                Pointwise::Entropy => (prediction.q, prediction.p),
                Pointwise::Focal(gamma) => {
                    let Prediction { p, q, log_p, log_q } = prediction;
                    let (up, down) = (
                        q - only::<S, F>(simd, p.simd_ne(zero), p * log_p) * exponent(gamma),
                        p - only::<S, F>(simd, q.simd_ne(zero), q * log_q) * exponent(gamma),
                    );
                    (power_of::<S, F>(simd, gamma, q, log_q) * up, power_of::<S, F>(simd, gamma, p, log_p) * down)
                }
            };
            if plan.pointwise != Pointwise::Nothing {
                dz += (down * absent * plan.negative[c] - up * g * plan.positive[c]) * factors.scale;
            }
            let dz = only::<S, F>(simd, keep, dz);
            dz.store_slice(&mut out.channel(c, voxels.whole())[at..at + F::LANES]);
        }
    }
}

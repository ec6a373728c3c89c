//! Small functions of vectors that the kernels share.

use fearless_simd::{Simd, SimdBase};

use super::plan::{Power, Sums};
use crate::number::Number;

/// `v` where `mask`, else 0.
#[inline(always)]
pub(super) fn only<S: Simd, F: Number>(simd: S, mask: Mask<S, F>, v: F::Wide<S>) -> F::Wide<S> {
    F::only(simd, mask, v)
}

/// The mask of a vector.
pub(super) type Mask<S, F> = <F as Number>::WideMask<S>;

/// `u` to the exponent of a focal loss.
#[inline(always)]
pub(super) fn power<S: Simd, F: Number>(simd: S, exponent: Power<F>, u: F::Wide<S>) -> F::Wide<S> {
    match exponent {
        Power::Other(gamma) => F::exp(simd, F::log(simd, u) * gamma),
        _ => whole_power::<S, F>(simd, exponent, u),
    }
}

/// The same where the logarithm of `u` is known.
#[inline(always)]
pub(super) fn power_of<S: Simd, F: Number>(simd: S, exponent: Power<F>, u: F::Wide<S>, log: F::Wide<S>) -> F::Wide<S> {
    match exponent {
        Power::Other(gamma) => F::exp(simd, log * gamma),
        _ => whole_power::<S, F>(simd, exponent, u),
    }
}

#[inline(always)]
fn whole_power<S: Simd, F: Number>(simd: S, exponent: Power<F>, u: F::Wide<S>) -> F::Wide<S> {
    match exponent {
        Power::One => u,
        Power::Two => u * u,
        Power::Zero | Power::Other(_) => F::Wide::<S>::splat(simd, F::from_f64(1.0)),
    }
}

/// The exponent as a number.
#[inline(always)]
pub(super) fn exponent<F: Number>(power: Power<F>) -> F {
    match power {
        Power::Zero => F::default(),
        Power::One => F::from_f64(1.0),
        Power::Two => F::from_f64(2.0),
        Power::Other(gamma) => gamma,
    }
}

/// `log(1 + r)` from `s = 1 + r` rounded: what rounding lost is put back.
#[inline(always)]
pub(super) fn log_one_plus<S: Simd, F: Number>(
    simd: S,
    r: F::Wide<S>,
    s: F::Wide<S>,
    inverse: F::Wide<S>,
) -> F::Wide<S> {
    F::log(simd, s) + (r - (s - F::from_f64(1.0))) * inverse
}

/// Adds a vector of predictions and one of targets to the three sums of a class.
#[inline(always)]
pub(super) fn add_sums<S: Simd, F: Number>(
    simd: S,
    kind: Sums,
    p: F::Wide<S>,
    g: Goal<S, F>,
    [first, second, third]: [&mut F::Wide<S>; 3],
) {
    if kind == Sums::Nothing {
        return;
    }
    let one = F::Wide::<S>::splat(simd, F::from_f64(1.0));
    match g {
        Goal::Is(mask) => {
            let hit = only::<S, F>(simd, mask, p);
            *first += hit;
            match kind {
                Sums::Nothing => {}
                Sums::Plain => {
                    *second += p;
                    *third += only::<S, F>(simd, mask, one);
                }
                Sums::Squared => {
                    *second += p * p;
                    *third += only::<S, F>(simd, mask, one);
                }
                Sums::Rates => {
                    *second += F::only(simd, !mask, p);
                    *third += only::<S, F>(simd, mask, one - p);
                }
            }
        }
        Goal::Number(g) => {
            *first += p * g;
            match kind {
                Sums::Nothing => {}
                Sums::Plain => {
                    *second += p;
                    *third += g;
                }
                Sums::Squared => {
                    *second += p * p;
                    *third += g * g;
                }
                Sums::Rates => {
                    *second += p * (one - g);
                    *third += (one - p) * g;
                }
            }
        }
    }
}

/// The target of a class at some voxels.
#[derive(Clone, Copy)]
pub(super) enum Goal<S: Simd, F: Number> {
    /// Where it is the class.
    Is(Mask<S, F>),
    /// A number a voxel.
    Number(F::Wide<S>),
}

/// The sum of the lanes, from the first to the last.
#[inline(always)]
pub(super) fn total<S: Simd, F: Number>(v: F::Wide<S>) -> f64 {
    v.as_slice().iter().map(|x| x.to_f64()).fold(0.0, |a, b| a + b)
}

//! The two number types that losses are computed in, and their fixed vectors.

use exacta_core::Level;
use fearless_simd::{Simd, SimdElement, SimdFloat, SimdFloatElement, SimdMask, f32x8, f64x4};

use crate::exponential;

/// `f32`, for logits of single and half precision, or `f64`.
///
/// Vectors have the same length on every instruction set, so that sums over lanes have the same bits.
pub(crate) trait Number: SimdFloatElement + PartialOrd + Send + Sync + 'static {
    /// Elements in a vector.
    const LANES: usize;
    /// A vector of [`Self::LANES`] elements.
    type Wide<S: Simd>: SimdFloat<S, Element = Self, Mask: SimdMask<S, Element = <Self as SimdElement>::Mask>>;

    /// The nearest number.
    fn from_f64(value: f64) -> Self;
    /// The same number.
    fn to_f64(self) -> f64;
    /// `e^x` for `x <= 0`; see [`exponential`].
    fn exp<S: Simd>(simd: S, x: Self::Wide<S>) -> Self::Wide<S>;
    /// The natural logarithm of `x >= 0`; see [`exponential`].
    fn log<S: Simd>(simd: S, x: Self::Wide<S>) -> Self::Wide<S>;
}

impl Number for f32 {
    const LANES: usize = 8;
    type Wide<S: Simd> = f32x8<S>;

    #[expect(clippy::cast_possible_truncation, reason = "rounding is meant")]
    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value as Self
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }

    #[inline(always)]
    fn exp<S: Simd>(simd: S, x: f32x8<S>) -> f32x8<S> {
        exponential::exp_f32(simd, x)
    }

    #[inline(always)]
    fn log<S: Simd>(simd: S, x: f32x8<S>) -> f32x8<S> {
        exponential::log_f32(simd, x)
    }
}

impl Number for f64 {
    const LANES: usize = 4;
    type Wide<S: Simd> = f64x4<S>;

    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }

    #[inline(always)]
    fn exp<S: Simd>(simd: S, x: f64x4<S>) -> f64x4<S> {
        exponential::exp_f64(simd, x)
    }

    #[inline(always)]
    fn log<S: Simd>(simd: S, x: f64x4<S>) -> f64x4<S> {
        exponential::log_f64(simd, x)
    }
}

/// Applies a function of vectors to all elements of a slice; the last vector is filled up with `fill`.
pub(crate) fn map_slice<F: Number>(level: Level, values: &mut [F], fill: F, exp: bool) {
    exacta_core::dispatch!(level, simd => map_with(simd, values, fill, exp));
}

#[inline(always)]
fn map_with<S: Simd, F: Number>(simd: S, values: &mut [F], fill: F, exp: bool) {
    use fearless_simd::SimdBase;
    let call = |x| if exp { F::exp(simd, x) } else { F::log(simd, x) };
    let mut chunks = values.chunks_exact_mut(F::LANES);
    for chunk in &mut chunks {
        call(F::Wide::<S>::from_slice(simd, chunk)).store_slice(chunk);
    }
    let rest = chunks.into_remainder();
    let last = F::Wide::<S>::from_fn(simd, |i| rest.get(i).copied().unwrap_or(fill));
    let last = call(last);
    for (i, value) in rest.iter_mut().enumerate() {
        *value = last[i];
    }
}

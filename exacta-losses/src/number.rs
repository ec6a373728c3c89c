//! The two number types that losses are computed in, and their fixed vectors.

use fearless_simd::{
    Bytes, Select, Simd, SimdBase, SimdElement, SimdFloat, SimdFloatElement, SimdMask, f32x8, f64x4, mask32x8,
    mask64x4, u32x8, u64x4,
};

use crate::exponential;
use crate::logits::{LogitViews, LogitsMut};

/// `f32`, for logits of single and half precision, or `f64`.
///
/// Vectors have the same length on every instruction set, so that sums over lanes have the same bits.
pub(crate) trait Number: SimdFloatElement + PartialOrd + Send + Sync + 'static {
    /// Elements in a vector.
    const LANES: usize;
    /// A vector of [`Self::LANES`] elements.
    type Wide<S: Simd>: SimdFloat<S, Element = Self, Mask = Self::WideMask<S>>;
    /// A mask of such a vector.
    type WideMask<S: Simd>: SimdMask<S, Element = <Self as SimdElement>::Mask> + Select<Self::Wide<S>>;

    /// The numbers of an input, if it holds them one after the other in order of its axes.
    fn flat<'a>(logits: &LogitViews<'a>) -> Option<&'a [Self]>;
    /// The elements of an output, likewise; the output otherwise.
    fn flat_mut(out: LogitsMut<'_>) -> Result<&mut [Self], LogitsMut<'_>>;
    /// The nearest number.
    fn from_f64(value: f64) -> Self;
    /// The nearest number.
    fn from_i32(value: i32) -> Self;
    /// The same number.
    fn to_f64(self) -> f64;
    /// `e^x` for `x <= 0`; see [`exponential`].
    #[inline(always)]
    fn exp<S: Simd>(simd: S, x: Self::Wide<S>) -> Self::Wide<S> {
        Self::raise_exp(simd, Self::reduce_exp(simd, Self::clamp_exp(simd, x)))
    }
    /// `x`, or the lowest argument of [`Number::reduce_exp`] where it is below; NaN stays.
    fn clamp_exp<S: Simd>(simd: S, x: Self::Wide<S>) -> Self::Wide<S>;
    /// What is left of what [`Number::clamp_exp`] gives, and its power of two: the first half of [`Number::exp`].
    fn reduce_exp<S: Simd>(simd: S, x: Self::Wide<S>) -> [Self::Wide<S>; 2];
    /// The other half.
    fn raise_exp<S: Simd>(simd: S, parts: [Self::Wide<S>; 2]) -> Self::Wide<S>;
    /// `v` where `mask`, else 0.
    fn only<S: Simd>(simd: S, mask: Self::WideMask<S>, v: Self::Wide<S>) -> Self::Wide<S>;
    /// The natural logarithm of `x >= 0`; see [`exponential`].
    fn log<S: Simd>(simd: S, x: Self::Wide<S>) -> Self::Wide<S>;
}

impl Number for f32 {
    const LANES: usize = 8;
    type Wide<S: Simd> = f32x8<S>;
    type WideMask<S: Simd> = mask32x8<S>;

    fn flat<'a>(logits: &LogitViews<'a>) -> Option<&'a [Self]> {
        match logits {
            LogitViews::F32(view) => view.to_slice(),
            _ => None,
        }
    }

    fn flat_mut(out: LogitsMut<'_>) -> Result<&mut [Self], LogitsMut<'_>> {
        match out {
            LogitsMut::F32(array) if array.is_standard_layout() => Ok(array.into_slice().expect("in standard layout")),
            out => Err(out),
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "rounding is meant")]
    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value as Self
    }

    #[expect(clippy::cast_precision_loss, reason = "rounding is meant")]
    #[inline(always)]
    fn from_i32(value: i32) -> Self {
        value as Self
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }

    #[inline(always)]
    fn only<S: Simd>(simd: S, mask: mask32x8<S>, v: f32x8<S>) -> f32x8<S> {
        #[cfg(target_arch = "x86_64")]
        if simd.level().as_avx512().is_some() {
            return mask.select(v, f32x8::splat(simd, 0.0));
        }
        // One instruction: a mask is all ones where it is set.
        let ones: u32x8<S> = mask.to_vector().bitcast();
        let bits: u32x8<S> = v.bitcast();
        (ones & bits).bitcast()
    }

    #[inline(always)]
    fn clamp_exp<S: Simd>(simd: S, x: f32x8<S>) -> f32x8<S> {
        let lowest = f32x8::splat(simd, exponential::LOWEST_F32);
        if simd.level().is_fallback() {
            return x.simd_lt(lowest).select(lowest, x);
        }
        // The second operand is what instructions give for NaN.
        lowest.max(x)
    }

    #[inline(always)]
    fn reduce_exp<S: Simd>(_: S, x: f32x8<S>) -> [f32x8<S>; 2] {
        exponential::reduce_f32(x)
    }

    #[inline(always)]
    fn raise_exp<S: Simd>(_: S, parts: [f32x8<S>; 2]) -> f32x8<S> {
        exponential::raise_f32(parts)
    }

    #[inline(always)]
    fn log<S: Simd>(simd: S, x: f32x8<S>) -> f32x8<S> {
        exponential::log_f32(simd, x)
    }
}

impl Number for f64 {
    const LANES: usize = 4;
    type Wide<S: Simd> = f64x4<S>;
    type WideMask<S: Simd> = mask64x4<S>;

    fn flat<'a>(logits: &LogitViews<'a>) -> Option<&'a [Self]> {
        match logits {
            LogitViews::F64(view) => view.to_slice(),
            _ => None,
        }
    }

    fn flat_mut(out: LogitsMut<'_>) -> Result<&mut [Self], LogitsMut<'_>> {
        match out {
            LogitsMut::F64(array) if array.is_standard_layout() => Ok(array.into_slice().expect("in standard layout")),
            out => Err(out),
        }
    }

    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value
    }

    #[inline(always)]
    fn from_i32(value: i32) -> Self {
        Self::from(value)
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }

    #[inline(always)]
    fn only<S: Simd>(simd: S, mask: mask64x4<S>, v: f64x4<S>) -> f64x4<S> {
        #[cfg(target_arch = "x86_64")]
        if simd.level().as_avx512().is_some() {
            return mask.select(v, f64x4::splat(simd, 0.0));
        }
        // One instruction: a mask is all ones where it is set.
        let ones: u64x4<S> = mask.to_vector().bitcast();
        let bits: u64x4<S> = v.bitcast();
        (ones & bits).bitcast()
    }

    #[inline(always)]
    fn clamp_exp<S: Simd>(simd: S, x: f64x4<S>) -> f64x4<S> {
        let lowest = f64x4::splat(simd, exponential::LOWEST_F64);
        if simd.level().is_fallback() {
            return x.simd_lt(lowest).select(lowest, x);
        }
        // The second operand is what instructions give for NaN.
        lowest.max(x)
    }

    #[inline(always)]
    fn reduce_exp<S: Simd>(_: S, x: f64x4<S>) -> [f64x4<S>; 2] {
        exponential::reduce_f64(x)
    }

    #[inline(always)]
    fn raise_exp<S: Simd>(simd: S, parts: [f64x4<S>; 2]) -> f64x4<S> {
        exponential::raise_f64(simd, parts)
    }

    #[inline(always)]
    fn log<S: Simd>(simd: S, x: f64x4<S>) -> f64x4<S> {
        exponential::log_f64(simd, x)
    }
}

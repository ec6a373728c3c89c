//! The numbers in which squared distances are minimised.

use fearless_simd::{Simd, SimdFloat, SimdFloatElement, f32x16, f64x8};

/// A squared distance in a register lane, [`Lane::FAR`] where there is none.
///
/// Doubles hold the rounded expression itself. Where the spacings are whole multiples of one power of two, every squared
/// distance is a whole multiple of its square, and single precision holds it exactly up to 2^24 multiples.
pub trait Lane:
    SimdFloatElement + PartialOrd + Send + Sync + std::ops::Add<Output = Self> + std::fmt::Debug + 'static
{
    /// Elements in a vector.
    const LANES: usize;
    /// A vector of [`Self::LANES`] elements.
    type Wide<S: Simd>: SimdFloat<S, Element = Self>;
    /// Distance of no feature.
    const FAR: Self;
    /// Distance of a feature.
    const ZERO: Self;
    /// A value that this type holds exactly.
    fn narrow(value: f64) -> Self;
    /// The value.
    fn wide(self) -> f64;
    /// The square of `spacing * steps`, the product and the square rounded in this type.
    fn square(spacing: Self, steps: u32) -> Self;
}

macro_rules! lanes {
    ($($type:ty => $wide:ident $lanes:literal),+) => {$(
        impl Lane for $type {
            const LANES: usize = $lanes;
            type Wide<S: Simd> = $wide<S>;
            const FAR: Self = Self::INFINITY;
            const ZERO: Self = 0.0;

            #[inline(always)]
            #[allow(clippy::cast_possible_truncation, reason = "the caller's values fit")]
            fn narrow(value: f64) -> Self {
                value as Self
            }

            #[inline(always)]
            fn wide(self) -> f64 {
                f64::from(self)
            }

            #[inline(always)]
            #[allow(clippy::cast_precision_loss, clippy::cast_lossless, reason = "single precision comes with short axes")]
            fn square(spacing: Self, steps: u32) -> Self {
                let along = spacing * steps as Self;
                along * along
            }
        }
    )+};
}
lanes!(f32 => f32x16 16, f64 => f64x8 8);

/// The smaller of two.
#[inline(always)]
pub fn least<L: Lane>(a: L, b: L) -> L {
    if a < b { a } else { b }
}

/// The larger of two.
#[inline(always)]
pub fn most<L: Lane>(a: L, b: L) -> L {
    if a > b { a } else { b }
}

/// The largest of a block, by halves, which vectorises.
#[inline(always)]
pub fn largest<L: Lane, const B: usize>(mut block: [L; B]) -> L {
    let mut half = B / 2;
    while half > 0 {
        for i in 0..half {
            block[i] = most(block[i], block[i + half]);
        }
        half /= 2;
    }
    block[0]
}

/// The smallest of a block.
#[inline(always)]
pub fn smallest<L: Lane, const B: usize>(mut block: [L; B]) -> L {
    let mut half = B / 2;
    while half > 0 {
        for i in 0..half {
            block[i] = least(block[i], block[i + half]);
        }
        half /= 2;
    }
    block[0]
}

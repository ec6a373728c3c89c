//! Borrowed label arrays of any dtype and any strides.

use ndarray::{ArrayView3, ArrayViewD, Axis, Ix3};

use crate::grid::Grid;
use crate::image::{Image, View};
use crate::{Error, Result};

/// A number that can be a label: how it is read without widening the array it lies in.
pub trait Element: Code {
    /// The view as [`Labels`].
    fn labels(view: ArrayViewD<'_, Self>) -> Labels<'_>;
}

pub(crate) mod sealed {
    /// How one element becomes a label code. Sealed: the list of dtypes is closed.
    pub trait Code: Copy + Send + Sync + 'static {
        /// The label, or a number above `u32::MAX` where the value is negative or not whole.
        fn code(self) -> u64;
        /// Whether the value is anything but 0.
        #[inline(always)]
        fn is_foreground(self) -> bool {
            self.code() != 0
        }
        /// The value for a message.
        fn value(self) -> Value;
        /// Whether the value equals a label of any sign.
        fn equals(self, label: i64) -> bool;
        /// Whether a code costs more to find than equality of elements.
        const COSTLY: bool = false;
        /// Whether all elements are the same; only asked where codes are costly.
        #[inline(always)]
        fn uniform(_: &[Self]) -> bool {
            false
        }
        /// The elements as bytes, where their codes are just these.
        fn bytes(_: &[Self]) -> Option<&[u8]> {
            None
        }
    }

    /// A value in a message.
    #[derive(Debug, Clone, Copy, PartialEq)]
    pub enum Value {
        /// A whole number.
        Whole(i128),
        /// A number that is not whole, or not finite.
        Fractional(f64),
    }

    impl Value {
        /// The value for a message.
        pub fn as_f64(self) -> f64 {
            match self {
                #[expect(clippy::cast_precision_loss, reason = "a number in a message")]
                Self::Whole(value) => value as f64,
                Self::Fractional(value) => value,
            }
        }
    }
}
use sealed::{Code, Value};

macro_rules! integers {
    ($($type:ty => $variant:ident $bytes:expr),+ $(,)?) => {$(
        impl Code for $type {
            #[inline(always)]
            fn code(self) -> u64 {
                // Negative values wrap to huge ones and so fail every range check.
                #[allow(clippy::cast_sign_loss, clippy::cast_lossless, reason = "sign extension is meant")]
                { self as i128 as u64 }
            }

            #[inline(always)]
            fn is_foreground(self) -> bool {
                self != 0
            }

            fn value(self) -> Value {
                Value::Whole(i128::from(self))
            }

            #[inline(always)]
            fn equals(self, label: i64) -> bool {
                <$type>::try_from(label).is_ok_and(|label| label == self)
            }

            fn bytes(slice: &[Self]) -> Option<&[u8]> {
                let convert: fn(&[$type]) -> Option<&[u8]> = $bytes;
                convert(slice)
            }
        }

        impl Element for $type {
            fn labels(view: ArrayViewD<'_, Self>) -> Labels<'_> {
                Labels::$variant(view)
            }
        }
    )+};
}

integers! {
    u8 => U8 |slice| Some(slice), i8 => I8 |_| None, u16 => U16 |_| None, i16 => I16 |_| None,
    u32 => U32 |_| None, i32 => I32 |_| None, u64 => U64 |_| None, i64 => I64 |_| None,
}

impl Code for bool {
    #[inline(always)]
    fn code(self) -> u64 {
        u64::from(self)
    }

    fn value(self) -> Value {
        Value::Whole(i128::from(self))
    }

    #[inline(always)]
    fn equals(self, label: i64) -> bool {
        i64::from(self) == label
    }
}

impl Element for bool {
    fn labels(view: ArrayViewD<'_, Self>) -> Labels<'_> {
        Labels::Bool(view)
    }
}

impl Code for f64 {
    const COSTLY: bool = true;

    #[inline(always)]
    fn uniform(values: &[Self]) -> bool {
        let first = values.first().map_or(0, |first| first.to_bits());
        values.iter().fold(0, |differ, value| differ | (value.to_bits() ^ first)) == 0
    }

    #[inline(always)]
    fn code(self) -> u64 {
        // Adding 2^52 leaves a whole number below 2^52 in the low bits, and changes any other value.
        const SHIFT: f64 = 4_503_599_627_370_496.0;
        let shifted = self + SHIFT;
        // Without short circuits, so that the loop stays free of branches.
        let whole = (shifted - SHIFT == self) & (0.0..SHIFT).contains(&self);
        if whole { shifted.to_bits() & ((1 << 52) - 1) } else { u64::MAX }
    }

    #[inline(always)]
    fn is_foreground(self) -> bool {
        self != 0.0
    }

    fn value(self) -> Value {
        #[expect(clippy::cast_possible_truncation, reason = "whole and inside i128, or saturated for a message")]
        if self.is_finite() && self.fract() == 0.0 { Value::Whole(self as i128) } else { Value::Fractional(self) }
    }

    #[inline(always)]
    fn equals(self, label: i64) -> bool {
        #[expect(clippy::cast_precision_loss, reason = "a label beyond 2^53 is compared as its nearest double")]
        let label = label as f64;
        self == label
    }
}

impl Element for f64 {
    fn labels(view: ArrayViewD<'_, Self>) -> Labels<'_> {
        Labels::F64(view)
    }
}

impl Code for f32 {
    const COSTLY: bool = true;

    #[inline(always)]
    fn uniform(values: &[Self]) -> bool {
        let first = values.first().map_or(0, |first| first.to_bits());
        values.iter().fold(0, |differ, value| differ | (value.to_bits() ^ first)) == 0
    }

    #[inline(always)]
    fn code(self) -> u64 {
        f64::from(self).code()
    }

    #[inline(always)]
    fn is_foreground(self) -> bool {
        self != 0.0
    }

    fn value(self) -> Value {
        f64::from(self).value()
    }

    #[inline(always)]
    fn equals(self, label: i64) -> bool {
        f64::from(self).equals(label)
    }
}

impl Element for f32 {
    fn labels(view: ArrayViewD<'_, Self>) -> Labels<'_> {
        Labels::F32(view)
    }
}

/// IEEE half precision, by its bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct F16(pub(crate) u16);

/// bfloat16, by its bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Bf16(pub(crate) u16);

impl F16 {
    #[inline(always)]
    pub(crate) fn widen(self) -> f32 {
        let (sign, exponent, fraction) =
            (u32::from(self.0 >> 15), u32::from(self.0 >> 10 & 31), u32::from(self.0 & 1023));
        let magnitude = match exponent {
            // Subnormal halves are multiples of 2^-24, which single precision holds exactly.
            0 => f32::from(self.0 & 1023) * f32::from_bits((127 - 24) << 23),
            31 => f32::from_bits(255 << 23 | fraction << 13),
            _ => f32::from_bits((exponent + 112) << 23 | fraction << 13),
        };
        f32::from_bits(magnitude.to_bits() | sign << 31)
    }
}

impl Bf16 {
    #[inline(always)]
    pub(crate) fn widen(self) -> f32 {
        f32::from_bits(u32::from(self.0) << 16)
    }
}

/// Labels of one array, borrowed as they lie in memory.
///
/// Floating arrays are label maps where every counted value is whole. Half-precision arrays come as their bits.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Labels<'a> {
    /// `bool`: labels 0 and 1.
    Bool(ArrayViewD<'a, bool>),
    /// `u8`
    U8(ArrayViewD<'a, u8>),
    /// `i8`
    I8(ArrayViewD<'a, i8>),
    /// `u16`
    U16(ArrayViewD<'a, u16>),
    /// `i16`
    I16(ArrayViewD<'a, i16>),
    /// `u32`
    U32(ArrayViewD<'a, u32>),
    /// `i32`
    I32(ArrayViewD<'a, i32>),
    /// `u64`
    U64(ArrayViewD<'a, u64>),
    /// `i64`
    I64(ArrayViewD<'a, i64>),
    /// `f32`
    F32(ArrayViewD<'a, f32>),
    /// `f64`
    F64(ArrayViewD<'a, f64>),
    /// IEEE half precision, as bits.
    F16(ArrayViewD<'a, u16>),
    /// bfloat16, as bits.
    Bf16(ArrayViewD<'a, u16>),
}

impl<'a, T: Element> From<ArrayViewD<'a, T>> for Labels<'a> {
    fn from(view: ArrayViewD<'a, T>) -> Self {
        T::labels(view)
    }
}

/// Runs an expression for the view inside, whatever its dtype.
macro_rules! with_view {
    ($labels:expr, $view:ident => $body:expr) => {
        match $labels {
            Labels::Bool($view) => $body,
            Labels::U8($view) => $body,
            Labels::I8($view) => $body,
            Labels::U16($view) => $body,
            Labels::I16($view) => $body,
            Labels::U32($view) => $body,
            Labels::I32($view) => $body,
            Labels::U64($view) => $body,
            Labels::I64($view) => $body,
            Labels::F32($view) => $body,
            Labels::F64($view) => $body,
            Labels::F16($view) | Labels::Bf16($view) => $body,
        }
    };
}

impl<'a> Labels<'a> {
    /// Shape of the array.
    pub fn shape(&self) -> &[usize] {
        with_view!(self, view => view.shape())
    }

    /// Strides of the array, in elements.
    pub fn strides(&self) -> &[isize] {
        with_view!(self, view => view.strides())
    }

    /// The axes of the array taken as one image.
    ///
    /// # Errors
    /// [`Error::ImageRank`] unless it has one to three axes.
    pub fn grid(&self) -> Result<Grid> {
        match self.shape().len() {
            1..=3 => Ok(Grid::new(self.shape(), self.strides())),
            _ => Err(Error::ImageRank { shape: self.shape().to_vec() }),
        }
    }

    /// Name of the dtype.
    pub fn dtype(&self) -> &'static str {
        match self {
            Self::Bool(_) => "bool",
            Self::U8(_) => "uint8",
            Self::I8(_) => "int8",
            Self::U16(_) => "uint16",
            Self::I16(_) => "int16",
            Self::U32(_) => "uint32",
            Self::I32(_) => "int32",
            Self::U64(_) => "uint64",
            Self::I64(_) => "int64",
            Self::F32(_) => "float32",
            Self::F64(_) => "float64",
            Self::F16(_) => "float16",
            Self::Bf16(_) => "bfloat16",
        }
    }

    /// One image, after `leading` indices of batch and channel, in the order of `grid`.
    pub(crate) fn image(&self, leading: &[usize], grid: &Grid) -> Box<dyn Image + 'a> {
        macro_rules! boxed {
            ($view:expr, $wrap:expr) => {
                Box::new(View::new(narrow($view, leading, grid), $wrap))
            };
        }
        match self {
            Self::Bool(view) => boxed!(view, |value: bool| value),
            Self::U8(view) => boxed!(view, |value: u8| value),
            Self::I8(view) => boxed!(view, |value: i8| value),
            Self::U16(view) => boxed!(view, |value: u16| value),
            Self::I16(view) => boxed!(view, |value: i16| value),
            Self::U32(view) => boxed!(view, |value: u32| value),
            Self::I32(view) => boxed!(view, |value: i32| value),
            Self::U64(view) => boxed!(view, |value: u64| value),
            Self::I64(view) => boxed!(view, |value: i64| value),
            Self::F32(view) => boxed!(view, |value: f32| value),
            Self::F64(view) => boxed!(view, |value: f64| value),
            Self::F16(view) => boxed!(view, |bits: u16| F16(bits).widen()),
            Self::Bf16(view) => boxed!(view, |bits: u16| Bf16(bits).widen()),
        }
    }
}

/// The image behind leading indices, as three axes in the order of `grid`.
pub(crate) fn narrow<'a, T>(view: &ArrayViewD<'a, T>, leading: &[usize], grid: &Grid) -> ArrayView3<'a, T> {
    let mut view = view.clone();
    for &index in leading {
        view = view.index_axis_move(Axis(0), index);
    }
    while view.ndim() < 3 {
        view = view.insert_axis(Axis(0));
    }
    let view = view.into_dimensionality::<Ix3>().expect("the batch checked the number of axes");
    view.permuted_axes(grid.order())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_doubles_are_labels_and_nothing_else_is() {
        for value in [0.0, -0.0, 1.0, 255.0, 256.0, 4_294_967_295.0, 4_294_967_296.0] {
            assert_eq!(value.code(), value as u64, "{value}");
        }
        for value in [0.5, -1.0, f64::NAN, f64::INFINITY, 1.0 + 1e-12, 1e300, 4_503_599_627_370_496.0] {
            assert_eq!(value.code(), u64::MAX, "{value}");
        }
    }

    #[test]
    fn negative_and_large_integers_never_wrap_into_range() {
        assert!((-1i8).code() > u64::from(u32::MAX));
        assert!(i64::MIN.code() > u64::from(u32::MAX));
        assert_eq!((1u64 << 40).code(), 1 << 40);
        assert!(!u64::MAX.equals(-1));
        assert!(!255u8.equals(-1));
        assert!((-1i16).equals(-1));
    }

    #[test]
    fn halves_widen_exactly() {
        for (bits, value) in [
            (0u16, 0.0f32),
            (0x8000, -0.0),
            (0x3c00, 1.0),
            (0x3800, 0.5),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (1, 5.960_464_5e-8),
        ] {
            assert_eq!(F16(bits).widen().to_bits(), value.to_bits(), "{bits:#x}");
        }
        assert!(F16(0x7e00).widen().is_nan());
        assert_eq!(F16(0x7c00).widen(), f32::INFINITY);
        assert_eq!(Bf16(0x3f80).widen(), 1.0);
    }
}

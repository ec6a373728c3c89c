//! Borrowed label arrays of any dtype and any strides.

use ndarray::{ArrayView3, ArrayViewD, Axis, Ix3, Slice};

use crate::grid::Grid;

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
pub(crate) struct F16(u16);

/// bfloat16, by its bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Bf16(u16);

impl F16 {
    #[inline(always)]
    fn widen(self) -> f32 {
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
    fn widen(self) -> f32 {
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
fn narrow<'a, T>(view: &ArrayViewD<'a, T>, leading: &[usize], grid: &Grid) -> ArrayView3<'a, T> {
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

/// One image, read in pieces of its raster order.
pub(crate) trait Image: Send + Sync {
    /// The labels as bytes, where they lie in memory as just that.
    fn bytes(&self, start: usize, len: usize) -> Option<&[u8]>;
    /// Reads labels below 256; the result is the union of all codes, above 255 where one did not fit.
    fn read_u8(&self, level: fearless_simd::Level, start: usize, keep: Option<Keep<'_>>, out: &mut [u8]) -> u64;
    /// Reads labels below 2^32, likewise.
    fn read_u32(&self, level: fearless_simd::Level, start: usize, keep: Option<Keep<'_>>, out: &mut [u32]) -> u64;
    /// Reads codes as they are: labels of any size, and what is above `u32::MAX` for other values.
    fn read_codes(&self, level: fearless_simd::Level, start: usize, out: &mut [u64]);
    /// Reads labels below 255; every other value, negative or fractional too, becomes 255.
    fn read_saturated(&self, level: fearless_simd::Level, start: usize, out: &mut [u8]);
    /// Writes 1 where a value is not 0, and 0 elsewhere; neither dtype nor range matters.
    fn read_foreground(&self, level: fearless_simd::Level, start: usize, out: &mut [u8]);
    /// Clears the entries of `keep` whose label is `ignore`.
    fn drop_label(&self, start: usize, ignore: i64, keep: &mut [u8]);
    /// Calls `f` with every value, in raster order.
    fn for_each(&self, f: &mut dyn FnMut(usize, Value));
}

/// Which voxels count (1) or not (0), and the code that stands for those that do not.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Keep<'a> {
    pub(crate) voxels: &'a [u8],
    pub(crate) excluded: u32,
}

/// A typed view of an image, its elements made codes by `wrap`.
struct View<'a, T, F> {
    view: ArrayView3<'a, T>,
    wrap: F,
}

impl<'a, T: Code, C: Code, F: Fn(T) -> C + Copy + Send + Sync> View<'a, T, F> {
    fn new(view: ArrayView3<'a, T>, wrap: F) -> Self {
        Self { view, wrap }
    }

    /// All elements in raster order, where they lie in memory so.
    fn flat(&self) -> Option<&'a [T]> {
        self.view.to_slice()
    }

    /// Calls `f` with consecutive pieces that cover `start..start + len` in raster order.
    fn pieces(&self, start: usize, len: usize, mut f: impl FnMut(usize, Piece<'_, T>)) {
        if let Some(flat) = self.flat() {
            return f(0, Piece::Slice(&flat[start..start + len]));
        }
        let (_, ny, nx) = self.view.dim();
        let mut done = 0;
        while done < len {
            let at = start + done;
            let (row, x) = (at / nx, at % nx);
            let piece = (nx - x).min(len - done);
            let mut line = self.view.index_axis(Axis(0), row / ny).index_axis_move(Axis(0), row % ny);
            line.slice_axis_inplace(Axis(0), Slice::from(x..x + piece));
            match line.to_slice() {
                Some(slice) => f(done, Piece::Slice(slice)),
                None => f(done, Piece::Line(line)),
            }
            done += piece;
        }
    }

    fn read<O: Copy>(
        &self,
        level: fearless_simd::Level,
        (start, len): (usize, usize),
        keep: Option<Keep<'_>>,
        out: &mut [O],
        narrow: impl Fn(u64) -> O + Copy,
    ) -> u64 {
        let (mut union, wrap) = (0, self.wrap);
        self.pieces(start, len, |at, piece| {
            let keep = keep.map(|keep| Keep { voxels: &keep.voxels[at..], ..keep });
            union |= match piece {
                Piece::Slice(slice) => {
                    let out = &mut out[at..at + slice.len()];
                    fearless_simd::dispatch!(level, simd => codes(simd, slice, wrap, keep, out, narrow))
                }
                Piece::Line(line) => gathered(line.iter().copied(), wrap, keep, &mut out[at..], narrow),
            };
        });
        union
    }
}

enum Piece<'a, T> {
    Slice(&'a [T]),
    Line(ndarray::ArrayView1<'a, T>),
}

/// Codes of a contiguous piece: a plain loop, compiled for each instruction set.
#[inline(always)]
fn codes<S: fearless_simd::Simd, T: Code, C: Code, O: Copy>(
    _: S,
    values: &[T],
    wrap: impl Fn(T) -> C,
    keep: Option<Keep<'_>>,
    out: &mut [O],
    narrow: impl Fn(u64) -> O,
) -> u64 {
    let mut union = 0;
    match keep {
        None => {
            for (out, &value) in out.iter_mut().zip(values) {
                let code = wrap(value).code();
                union |= code;
                *out = narrow(code);
            }
        }
        Some(keep) => {
            for ((out, &value), &counts) in out.iter_mut().zip(values).zip(keep.voxels) {
                let code = if counts != 0 { wrap(value).code() } else { u64::from(keep.excluded) };
                union |= code;
                *out = narrow(code);
            }
        }
    }
    union
}

/// Which elements of a contiguous piece are not 0, likewise.
#[inline(always)]
fn foreground<S: fearless_simd::Simd, T: Code, C: Code>(_: S, values: &[T], wrap: impl Fn(T) -> C, out: &mut [u8]) {
    for (out, &value) in out.iter_mut().zip(values) {
        *out = u8::from(wrap(value).is_foreground());
    }
}

/// Codes of elements that lie apart.
fn gathered<T: Code, C: Code, O: Copy>(
    values: impl Iterator<Item = T>,
    wrap: impl Fn(T) -> C,
    keep: Option<Keep<'_>>,
    out: &mut [O],
    narrow: impl Fn(u64) -> O,
) -> u64 {
    let mut union = 0;
    for (i, (out, value)) in out.iter_mut().zip(values).enumerate() {
        let code = match keep {
            Some(keep) if keep.voxels[i] == 0 => u64::from(keep.excluded),
            _ => wrap(value).code(),
        };
        union |= code;
        *out = narrow(code);
    }
    union
}

impl<T: Code, C: Code, F: Fn(T) -> C + Copy + Send + Sync> Image for View<'_, T, F> {
    fn bytes(&self, start: usize, len: usize) -> Option<&[u8]> {
        T::bytes(&self.flat()?[start..start + len])
    }

    #[expect(clippy::cast_possible_truncation, reason = "what does not fit is told by the union")]
    fn read_u8(&self, level: fearless_simd::Level, start: usize, keep: Option<Keep<'_>>, out: &mut [u8]) -> u64 {
        self.read(level, (start, out.len()), keep, out, |code| code as u8)
    }

    fn read_codes(&self, level: fearless_simd::Level, start: usize, out: &mut [u64]) {
        self.read(level, (start, out.len()), None, out, |code| code);
    }

    #[expect(clippy::cast_possible_truncation, reason = "at most 255")]
    fn read_saturated(&self, level: fearless_simd::Level, start: usize, out: &mut [u8]) {
        self.read(level, (start, out.len()), None, out, |code| code.min(255) as u8);
    }

    #[expect(clippy::cast_possible_truncation, reason = "what does not fit is told by the union")]
    fn read_u32(&self, level: fearless_simd::Level, start: usize, keep: Option<Keep<'_>>, out: &mut [u32]) -> u64 {
        self.read(level, (start, out.len()), keep, out, |code| code as u32)
    }

    fn read_foreground(&self, level: fearless_simd::Level, start: usize, out: &mut [u8]) {
        let wrap = self.wrap;
        self.pieces(start, out.len(), |at, piece| match piece {
            Piece::Slice(slice) => {
                let out = &mut out[at..at + slice.len()];
                fearless_simd::dispatch!(level, simd => foreground(simd, slice, wrap, out));
            }
            Piece::Line(line) => {
                for (out, &value) in out[at..].iter_mut().zip(line) {
                    *out = u8::from(wrap(value).is_foreground());
                }
            }
        });
    }

    fn drop_label(&self, start: usize, ignore: i64, keep: &mut [u8]) {
        let wrap = self.wrap;
        self.pieces(start, keep.len(), |at, piece| match piece {
            Piece::Slice(slice) => {
                for (keep, &value) in keep[at..].iter_mut().zip(slice) {
                    *keep &= u8::from(!wrap(value).equals(ignore));
                }
            }
            Piece::Line(line) => {
                for (keep, &value) in keep[at..].iter_mut().zip(line) {
                    *keep &= u8::from(!wrap(value).equals(ignore));
                }
            }
        });
    }

    fn for_each(&self, f: &mut dyn FnMut(usize, Value)) {
        for (i, &value) in self.view.iter().enumerate() {
            f(i, (self.wrap)(value).value());
        }
    }
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

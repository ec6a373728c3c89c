//! Masks and label maps of any dtype and strides, read row by row as bytes.

use exacta_core::ndarray::{ArrayBase, ArrayView3, ArrayViewD, Axis, Ix3, IxDyn, RawData};
use exacta_core::{Error, Labels, Level, Result};

/// One image of three axes, asked for bytes of a row: row `y` of slice `z`.
pub(crate) trait Source: Send + Sync {
    /// 1 where the value is not zero.
    fn nonzero(&self, level: Level, at: [usize; 2], out: &mut [u8]);
    /// 1 where the value differs from that of the previous voxel along `axis`, which exists but on axis 2, where the first is 0.
    fn differs(&self, level: Level, axis: usize, at: [usize; 2], out: &mut [u8]);
}

/// A view whose elements `wrap` makes comparable.
struct View<'a, T, F> {
    view: ArrayView3<'a, T>,
    wrap: F,
}

impl<T: Copy, F> View<'_, T, F> {
    fn row(&self, [z, y]: [usize; 2]) -> Row<'_, T> {
        let row = self.view.index_axis(Axis(0), z).index_axis_move(Axis(0), y);
        match row.to_slice() {
            Some(slice) => Row::Slice(slice),
            None => Row::Line(row.to_vec()),
        }
    }
}

/// A row, copied where its elements lie apart.
enum Row<'a, T> {
    Slice(&'a [T]),
    Line(Vec<T>),
}

impl<T> std::ops::Deref for Row<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Self::Slice(slice) => slice,
            Self::Line(line) => line,
        }
    }
}

impl<T: Copy + Send + Sync, U: PartialEq + Default, F: Fn(T) -> U + Copy + Send + Sync> Source for View<'_, T, F> {
    fn nonzero(&self, level: Level, at: [usize; 2], out: &mut [u8]) {
        let (row, wrap) = (self.row(at), self.wrap);
        exacta_core::dispatch!(level, simd => nonzero(simd, &row, wrap, out));
    }

    fn differs(&self, level: Level, axis: usize, [z, y]: [usize; 2], out: &mut [u8]) {
        let (row, wrap) = (self.row([z, y]), self.wrap);
        match axis {
            0 | 1 => {
                let before = self.row(if axis == 0 { [z - 1, y] } else { [z, y - 1] });
                exacta_core::dispatch!(level, simd => differs(simd, &before, &row, wrap, out));
            }
            _ => {
                out[0] = 0;
                let n = row.len();
                exacta_core::dispatch!(level, simd => differs(simd, &row[..n - 1], &row[1..], wrap, &mut out[1..]));
            }
        }
    }
}

#[inline(always)]
fn nonzero<S, T: Copy, U: PartialEq + Default>(_: S, row: &[T], wrap: impl Fn(T) -> U, out: &mut [u8]) {
    for (out, &value) in out.iter_mut().zip(row) {
        *out = u8::from(wrap(value) != U::default());
    }
}

#[inline(always)]
fn differs<S, T: Copy, U: PartialEq>(_: S, before: &[T], row: &[T], wrap: impl Fn(T) -> U, out: &mut [u8]) {
    for ((out, &before), &value) in out.iter_mut().zip(before).zip(row) {
        *out = u8::from(wrap(before) != wrap(value));
    }
}

/// Whatever is not zero as 1: the two sides of a mask as labels.
struct Sides<'a>(Box<dyn Source + 'a>);

impl Source for Sides<'_> {
    fn nonzero(&self, level: Level, at: [usize; 2], out: &mut [u8]) {
        self.0.nonzero(level, at, out);
    }

    fn differs(&self, level: Level, axis: usize, [z, y]: [usize; 2], out: &mut [u8]) {
        let mut before = vec![0; out.len()];
        self.0.nonzero(level, [z, y], out);
        match axis {
            0 => self.0.nonzero(level, [z - 1, y], &mut before),
            1 => self.0.nonzero(level, [z, y - 1], &mut before),
            _ => {
                before[0] = out[0];
                let n = out.len();
                before[1..].copy_from_slice(&out[..n - 1]);
            }
        }
        for (out, before) in out.iter_mut().zip(before) {
            *out ^= before;
        }
    }
}

/// An image as seen by the transform: which leading indices it has, and which of its axes is which of the kernel's.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// Indices of the leading axes.
    pub(crate) leading: Vec<usize>,
    /// The image's axis that is each of the kernel's; none is an axis of length 1.
    pub(crate) axes: [Option<usize>; 3],
}

impl Place {
    /// The kernel's view of the image in an array.
    pub(crate) fn of_array<'a, T>(&self, view: &ArrayViewD<'a, T>) -> ArrayView3<'a, T> {
        let mut view = view.clone();
        for &index in &self.leading {
            view = view.index_axis_move(Axis(0), index);
        }
        self.of_image(view)
    }

    /// The kernel's view of an image: axes of length 1 go, and come back where the kernel wants them.
    pub(crate) fn of_image<S: RawData>(&self, mut view: ArrayBase<S, IxDyn>) -> ArrayBase<S, Ix3> {
        let mut kept: Vec<usize> = self.axes.iter().copied().flatten().collect();
        let axes = kept.clone();
        kept.sort_unstable();
        for axis in (0..view.ndim()).rev().filter(|axis| !kept.contains(axis)) {
            view = view.index_axis_move(Axis(axis), 0);
        }
        let order: Vec<usize> =
            axes.iter().map(|axis| kept.iter().position(|other| other == axis).expect("kept")).collect();
        let mut view = view.permuted_axes(order);
        for (place, _) in self.axes.iter().enumerate().filter(|(_, axis)| axis.is_none()) {
            view = view.insert_axis(Axis(place));
        }
        view.into_dimensionality().expect("three axes")
    }

    /// The source of one image of `labels`; `sides` reads every value as zero or one.
    ///
    /// # Errors
    /// [`Error::Unavailable`] for a dtype that came later than this crate.
    pub(crate) fn source<'a>(&self, labels: &Labels<'a>, sides: bool) -> Result<Box<dyn Source + 'a>> {
        macro_rules! boxed {
            ($view:expr, $wrap:expr) => {
                Box::new(View { view: self.of_array($view), wrap: $wrap })
            };
        }
        // Halves are compared by their bits, both zeros as one.
        let half = |bits: u16| if bits & 0x7fff == 0 { 0 } else { bits };
        let source: Box<dyn Source + 'a> = match labels {
            Labels::Bool(view) => boxed!(view, |v: bool| v),
            Labels::U8(view) => boxed!(view, |v: u8| v),
            Labels::I8(view) => boxed!(view, |v: i8| v),
            Labels::U16(view) => boxed!(view, |v: u16| v),
            Labels::I16(view) => boxed!(view, |v: i16| v),
            Labels::U32(view) => boxed!(view, |v: u32| v),
            Labels::I32(view) => boxed!(view, |v: i32| v),
            Labels::U64(view) => boxed!(view, |v: u64| v),
            Labels::I64(view) => boxed!(view, |v: i64| v),
            Labels::F32(view) => boxed!(view, |v: f32| v),
            Labels::F64(view) => boxed!(view, |v: f64| v),
            Labels::F16(view) | Labels::Bf16(view) => boxed!(view, half),
            _ => {
                return Err(Error::Unavailable {
                    argument: "dtype",
                    value: "unknown",
                    names: &["bool", "integers", "floats"],
                });
            }
        };
        Ok(if sides { Box::new(Sides(source)) } else { source })
    }
}

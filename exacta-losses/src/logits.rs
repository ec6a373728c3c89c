//! What a loss is a function of: logits or predictions, and their gradient, as they lie in memory.

use exacta_core::ndarray::{ArrayViewD, ArrayViewMutD};
use exacta_core::{Level, Result};

use crate::half::{bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16};
use crate::number::Number;
use crate::view::{self, View};

/// The input of a loss, `(B, C, *spatial)`, borrowed with any strides.
///
/// Half-precision arrays come as their bits; they are computed in `f32`, as are those of `f32`; `f64` in `f64`.
#[derive(Debug, Clone)]
pub enum Logits<'a> {
    /// IEEE half precision, as bits.
    F16(ArrayViewD<'a, u16>),
    /// bfloat16, as bits.
    Bf16(ArrayViewD<'a, u16>),
    /// Single precision.
    F32(ArrayViewD<'a, f32>),
    /// Double precision.
    F64(ArrayViewD<'a, f64>),
}

impl Logits<'_> {
    /// Shape of the array.
    pub fn shape(&self) -> &[usize] {
        match self {
            Self::F16(view) | Self::Bf16(view) => view.shape(),
            Self::F32(view) => view.shape(),
            Self::F64(view) => view.shape(),
        }
    }

    /// Whether the loss is computed in double precision.
    pub fn is_double(&self) -> bool {
        matches!(self, Self::F64(_))
    }
}

impl<'a> From<ArrayViewD<'a, f32>> for Logits<'a> {
    fn from(view: ArrayViewD<'a, f32>) -> Self {
        Self::F32(view)
    }
}

impl<'a> From<ArrayViewD<'a, f64>> for Logits<'a> {
    fn from(view: ArrayViewD<'a, f64>) -> Self {
        Self::F64(view)
    }
}

/// Where a gradient is written: the shape of the input, any strides. Contiguous and channels-last arrays are the fast ones.
#[derive(Debug)]
pub enum LogitsMut<'a> {
    /// IEEE half precision, as bits; rounded once.
    F16(ArrayViewMutD<'a, u16>),
    /// bfloat16, as bits; rounded once.
    Bf16(ArrayViewMutD<'a, u16>),
    /// Single precision.
    F32(ArrayViewMutD<'a, f32>),
    /// Double precision.
    F64(ArrayViewMutD<'a, f64>),
}

impl LogitsMut<'_> {
    /// Shape of the array.
    pub fn shape(&self) -> &[usize] {
        match self {
            Self::F16(view) | Self::Bf16(view) => view.shape(),
            Self::F32(view) => view.shape(),
            Self::F64(view) => view.shape(),
        }
    }
}

impl<'a> From<ArrayViewMutD<'a, f32>> for LogitsMut<'a> {
    fn from(view: ArrayViewMutD<'a, f32>) -> Self {
        Self::F32(view)
    }
}

impl<'a> From<ArrayViewMutD<'a, f64>> for LogitsMut<'a> {
    fn from(view: ArrayViewMutD<'a, f64>) -> Self {
        Self::F64(view)
    }
}

/// An IEEE half.
#[derive(Clone, Copy)]
pub(crate) struct Half;
/// A bfloat16.
#[derive(Clone, Copy)]
pub(crate) struct Brain;

/// How an element type of memory is read into, and rounded from, the number type of the computation.
pub(crate) trait Codec: Copy + Send + Sync {
    /// What lies in memory.
    type Word: Copy + Send + Sync;
    fn load<F: Number>(self, word: Self::Word) -> F;
    fn store<F: Number>(self, value: F) -> Self::Word;
}

/// Numbers stored as themselves.
#[derive(Clone, Copy)]
pub(crate) struct Plain<T>(std::marker::PhantomData<T>);

impl<T> Plain<T> {
    pub(crate) const fn new() -> Self {
        Self(std::marker::PhantomData)
    }
}

impl<T: Number> Codec for Plain<T> {
    type Word = T;

    #[inline(always)]
    fn load<F: Number>(self, word: T) -> F {
        F::from_f64(word.to_f64())
    }

    #[inline(always)]
    fn store<F: Number>(self, value: F) -> T {
        T::from_f64(value.to_f64())
    }
}

macro_rules! halves {
    ($($codec:ident $load:ident $store:ident),+) => {$(
        impl Codec for $codec {
            type Word = u16;

            #[inline(always)]
            fn load<F: Number>(self, word: u16) -> F {
                F::from_f64(f64::from($load(word)))
            }

            #[inline(always)]
            fn store<F: Number>(self, value: F) -> u16 {
                #[expect(clippy::cast_possible_truncation, reason = "halves are computed in single precision")]
                $store(value.to_f64() as f32)
            }
        }
    )+};
}
halves!(Half f16_to_f32 f32_to_f16, Brain bf16_to_f32 f32_to_bf16);

/// Logits with their axes merged, ready to be read.
#[derive(Debug, Clone)]
pub(crate) enum LogitViews<'a> {
    F16(View<'a, u16>),
    Bf16(View<'a, u16>),
    F32(View<'a, f32>),
    F64(View<'a, f64>),
}

impl<'a> LogitViews<'a> {
    pub(crate) fn new(logits: &Logits<'a>) -> Result<Self> {
        Ok(match logits {
            Logits::F16(array) => Self::F16(view::view(array, true)?),
            Logits::Bf16(array) => Self::Bf16(view::view(array, true)?),
            Logits::F32(array) => Self::F32(view::view(array, true)?),
            Logits::F64(array) => Self::F64(view::view(array, true)?),
        })
    }

    /// Voxels `start..` of a channel as numbers.
    pub(crate) fn read<F: Number>(&self, level: Level, at: [usize; 2], start: usize, out: &mut [F]) {
        match self {
            Self::F16(array) => view::read(level, array, at, start, out, |word| Half.load(word)),
            Self::Bf16(array) => view::read(level, array, at, start, out, |word| Brain.load(word)),
            Self::F32(array) => view::read(level, array, at, start, out, |word| Plain::<f32>::new().load(word)),
            Self::F64(array) => view::read(level, array, at, start, out, |word| Plain::<f64>::new().load(word)),
        }
    }

    /// Some of the voxels `start..start + len` of a channel as numbers, by their place among these.
    pub(crate) fn gather<F: Number>(
        &self,
        level: Level,
        at: [usize; 2],
        (start, len): (usize, usize),
        places: &[u16],
        out: &mut [F],
    ) {
        match self {
            Self::F32(array) if array.is_standard_layout() => gather_flat(array, at, start, places, out),
            Self::F64(array) if array.is_standard_layout() => gather_flat(array, at, start, places, out),
            _ => {
                let mut all = vec![F::default(); len];
                self.read(level, at, start, &mut all);
                out.iter_mut().zip(places).for_each(|(out, &place)| *out = all[usize::from(place)]);
            }
        }
    }
}

/// [`LogitViews::gather`] of numbers that lie one after the other.
fn gather_flat<T: Number, F: Number>(
    array: &View<'_, T>,
    [case, channel]: [usize; 2],
    start: usize,
    places: &[u16],
    out: &mut [F],
) {
    let (_, channels, n0, n1, n2, n3) = array.dim();
    let flat = array.to_slice().expect("in standard layout");
    let flat = &flat[(case * channels + channel) * (n0 * n1 * n2 * n3) + start..];
    for (out, &place) in out.iter_mut().zip(places) {
        *out = Plain::<T>::new().load(flat[usize::from(place)]);
    }
}

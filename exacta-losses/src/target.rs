//! What a loss compares with: class indices, or a number a class, read in their own dtype.

use exacta_core::{Labels, Level, Result};

use crate::dispatch::dispatch;
use crate::half::{bf16_to_f32, f16_to_f32};
use crate::number::Number;
use crate::view::{self, Piece, View};

/// The reference of a loss, borrowed with any strides and of any dtype that `Labels` knows.
#[derive(Debug, Clone)]
pub enum Target<'a> {
    /// A class a voxel, `(B, *spatial)` or `(B, 1, *spatial)`: whole numbers in `[0, C)` where the voxel counts.
    Index(Labels<'a>),
    /// A number a voxel and class, the shape of the input: 0 and 1, or soft targets, taken as they are.
    OneHot(Labels<'a>),
}

impl<'a> Target<'a> {
    /// The array.
    pub const fn labels(&self) -> &Labels<'a> {
        match self {
            Self::Index(labels) | Self::OneHot(labels) => labels,
        }
    }
}

/// Labels with their axes merged.
#[derive(Debug, Clone)]
pub(crate) enum LabelViews<'a> {
    U8(View<'a, u8>),
    I8(View<'a, i8>),
    U16(View<'a, u16>),
    I16(View<'a, i16>),
    U32(View<'a, u32>),
    I32(View<'a, i32>),
    U64(View<'a, u64>),
    I64(View<'a, i64>),
    F32(View<'a, f32>),
    F64(View<'a, f64>),
    F16(View<'a, u16>),
    Bf16(View<'a, u16>),
    Bool(View<'a, bool>),
}

/// Runs an expression for the view inside and what makes its elements numbers.
macro_rules! with_labels {
    ($views:expr, $view:ident, $number:ident => $body:expr) => {
        with_labels!(@arms $views, $view, $number, $body;
            U8 |v: u8| v, I8 |v: i8| v, U16 |v: u16| v, I16 |v: i16| v, U32 |v: u32| v, I32 |v: i32| v, U64 |v: u64| v,
            I64 |v: i64| v, F32 |v: f32| v, F64 |v: f64| v, F16 f16_to_f32, Bf16 bf16_to_f32, Bool u8::from)
    };
    (@arms $views:expr, $view:ident, $number:ident, $body:expr; $($variant:ident $convert:expr),+) => {
        match $views { $(LabelViews::$variant($view) => { let $number = $convert; $body })+ }
    };
}

impl<'a> LabelViews<'a> {
    /// Views of an array with channels, or without: then an axis of length 1 stands for them.
    pub(crate) fn new(labels: &Labels<'a>, channels: bool) -> Result<Self> {
        Ok(match labels {
            Labels::Bool(array) => Self::Bool(view::view(array, channels)?),
            Labels::U8(array) => Self::U8(view::view(array, channels)?),
            Labels::I8(array) => Self::I8(view::view(array, channels)?),
            Labels::U16(array) => Self::U16(view::view(array, channels)?),
            Labels::I16(array) => Self::I16(view::view(array, channels)?),
            Labels::U32(array) => Self::U32(view::view(array, channels)?),
            Labels::I32(array) => Self::I32(view::view(array, channels)?),
            Labels::U64(array) => Self::U64(view::view(array, channels)?),
            Labels::I64(array) => Self::I64(view::view(array, channels)?),
            Labels::F32(array) => Self::F32(view::view(array, channels)?),
            Labels::F64(array) => Self::F64(view::view(array, channels)?),
            Labels::F16(array) => Self::F16(view::view(array, channels)?),
            Labels::Bf16(array) => Self::Bf16(view::view(array, channels)?),
            _ => {
                return Err(exacta_core::Error::Unavailable {
                    argument: "target",
                    value: "this dtype",
                    names: &["bool", "integers", "floats"],
                });
            }
        })
    }

    /// Voxels `start..` of a channel as numbers.
    pub(crate) fn numbers<F: Number>(&self, level: Level, at: [usize; 2], start: usize, out: &mut [F]) {
        with_labels!(self, array, number => view::read(level, array, at, start, out, |word| Word::number(number(word))));
    }

    /// Voxels `start..` as class numbers, -1 where `out` is negative already or the label is `ignore`; the count of those
    /// that are left and no class.
    pub(crate) fn classes<F: Number>(&self, level: Level, case: usize, start: usize, rule: Rule, out: &mut [F]) -> u64 {
        let mut invalid = 0;
        with_labels!(self, array, number => {
            view::pieces(array, [case, 0], start, out.len(), |done, piece| match piece {
                Piece::Slice(slice) => {
                    let out = &mut out[done..done + slice.len()];
                    invalid += dispatch!(level, simd => classify(simd, slice, number, rule, out));
                }
                Piece::Line(line) => {
                    for (out, &word) in out[done..].iter_mut().zip(line) {
                        invalid += u64::from(number(word).judge(&rule.of(), out));
                    }
                }
            });
        });
        invalid
    }

    /// Smallest and largest of the counted labels, for a message; `keep` says which voxels count.
    pub(crate) fn range(&self, case: usize, start: usize, ignore: Option<i64>, keep: &[u8], out: &mut (f64, f64)) {
        with_labels!(self, array, number => {
            view::pieces(array, [case, 0], start, keep.len(), |done, piece| {
                let mut one = |i: usize, word| {
                    let label = number(word);
                    if keep[done + i] != 0 && !label.is_label(ignore) {
                        let value: f64 = label.number();
                        // A NaN is shown as the largest.
                        out.0 = out.0.min(value);
                        out.1 = if value <= out.1 { out.1 } else { value };
                    }
                };
                match piece {
                    Piece::Slice(slice) => slice.iter().enumerate().for_each(|(i, &word)| one(i, word)),
                    Piece::Line(line) => line.iter().enumerate().for_each(|(i, &word)| one(i, word)),
                }
            });
        });
    }
}

#[inline(always)]
fn classify<S, T: Copy, W: Word, F: Number>(
    _: S,
    words: &[T],
    number: impl Fn(T) -> W,
    rule: Rule,
    out: &mut [F],
) -> u64 {
    let all = rule.all;
    let rule = rule.of();
    // Two loops of one width each, which become vectors as one of both would not.
    if all && W::all_fit(words.iter().map(|&word| number(word)), &rule) {
        out.iter_mut().zip(words).for_each(|(out, &word)| *out = number(word).class());
        return 0;
    }
    let mut invalid = 0u32;
    for (out, &word) in out.iter_mut().zip(words) {
        invalid += u32::from(number(word).judge(&rule, out));
    }
    u64::from(invalid)
}

/// Which labels are classes, and which is ignored.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rule {
    pub(crate) channels: usize,
    pub(crate) ignore: Option<i64>,
    /// Every voxel counts.
    pub(crate) all: bool,
}

impl Rule {
    #[inline(always)]
    fn of<W: Word>(self) -> RuleOf<W> {
        let ignore = self.ignore.and_then(W::exactly);
        RuleOf { top: W::at_most(self.channels - 1), ignores: ignore.is_some(), ignore: ignore.unwrap_or_default() }
    }
}

/// The same in the dtype of the labels.
struct RuleOf<W> {
    top: W,
    ignores: bool,
    ignore: W,
}

/// A label as it is compared.
trait Word: Copy + Default + PartialOrd {
    /// The nearest number of the computation.
    fn number<F: Number>(self) -> F;
    /// The same where the value is a class, and anything elsewhere.
    #[inline(always)]
    fn class<F: Number>(self) -> F {
        self.number()
    }
    /// A label of this dtype, if it has it.
    fn exactly(label: i64) -> Option<Self>;
    /// The class, or the largest of this dtype if that is smaller.
    fn at_most(class: usize) -> Self;
    /// Whether the value is whole.
    fn is_whole(self) -> bool;

    #[inline(always)]
    fn is_label(self, label: Option<i64>) -> bool {
        label.and_then(Self::exactly).is_some_and(|label| label == self)
    }

    /// Whether the value is a class.
    #[inline(always)]
    fn fits(self, rule: &RuleOf<Self>) -> bool {
        (self >= Self::default()) & (self <= rule.top) & self.is_whole()
    }

    /// Whether all values are classes.
    #[inline(always)]
    fn all_fit(words: impl Iterator<Item = Self>, rule: &RuleOf<Self>) -> bool {
        words.fold(true, |fit, word| fit & word.fits(rule))
    }

    /// Makes `out` the class, or -1; whether it counts and is no class.
    #[inline(always)]
    fn judge<F: Number>(self, rule: &RuleOf<Self>, out: &mut F) -> bool {
        let counts = (*out >= F::default()) & !(rule.ignores & (self == rule.ignore));
        *out = if counts { self.class() } else { F::from_f64(-1.0) };
        counts & !self.fits(rule)
    }
}

macro_rules! integer_words {
    ($($type:ty),+) => {$(
        impl Word for $type {
            #[allow(clippy::cast_precision_loss, clippy::cast_lossless, reason = "the nearest is meant")]
            #[inline(always)]
            fn number<F: Number>(self) -> F {
                F::from_f64(self as f64)
            }

            // Every instruction set converts 32-bit integers.
            #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_lossless, clippy::cast_sign_loss,
                    reason = "classes are below 2^24")]
            #[inline(always)]
            fn class<F: Number>(self) -> F {
                F::from_i32(self as i32)
            }

            #[inline(always)]
            fn exactly(label: i64) -> Option<Self> {
                label.try_into().ok()
            }

            #[inline(always)]
            fn at_most(class: usize) -> Self {
                class.try_into().unwrap_or(Self::MAX)
            }

            #[inline(always)]
            fn is_whole(self) -> bool {
                true
            }

            #[allow(unused_comparisons, clippy::absurd_extreme_comparisons, reason = "there are unsigned types too")]
            #[inline(always)]
            fn all_fit(words: impl Iterator<Item = Self>, rule: &RuleOf<Self>) -> bool {
                if <$type>::MIN == 0 {
                    return words.fold(true, |fit, word| fit & (word <= rule.top));
                }
                // The sign is set of what is below 0, and of the distance of what is above; 64 bits are not compared on every machine.
                words.fold(0, |signs, word| signs | word | rule.top.wrapping_sub(word)) >= 0
            }
        }
    )+};
}
integer_words!(u8, i8, u16, i16, u32, i32, u64, i64);

macro_rules! float_words {
    ($($type:ty),+) => {$(
        impl Word for $type {
            #[allow(clippy::cast_lossless, reason = "one of the two is lossless")]
            #[inline(always)]
            fn number<F: Number>(self) -> F {
                F::from_f64(self as f64)
            }

            #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "compared as the nearest float")]
            #[inline(always)]
            fn exactly(label: i64) -> Option<Self> {
                Some(label as Self)
            }

            #[allow(clippy::cast_precision_loss, reason = "classes are below 2^24")]
            #[inline(always)]
            fn at_most(class: usize) -> Self {
                class as Self
            }

            #[inline(always)]
            fn is_whole(self) -> bool {
                self.trunc() == self
            }
        }
    )+};
}
float_words!(f32, f64);

//! One image of a label array, read piece by piece of its raster order.

use ndarray::{ArrayView3, Axis, Slice};

use crate::labels::sealed::{Code, Value};

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
pub(crate) struct View<'a, T, F> {
    view: ArrayView3<'a, T>,
    wrap: F,
}

impl<'a, T: Code, C: Code, F: Fn(T) -> C + Copy + Send + Sync> View<'a, T, F> {
    pub(crate) fn new(view: ArrayView3<'a, T>, wrap: F) -> Self {
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
                    fearless_simd::dispatch!(level, simd => strands(simd, slice, wrap, keep, out, narrow))
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

/// Codes of a contiguous piece, read at several places in turn: a core has more cache lines under way when several
/// prefetchers run, which is what bounds the reading of wide labels.
#[inline(always)]
fn strands<S: fearless_simd::Simd, T: Code, C: Code, O: Copy>(
    simd: S,
    values: &[T],
    wrap: impl Fn(T) -> C + Copy,
    keep: Option<Keep<'_>>,
    out: &mut [O],
    narrow: impl Fn(u64) -> O + Copy,
) -> u64 {
    const STRANDS: usize = 8;
    let block = const { 512 / size_of::<T>() };
    let strand = if size_of::<T>() < 4 { 0 } else { values.len() / STRANDS / block * block };
    let mut union = 0;
    for at in (0..strand).step_by(block) {
        for s in 0..STRANDS {
            let first = s * strand + at;
            union |= codes_at(simd, values, wrap, keep, out, narrow, first..first + block);
        }
    }
    union | codes_at(simd, values, wrap, keep, out, narrow, STRANDS * strand..values.len())
}

/// Codes of some elements of a piece. A function, as a closure might not be compiled for the instruction set.
#[inline(always)]
fn codes_at<S: fearless_simd::Simd, T: Code, C: Code, O: Copy>(
    simd: S,
    values: &[T],
    wrap: impl Fn(T) -> C + Copy,
    keep: Option<Keep<'_>>,
    out: &mut [O],
    narrow: impl Fn(u64) -> O + Copy,
    range: std::ops::Range<usize>,
) -> u64 {
    let keep = keep.map(|keep| Keep { voxels: &keep.voxels[range.clone()], ..keep });
    codes(simd, &values[range.clone()], wrap, keep, &mut out[range], narrow)
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
            let mut plain = |out: &mut [O], values: &[T]| {
                for (out, &value) in out.iter_mut().zip(values) {
                    let code = wrap(value).code();
                    union |= code;
                    *out = narrow(code);
                }
            };
            if !T::COSTLY {
                plain(out, values);
                return union;
            }
            let (blocks, rest) = values.as_chunks::<64>();
            let (out_blocks, out_rest) = out.as_chunks_mut::<64>();
            for (out, values) in out_blocks.iter_mut().zip(blocks) {
                if T::uniform(values) {
                    plain(&mut out[..1], &values[..1]);
                    let code = out[0];
                    out.fill(code);
                } else {
                    plain(out, values);
                }
            }
            plain(out_rest, rest);
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

    #[expect(clippy::cast_possible_truncation, reason = "what does not fit is told by the union")]
    fn read_u32(&self, level: fearless_simd::Level, start: usize, keep: Option<Keep<'_>>, out: &mut [u32]) -> u64 {
        self.read(level, (start, out.len()), keep, out, |code| code as u32)
    }

    fn read_codes(&self, level: fearless_simd::Level, start: usize, out: &mut [u64]) {
        self.read(level, (start, out.len()), None, out, |code| code);
    }

    fn read_saturated(&self, level: fearless_simd::Level, start: usize, out: &mut [u8]) {
        self.read(level, (start, out.len()), None, out, |code| code.min(255) as u8);
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
    use crate::testing::levels;

    /// Lengths about the size of a block and of a whole turn of strands, with and without excluded voxels.
    #[test]
    fn strands_read_every_element_in_its_place() {
        fn check<T: Code>(element: impl Fn(usize) -> T) {
            for len in [0, 1, 511, 512, 1023, 1024, 4096 + 77, 3 * 4096 + 130] {
                let values: Vec<T> = (0..len).map(&element).collect();
                let kept: Vec<u8> = (0..len).map(|i| u8::from(i % 5 != 3)).collect();
                let view = ArrayView3::from_shape((1, 1, len), &values).expect("as many values");
                let view = View::new(view, |value: T| value);
                for level in levels() {
                    for keep in [None, Some(Keep { voxels: &kept, excluded: 9 })] {
                        let mut out = vec![7u8; len];
                        let union = view.read_u8(level, 0, keep, &mut out);
                        let code = |i: usize| if keep.is_some() && i % 5 == 3 { 9 } else { values[i].code() };
                        assert!((0..len).all(|i| u64::from(out[i]) == code(i)), "{len} elements");
                        assert_eq!(union, (0..len).fold(0, |union, i| union | code(i)));
                    }
                }
            }
        }
        check(|i| (i * 7 % 256) as i64);
        check(|i| (i * 7 % 256) as u32);
        check(|i| (i * 7 % 256) as f32);
        check(|i| (i / 200) as f32);
        check(|i| (i / 200) as f64);
        check(|i| (i * 7 % 256) as u8);
    }
}

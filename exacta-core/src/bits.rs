//! One bit a voxel: what is done to a mask rather than to labels is done 64 voxels at a time.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use fearless_simd::{Simd, SimdBase, SimdMask, u8x64};
use ndarray::{ArrayD, Axis, IxDyn};

use crate::image::Image;
use crate::labels::sealed::Value;
use crate::parallel::Threads;
use crate::{Connectivity, Cpu, Error, Grid, Labels, Region, Result};

/// Below this many words, one thread is quicker than waking another.
const SERIAL: usize = 1 << 10;
/// The same for writing bytes.
const SERIAL_WRITE: usize = 1 << 15;
/// Voxels that are read at once where they are not bytes, or written at once.
const TILE: usize = 1 << 14;

/// A mask of one to three axes, a bit a voxel, in the order of memory of the array it was read from.
///
/// Each row starts a word of its own: column `x` is bit `x % 64` of word `x / 64`, and bits beyond the row are 0. An eighth
/// of the size of a mask of bytes, so that what works on bits works in cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bits {
    grid: Grid,
    words: Vec<u64>,
}

impl Bits {
    /// No voxel.
    pub fn empty(grid: Grid) -> Self {
        Self { grid, words: vec![0; grid.size()[0] * grid.size()[1] * grid.words()] }
    }

    /// The voxels of an image that are anything but 0: negative, fractional and NaN values too. Each byte is read once.
    ///
    /// # Errors
    /// [`Error::ImageRank`] unless it has one to three axes.
    pub fn nonzero<'a>(cpu: &Cpu, image: impl Into<Labels<'a>>) -> Result<Self> {
        let image = image.into();
        let grid = image.grid()?;
        let image = image.image(&[], &grid);
        Ok(Self::read(cpu, &*image, grid))
    }

    /// The voxels of an image of zeros and ones that are 1. Each byte is read once.
    ///
    /// # Errors
    /// [`Error::ImageRank`] unless it has one to three axes; [`Error::NotBinary`] for any other value, NaN too.
    pub fn binary<'a>(cpu: &Cpu, image: impl Into<Labels<'a>>) -> Result<Self> {
        let image = image.into();
        let grid = image.grid()?;
        Self::read_binary(cpu, &*image.image(&[], &grid), grid, "mask")
    }

    /// The same for an image in the order of `grid`, which is called `argument` in errors.
    pub(crate) fn read_binary(cpu: &Cpu, image: &dyn Image, grid: Grid, argument: &'static str) -> Result<Self> {
        let binary = AtomicBool::new(true);
        let bits = Self::read_with(cpu, image, grid, |start, len, tile| {
            let fits = match image.bytes(start, len) {
                // The largest first, in a loop without branches.
                Some(bytes) => bytes.iter().fold(0, |all, &byte| all | byte) <= 1,
                None => {
                    tile.resize(len, 0);
                    image.read_u8(cpu.level, start, None, tile) <= 1
                }
            };
            if !fits {
                binary.store(false, Ordering::Relaxed);
            }
        });
        if binary.into_inner() { Ok(bits) } else { Err(not_binary(image, argument)) }
    }

    /// The same, kept in the order of another mask's axes, so that the two can be compared bit by bit.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if the image has another shape than the grid.
    pub fn nonzero_as<'a>(cpu: &Cpu, image: impl Into<Labels<'a>>, grid: &Grid) -> Result<Self> {
        let image = image.into();
        if image.shape() != grid.shape() {
            return Err(Error::ShapeMismatch { pred: grid.shape(), target: image.shape().to_vec() });
        }
        Ok(Self::read(cpu, &*image.image(&[], grid), *grid))
    }

    fn read(cpu: &Cpu, image: &dyn Image, grid: Grid) -> Self {
        Self::read_with(cpu, image, grid, |start, len, tile| {
            if image.bytes(start, len).is_none() {
                tile.resize(len, 0);
                image.read_foreground(cpu.level, start, tile);
            }
        })
    }

    /// As [`Self::nonzero`], in parts of whole rows at the same time; `ends` has the end of each part. `then` is
    /// called with the number and the words of each as soon as they are there, in cache.
    ///
    /// # Errors
    /// As [`Self::nonzero`].
    ///
    /// # Panics
    /// If ends do not ascend to the number of rows.
    pub fn nonzero_in_parts<'a, T: Send>(
        cpu: &Cpu,
        image: impl Into<Labels<'a>>,
        ends: &[usize],
        then: impl Fn(usize, &[u64]) -> T + Sync,
    ) -> Result<(Self, Vec<T>)> {
        let image = image.into();
        let grid = image.grid()?;
        let image = image.image(&[], &grid);
        let mut bits = Self::empty(grid);
        let (mut parts, mut rest, mut start) = (Vec::new(), &mut bits.words[..], 0);
        for &end in ends {
            let words;
            (words, rest) = rest.split_at_mut((end - start) * grid.words());
            parts.push((start..end, Mutex::new(words)));
            start = end;
        }
        assert!(rest.is_empty(), "parts of all rows");
        let fill = |start: usize, len: usize, tile: &mut Vec<u8>| {
            if image.bytes(start, len).is_none() {
                tile.resize(len, 0);
                image.read_foreground(cpu.level, start, tile);
            }
        };
        let found = cpu.threads.map(parts.len(), |i| {
            let (rows, words) = &parts[i];
            let mut words = words.try_lock().expect("each part is taken once");
            pack_rows(cpu, &*image, &grid, rows.clone(), &mut words, &fill);
            then(i, &words)
        });
        drop(parts);
        Ok((bits, found))
    }

    /// Packs an image tile by tile. `fill` is called before each with its start and length, and fills the tile where the image's
    /// bytes do not lie in memory.
    fn read_with(cpu: &Cpu, image: &dyn Image, grid: Grid, fill: impl Fn(usize, usize, &mut Vec<u8>) + Sync) -> Self {
        let mut bits = Self::empty(grid);
        in_rows(&cpu.threads, &mut bits, |rows, words| pack_rows(cpu, image, &grid, rows, words, &fill));
        bits
    }

    /// The axes of the image, and the order in which its rows lie.
    pub const fn grid(&self) -> &Grid {
        &self.grid
    }

    /// All words, row after row.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// All words, to be written. Bits beyond a row must stay 0.
    pub fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// The words of a row of a slice.
    pub fn row(&self, slice: usize, row: usize) -> &[u64] {
        let words = self.grid.words();
        let start = (slice * self.grid.size()[1] + row) * words;
        &self.words[start..start + words]
    }

    /// The words of a row, counted through all slices.
    pub fn row_at(&self, row: usize) -> &[u64] {
        let words = self.grid.words();
        &self.words[row * words..][..words]
    }

    /// Number of voxels of the mask.
    pub fn count(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// Number of voxels that are in both masks.
    ///
    /// # Panics
    /// If the masks are kept in different orders, or are of different sizes.
    pub fn count_common(&self, other: &Self) -> u64 {
        assert_eq!(self.grid, other.grid, "masks of one grid");
        self.words.iter().zip(&other.words).map(|(a, b)| u64::from((a & b).count_ones())).sum()
    }

    /// The box of the mask, or nothing where it has no voxel.
    pub fn region(&self) -> Option<Region> {
        let [_, rows, _] = self.grid.size();
        let mut found: Option<Region> = None;
        for (row, words) in self.words.chunks_exact(self.grid.words().max(1)).enumerate() {
            let Some(first) = words.iter().position(|&word| word != 0) else { continue };
            let last = words.iter().rposition(|&word| word != 0).expect("there is a first");
            let low = first * 64 + words[first].trailing_zeros() as usize;
            let end = last * 64 + 64 - words[last].leading_zeros() as usize;
            let (slice, row) = (row / rows, row % rows);
            let here = Region { ranges: [slice..slice + 1, row..row + 1, low..end] };
            found = Some(match found {
                Some(found) => found.union(&here),
                None => here,
            });
        }
        found
    }

    /// Writes 1 for each voxel of the mask and 0 for the others, in the order of the grid. With `zeroed`, `out` holds
    /// only zeros, so that pages of background need not be touched.
    ///
    /// # Errors
    /// [`Error::OutputLength`] unless `out` has a byte for each voxel.
    pub fn write_bytes(&self, cpu: &Cpu, out: &mut [u8], zeroed: bool) -> Result<()> {
        if out.len() != self.grid.voxels() {
            return Err(Error::OutputLength { expected: self.grid.voxels(), found: out.len() });
        }
        let (columns, per_row) = (self.grid.size()[2], self.grid.words());
        let parts = if self.words.len() <= SERIAL_WRITE { 1 } else { parts(&cpu.threads, self.words.len()) };
        let tile = (TILE / columns.max(1)).max(1);
        cpu.threads.split_rows(parts, out, columns, |rows, out| {
            // Cleared a tile at a time, and then written over in cache.
            for (first, out) in rows.step_by(tile).zip(out.chunks_mut(tile * columns)) {
                if !zeroed {
                    out.fill(0);
                }
                for (out, words) in
                    out.chunks_exact_mut(columns).zip(self.words[first * per_row..].chunks_exact(per_row))
                {
                    for (&word, out) in words.iter().zip(out.chunks_mut(64)) {
                        if word != 0 {
                            unpack(word, out);
                        }
                    }
                }
            }
        });
        Ok(())
    }

    /// 1 for each voxel of the mask and 0 for the others, as an array of the image's shape.
    pub fn bytes(&self) -> ArrayD<u8> {
        let mut bytes = vec![0; self.grid.voxels()];
        self.write_bytes(&Cpu::serial(), &mut bytes, true).expect("a byte for each voxel");
        let walked = ArrayD::from_shape_vec(IxDyn(&self.grid.size()), bytes).expect("a byte for each voxel");
        let mut bytes = walked.permuted_axes(IxDyn(&self.grid.by_axis([0, 1, 2])));
        while bytes.ndim() > self.grid.axes() {
            bytes = bytes.index_axis_move(Axis(0), 0);
        }
        bytes
    }

    /// The mask grown by `steps` times the neighbourhood of `connectivity`; nothing enters from outside the image.
    ///
    /// Equal to `scipy.ndimage.binary_dilation(mask, generate_binary_structure(ndim, connectivity), iterations=steps)` for
    /// `steps >= 1`; none leaves the mask as it is, where SciPy's 0 means "until nothing changes".
    ///
    /// Cost: a few dozen word operations for 64 voxels and step; memory: three masks of bits.
    pub fn dilate(&self, cpu: &Cpu, connectivity: Connectivity, steps: usize) -> Self {
        let mut current = self.clone();
        let mut grown = Self::empty(self.grid);
        let mut wide = Self::empty(self.grid);
        for _ in 0..steps {
            in_rows(&cpu.threads, &mut wide, |rows, out| {
                fearless_simd::dispatch!(cpu.level, simd => widen_rows(simd, &current, rows, out));
            });
            in_rows(&cpu.threads, &mut grown, |rows, out| {
                fearless_simd::dispatch!(cpu.level, simd => {
                    join_rows(simd, &current, &wide, connectivity.get(), rows, out);
                });
            });
            std::mem::swap(&mut current, &mut grown);
            if current == grown {
                break;
            }
        }
        current
    }
}

/// Rows with their columns to both sides: words without regard to rows, and then the ends of the rows.
#[inline(always)]
fn widen_rows<S>(_: S, mask: &Bits, rows: Range<usize>, out: &mut [u64]) {
    let (columns, per_row) = (mask.grid.size()[2], mask.grid.words());
    let words = &mask.words[rows.start * per_row..rows.end * per_row];
    let ends = words.len() - 1;
    for ((out, near), word) in out[1..].iter_mut().zip(words.windows(3)).zip(&words[1..]) {
        *out = word | word << 1 | near[0] >> 63 | word >> 1 | near[2] << 63;
    }
    out[0] = words[0] | words[0] << 1 | words[0] >> 1 | if ends > 0 { words[1] << 63 } else { 0 };
    if ends > 0 {
        out[ends] = words[ends] | words[ends] << 1 | words[ends - 1] >> 63 | words[ends] >> 1;
    }
    if columns.is_multiple_of(64) {
        // The first and the last column of a row have met those of its neighbours.
        for (row, out) in words.chunks_exact(per_row).zip(out.chunks_exact_mut(per_row)) {
            out[0] = out[0] & !1 | (row[0] | row[0] >> 1) & 1;
            let (last, top) = (per_row - 1, 1 << 63);
            out[last] = out[last] & !top | (row[last] | row[last] << 1) & top;
        }
    } else {
        // Bits beyond the row stay 0; they were so in the mask, and the first columns have met nothing.
        let valid = (1 << (columns % 64)) - 1;
        out.iter_mut().skip(per_row - 1).step_by(per_row).for_each(|out| *out &= valid);
    }
}

/// The error of an image that holds something other than 0 and 1.
fn not_binary(image: &dyn Image, argument: &'static str) -> Error {
    let mut found = None;
    image.for_each(&mut |_, value| {
        if found.is_none() && !matches!(value, Value::Whole(0 | 1)) {
            found = Some(value.as_f64());
        }
    });
    let value = found.expect("the read found a value that is neither 0 nor 1");
    let hint = if value == 255.0 { ": a 0/255 mask? pass `mask > 0`" } else { ": pass `mask > 0`, or `labels == 3`" };
    Error::NotBinary { argument, value, hint }
}

/// Joins rows with those beside them, widened where an axis is left for it: whole runs of rows of a slice at a time.
#[inline(always)]
fn join_rows<S>(_: S, mask: &Bits, wide: &Bits, connectivity: usize, rows: Range<usize>, out: &mut [u64]) {
    let [slices, height, _] = mask.grid.size();
    let per_row = mask.grid.words();
    out.fill(0);
    let mut first = rows.start;
    while first < rows.end {
        let slice = first / height;
        let end = rows.end.min((slice + 1) * height);
        let (low, high) = (first - slice * height, end - slice * height);
        for near in slice.saturating_sub(1)..(slice + 2).min(slices) {
            // The row before, the row itself, the row after.
            for step in 0..3 {
                let axes = usize::from(near != slice) + usize::from(step != 1);
                if axes > connectivity {
                    continue;
                }
                let from = if axes < connectivity { wide } else { mask };
                let (low, high) = (low.max(usize::from(step == 0)), high.min(height + 1 - step).min(height));
                if low >= high {
                    continue;
                }
                let source = (near * height + low + step - 1) * per_row;
                let place = (slice * height + low - rows.start) * per_row;
                let words = (high - low) * per_row;
                let (out, source) = (&mut out[place..place + words], &from.words[source..source + words]);
                out.iter_mut().zip(source).for_each(|(out, word)| *out |= word);
            }
        }
        first = end;
    }
}

/// Calls `f` with ranges of rows and their words, several at once.
fn in_rows(threads: &Threads, bits: &mut Bits, f: impl Fn(Range<usize>, &mut [u64]) + Sync) {
    let parts = parts(threads, bits.words.len());
    threads.split_rows(parts, &mut bits.words, bits.grid.words(), f);
}

/// Into how many pieces to split the work on so many words.
fn parts(threads: &Threads, words: usize) -> usize {
    if words <= SERIAL || threads.count() == 1 { 1 } else { 4 * threads.count() }
}

/// Packs rows of an image tile by tile, as [`Bits::read_with`] says.
fn pack_rows(
    cpu: &Cpu,
    image: &dyn Image,
    grid: &Grid,
    rows: Range<usize>,
    words: &mut [u64],
    fill: &impl Fn(usize, usize, &mut Vec<u8>),
) {
    let (columns, per_row) = (grid.size()[2], grid.words());
    if words.is_empty() {
        return;
    }
    let step = (TILE / columns).max(1);
    let mut tile = Vec::new();
    for (first, words) in rows.step_by(step).zip(words.chunks_mut(step * per_row)) {
        let (start, voxels) = (first * columns, words.len() / per_row * columns);
        fill(start, voxels, &mut tile);
        let bytes = image.bytes(start, voxels).unwrap_or(&tile);
        let _ = fearless_simd::dispatch!(cpu.level, simd => pack(simd, bytes, columns, words));
    }
}

/// Packs rows of bytes: a bit for each that is not 0. Whether all are 0 or 1.
#[inline(always)]
pub(crate) fn pack<S: Simd>(simd: S, bytes: &[u8], columns: usize, out: &mut [u64]) -> bool {
    let zero = u8x64::splat(simd, 0);
    let (per_row, rest) = (columns.div_ceil(64), columns % 64);
    let mut union = zero;
    for (row, out) in bytes.chunks_exact(columns).zip(out.chunks_exact_mut(per_row)) {
        let (blocks, end) = row.as_chunks::<64>();
        for (block, out) in blocks.iter().zip(&mut *out) {
            let vector = u8x64::from_slice(simd, block);
            union |= vector;
            *out = !vector.simd_eq(zero).to_bitmask();
        }
        if rest == 0 {
            continue;
        }
        // The end of the row together with bytes before it, which are there to be read.
        let last = &mut out[per_row - 1];
        if columns >= 64 {
            let vector = u8x64::from_slice(simd, &row[columns - 64..]);
            union |= vector;
            *last = !vector.simd_eq(zero).to_bitmask() >> (64 - rest);
        } else {
            let mut block = [0u8; 64];
            block[..rest].copy_from_slice(end);
            let vector = u8x64::from_slice(simd, &block);
            union |= vector;
            *last = !vector.simd_eq(zero).to_bitmask();
        }
    }
    (union & u8x64::splat(simd, 0xfe)).simd_eq(zero).to_bitmask() == !0
}

/// Writes the bits of a word as bytes.
#[inline(always)]
fn unpack(word: u64, out: &mut [u8]) {
    if word == !0 {
        out.fill(1);
    } else {
        for (byte, out) in word.to_le_bytes().into_iter().zip(out.chunks_mut(8)) {
            // Byte k of the product keeps bit k, which the sum then carries to the top of the byte.
            let spread = u64::from(byte).wrapping_mul(0x0101_0101_0101_0101) & 0x8040_2010_0804_0201;
            let ones = ((spread + 0x7f7f_7f7f_7f7f_7f7f) >> 7 & 0x0101_0101_0101_0101).to_le_bytes();
            out.copy_from_slice(&ones[..out.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array3;

    use super::*;

    fn cpu() -> Cpu {
        Cpu::serial()
    }

    #[test]
    fn anything_but_zero_is_foreground() {
        let image = ndarray::array![0.0, -0.0, f64::NAN, -1.0, 0.25, f64::INFINITY, 5e-324].into_dyn();
        let bits = Bits::nonzero(&cpu(), image.view()).expect("one axis");
        assert_eq!(bits.words(), [0b111_1100]);
        let halves = ArrayD::from_shape_vec(IxDyn(&[4]), vec![0u16, 0x8000, 1, 0x7e00]).expect("four");
        for labels in [Labels::F16(halves.view()), Labels::Bf16(halves.view())] {
            assert_eq!(Bits::nonzero(&cpu(), labels).expect("one axis").words(), [0b1100]);
        }
        let big = ndarray::array![0u64, 7_112_614_941, u64::MAX].into_dyn();
        assert_eq!(Bits::nonzero(&cpu(), big.view()).expect("one axis").words(), [0b110]);
    }

    #[test]
    fn bytes_come_back() {
        for columns in [1, 7, 8, 63, 64, 65, 130] {
            let image = Array3::from_shape_fn((2, 3, columns), |(z, y, x)| u8::from((x * 7 + y * 3 + z) % 5 < 2));
            let bits = Bits::nonzero(&cpu(), image.view().into_dyn()).expect("three axes");
            let mut out = vec![9; image.len()];
            bits.write_bytes(&cpu(), &mut out, false).expect("as long");
            assert_eq!(out, image.as_slice().expect("contiguous"));
            assert_eq!(bits.bytes(), image.clone().into_dyn());
            let turned = image.t().into_dyn();
            assert_eq!(Bits::nonzero(&cpu(), turned.view()).expect("three axes").bytes(), turned);
            assert_eq!(bits.count(), out.iter().map(|&v| u64::from(v)).sum::<u64>());
        }
    }

    #[test]
    fn rank_and_shape_are_checked() {
        for shape in [vec![], vec![1, 1, 1, 1]] {
            let image = ArrayD::<u8>::zeros(IxDyn(&shape));
            assert_eq!(Bits::nonzero(&cpu(), image.view()), Err(Error::ImageRank { shape }));
        }
        let (first, second) = (ArrayD::<u8>::zeros(IxDyn(&[2, 3])), ArrayD::<u8>::zeros(IxDyn(&[3, 2])));
        let bits = Bits::nonzero(&cpu(), first.view()).expect("two axes");
        assert!(Bits::nonzero_as(&cpu(), second.view(), bits.grid()).is_err());
        assert!(Bits::nonzero_as(&cpu(), second.t(), bits.grid()).is_ok());
    }

    #[test]
    fn dilation_of_one_voxel_is_the_neighbourhood() {
        let mut image = Array3::<u8>::zeros((3, 3, 3));
        image[[1, 1, 1]] = 1;
        let bits = Bits::nonzero(&cpu(), image.view().into_dyn()).expect("three axes");
        for (connectivity, count) in [(1, 7), (2, 19), (3, 27)] {
            let connectivity = Connectivity::new(connectivity, 3).expect("in range");
            assert_eq!(bits.dilate(&cpu(), connectivity, 1).count(), count);
            assert_eq!(bits.dilate(&cpu(), connectivity, 0), bits);
        }
    }
}

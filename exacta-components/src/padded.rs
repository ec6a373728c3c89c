//! A mask in the order of the image's axes, with background around it, made for reading neighbourhoods.
//!
//! A word holds 62 columns of a row between the columns before and after them, so that a neighbourhood lies in nine words, three
//! bits of each, and a neighbour's word is a shift away. Memory: some 1.03 bits a voxel of the box.

use exacta_core::{Bits, Grid, Region};

/// Columns of a word.
const COLUMNS: usize = 62;
/// The bits of a word that are its own columns.
pub(crate) const OWN: u64 = !0 >> 1 & !1;

/// Nine words in raster order around one: three slices of three rows.
pub(crate) type Around = [u64; 9];

/// A mask with background around it.
#[derive(Debug, Clone)]
pub(crate) struct Padded {
    /// Words a row.
    pub(crate) words: usize,
    /// Slices and rows, the added ones among them.
    pub(crate) size: [usize; 2],
    pub(crate) mask: Vec<u64>,
}

impl Padded {
    /// The voxels of `bits` in `region`, in C order whatever the order of the mask's axes.
    pub(crate) fn new(bits: &Bits, region: &Region) -> Self {
        let grid = bits.grid();
        let [slices, rows, columns] = grid.by_axis(region.size());
        let (words, size) = (columns.div_ceil(COLUMNS), [slices + 2, rows + 2]);
        let mut padded = Self { words, size, mask: vec![0; size[0] * size[1] * words] };
        each_voxel(bits, region, |at| {
            let [slice, row, column] = grid.by_axis(at);
            let i = padded.index(slice, row, column / COLUMNS);
            padded.mask[i] |= 2 << (column % COLUMNS);
        });
        for row in padded.mask.chunks_exact_mut(words.max(1)) {
            for i in 1..row.len() {
                row[i] |= row[i - 1] >> COLUMNS & 1;
                row[i - 1] |= (row[i] >> 1 & 1) << 63;
            }
        }
        padded
    }

    /// The voxels, in the place and order that they came from.
    pub(crate) fn bits(&self, grid: Grid, region: &Region) -> Bits {
        let mut out = Bits::empty(grid);
        let [_, out_rows, _] = grid.size();
        let (out_words, low) = (grid.words(), region.low());
        for (at, &word) in self.mask.iter().enumerate() {
            let mut left = word & OWN;
            while left != 0 {
                let column = at % self.words * COLUMNS + left.trailing_zeros() as usize - 1;
                let row = at / self.words;
                left &= left - 1;
                let [slice, row, column] = grid.walked([row / self.size[1] - 1, row % self.size[1] - 1, column]);
                let [slice, row, column] = [slice + low[0], row + low[1], column + low[2]];
                out.words_mut()[(slice * out_rows + row) * out_words + column / 64] |= 1 << (column % 64);
            }
        }
        out
    }

    /// The index of a word of a row of the image.
    fn index(&self, slice: usize, row: usize, word: usize) -> usize {
        ((slice + 1) * self.size[1] + row + 1) * self.words + word
    }

    /// How far apart the words of two slices are.
    pub(crate) const fn pitch(&self) -> usize {
        self.size[1] * self.words
    }

    /// The nine words around word `i` of a row of the image.
    #[inline(always)]
    pub(crate) fn around(&self, i: usize) -> Around {
        let (pitch, words) = (self.pitch(), self.words);
        let first = i - pitch - words;
        // Slices of equal ends, so that one check serves three reads.
        let mut out = [0; 9];
        for (slice, out) in out.chunks_exact_mut(3).enumerate() {
            let of_slice = &self.mask[first + slice * pitch..][..2 * words + 1];
            (out[0], out[1], out[2]) = (of_slice[0], of_slice[words], of_slice[2 * words]);
        }
        out
    }

    /// Deletes voxels of word `i` of a row of the image.
    #[inline(always)]
    pub(crate) fn delete(&mut self, i: usize, deleted: u64) {
        self.mask[i] &= !deleted;
        if deleted & 2 != 0 && !i.is_multiple_of(self.words) {
            self.mask[i - 1] &= !(1 << 63);
        }
        if deleted >> COLUMNS & 1 != 0 && !(i + 1).is_multiple_of(self.words) {
            self.mask[i + 1] &= !1;
        }
    }
}

/// The neighbourhood of bit `b` of the middle word, as `neighbourhood` takes it.
#[inline(always)]
pub(crate) fn window(around: &Around, b: u32) -> u32 {
    let mut out = 0;
    for (k, word) in around.iter().enumerate() {
        out |= ((word >> (b - 1) & 7) as u32) << (3 * k);
    }
    out
}

/// Calls `f` with the place of each voxel of `bits` in `region`, from the region's lowest corner.
fn each_voxel(bits: &Bits, region: &Region, mut f: impl FnMut([usize; 3])) {
    let [slices, rows, columns] = region.ranges.clone();
    for slice in slices.clone() {
        for row in rows.clone() {
            let words = bits.row(slice, row);
            for (word, &bits) in words.iter().enumerate().skip(columns.start / 64) {
                let mut left = bits;
                while left != 0 {
                    let column = word * 64 + left.trailing_zeros() as usize;
                    left &= left - 1;
                    // The box of the mask: no voxel lies outside.
                    f([slice - slices.start, row - rows.start, column - columns.start]);
                }
            }
        }
    }
}

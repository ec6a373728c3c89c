//! Slices of labels as bit planes.

use fearless_simd::{Simd, SimdBase, SimdMask, u8x64};

use crate::Grid;

/// Marks a word whose voxels carry more than one label.
pub(crate) const MIXED: u32 = u32::MAX;

/// Most bits of a label.
pub(crate) const MOST_BITS: usize = 32;

/// The words of all planes at one place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LabelWord<'a> {
    planes: &'a [u64],
    valid: u64,
}

impl LabelWord<'_> {
    /// The label at a bit position.
    #[inline(always)]
    pub(crate) fn label(self, position: u32) -> u32 {
        self.planes.iter().enumerate().fold(0, |label, (bit, word)| label | u32::from(word >> position & 1 == 1) << bit)
    }

    /// The voxels of a label.
    #[inline(always)]
    pub(crate) fn select(self, label: u32) -> u64 {
        self.planes.iter().enumerate().fold(self.valid, |found, (bit, word)| {
            // All ones where the label has the bit, so that the word stays or is turned over without a branch.
            let wanted = (u64::from(label >> bit) & 1).wrapping_neg();
            found & !(word ^ wanted)
        })
    }
}

/// A slice of labels, one bit plane for each bit of the label: two planes hold four classes.
///
/// Words hold 64 columns of a row, the first column in the lowest bit; bits beyond the row are 0. Each plane has one row
/// of zero words before and after, so that neighbouring rows can be read without a check.
#[derive(Debug, Clone, Default)]
pub struct PackedSlice {
    planes: Vec<u64>,
    uniform: Vec<u32>,
    bits: usize,
    rows: usize,
    words: usize,
    columns: usize,
    valid: Vec<u64>,
}

impl PackedSlice {
    /// A slice of zeros that can hold labels of `bits` bits.
    pub(crate) fn new(grid: &Grid, bits: usize) -> Self {
        let [_, rows, columns] = grid.size();
        let words = grid.words();
        let plane = (rows + 2) * words + 2;
        // Kept for every word: finding the place in the row would cost a division each time.
        let of_row =
            (0..words).map(|word| if columns - word * 64 >= 64 { !0 } else { (1 << (columns - word * 64)) - 1 });
        let valid: Vec<u64> = of_row.cycle().take(rows * words).collect();
        Self { planes: vec![0; plane * bits], uniform: vec![0; rows * words], bits, rows, words, columns, valid }
    }

    /// Number of bit planes.
    pub fn bits(&self) -> usize {
        self.bits
    }

    /// Number of words of a plane, without the guard rows.
    pub fn len(&self) -> usize {
        self.rows * self.words
    }

    /// Whether the slice has no voxel.
    pub fn is_empty(&self) -> bool {
        self.uniform.is_empty()
    }

    const fn pitch(&self) -> usize {
        // One word beyond the guard rows on each side serves the neighbours of the first and last word.
        (self.rows + 2) * self.words + 2
    }

    /// Plane `bit`, shifted: word `i` of the result is word `i + shift` of the plane, `|shift| <= words + 1`.
    pub fn plane(&self, bit: usize, shift: isize) -> &[u64] {
        let start = bit * self.pitch() + 1 + self.words;
        let start = start.checked_add_signed(shift).expect("a shift inside the guard");
        &self.planes[start..start + self.len()]
    }

    /// The voxels of word `i` whose label is `label`.
    pub fn select(&self, i: usize, label: u32) -> u64 {
        if self.uniform[i] != MIXED {
            return if self.uniform[i] == label { self.valid(i) } else { 0 };
        }
        self.word(i, &mut [0; MOST_BITS]).select(label)
    }

    /// The bits of word `i` that are voxels.
    pub fn valid(&self, i: usize) -> u64 {
        self.valid[i]
    }

    /// The label of all voxels of word `i`, or [`MIXED`].
    pub(crate) fn uniform(&self, i: usize) -> u32 {
        self.uniform[i]
    }

    /// The label of all voxels of word `i`, where they have one.
    pub fn uniform_label(&self, i: usize) -> Option<u32> {
        (self.uniform[i] != MIXED).then_some(self.uniform[i])
    }

    /// The planes' words at `i`.
    #[inline(always)]
    pub(crate) fn word<'a>(&self, i: usize, out: &'a mut [u64; MOST_BITS]) -> LabelWord<'a> {
        let (at, pitch) = (1 + self.words + i, self.pitch());
        for (bit, out) in out[..self.bits].iter_mut().enumerate() {
            *out = self.planes[bit * pitch + at];
        }
        LabelWord { planes: &out[..self.bits], valid: self.valid[i] }
    }

    /// Calls `f` with each label of the voxels `left` of word `i`, and where among them it is.
    #[inline(always)]
    pub fn each_label(&self, i: usize, mut left: u64, mut f: impl FnMut(u32, u64)) {
        if self.uniform[i] != MIXED {
            return f(self.uniform[i], left);
        }
        let mut planes = [0; MOST_BITS];
        let word = self.word(i, &mut planes);
        while left != 0 {
            let label = word.label(left.trailing_zeros());
            let here = word.select(label) & left;
            f(label, here);
            left &= !here;
        }
    }

    /// Number of words of a row.
    pub fn words(&self) -> usize {
        self.words
    }

    /// Number of columns of a row.
    pub fn columns(&self) -> usize {
        self.columns
    }

    fn plane_range(&self, bit: usize) -> std::ops::Range<usize> {
        let start = bit * self.pitch() + 1 + self.words;
        start..start + self.len()
    }

    /// Packs the labels of a slice, row after row. False where one does not fit the planes.
    #[inline(always)]
    pub(crate) fn pack<S: Simd>(&mut self, simd: S, labels: &[u8]) -> bool {
        let limit = 1u32 << self.bits;
        let low = u8x64::splat(simd, u8::try_from(limit - 1).unwrap_or(u8::MAX));
        let mut fits = true;
        let mut tail = [0u8; 64];
        for (row, labels) in labels.chunks_exact(self.columns).enumerate() {
            for (word, block) in labels.chunks(64).enumerate() {
                let i = row * self.words + word;
                let valid = if block.len() == 64 { !0 } else { (1u64 << block.len()) - 1 };
                let block = if block.len() == 64 {
                    block
                } else {
                    // Repeating the first label leaves a uniform block uniform.
                    tail[..block.len()].copy_from_slice(block);
                    tail[block.len()..].fill(block[0]);
                    &tail
                };
                let vector = u8x64::from_slice(simd, block);
                let at = 1 + self.words + i;
                let pitch = self.pitch();
                if vector.simd_eq(u8x64::splat(simd, block[0])).to_bitmask() == !0 {
                    let label = u32::from(block[0]);
                    fits &= label < limit;
                    self.uniform[i] = label;
                    for bit in 0..self.bits {
                        self.planes[bit * pitch + at] = if label >> bit & 1 == 1 { valid } else { 0 };
                    }
                } else {
                    fits &= (vector & low).simd_eq(vector).to_bitmask() == !0;
                    self.uniform[i] = MIXED;
                    for bit in 0..self.bits {
                        let one = u8x64::splat(simd, 1 << bit);
                        self.planes[bit * pitch + at] = (vector & one).simd_eq(one).to_bitmask() & valid;
                    }
                }
            }
        }
        fits
    }

    /// Takes the words of a mask, whose bits beyond a row are 0, as labels 0 and 1.
    pub(crate) fn pack_mask(&mut self, words: &[u64]) {
        let range = self.plane_range(0);
        self.planes[range].copy_from_slice(words);
        for ((uniform, &word), &valid) in self.uniform.iter_mut().zip(words).zip(&self.valid) {
            *uniform = match word {
                0 => 0,
                _ if word == valid => 1,
                _ => MIXED,
            };
        }
    }

    /// Packs labels of more than a byte.
    pub(crate) fn pack_wide(&mut self, labels: &[u32]) -> bool {
        let mut fits = true;
        let pitch = self.pitch();
        for bit in 0..self.bits {
            let range = self.plane_range(bit);
            self.planes[range].fill(0);
        }
        for (row, labels) in labels.chunks_exact(self.columns).enumerate() {
            for (word, block) in labels.chunks(64).enumerate() {
                let i = row * self.words + word;
                self.uniform[i] = if block.iter().all(|&label| label == block[0]) { block[0] } else { MIXED };
                for (x, &label) in block.iter().enumerate() {
                    fits &= u64::from(label) >> self.bits == 0;
                    for bit in 0..self.bits {
                        self.planes[bit * pitch + 1 + self.words + i] |= u64::from(label >> bit & 1) << x;
                    }
                }
            }
        }
        fits
    }
}

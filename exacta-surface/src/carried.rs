//! What the elements of a plane carry, found again for a word at a time.

use crate::codes::Places;
use crate::dense::{AxisBox, Dense};
use crate::tags::Tag;
use crate::words::ones;

/// What the elements of a box carry: the places of their weights.
#[derive(Debug)]
pub(crate) enum Carried<T> {
    /// Nothing.
    Nothing,
    /// The weight of the code of the voxels around.
    Codes(Codes<T>),
    /// One after the other; where those of each word start.
    Listed { starts: Vec<u32>, tags: Vec<T> },
}

/// Voxels inside, at least all those around elements, and the place of the weight of each code.
#[derive(Debug)]
pub(crate) struct Codes<T> {
    pub(crate) voxels: Dense,
    pub(crate) axes: usize,
    pub(crate) places: Places,
    pub(crate) of_code: [T; 256],
}

impl<T: Tag> Carried<T> {
    /// What the elements of a plane carry, given for each of `words` of the image in order.
    pub(crate) fn listed(space: &AxisBox<'_>, plane: &Dense, words: &[(u32, u64)], tags: &[T]) -> Self {
        let [slices, rows, width] = space.words();
        let mut starts = Vec::with_capacity(slices * rows * width);
        let mut count = 0;
        for row in 0..slices * rows {
            for bits in plane.row(row / rows, row % rows) {
                starts.push(count);
                count += bits.count_ones();
            }
        }
        let mut sorted = vec![T::from_place(0); tags.len()];
        let mut tags = tags.iter();
        for &(word, bits) in words {
            for (bit, &tag) in ones(bits).zip(&mut tags) {
                let [slice, row, column] = space.at(word, bit);
                let (word, bit) = (column / 64, column % 64);
                let before = plane.row(slice, row)[word] & ((1 << bit) - 1);
                let place = starts[(slice * rows + row) * width + word] + before.count_ones();
                sorted[place as usize] = tag;
            }
        }
        Self::Listed { starts, tags: sorted }
    }

    /// What the elements `bits` of a word carry, each at its position; `index` counts the words of the box, and `bits` are all of
    /// its elements that were listed.
    #[inline(always)]
    pub(crate) fn of_word(&self, at: [usize; 3], index: usize, bits: u64, out: &mut [T; 64]) {
        match self {
            Self::Nothing => {}
            Self::Codes(codes) => codes.of_word(at, out),
            Self::Listed { starts, tags } => {
                let tags = &tags[starts[index] as usize..];
                ones(bits).zip(tags).for_each(|(bit, &tag)| out[bit as usize] = tag);
            }
        }
    }
}

impl<T: Tag> Codes<T> {
    #[inline(always)]
    fn of_word(&self, at: [usize; 3], out: &mut [T; 64]) {
        let layout = &self.voxels.layout;
        let here = layout.index(at);
        let mut block = [0; 8];
        for i in if self.axes == 3 { 0 } else { 2 }..4 {
            let back = layout.step(1 - (i >> 1 & 1), 1 - (i & 1));
            let place = here.wrapping_add_signed(-back);
            let (left, word) = (self.voxels.bits[place - 1], self.voxels.bits[place]);
            block[2 * i as usize] = word << 1 | left >> 63;
            block[2 * i as usize + 1] = word;
        }
        let codes = self.places.codes(self.axes, &block);
        for (out, &code) in out.iter_mut().zip(&codes) {
            *out = self.of_code[usize::from(code)];
        }
    }
}

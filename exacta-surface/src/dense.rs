//! The bit plane of one surface within a box, with a margin of zeros all around.

use exacta_core::Grid;

use crate::words::Words;

/// The part of an image that holds both surfaces: ranges of slices, rows and words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WordBox {
    pub(crate) low: [usize; 3],
    pub(crate) size: [usize; 3],
    image: [usize; 2],
}

impl WordBox {
    /// The smallest box around words of both surfaces.
    pub(crate) fn around(grid: &Grid, surfaces: [&Words<'_>; 2]) -> Self {
        let image = [grid.size()[1], grid.words()];
        let (mut low, mut high) = ([usize::MAX; 3], [0; 3]);
        for words in surfaces {
            for &word in words.words.iter() {
                let at = place(word, image);
                for k in 0..3 {
                    low[k] = low[k].min(at[k]);
                    high[k] = high[k].max(at[k] + 1);
                }
            }
        }
        Self { low, size: std::array::from_fn(|k| high[k].saturating_sub(low[k])), image }
    }

    /// Slice, row and word within the box.
    #[inline]
    pub(crate) fn at(&self, word: u32) -> [usize; 3] {
        let at = place(word, self.image);
        [at[0] - self.low[0], at[1] - self.low[1], at[2] - self.low[2]]
    }
}

#[inline]
fn place(word: u32, [rows, words]: [usize; 2]) -> [usize; 3] {
    let word = word as usize;
    let row = word / words;
    [row / rows, row % rows, word % words]
}

/// One bit a voxel of the box, `margin` slices and rows and one word of zeros around.
#[derive(Debug)]
pub(crate) struct Dense {
    pub(crate) bits: Vec<u64>,
    pub(crate) layout: Layout,
}

/// Where a word of the box lies in a [`Dense`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    margin: [usize; 2],
    rows: usize,
    pitch: usize,
    slices: usize,
}

impl Layout {
    pub(crate) fn new(bounds: &WordBox, margin: [usize; 2]) -> Self {
        let [slices, rows, words] = bounds.size;
        Self { margin, rows: rows + 2 * margin[1], pitch: words + 2, slices: slices + 2 * margin[0] }
    }

    /// Number of words in all.
    pub(crate) fn len(&self) -> usize {
        self.slices * self.rows * self.pitch
    }

    /// Index of a word of the box.
    #[inline]
    pub(crate) fn index(&self, [slice, row, word]: [usize; 3]) -> usize {
        ((slice + self.margin[0]) * self.rows + row + self.margin[1]) * self.pitch + word + 1
    }

    /// How far a word `slices` and `rows` on lies in memory.
    pub(crate) fn step(&self, slices: isize, rows: isize) -> isize {
        let size = |n: usize| isize::try_from(n).expect("a plane fits memory");
        (slices * size(self.rows) + rows) * size(self.pitch)
    }
}

impl Dense {
    pub(crate) fn new(bounds: &WordBox, layout: Layout, words: &Words<'_>) -> Self {
        let mut bits = vec![0; layout.len()];
        for (word, found) in words.iter() {
            bits[layout.index(bounds.at(word))] = found;
        }
        Self { bits, layout }
    }
}

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
        Self::of(bounds.size, margin)
    }

    /// For a box of so many slices, rows and words.
    pub(crate) fn of([slices, rows, words]: [usize; 3], margin: [usize; 2]) -> Self {
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

    /// The words of a row of the box.
    #[inline]
    pub(crate) fn row(&self, slice: usize, row: usize) -> &[u64] {
        &self.bits[self.layout.index([slice, row, 0])..][..self.layout.pitch - 2]
    }
}

/// The box of both surfaces along the image's axes, whatever the order of memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AxisBox<'a> {
    grid: &'a Grid,
    bounds: &'a WordBox,
    /// Places along each axis.
    pub(crate) size: [usize; 3],
}

impl<'a> AxisBox<'a> {
    pub(crate) fn new(grid: &'a Grid, bounds: &'a WordBox) -> Self {
        let [slices, rows, words] = bounds.size;
        let columns = (words * 64).min(grid.size()[2] - bounds.low[2] * 64);
        Self { grid, bounds, size: grid.by_axis([slices, rows, columns]) }
    }

    /// Slices, rows and words of planes.
    pub(crate) fn words(&self) -> [usize; 3] {
        [self.size[0], self.size[1], self.size[2].div_ceil(64)]
    }

    /// The grid of the image, walked as these planes are.
    pub(crate) fn grid(&self) -> Grid {
        self.grid.in_axis_order()
    }

    /// The plane of words of the image.
    pub(crate) fn plane(&self, words: impl Iterator<Item = (u32, u64)>, margin: [usize; 2]) -> Dense {
        let layout = Layout::of(self.words(), margin);
        let mut plane = Dense { bits: vec![0; layout.len()], layout };
        for (word, bits) in words {
            let [slice, row, word] = place(word, self.bounds.image);
            self.set(&mut plane, [slice, row, word * 64], bits);
        }
        plane
    }

    /// Where a place of a word of the image lies in the box.
    #[inline]
    pub(crate) fn at(&self, word: u32, bit: u32) -> [usize; 3] {
        let [slice, row, word] = self.bounds.at(word);
        self.grid.by_axis([slice, row, word * 64 + bit as usize])
    }

    /// An empty plane with one slice, one row and one column to spare on every side.
    pub(crate) fn spare(&self) -> Dense {
        let layout = Layout::of(self.words(), [1, 1]);
        Dense { bits: vec![0; layout.len()], layout }
    }

    /// Sets places of the image: a slice, a row, and columns from one on. What lies more than the plane's margin outside the box is
    /// passed over.
    #[inline]
    pub(crate) fn set(&self, plane: &mut Dense, at: [usize; 3], bits: u64) {
        let signed = |n: usize| isize::try_from(n).expect("an axis fits memory");
        let low = [self.bounds.low[0], self.bounds.low[1], self.bounds.low[2] * 64].map(signed);
        let at: [isize; 3] = std::array::from_fn(|k| signed(at[k]) - low[k]);
        if self.grid.order() == [0, 1, 2] && at[2] % 64 == 0 {
            plane.set([at[0], at[1], at[2] / 64], bits);
            return;
        }
        for bit in crate::words::ones(bits) {
            let [slice, row, column] = self.grid.by_axis([at[0], at[1], at[2] + bit as isize]);
            plane.set([slice, row, column.div_euclid(64)], 1 << column.rem_euclid(64));
        }
    }
}

impl Dense {
    /// Sets places of a word of the box or its margin, if it is there.
    #[inline]
    fn set(&mut self, [slice, row, word]: [isize; 3], bits: u64) {
        let Layout { margin, rows, pitch, slices } = self.layout;
        let inside = |n: isize, margin: usize, size: usize| {
            n.checked_add_unsigned(margin).and_then(|n| usize::try_from(n).ok()).filter(|&n| n < size)
        };
        if let (Some(slice), Some(row), Some(word)) =
            (inside(slice, margin[0], slices), inside(row, margin[1], rows), inside(word, 1, pitch))
        {
            self.bits[(slice * rows + row) * pitch + word] |= bits;
        }
    }
}

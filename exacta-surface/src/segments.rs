//! Corner cells of a slab as they are kept: words with their codes, or, where nearly every corner is one, the labels' bit planes.
//!
//! In noise a code a cell would take as much room as the labels. From the slice on at which that begins, a slab keeps its planes,
//! `bits / 8` bytes a voxel, and words and codes of a class are made where it is measured.

use exacta_core::Grid;
use exacta_core::scan::PackedSlice;

use crate::codes::{Places, mixed};
use crate::pairs::moved;
use crate::words::{Found, ones};

/// What some slices of corners hold.
#[derive(Debug)]
pub(crate) enum Segment {
    Sparse(Sparse),
    Dense(Planes),
}

/// Words of corners, and a code a bit.
#[derive(Debug, Default)]
pub(crate) struct Sparse {
    pub(crate) found: Vec<Found>,
    pub(crate) codes: Vec<u8>,
}

impl Sparse {
    /// Bytes that this takes, and once more while it is sorted.
    pub(crate) fn bytes(&self) -> usize {
        self.found.len() * (size_of::<Found>() + 12) + 2 * self.codes.len()
    }

    /// The same in a grid of corners that holds this one's at its first.
    pub(crate) fn moved(mut self, from: &Grid, to: &Grid) -> Self {
        self.found.iter_mut().for_each(|found| found.word = moved(found.word, from, to));
        self
    }

    /// Each word of a label with its codes.
    fn each(&self, label: u32, mut f: impl FnMut(u32, u64, &[u8])) {
        let mut rest = &self.codes[..];
        for found in &self.found {
            let codes;
            (codes, rest) = rest.split_at(found.bits.count_ones() as usize);
            if found.label == label {
                f(found.word, found.bits, codes);
            }
        }
    }
}

/// The bits of the labels of consecutive slices of voxels, and the slices of corners that they stand for.
#[derive(Debug)]
pub(crate) struct Planes {
    /// The first slice of voxels.
    first: usize,
    bits: usize,
    /// Slices one after the other, planes of each together.
    words: Vec<u64>,
    /// Slices of corners.
    corners: std::ops::Range<usize>,
}

impl Planes {
    /// Planes that begin with the corners before `slice`.
    pub(crate) fn new(slice: usize, bits: usize, slices: usize, len: usize) -> Self {
        let words = Vec::with_capacity(slices * bits * len);
        Self { first: slice, bits, words, corners: slice..slice }
    }

    /// Takes the next slice of voxels.
    pub(crate) fn push(&mut self, slice: &PackedSlice) {
        (0..self.bits).for_each(|bit| self.words.extend_from_slice(slice.plane(bit, 0)));
    }

    /// The corners up to those before `slice` are there.
    pub(crate) fn reach(&mut self, slice: usize) {
        self.corners.end = slice + 1;
    }

    /// Takes the slice before the first.
    pub(crate) fn begin_with(&mut self, slice: &PackedSlice) {
        self.first -= 1;
        self.push(slice);
    }

    /// Voxels of a label among the 64 of a word; none outside the image. `voxels` is the grid of the image.
    #[inline(always)]
    fn select(&self, voxels: &Grid, label: u32, slice: usize, row: usize, word: usize) -> u64 {
        let [_, rows, columns] = voxels.size();
        let words = voxels.words();
        let start = slice.wrapping_sub(self.first).wrapping_mul(self.bits * rows * words);
        if row >= rows || word >= words || start >= self.words.len() {
            return 0;
        }
        let valid = if columns - word * 64 >= 64 { !0 } else { (1 << (columns - word * 64)) - 1 };
        (0..self.bits).fold(valid, |found, bit| {
            let wanted = (u64::from(label >> bit) & 1).wrapping_neg();
            found & !(self.words[start + (bit * rows + row) * words + word] ^ wanted)
        })
    }

    /// Each word of corners of a label, and the words of voxels around it.
    fn each(&self, voxels: &Grid, label: u32, mut f: impl FnMut(u32, u64, &[u64; 8])) {
        let volume = voxels.axes() == 3;
        let [_, rows, columns] = voxels.size();
        let corner_words = voxels.corners().words();
        let last = (columns / 64, columns % 64);
        for slice in self.corners.clone() {
            for row in 0..=rows {
                // Slices and rows before and after the corners; the word before of each.
                let mut before = [0u64; 4];
                for word in 0..corner_words {
                    let mut block = [0; 8];
                    for i in 0..4 {
                        let (after, below) = (i >> 1, i & 1);
                        // In two dimensions the slice itself lies after its corners.
                        let slice = if volume { (slice + after).wrapping_sub(1) } else { slice };
                        let here = if volume || after == 1 {
                            self.select(voxels, label, slice, (row + below).wrapping_sub(1), word)
                        } else {
                            0
                        };
                        block[2 * i] = here << 1 | before[i] >> 63;
                        block[2 * i + 1] = here;
                        before[i] = here;
                    }
                    let mut bits = mixed(voxels.axes(), &block);
                    if word == last.0 {
                        bits &= !0 >> (63 - last.1);
                    }
                    if bits != 0 {
                        let place = (slice * (rows + 1) + row) * corner_words + word;
                        f(u32::try_from(place).expect("checked for the whole image"), bits, &block);
                    }
                }
            }
        }
    }
}

impl Segment {
    /// The words of a label, in raster order.
    pub(crate) fn words(&self, voxels: &Grid, label: u32, mut f: impl FnMut(u32, u64)) {
        match self {
            Self::Sparse(sparse) => sparse.each(label, |word, bits, _| f(word, bits)),
            Self::Dense(planes) => planes.each(voxels, label, |word, bits, _| f(word, bits)),
        }
    }

    /// The codes of a label's corners, in raster order.
    pub(crate) fn codes(&self, voxels: &Grid, places: &Places, label: u32, out: &mut Vec<u8>) {
        match self {
            Self::Sparse(sparse) => sparse.each(label, |_, _, codes| out.extend_from_slice(codes)),
            Self::Dense(planes) => planes.each(voxels, label, |_, bits, block| {
                let codes = places.codes(voxels.axes(), block);
                out.extend(ones(bits).map(|bit| codes[bit as usize]));
            }),
        }
    }

    /// Words of voxels of a label that hold at least all those around its corners of this segment: slice, row, first column, voxels.
    /// What is not around them may be left out.
    pub(crate) fn voxels(&self, voxels: &Grid, places: &Places, label: u32, mut f: impl FnMut([usize; 3], u64)) {
        let [_, rows, _] = voxels.size();
        match self {
            Self::Dense(planes) => {
                let words = voxels.words();
                let slices = planes.words.len() / (planes.bits * rows * words).max(1);
                for slice in planes.first..planes.first + slices {
                    for row in 0..rows {
                        for word in 0..words {
                            let found = planes.select(voxels, label, slice, row, word);
                            if found != 0 {
                                f([slice, row, word * 64], found);
                            }
                        }
                    }
                }
            }
            Self::Sparse(sparse) => {
                let corners = voxels.corners();
                sparse.each(label, |word, bits, codes| scatter(&corners, places, word, bits, codes, &mut f));
            }
        }
    }
}

/// The voxels that codes say are inside, one by one.
pub(crate) fn scatter(
    corners: &Grid,
    places: &Places,
    word: u32,
    bits: u64,
    codes: &[u8],
    f: &mut impl FnMut([usize; 3], u64),
) {
    let volume = corners.axes() == 3;
    let (rows, words) = (corners.size()[1], corners.words());
    let word = word as usize;
    let (row, column) = (word / words, word % words * 64);
    let (slice, row) = (row / rows, row % rows);
    for (bit, &code) in ones(bits).zip(codes) {
        for (i, &place) in places.of_voxel.iter().enumerate().skip(if volume { 0 } else { 4 }) {
            if code >> place & 1 == 1 {
                // Only voxels of the image are inside, so nothing lies before the first.
                let slice = if volume { slice + (i >> 2) - 1 } else { slice };
                f([slice, row + (i >> 1 & 1) - 1, column + bit as usize + (i & 1) - 1], 1);
            }
        }
    }
}

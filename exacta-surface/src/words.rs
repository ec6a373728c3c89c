//! Boundary voxels as sparse words: what a scan found, sorted by class.
//!
//! Where boundaries are everywhere, as in noise, words would take more room than the volume: such a slab keeps its bit
//! planes and the plane of boundary voxels instead, at most `bits + 1` bits a voxel, and words of a class are made when it is measured.

use std::borrow::Cow;
use std::ops::Range;

use exacta_core::scan::PackedSlice;
use exacta_core::{Grid, InputFormat, LabelSpec};

use crate::pairs::moved;

/// Voxels, or corners, of one label in one word of an image.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found {
    pub(crate) label: u32,
    pub(crate) word: u32,
    pub(crate) bits: u64,
}

/// Boundary voxels of every case, class and side: one bit each, words without any are not kept.
#[derive(Debug)]
pub struct BoundaryVoxels {
    grid: Grid,
    cases: usize,
    classes: usize,
    first: usize,
    one_hot: bool,
    maps: Vec<[Side; 2]>,
}

impl BoundaryVoxels {
    /// Sorts by label what the slabs of each map found.
    pub(crate) fn new(grid: Grid, spec: &LabelSpec, cases: usize, maps: Vec<Vec<[Slab; 2]>>) -> Self {
        let one_hot = spec.format == InputFormat::OneHot;
        let labels = if one_hot { 2 } else { spec.num_classes };
        let maps = maps
            .into_iter()
            .map(|slabs| {
                let (pred, target): (Vec<_>, Vec<_>) = slabs.into_iter().map(|[pred, target]| (pred, target)).unzip();
                [Side::new(labels, pred), Side::new(labels, target)]
            })
            .collect();
        Self { grid, cases, classes: spec.selected(), first: spec.first_class(), one_hot, maps }
    }

    /// The axes of an image.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Number of cases.
    pub fn cases(&self) -> usize {
        self.cases
    }

    /// Number of selected classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Number of boundary voxels of a case and selected class, in the prediction and in the reference.
    pub fn counts(&self, case: usize, class: usize) -> [u64; 2] {
        [0, 1].map(|side| self.words(case, class, side).voxels())
    }

    /// The words of a case, selected class and side (0 prediction, 1 reference), in raster order.
    pub(crate) fn words(&self, case: usize, class: usize, side: usize) -> Words<'_> {
        let class = class + self.first;
        if self.one_hot {
            let channels = self.classes + self.first;
            self.maps[case * channels + class][side].get(1)
        } else {
            self.maps[case][side].get(class)
        }
    }
}

/// What one slab of one side found.
#[derive(Debug)]
pub(crate) enum Slab {
    Sparse(Vec<Found>),
    Dense(DenseSlab),
}

impl Slab {
    /// The words of a map of the labels 0 and 1, in a grid that holds theirs at its first corner.
    pub(crate) fn moved(self, from: &Grid, to: &Grid) -> Self {
        let mut found = Vec::with_capacity(if let Self::Sparse(found) = &self { found.len() } else { 0 });
        self.each(1, |word, bits| found.push(Found { label: 1, word: moved(word, from, to), bits }));
        Self::Sparse(found)
    }

    /// The slab of `slices` as planes from now on, if its words have outgrown them; those before `next` were visited, of `len` words
    /// each.
    pub(crate) fn settle(&mut self, slices: &Range<usize>, next: usize, len: usize, bits: usize) {
        // Below this, neither form matters.
        const FEW: usize = 1 << 10;
        if let Self::Sparse(found) = self
            // A word is kept twice while it is sorted.
            && found.len() > FEW
            && found.len() * (size_of::<Found>() + 12) > (next - slices.start) * len * (bits + 1) * 8
        {
            // Room for the whole slab at once: growing would hold it twice.
            let slice = len * (bits + 1);
            let mut planes = Vec::with_capacity(slices.len() * slice);
            planes.resize((next - slices.start) * slice, 0);
            let mut dense = DenseSlab { first: slices.start * len, len, bits, planes };
            for found in std::mem::take(found) {
                dense.set(found);
            }
            *self = Self::Dense(dense);
        }
    }

    /// The most words that a label can have here.
    fn most_words(&self) -> usize {
        match self {
            Self::Sparse(found) => found.len(),
            Self::Dense(dense) => dense.planes.len() / (dense.bits + 1),
        }
    }

    /// Calls `f` with the words of a label, in raster order.
    fn each(&self, label: u32, mut f: impl FnMut(u32, u64)) {
        match self {
            Self::Sparse(found) => {
                found.iter().filter(|found| found.label == label).for_each(|found| f(found.word, found.bits));
            }
            Self::Dense(dense) => dense.each(label, f),
        }
    }
}

/// Slices of a slab as planes: the bits of the label, and the boundary voxels.
#[derive(Debug)]
pub(crate) struct DenseSlab {
    first: usize,
    len: usize,
    bits: usize,
    planes: Vec<u64>,
}

impl DenseSlab {
    fn set(&mut self, found: Found) {
        let at = found.word as usize - self.first;
        let start = at / self.len * self.len * (self.bits + 1) + at % self.len;
        for bit in 0..self.bits {
            if found.label >> bit & 1 == 1 {
                self.planes[start + bit * self.len] |= found.bits;
            }
        }
        self.planes[start + self.bits * self.len] |= found.bits;
    }

    /// Appends a slice.
    pub(crate) fn push(&mut self, slice: &PackedSlice, boundary: impl Iterator<Item = u64>) {
        for bit in 0..self.bits {
            self.planes.extend_from_slice(slice.plane(bit, 0));
        }
        self.planes.extend(boundary);
    }

    fn each(&self, label: u32, mut f: impl FnMut(u32, u64)) {
        for (slice, planes) in self.planes.chunks_exact(self.len * (self.bits + 1)).enumerate() {
            let base = self.first + slice * self.len;
            for (i, &boundary) in planes[self.bits * self.len..].iter().enumerate() {
                let bits = (0..self.bits).fold(boundary, |bits, bit| {
                    let plane = planes[bit * self.len + i];
                    bits & if label >> bit & 1 == 1 { plane } else { !plane }
                });
                if bits != 0 {
                    f(u32::try_from(base + i).expect("checked for the whole image"), bits);
                }
            }
        }
    }
}

/// One side of a map.
#[derive(Debug)]
enum Side {
    /// Words sorted by label.
    Sorted { starts: Vec<usize>, words: Vec<u32>, bits: Vec<u64> },
    /// Slabs as they were found, at least one of them as planes.
    Slabs(Vec<Slab>),
}

impl Side {
    /// A counting sort; within a label the raster order stays. A slab is freed as soon as it is taken in.
    fn new(labels: usize, slabs: Vec<Slab>) -> Self {
        if slabs.iter().any(|slab| matches!(slab, Slab::Dense(_))) {
            return Self::Slabs(slabs);
        }
        let slabs = slabs.into_iter().map(|slab| if let Slab::Sparse(found) = slab { found } else { Vec::new() });
        let slabs: Vec<Vec<Found>> = slabs.collect();
        let mut starts = vec![0usize; labels + 1];
        for found in slabs.iter().flatten() {
            starts[found.label as usize + 1] += 1;
        }
        for label in 0..labels {
            starts[label + 1] += starts[label];
        }
        let mut next = starts.clone();
        let (mut words, mut bits) = (vec![0; starts[labels]], vec![0; starts[labels]]);
        for slab in slabs {
            for found in slab {
                let at = &mut next[found.label as usize];
                words[*at] = found.word;
                bits[*at] = found.bits;
                *at += 1;
            }
        }
        Self::Sorted { starts, words, bits }
    }

    fn get(&self, label: usize) -> Words<'_> {
        match self {
            Self::Sorted { starts, words, bits } => {
                let range = starts[label]..starts[label + 1];
                Words { words: Cow::Borrowed(&words[range.clone()]), bits: Cow::Borrowed(&bits[range]) }
            }
            Self::Slabs(slabs) => {
                let label = u32::try_from(label).expect("checked by the specification");
                // What is reserved and not used is never touched.
                let most = slabs.iter().map(Slab::most_words).sum();
                let (mut words, mut bits) = (Vec::with_capacity(most), Vec::with_capacity(most));
                for slab in slabs {
                    slab.each(label, |word, found| {
                        words.push(word);
                        bits.push(found);
                    });
                }
                Words { words: Cow::Owned(words), bits: Cow::Owned(bits) }
            }
        }
    }
}

/// Words of one surface: index in the image, and which of its voxels.
#[derive(Debug, Clone)]
pub(crate) struct Words<'a> {
    pub(crate) words: Cow<'a, [u32]>,
    pub(crate) bits: Cow<'a, [u64]>,
}

impl Words<'_> {
    pub(crate) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.range(0..self.len())
    }

    pub(crate) fn range(&self, range: Range<usize>) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.words[range.clone()].iter().copied().zip(self.bits[range].iter().copied())
    }

    /// Number of voxels.
    pub(crate) fn voxels(&self) -> u64 {
        self.bits.iter().map(|bits| u64::from(bits.count_ones())).sum()
    }

    /// Bytes that these words hold themselves.
    pub(crate) fn owned_bytes(&self) -> usize {
        if matches!(self.words, Cow::Owned(_)) { 12 * self.len() } else { 0 }
    }
}

/// Positions of the bits set, lowest first.
pub(crate) fn ones(mut bits: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = bits.trailing_zeros();
        (bits != 0).then(|| {
            bits &= bits - 1;
            bit
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planes_hold_what_words_did() {
        // Three slices of 700 words, each word with voxels of labels 1 and 2.
        let found: Vec<Found> = (0..2100u32)
            .flat_map(|word| {
                [Found { label: 1, word, bits: 0b1010 << (word % 60) }, Found { label: 2, word, bits: 1 << 63 }]
            })
            .collect();
        let mut settled = Slab::Sparse(found.clone());
        settled.settle(&(0..3), 3, 700, 2);
        assert!(matches!(settled, Slab::Dense(_)));
        let sparse = Slab::Sparse(found);
        for label in 0..4 {
            let words = |slab: &Slab| {
                let mut out = Vec::new();
                slab.each(label, |word, bits| out.push((word, bits)));
                out
            };
            assert_eq!(words(&settled), words(&sparse), "label {label}");
        }
    }
}

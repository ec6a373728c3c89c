//! Corner cells: voxel corners whose block of 2x2 or 2x2x2 voxels lies neither inside nor outside a class.
//!
//! The code of a cell is that of the block: offset `i` of the block, last axis fastest, sets bit `2^axes - 1 - i` if inside (DeepMind's
//! code). Cells are sorted by class; where they are nearly everywhere, bit planes of the labels are kept instead ([`Planes`]).
//!
//! [`Planes`]: crate::segments::Planes

use std::borrow::Cow;

use exacta_core::{Grid, InputFormat, LabelSpec};

use crate::codes::Places;
use crate::segments::{Segment, Sparse, scatter};
use crate::words::Words;

/// Corner cells of every case, class and side, with their codes.
#[derive(Debug)]
pub struct CornerCells {
    grid: Grid,
    cases: usize,
    classes: usize,
    first: usize,
    one_hot: bool,
    maps: Vec<[Side; 2]>,
    voxels: Grid,
    places: Places,
}

impl CornerCells {
    /// Sorts by label what the slabs of each map found; `voxels` is the grid of the image.
    pub(crate) fn new(voxels: Grid, spec: &LabelSpec, cases: usize, maps: Vec<Vec<[Slab; 2]>>) -> Self {
        let one_hot = spec.format == InputFormat::OneHot;
        let labels = if one_hot { 2 } else { spec.num_classes };
        let maps = maps
            .into_iter()
            .map(|slabs| {
                let (pred, target): (Vec<_>, Vec<_>) = slabs.into_iter().map(|[pred, target]| (pred, target)).unzip();
                [Side::new(labels, pred), Side::new(labels, target)]
            })
            .collect();
        let (grid, places) = (voxels.corners(), Places::new(&voxels));
        Self { grid, cases, classes: spec.selected(), first: spec.first_class(), one_hot, maps, voxels, places }
    }

    /// The grid of corners: one more than there are voxels along each axis of the image.
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

    /// Number of corner cells of a case and selected class, in the prediction and in the reference.
    pub fn counts(&self, case: usize, class: usize) -> [u64; 2] {
        [0, 1].map(|side| self.words(case, class, side).voxels())
    }

    /// The side of a map, and the label there, of a case, selected class and side (0 prediction, 1 reference).
    fn side(&self, case: usize, class: usize, side: usize) -> (&Side, usize) {
        let class = class + self.first;
        if self.one_hot {
            let channels = self.classes + self.first;
            (&self.maps[case * channels + class][side], 1)
        } else {
            (&self.maps[case][side], class)
        }
    }

    /// The corner cells of a case, selected class and side, in raster order.
    pub(crate) fn cells(&self, case: usize, class: usize, side: usize) -> Cells<'_> {
        let words = self.words(case, class, side);
        let codes = match self.side(case, class, side) {
            (Side::Sorted(sorted), label) => Cow::Borrowed(sorted.codes(label)),
            (Side::Slabs(slabs), label) => {
                let mut codes = Vec::with_capacity(usize::try_from(words.voxels()).expect("fits memory"));
                let label = label_of(label);
                slabs.iter().flatten().for_each(|part| part.codes(&self.voxels, &self.places, label, &mut codes));
                Cow::Owned(codes)
            }
        };
        Cells { words, codes }
    }

    /// Where they are.
    pub(crate) fn words(&self, case: usize, class: usize, side: usize) -> Words<'_> {
        match self.side(case, class, side) {
            (Side::Sorted(sorted), label) => sorted.words(label),
            (Side::Slabs(slabs), label) => {
                let (mut words, mut bits) = (Vec::new(), Vec::new());
                let label = label_of(label);
                for part in slabs.iter().flatten() {
                    part.words(&self.voxels, label, |word, found| {
                        words.push(word);
                        bits.push(found);
                    });
                }
                Words { words: Cow::Owned(words), bits: Cow::Owned(bits) }
            }
        }
    }

    /// Their codes, where they are kept one by one.
    pub(crate) fn listed(&self, case: usize, class: usize, side: usize) -> Option<&[u8]> {
        match self.side(case, class, side) {
            (Side::Sorted(sorted), label) => Some(sorted.codes(label)),
            (Side::Slabs(_), _) => None,
        }
    }

    /// Calls `f` with words of voxels inside: slice, row and first column. All those around corner cells come, others may.
    pub(crate) fn voxels(&self, case: usize, class: usize, side: usize, mut f: impl FnMut([usize; 3], u64)) {
        match self.side(case, class, side) {
            (Side::Sorted(sorted), label) => {
                let (words, mut rest) = (sorted.words(label), sorted.codes(label));
                for (word, bits) in words.iter() {
                    let codes;
                    (codes, rest) = rest.split_at(bits.count_ones() as usize);
                    scatter(&self.grid, &self.places, word, bits, codes, &mut f);
                }
            }
            (Side::Slabs(slabs), label) => {
                let label = label_of(label);
                slabs.iter().flatten().for_each(|part| part.voxels(&self.voxels, &self.places, label, &mut f));
            }
        }
    }
}

fn label_of(label: usize) -> u32 {
    u32::try_from(label).expect("checked by the specification")
}

/// Corner cells of one class: words of the corner grid, and a code for each of their bits.
#[derive(Debug, Clone)]
pub(crate) struct Cells<'a> {
    pub(crate) words: Words<'a>,
    /// One a bit of `words`, lowest bit of the first word first.
    pub(crate) codes: Cow<'a, [u8]>,
}

impl Cells<'_> {
    /// Each corner along the image's axes (taken as three), and its code.
    #[cfg(test)]
    pub(crate) fn iter<'a>(&'a self, grid: &'a Grid) -> impl Iterator<Item = ([u32; 3], u8)> + 'a {
        let [_, rows, words] = [grid.size()[0], grid.size()[1], grid.words()].map(|n| n as u32);
        let bits = self.words.iter().flat_map(|(word, bits)| crate::words::ones(bits).map(move |bit| (word, bit)));
        bits.zip(self.codes.iter()).map(move |((word, bit), &code)| {
            let row = word / words;
            (grid.by_axis([row / rows, row % rows, word % words * 64 + bit]), code)
        })
    }
}

/// What one slab of one side found, from the first slice on.
pub(crate) type Slab = Vec<Segment>;

/// One side of a map.
#[derive(Debug)]
enum Side {
    /// Sorted by label.
    Sorted(Sorted),
    /// Slabs as they were found, at least one of them with planes.
    Slabs(Vec<Slab>),
}

/// Words and codes sorted by label.
#[derive(Debug)]
struct Sorted {
    starts: Vec<[usize; 2]>,
    words: Vec<u32>,
    bits: Vec<u64>,
    codes: Vec<u8>,
}

impl Side {
    fn new(labels: usize, slabs: Vec<Slab>) -> Self {
        if slabs.iter().flatten().any(|part| matches!(part, Segment::Dense(_))) {
            return Self::Slabs(slabs);
        }
        let sparse = |part| if let Segment::Sparse(sparse) = part { sparse } else { Sparse::default() };
        Self::Sorted(Sorted::new(labels, slabs.into_iter().flatten().map(sparse).collect()))
    }
}

impl Sorted {
    /// A counting sort; within a label the raster order stays. A slab is freed as soon as it is taken in.
    fn new(labels: usize, slabs: Vec<Sparse>) -> Self {
        let mut starts = vec![[0usize; 2]; labels + 1];
        for found in slabs.iter().flat_map(|slab| &slab.found) {
            let [words, codes] = &mut starts[found.label as usize + 1];
            *words += 1;
            *codes += found.bits.count_ones() as usize;
        }
        for label in 0..labels {
            let [words, codes] = starts[label];
            starts[label + 1][0] += words;
            starts[label + 1][1] += codes;
        }
        let mut next = starts.clone();
        let [in_words, in_codes] = starts[labels];
        let mut side = Self { starts, words: vec![0; in_words], bits: vec![0; in_words], codes: vec![0; in_codes] };
        for slab in slabs {
            let mut rest = &slab.codes[..];
            for found in slab.found {
                let [word, code] = &mut next[found.label as usize];
                side.words[*word] = found.word;
                side.bits[*word] = found.bits;
                *word += 1;
                let codes;
                (codes, rest) = rest.split_at(found.bits.count_ones() as usize);
                side.codes[*code..][..codes.len()].copy_from_slice(codes);
                *code += codes.len();
            }
        }
        side
    }

    fn words(&self, label: usize) -> Words<'_> {
        let range = self.starts[label][0]..self.starts[label + 1][0];
        Words { words: Cow::Borrowed(&self.words[range.clone()]), bits: Cow::Borrowed(&self.bits[range]) }
    }

    fn codes(&self, label: usize) -> &[u8] {
        &self.codes[self.starts[label][1]..self.starts[label + 1][1]]
    }
}

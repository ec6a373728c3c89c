//! Boundary voxels as sparse words: what a scan found, sorted by class.

use exacta_core::{Grid, InputFormat, LabelSpec};

/// Voxels of one label in one word of an image.
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
    maps: Vec<[ByLabel; 2]>,
}

impl BoundaryVoxels {
    /// Sorts by label what the slabs of each map found.
    pub(crate) fn new(grid: Grid, spec: &LabelSpec, cases: usize, maps: Vec<Vec<[Vec<Found>; 2]>>) -> Self {
        let one_hot = spec.format == InputFormat::OneHot;
        let labels = if one_hot { 2 } else { spec.num_classes };
        let maps = maps
            .into_iter()
            .map(|slabs| {
                let (pred, target): (Vec<_>, Vec<_>) = slabs.into_iter().map(|[pred, target]| (pred, target)).unzip();
                [ByLabel::new(labels, pred), ByLabel::new(labels, target)]
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

/// Words of one map and side, those of a label together.
#[derive(Debug)]
struct ByLabel {
    starts: Vec<usize>,
    words: Vec<u32>,
    bits: Vec<u64>,
}

impl ByLabel {
    /// A counting sort; within a label the raster order stays. A slab is freed as soon as it is taken in.
    fn new(labels: usize, slabs: Vec<Vec<Found>>) -> Self {
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
        Self { starts, words, bits }
    }

    fn get(&self, label: usize) -> Words<'_> {
        let range = self.starts[label]..self.starts[label + 1];
        Words { words: &self.words[range.clone()], bits: &self.bits[range] }
    }
}

/// Words of one surface: index in the image, and which of its voxels.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Words<'a> {
    pub(crate) words: &'a [u32],
    pub(crate) bits: &'a [u64],
}

impl Words<'_> {
    pub(crate) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.words.iter().copied().zip(self.bits.iter().copied())
    }

    /// Number of voxels.
    pub(crate) fn voxels(&self) -> u64 {
        self.bits.iter().map(|bits| u64::from(bits.count_ones())).sum()
    }
}

//! Corner cells: voxel corners whose block of 2x2 or 2x2x2 voxels lies neither inside nor outside a class.
//!
//! Whatever lies beyond the image is outside. A block's labels differ exactly where one of their bit planes does, so one plane of
//! differences finds the corners of all classes; the words with any are taken apart by label, and only at corners found is the
//! code of the block read: offset `i` of the block, last axis fastest, sets bit `2^axes - 1 - i` (DeepMind's code).

use std::borrow::Cow;

use exacta_core::scan::{PackedSlice, SliceVisitor, Window, scan_planes};
use exacta_core::stages::Counts;
use exacta_core::{Batch, Cpu, Error, Grid, InputFormat, LabelSpec, Level, Result, Table};

use crate::words::{Words, ones};

/// Finds the corner cells of every selected class, and counts, in one read of the labels.
pub(crate) fn corner_cells(cpu: &Cpu, batch: &Batch<'_>) -> Result<(Table<Counts>, CornerCells)> {
    let (grid, spec) = (*batch.grid(), *batch.spec());
    let corners = grid.corners();
    let words = corners.size()[0] * corners.size()[1] * corners.words();
    if u32::try_from(words).is_err() {
        return Err(Error::TooLarge {
            what: "the number of 64-corner words of an image",
            value: words,
            limit: u32::MAX as usize,
        });
    }
    // A channel is a map of the labels 0 and 1, of which only 1 is a class.
    let skip_zero = spec.format == InputFormat::OneHot || !spec.include_background;
    let visited = scan_planes(cpu, batch, |_| Corners::new(grid, skip_zero))?;
    let maps = visited.visitors.into_iter().map(|slabs| slabs.into_iter().map(|slab| slab.found).collect()).collect();
    Ok((visited.counts, CornerCells::new(corners, &spec, batch.cases(), maps)))
}

/// Corner cells of every case, class and side, with their codes.
#[derive(Debug)]
pub struct CornerCells {
    grid: Grid,
    cases: usize,
    classes: usize,
    first: usize,
    one_hot: bool,
    maps: Vec<[Side; 2]>,
}

impl CornerCells {
    fn new(grid: Grid, spec: &LabelSpec, cases: usize, maps: Vec<Vec<[Slab; 2]>>) -> Self {
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
        [0, 1].map(|side| self.cells(case, class, side).codes.len() as u64)
    }

    /// The corner cells of a case, selected class and side (0 prediction, 1 reference), in raster order.
    pub(crate) fn cells(&self, case: usize, class: usize, side: usize) -> Cells<'_> {
        let class = class + self.first;
        if self.one_hot {
            let channels = self.classes + self.first;
            self.maps[case * channels + class][side].get(1)
        } else {
            self.maps[case][side].get(class)
        }
    }
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
        let bits = self.words.iter().flat_map(|(word, bits)| ones(bits).map(move |bit| (word, bit)));
        bits.zip(self.codes.iter()).map(move |((word, bit), &code)| {
            let row = word / words;
            (grid.by_axis([row / rows, row % rows, word % words * 64 + bit]), code)
        })
    }
}

/// Corners of one label in one word, and how many codes they have in their slab.
#[derive(Debug, Clone, Copy)]
struct Found {
    label: u32,
    word: u32,
    bits: u64,
}

/// What one slab of one side found, word after word.
#[derive(Debug, Default)]
struct Slab {
    found: Vec<Found>,
    codes: Vec<u8>,
}

/// One side of a map: words and codes sorted by label.
#[derive(Debug)]
struct Side {
    starts: Vec<[usize; 2]>,
    words: Vec<u32>,
    bits: Vec<u64>,
    codes: Vec<u8>,
}

impl Side {
    /// A counting sort; within a label the raster order stays. A slab is freed as soon as it is taken in.
    fn new(labels: usize, slabs: Vec<Slab>) -> Self {
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

    fn get(&self, label: usize) -> Cells<'_> {
        let ([word, code], [end_word, end_code]) = (self.starts[label], self.starts[label + 1]);
        let words = Words {
            words: Cow::Borrowed(&self.words[word..end_word]),
            bits: Cow::Borrowed(&self.bits[word..end_word]),
        };
        Cells { words, codes: Cow::Borrowed(&self.codes[code..end_code]) }
    }
}

/// Finds the corner cells of a slab, side by side, in raster order.
#[derive(Debug)]
struct Corners {
    grid: Grid,
    skip_zero: bool,
    /// Corners of the first rows whose block has voxels of several labels, or lies in part beyond the image.
    differs: Vec<u64>,
    /// Corners whose block has a voxel of another label than 0.
    some: Vec<u64>,
    /// Bit of the code that each voxel of the block sets: slices, then rows, then columns, as walked.
    places: [u8; 8],
    labels: Vec<u32>,
    found: [Slab; 2],
}

impl Corners {
    fn new(grid: Grid, skip_zero: bool) -> Self {
        let words = (grid.size()[1] + 1) * grid.words();
        let places = std::array::from_fn(|i| {
            let [a, b, c] = grid.by_axis([i >> 2 & 1, i >> 1 & 1, i & 1]);
            let last = (1 << grid.axes()) - 1;
            // In two dimensions there is no voxel before the slice.
            last - (if grid.axes() == 3 { 4 * a } else { 0 } + 2 * b + c) as u8
        });
        Self {
            grid,
            skip_zero,
            differs: vec![0; words],
            some: vec![0; words],
            places,
            labels: Vec::new(),
            found: Default::default(),
        }
    }

    /// The corners between two slices; one of them may lie beyond the image, and does for an image of two axes.
    fn between(
        &mut self,
        level: Level,
        side: usize,
        slice: usize,
        before: Option<&PackedSlice>,
        after: Option<&PackedSlice>,
    ) {
        let slices: Vec<&PackedSlice> = before.into_iter().chain(after).collect();
        let border = self.grid.axes() == 3 && slices.len() < 2;
        let (differs, some) = (&mut self.differs[..], &mut self.some[..]);
        exacta_core::dispatch!(level, simd => blocks(simd, &slices, border, differs, some));
        let [_, rows, columns] = self.grid.size();
        let (words, corner_words) = (self.grid.words(), self.grid.corners().words());
        let (last_word, last_bit) = (columns / 64, columns % 64);
        for row in 0..=rows {
            let base = (slice * (rows + 1) + row) * corner_words;
            for word in 0..corner_words {
                let at = row * words + word;
                let corners = if word == words {
                    // The last column of corners alone.
                    u64::from(!self.skip_zero) | self.some[at - 1] >> 63
                } else {
                    let edge = row == 0 || row == rows;
                    let mut differs = if edge { !0 } else { self.differs[at] };
                    differs |= u64::from(word == 0);
                    if word == last_word {
                        differs |= 1 << last_bit;
                        differs &= !0 >> (63 - last_bit);
                    }
                    if self.skip_zero { differs & self.some[at] } else { differs }
                };
                if corners != 0 {
                    let place = u32::try_from(base + word).expect("checked for the whole image");
                    self.extract(side, [before, after], [row, word], corners, place);
                }
            }
        }
    }

    /// Takes the corners of a word apart by label.
    fn extract(
        &mut self,
        side: usize,
        slices: [Option<&PackedSlice>; 2],
        [row, word]: [usize; 2],
        corners: u64,
        place: u32,
    ) {
        let [_, rows, _] = self.grid.size();
        let words = self.grid.words();
        // The four rows of voxels around a row of corners.
        let around: [Option<(&PackedSlice, usize)>; 4] = std::array::from_fn(|i| {
            let row = (row + (i & 1)).checked_sub(1).filter(|&row| row < rows)?;
            slices[i >> 1].map(|slice| (slice, row * words + word))
        });
        let voxels = corners | corners >> 1;
        self.labels.clear();
        for (slice, at) in around.into_iter().flatten() {
            let mut note = |at: usize, voxels: u64| {
                if voxels != 0 {
                    slice.each_label(at, voxels, |label, _| {
                        let passed_over = self.skip_zero && label == 0;
                        if !passed_over && !self.labels.contains(&label) {
                            self.labels.push(label);
                        }
                    });
                }
            };
            if word < words {
                note(at, voxels & slice.valid(at));
            }
            if word > 0 && corners & 1 == 1 {
                note(at - 1, slice.valid(at - 1) & 1 << 63);
            }
        }
        for &label in &self.labels {
            // Each row of voxels as the ones before and the ones after the corners.
            let block: [u64; 8] = {
                let mut block = [0; 8];
                for (i, around) in around.into_iter().enumerate() {
                    let Some((slice, at)) = around else { continue };
                    let here = if word < words { slice.select(at, label) } else { 0 };
                    let left = if word > 0 { slice.select(at - 1, label) >> 63 } else { 0 };
                    block[2 * i] = here << 1 | left;
                    block[2 * i + 1] = here;
                }
                block
            };
            let whole = if self.grid.axes() == 3 { &block[..] } else { &block[4..] };
            let (any, all) = whole.iter().fold((0, !0), |(any, all), &row| (any | row, all & row));
            let bits = any & !all & corners;
            if bits == 0 {
                continue;
            }
            let found = &mut self.found[side];
            found.found.push(Found { label, word: place, bits });
            found.codes.extend(ones(bits).map(|bit| {
                let voxels = block.iter().zip(self.places);
                voxels.fold(0, |code, (row, place)| code | u8::from(row >> bit & 1 == 1) << (place & 7))
            }));
        }
    }
}

impl SliceVisitor for Corners {
    fn visit(&mut self, level: Level, slice: usize, pred: &Window<'_>, target: &Window<'_>) {
        for (side, window) in [pred, target].into_iter().enumerate() {
            self.between(level, side, slice, window.previous, Some(window.current));
            if window.next.is_none() && self.grid.axes() == 3 {
                self.between(level, side, slice + 1, Some(window.current), None);
            }
        }
    }
}

/// Marks corners whose block has several labels, and those with a label other than 0; the edges within the slice are left to the caller.
#[inline(always)]
fn blocks<S>(_: S, slices: &[&PackedSlice], border: bool, differs: &mut [u64], some: &mut [u64]) {
    let slice = slices[0];
    let (n, words) = (slice.len(), slice.words());
    let row = isize::try_from(words).expect("a row fits memory");
    differs.fill(if border { !0 } else { 0 });
    some.fill(0);
    for bit in 0..slice.bits() {
        let rows = |i: usize| {
            let slice = slices[i.min(slices.len() - 1)];
            [0, -row, -1, -row - 1].map(|shift| &slice.plane(bit, shift)[..n])
        };
        let ([a, b, c, d], [e, f, g, h]) = (rows(0), rows(1));
        let (differs, within) = (&mut differs[..n], &mut some[..n]);
        for i in 0..n {
            let (any, left_any) = (a[i] | b[i] | e[i] | f[i], c[i] | d[i] | g[i] | h[i]);
            let (all, left_all) = (a[i] & b[i] & e[i] & f[i], c[i] & d[i] & g[i] & h[i]);
            let any = any | any << 1 | left_any >> 63;
            differs[i] |= any & !(all & (all << 1 | left_all >> 63));
            within[i] |= any;
        }
        // Below the last row there is no voxel.
        for i in 0..words {
            let any = slices.iter().fold(0, |any, slice| any | slice.plane(bit, 0)[n - words + i]);
            let left = if i > 0 {
                slices.iter().fold(0, |any, slice| any | slice.plane(bit, 0)[n - words + i - 1])
            } else {
                0
            };
            some[n + i] |= any | any << 1 | left >> 63;
        }
    }
}

#[cfg(test)]
mod tests {
    use exacta_core::ndarray::{ArrayD, Axis, IxDyn};
    use exacta_core::parallel::Threads;
    use exacta_core::testing::{Case, cases, labels_of, levels};
    use proptest::prelude::*;

    use super::*;
    use crate::naive::naive_codes;

    /// Cells of one side by definition: where, in axis order, and the code, sorted.
    fn naive(mask: &ArrayD<bool>) -> Vec<([u32; 3], u8)> {
        let codes = naive_codes(mask);
        let whole = u8::MAX >> (8 - (1 << mask.ndim()));
        let lead = 3 - mask.ndim();
        let cells = codes.indexed_iter().filter(|(_, code)| **code != 0 && **code != whole);
        cells
            .map(|(at, &code)| {
                let place = std::array::from_fn(|k| if k < lead { 0 } else { at[k - lead] as u32 });
                (place, code)
            })
            .collect()
    }

    type Sides = [Vec<([u32; 3], u8)>; 2];

    /// Cells of every case, selected class and side, by definition.
    fn wanted(pred: &ArrayD<i64>, target: &ArrayD<i64>, spec: LabelSpec) -> Vec<Sides> {
        let mut out = Vec::new();
        for (pred, target) in pred.outer_iter().zip(target.outer_iter()) {
            for label in spec.first_class()..spec.num_classes {
                out.push([&pred, &target].map(|image| {
                    naive(&match spec.format {
                        InputFormat::Index => image.mapv(|v| v == label as i64).into_dyn(),
                        InputFormat::OneHot => image.index_axis(Axis(0), label).mapv(|v| v == 1).into_dyn(),
                    })
                }));
            }
        }
        out
    }

    fn check(cpu: &Cpu, pred: &ArrayD<i64>, target: &ArrayD<i64>, spec: LabelSpec, wanted: &[Sides]) {
        let batch = Batch::new(pred.view(), target.view(), spec, None).expect("a valid batch");
        let (counts, cells) = corner_cells(cpu, &batch).expect("valid labels");
        assert_eq!(counts.values(), exacta_core::testing::naive_counts(pred, target, &spec, None));
        for (place, wanted) in wanted.iter().enumerate() {
            let (case, class) = (place / spec.selected(), place % spec.selected());
            for (side, wanted) in wanted.iter().enumerate() {
                let of_class = cells.cells(case, class, side);
                let mut found: Vec<_> = of_class.iter(cells.grid()).collect();
                assert_eq!(cells.counts(case, class)[side], found.len() as u64);
                found.sort_unstable();
                assert_eq!(&found, wanted, "case {case}, class {class}, side {side}");
            }
        }
    }

    fn layouts(array: &ArrayD<i64>) -> Vec<ArrayD<i64>> {
        let n = array.ndim();
        let reversed: Vec<usize> = (0..n).rev().collect();
        let mut swapped: Vec<usize> = (0..n).collect();
        swapped.swap(n - 1, n - 2);
        let lay = |order: &[usize]| {
            array.clone().permuted_axes(IxDyn(order)).as_standard_layout().into_owned().permuted_axes(IxDyn(order))
        };
        vec![array.clone(), lay(&reversed), lay(&swapped)]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

        #[test]
        fn equal_the_definition(case in cases(6)) {
            let Case { pred, target, classes, .. } = &case;
            for include_background in [true, *classes == 1] {
                let spec = LabelSpec { include_background, ..LabelSpec::index(*classes) };
                let wanted = wanted(pred, target, spec);
                for level in levels() {
                    check(&Cpu { level, threads: Threads::Serial }, pred, target, spec, &wanted);
                }
                for (pred, target) in layouts(pred).iter().zip(&layouts(target)) {
                    check(&Cpu::new(), pred, target, spec, &wanted);
                }
                check(&Cpu::new(), &layouts(pred)[1], target, spec, &wanted);
            }
        }
    }

    #[test]
    fn slabs_meet() {
        let shape = [70, 5, 64];
        let (pred, target) = (labels_of(&shape, 1, 3, 5, 0), labels_of(&shape, 1, 3, 6, 1));
        for spec in [LabelSpec::index(3), LabelSpec::index(3).without_background()] {
            check(&Cpu::new(), &pred, &target, spec, &wanted(&pred, &target, spec));
        }
    }

    #[test]
    fn channels_overlap() {
        let shape = [4, 5, 66];
        let (a, b) = (labels_of(&shape, 2, 2, 3, 1), labels_of(&shape, 2, 2, 8, 0));
        let stack = |a: &ArrayD<i64>, b: &ArrayD<i64>| {
            exacta_core::ndarray::stack(Axis(1), &[a.view(), b.view()]).expect("equal shapes")
        };
        let (pred, target) = (stack(&a, &b), stack(&b, &a));
        for spec in [LabelSpec::one_hot(2), LabelSpec::one_hot(2).without_background()] {
            check(&Cpu::new(), &pred, &target, spec, &wanted(&pred, &target, spec));
        }
    }
}

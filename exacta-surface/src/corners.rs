//! Finding corner cells while labels are read.
//!
//! Whatever lies beyond the image is outside. A block's labels differ exactly where one of their bit planes does, so one plane of
//! differences finds the corners of all classes; the words with any are taken apart by label, and only at corners found is the
//! code of the block read: offset `i` of the block, last axis fastest, sets bit `2^axes - 1 - i` (DeepMind's code).

use std::ops::Range;

use exacta_core::scan::{PackedSlice, SliceVisitor, Window, scan_planes};
use exacta_core::stages::Counts;
use exacta_core::{Batch, Cpu, Error, Grid, InputFormat, Level, Result, Table};

use crate::cells::{CornerCells, Slab};
use crate::codes::{Places, mixed};
use crate::segments::{Planes, Segment, Sparse};
use crate::words::{Found, ones};

/// Finds the corner cells of every selected class, and counts, in one read of the labels.
pub(crate) fn corner_cells(cpu: &Cpu, batch: &Batch<'_>) -> Result<(Table<Counts>, CornerCells)> {
    corner_cells_of(cpu, batch, FEW)
}

/// The same, keeping planes instead of more than some `few` words of a slab.
pub(crate) fn corner_cells_of(cpu: &Cpu, batch: &Batch<'_>, few: usize) -> Result<(Table<Counts>, CornerCells)> {
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
    let visited = scan_planes(cpu, batch, |slices| Corners::new(grid, slices, skip_zero, few))?;
    let maps = visited.visitors.into_iter().map(|slabs| slabs.into_iter().map(|slab| slab.found).collect()).collect();
    Ok((visited.counts, CornerCells::new(grid, &spec, batch.cases(), maps)))
}

/// Words of a slab that are kept as they are: below this, neither form matters.
const FEW: usize = 1 << 10;
/// With more corners in a word, the codes of all 64 are quicker than one after the other.
const MANY: u32 = 12;

/// Finds the corner cells of a slab, side by side, in raster order.
#[derive(Debug)]
pub(crate) struct Corners {
    grid: Grid,
    skip_zero: bool,
    /// Corners of the first rows whose block has voxels of several labels, or lies in part beyond the image.
    differs: Vec<u64>,
    /// Corners whose block has a voxel of another label than 0.
    some: Vec<u64>,
    places: Places,
    labels: Vec<u32>,
    found: [Slab; 2],
    slices: Range<usize>,
    few: usize,
}

impl Corners {
    pub(crate) fn new(grid: Grid, slices: Range<usize>, skip_zero: bool, few: usize) -> Self {
        let words = (grid.size()[1] + 1) * grid.words();
        Self {
            grid,
            skip_zero,
            differs: vec![0; words],
            some: vec![0; words],
            places: Places::new(&grid),
            labels: Vec::new(),
            found: [0, 1].map(|_| vec![Segment::Sparse(Sparse::default())]),
            slices,
            few,
        }
    }

    /// What was found, of both sides, by one that keeps no planes.
    pub(crate) fn into_words(mut self) -> [Sparse; 2] {
        [0, 1].map(|side| std::mem::take(self.sparse(side)))
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
        let (parts, packed) = (&mut self.found[side], before.or(after).expect("a slice of the image"));
        if let Some(Segment::Dense(planes)) = parts.last_mut() {
            after.into_iter().for_each(|after| planes.push(after));
            planes.reach(slice);
            return;
        }
        let (planes, len) = (packed.bits(), packed.len());
        let known = self.sparse(side).bytes();
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
        // What one slice takes as words and as planes. One label alone has no planes, and no corners but those of the image's edge.
        let (few, end, slice) = (self.few, self.slices.end, slice + 1);
        let found = self.sparse(side);
        if planes > 0 && found.found.len() > few && found.bytes() - known > 4 * 8 * planes * len && slice < end {
            let mut dense = Planes::new(slice, planes, end + 1 - slice, len);
            after.into_iter().for_each(|after| dense.begin_with(after));
            self.found[side].push(Segment::Dense(dense));
        }
    }

    /// The words of a side so far, before any planes.
    fn sparse(&mut self, side: usize) -> &mut Sparse {
        words_of(&mut self.found[side])
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
            let bits = mixed(self.grid.axes(), &block) & corners;
            if bits == 0 {
                continue;
            }
            let (axes, places) = (self.grid.axes(), self.places);
            let found = words_of(&mut self.found[side]);
            found.found.push(Found { label, word: place, bits });
            if bits.count_ones() > MANY {
                let codes = places.codes(axes, &block);
                found.codes.extend(ones(bits).map(|bit| codes[bit as usize]));
                continue;
            }
            found.codes.extend(ones(bits).map(|bit| {
                let voxels = block.iter().zip(places.of_voxel);
                voxels.fold(0, |code, (row, place)| code | u8::from(row >> bit & 1 == 1) << (place & 7))
            }));
        }
    }
}

/// The words that a slab begins with.
fn words_of(slab: &mut Slab) -> &mut Sparse {
    match &mut slab[0] {
        Segment::Sparse(sparse) => sparse,
        Segment::Dense(_) => unreachable!("words come first"),
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
    use exacta_core::LabelSpec;
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

    /// It has no bit planes to keep, and all its corners lie on the edge of the image.
    #[test]
    fn an_image_of_one_label() {
        let image = ArrayD::<i64>::zeros(IxDyn(&[1, 9, 2, 130]));
        let spec = LabelSpec::index(1);
        let wanted = wanted(&image, &image, spec);
        for image in layouts(&image) {
            for few in [0, FEW] {
                let batch = Batch::new(image.view(), image.view(), spec, None).expect("a valid batch");
                let (_, cells) = corner_cells_of(&Cpu::serial(), &batch, few).expect("valid labels");
                assert_eq!(cells.counts(0, 0), [wanted[0][0].len() as u64; 2]);
            }
            check(&Cpu::new(), &image, &image, spec, &wanted);
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

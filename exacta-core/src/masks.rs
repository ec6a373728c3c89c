//! The masks of all classes of a batch, from one read of the labels.
//!
//! Kept as the bit planes that the labels were packed into, `ceil(log2(classes))` bits a voxel and array, with the box of each
//! class; the mask of a class is put together from them when it is asked for, for a [`Region`] alone. A hundred organs so cost
//! seven bits a voxel, and then a box each.

mod channels;

use std::ops::Range;

use crate::parallel::Threads;
use crate::scan::{PackedSlice, SliceVisitor, Window, diagnose, read_slices, scan_planes};
use crate::stages::Counts;
use crate::{Batch, Bits, Cpu, Error, Grid, InputFormat, LabelSpec, Level, Result, Table};

/// Fewest slices worth a slab of their own.
const SLAB: usize = 8;
/// Below this many voxels in all, one thread is quicker than waking another.
const SERIAL: usize = 1 << 16;

/// One of the two arrays of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The prediction.
    Pred,
    /// The reference.
    Target,
}

impl Side {
    /// Prediction, then reference.
    pub const BOTH: [Self; 2] = [Self::Pred, Self::Target];

    pub(crate) const fn index(self) -> usize {
        match self {
            Self::Pred => 0,
            Self::Target => 1,
        }
    }

    /// What a skeleton of this side is called in errors.
    pub const fn skeleton_argument(self) -> &'static str {
        match self {
            Self::Pred => "pred_skeleton",
            Self::Target => "target_skeleton",
        }
    }
}

/// A box of voxels: half-open ranges along the walked axes of a [`Grid`] (slices, rows, columns), none of them empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region {
    /// Slices, rows, columns.
    pub ranges: [Range<usize>; 3],
}

impl Region {
    /// All voxels of an image.
    pub fn whole(grid: &Grid) -> Self {
        Self { ranges: grid.size().map(|n| 0..n) }
    }

    /// The smallest box around both.
    pub fn union(self, other: &Self) -> Self {
        let [mut a, mut b, mut c] = self.ranges;
        for (mine, theirs) in [&mut a, &mut b, &mut c].into_iter().zip(&other.ranges) {
            *mine = mine.start.min(theirs.start)..mine.end.max(theirs.end);
        }
        Self { ranges: [a, b, c] }
    }

    /// The box with `margin` voxels more on every side, within the image.
    pub fn widened(self, margin: usize, grid: &Grid) -> Self {
        let size = grid.size();
        let [a, b, c] = self.ranges;
        let widen = |range: Range<usize>, n: usize| range.start.saturating_sub(margin)..(range.end + margin).min(n);
        Self { ranges: [widen(a, size[0]), widen(b, size[1]), widen(c, size[2])] }
    }

    /// The box with its first column moved down to the first bit of a word, so that masks are cut without a shift.
    pub fn from_whole_word(self) -> Self {
        let [slices, rows, columns] = self.ranges;
        Self { ranges: [slices, rows, columns.start / 64 * 64..columns.end] }
    }

    /// First indices.
    pub fn low(&self) -> [usize; 3] {
        self.ranges.each_ref().map(|range| range.start)
    }

    /// Lengths.
    pub fn size(&self) -> [usize; 3] {
        self.ranges.each_ref().map(Range::len)
    }
}

/// Prediction and reference of a batch as bit planes, from which the mask of every selected class can be had.
#[derive(Debug, Clone)]
pub struct Masks {
    grid: Grid,
    spec: LabelSpec,
    cases: usize,
    /// One a map: a case, or a channel of a case.
    maps: Vec<Vec<Slab>>,
}

impl Cpu {
    /// The masks of all classes of a batch and the counts, from one read of the labels: index maps or one-hot channels, of any
    /// dtype and strides.
    ///
    /// # Errors
    /// As [`crate::stages::CountStage::counts`]; [`crate::Error::MaskedSurface`] for a batch with a mask or an ignored label.
    ///
    /// # Example
    /// ```
    /// use exacta_core::{Batch, Cpu, LabelSpec, Region, Side};
    /// # use exacta_core::ndarray::array;
    /// let pred = array![[[0u8, 1, 1, 0], [0, 0, 1, 2]]].into_dyn();
    /// let target = array![[[0u8, 0, 1, 1], [0, 0, 0, 2]]].into_dyn();
    /// let batch = Batch::new(pred.view(), target.view(), LabelSpec::index(3).without_background(), None)?;
    /// let (counts, masks) = Cpu::new().masks(&batch)?;
    /// assert_eq!(counts.get(0, 0).true_positives, 1);
    /// let region = masks.joint_region(0, 0).expect("class 1 is there");
    /// assert_eq!(region.ranges, [0..1, 0..2, 1..4]);
    /// assert_eq!(masks.bits(0, 0, Side::Pred, &region).words(), [0b011, 0b010]);
    /// # Ok::<(), exacta_core::Error>(())
    /// ```
    pub fn masks(&self, batch: &Batch<'_>) -> Result<(Table<Counts>, Masks)> {
        let (grid, spec) = (*batch.grid(), *batch.spec());
        let (counts, maps) = if spec.format == InputFormat::OneHot {
            channels::counted(self, batch)?
        } else {
            let labels = batch.labels_of_map();
            let visited = scan_planes(self, batch, |slices| Slab::new(&grid, labels, slices))?;
            (visited.counts, visited.visitors)
        };
        Ok((counts, Masks { grid, spec, cases: batch.cases(), maps }))
    }
}

impl Masks {
    /// The same as [`Cpu::masks`] without the counts, and so in less time.
    ///
    /// # Errors
    /// As [`Cpu::masks`].
    pub fn new(cpu: &Cpu, batch: &Batch<'_>) -> Result<Self> {
        let (grid, spec) = (*batch.grid(), *batch.spec());
        let maps = match spec.format {
            InputFormat::OneHot => channels::channels(cpu, batch)?,
            InputFormat::Index => read_maps(cpu, batch)?,
        };
        Ok(Self { grid, spec, cases: batch.cases(), maps })
    }

    /// The axes of one image.
    pub const fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Number of cases.
    pub const fn cases(&self) -> usize {
        self.cases
    }

    /// Number of selected classes.
    pub const fn classes(&self) -> usize {
        self.spec.selected()
    }

    /// The map that holds a selected class, and its label there.
    fn place(&self, case: usize, class: usize) -> (&[Slab], usize) {
        assert!(case < self.cases && class < self.classes(), "case {case}, class {class}");
        let class = class + self.spec.first_class();
        match self.spec.format {
            InputFormat::Index => (&self.maps[case], class),
            InputFormat::OneHot => (&self.maps[case * self.spec.num_classes + class], 1),
        }
    }

    /// The box of a selected class (its column, as in a [`Table`]), or nothing where it has no voxel.
    ///
    /// # Panics
    /// If there is no such case or class.
    pub fn region(&self, case: usize, class: usize, side: Side) -> Option<Region> {
        let (slabs, label) = self.place(case, class);
        let regions = slabs.iter().filter_map(|slab| slab.region(side, label));
        regions.reduce(|all, region| all.union(&region))
    }

    /// The box around a class in both arrays, or nothing where neither has it.
    ///
    /// # Panics
    /// If there is no such case or class.
    pub fn joint_region(&self, case: usize, class: usize) -> Option<Region> {
        let regions = Side::BOTH.into_iter().filter_map(|side| self.region(case, class, side));
        regions.reduce(|all, region| all.union(&region))
    }

    /// The voxels of a selected class within a region, as a mask of the region's size: its walked axes are those of the images.
    /// Masks of one region can be compared bit by bit.
    ///
    /// Cost: a few operations for 64 voxels of the region and plane.
    ///
    /// # Panics
    /// If there is no such case or class, or the region reaches beyond the images.
    pub fn bits(&self, case: usize, class: usize, side: Side, region: &Region) -> Bits {
        let (slabs, label) = self.place(case, class);
        let mut out = Bits::empty(self.grid.resized(region.size()));
        if out.words().is_empty() {
            return out;
        }
        let [slices, rows, columns] = region.ranges.clone();
        let (pitch, per_row) = (self.grid.words(), out.grid().words());
        let (first, shift) = (columns.start / 64, columns.start % 64);
        let last = if columns.len().is_multiple_of(64) { !0 } else { (1 << (columns.len() % 64)) - 1 };
        let of_slices = out.words_mut().chunks_exact_mut(rows.len() * per_row);
        for (slice, out) in slices.zip(of_slices) {
            let slab = slabs.iter().find(|slab| slab.slices.contains(&slice)).expect("slabs cover the image");
            let start = ((slice - slab.slices.start) * self.grid.size()[1] + rows.start) * pitch + first;
            if shift == 0 && per_row == pitch {
                slab.select_words(side, label, start, out);
            } else {
                for (row, out) in out.chunks_exact_mut(per_row).enumerate() {
                    let start = start + row * pitch;
                    if shift == 0 {
                        slab.select_words(side, label, start, out);
                    } else {
                        let words = (start..start + pitch - first).map(|i| slab.select(side, label, i));
                        cut(words, shift, out);
                    }
                }
            }
            if last != !0 {
                out.iter_mut().skip(per_row - 1).step_by(per_row).for_each(|word| *word &= last);
            }
        }
        out
    }
}

/// Writes `words` from bit `shift` on.
#[inline(always)]
fn cut(mut words: impl Iterator<Item = u64>, shift: usize, out: &mut [u64]) {
    let mut word = words.next().unwrap_or(0);
    for out in out {
        let next = words.next().unwrap_or(0);
        // In two steps: a shift by 64 would be none.
        *out = word >> shift | next << (63 - shift) << 1;
        word = next;
    }
}

/// The planes of some slices of a map, and the boxes of its labels within them.
#[derive(Debug, Clone)]
struct Slab {
    slices: Range<usize>,
    words: usize,
    sides: [Planes; 2],
}

/// One side of a slab.
#[derive(Debug, Clone)]
struct Planes {
    /// Words of all slices, a vector for each bit of the label.
    planes: Vec<Vec<u64>>,
    boxes: Vec<Extent>,
}

/// First and last index along each axis; the first above the last where there is no voxel.
#[derive(Debug, Clone, Copy)]
struct Extent {
    low: [usize; 3],
    high: [usize; 3],
}

impl Extent {
    const NONE: Self = Self { low: [usize::MAX; 3], high: [0; 3] };

    #[inline(always)]
    fn add(&mut self, low: [usize; 3], high: [usize; 3]) {
        for k in 0..3 {
            self.low[k] = self.low[k].min(low[k]);
            self.high[k] = self.high[k].max(high[k]);
        }
    }
}

impl Slab {
    fn new(grid: &Grid, labels: usize, slices: Range<usize>) -> Self {
        let planes = Planes { planes: Vec::new(), boxes: vec![Extent::NONE; labels] };
        Self { slices, words: grid.words(), sides: [planes.clone(), planes] }
    }

    /// The voxels of word `i` whose label is `label`; beyond the row, anything.
    #[inline(always)]
    fn select(&self, side: Side, label: usize, i: usize) -> u64 {
        self.sides[side.index()].planes.iter().enumerate().fold(!0, |found, (bit, plane)| {
            let wanted = (label as u64 >> bit & 1).wrapping_neg();
            found & !(plane[i] ^ wanted)
        })
    }

    /// The same for the words from `start` on.
    fn select_words(&self, side: Side, label: usize, start: usize, out: &mut [u64]) {
        // A single class has no plane, and every voxel.
        out.fill(!0);
        for (bit, plane) in self.sides[side.index()].planes.iter().enumerate() {
            let unwanted = (!label as u64 >> bit & 1).wrapping_neg();
            out.iter_mut().zip(&plane[start..]).for_each(|(out, word)| *out &= word ^ unwanted);
        }
    }

    fn region(&self, side: Side, label: usize) -> Option<Region> {
        let Extent { low, high } = self.sides[side.index()].boxes[label];
        (low[0] <= high[0]).then(|| Region { ranges: [0, 1, 2].map(|k| low[k]..high[k] + 1) })
    }
}

impl SliceVisitor for Slab {
    fn visit(&mut self, _: Level, slice: usize, pred: &Window<'_>, target: &Window<'_>) {
        // A label out of range is found by the count, which refuses the batch.
        self.take(Side::Pred, slice, pred.current);
        self.take(Side::Target, slice, target.current);
    }
}

impl Slab {
    /// Takes the planes of a slice, the next one of its side. False where a label is out of range.
    fn take(&mut self, side: Side, slice: usize, packed: &PackedSlice) -> bool {
        let Planes { planes, boxes } = &mut self.sides[side.index()];
        if planes.is_empty() {
            let all = packed.len() * self.slices.len();
            *planes = (0..packed.bits()).map(|_| Vec::with_capacity(all)).collect();
        }
        for (bit, plane) in planes.iter_mut().enumerate() {
            plane.extend_from_slice(packed.plane(bit, 0));
        }
        extend(boxes, packed, slice, self.words)
    }
}

/// The slabs of each map, without counts.
fn read_maps(cpu: &Cpu, batch: &Batch<'_>) -> Result<Vec<Vec<Slab>>> {
    let (grid, labels) = (batch.grid(), batch.labels_of_map());
    let slabs = slabs_of(cpu, batch)?;
    let found = slabs.threads.map(batch.maps() * slabs.of_map, |item| {
        let (images, slices) = (batch.map(item / slabs.of_map), slabs.slices(item, grid));
        let mut slab = Slab::new(grid, labels, slices.clone());
        for (side, image) in Side::BOTH.into_iter().zip([&images.pred, &images.target]) {
            let fits = read_slices(cpu.level, grid, &**image, labels, slices.clone(), |slice, packed| {
                slab.take(side, slice, packed)
            });
            if !fits {
                return None;
            }
        }
        Some(slab)
    });
    by_map(found, slabs.of_map, batch)
}

/// How the maps of a batch are shared out.
struct Slabs<'a> {
    threads: &'a Threads,
    of_map: usize,
}

impl Slabs<'_> {
    fn slices(&self, item: usize, grid: &Grid) -> Range<usize> {
        let (slab, slices) = (item % self.of_map, grid.size()[0]);
        slab * slices / self.of_map..(slab + 1) * slices / self.of_map
    }
}

fn slabs_of<'a>(cpu: &'a Cpu, batch: &Batch<'_>) -> Result<Slabs<'a>> {
    if batch.is_masked() {
        return Err(Error::MaskedSurface);
    }
    let (maps, grid) = (batch.maps(), batch.grid());
    let threads = if maps * grid.voxels() <= SERIAL { &Threads::Serial } else { &cpu.threads };
    let wanted = if threads.count() == 1 { 1 } else { (4 * threads.count()).div_ceil(maps.max(1)) };
    Ok(Slabs { threads, of_map: wanted.min(grid.size()[0] / SLAB).max(1) })
}

/// What was found, by map; the error of the batch where something was not.
fn by_map<T>(found: Vec<Option<T>>, of_map: usize, batch: &Batch<'_>) -> Result<Vec<Vec<T>>> {
    let found: Vec<T> = found.into_iter().collect::<Option<_>>().ok_or_else(|| diagnose(batch))?;
    let mut found = found.into_iter();
    Ok((0..batch.maps()).map(|_| found.by_ref().take(of_map).collect()).collect())
}

/// Extends the boxes of the labels of a slice. False where a label has no box.
fn extend(boxes: &mut [Extent], packed: &PackedSlice, slice: usize, words: usize) -> bool {
    let mut known = true;
    let rows = packed.len() / words;
    let last = packed.columns() - 1;
    for row in 0..rows {
        let mut word = 0;
        while word < words {
            let i = row * words + word;
            let Some(label) = packed.uniform_label(i) else {
                packed.each_label(i, packed.valid(i), |label, here| {
                    let [low, high] = [here.trailing_zeros(), 63 - here.leading_zeros()].map(|bit| bit as usize);
                    match boxes.get_mut(label as usize) {
                        Some(extent) => extent.add([slice, row, word * 64 + low], [slice, row, word * 64 + high]),
                        None => known = false,
                    }
                });
                word += 1;
                continue;
            };
            let mut end = word + 1;
            while end < words && packed.uniform_label(row * words + end) == Some(label) {
                end += 1;
            }
            match boxes.get_mut(label as usize) {
                Some(extent) => extent.add([slice, row, word * 64], [slice, row, (end * 64 - 1).min(last)]),
                None => known = false,
            }
            word = end;
        }
    }
    known
}

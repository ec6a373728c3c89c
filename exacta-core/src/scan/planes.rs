//! Packing, counting and handing on, slice by slice.
//!
//! Memory touched: each label once, but for two slices a slab that its neighbours read too; allocated: three packed
//! slices a side and thread. What is found in a slice is the visitor's to keep.

use super::diagnose::diagnose;
use super::packed::{MIXED, PackedSlice};
use super::tally::{Tally, table};
use crate::batch::MapImages;
use crate::image::Image;
use crate::parallel::Threads;
use crate::stages::Counts;
use crate::{Batch, Cpu, Error, Grid, Level, Result, Table};

/// A slice and its neighbours, of one side of a map.
#[derive(Debug, Clone, Copy)]
pub struct Window<'a> {
    /// The slice before, where there is one.
    pub previous: Option<&'a PackedSlice>,
    /// The slice.
    pub current: &'a PackedSlice,
    /// The slice after, where there is one.
    pub next: Option<&'a PackedSlice>,
}

/// Takes what it needs from each slice of a slab, in ascending order.
pub trait SliceVisitor: Send {
    /// Slice `slice` of both sides.
    fn visit(&mut self, level: Level, slice: usize, pred: &Window<'_>, target: &Window<'_>);
}

/// What one read of a batch gave.
#[derive(Debug)]
pub struct Visited<V> {
    /// The counts.
    pub counts: Table<Counts>,
    /// The visitors of each map, in order of their slabs.
    pub visitors: Vec<Vec<V>>,
}

/// Fewest slices worth a slab of their own: its two extra slices cost a fraction of the reading.
const SLAB: usize = 16;
/// Below this many voxels in all, one thread is quicker than waking another.
const SERIAL: usize = 1 << 15;

/// Reads a batch once: counts, and calls visitors, one made for each range of slices, with every slice. One-hot batches are visited channel by channel, as
/// maps of the labels 0 and 1.
///
/// # Errors
/// [`Error::MaskedSurface`] for a batch with a mask or an ignored label; those of a value that is no label.
pub fn scan_planes<V: SliceVisitor>(
    cpu: &Cpu,
    batch: &Batch<'_>,
    make: impl Fn(std::ops::Range<usize>) -> V + Sync,
) -> Result<Visited<V>> {
    if batch.is_masked() {
        return Err(Error::MaskedSurface);
    }
    let grid = *batch.grid();
    let labels = batch.labels_of_map();
    let slices = grid.size()[0];
    let threads = if batch.maps() * grid.voxels() <= SERIAL { &Threads::Serial } else { &cpu.threads };
    let wanted = if threads.count() == 1 { 1 } else { (2 * threads.count()).div_ceil(batch.maps().max(1)) };
    let slabs = wanted.min(slices / SLAB).max(1);
    let parts = threads.map(batch.maps() * slabs, |item| {
        let (map, slab) = (item / slabs, item % slabs);
        let range = slab * slices / slabs..(slab + 1) * slices / slabs;
        scan_slab(cpu.level, &grid, &batch.map(map), labels, range.clone(), make(range))
    });
    let (mut tallies, mut visitors) = (Vec::new(), Vec::new());
    let mut parts = parts.into_iter();
    for _ in 0..batch.maps() {
        let mut whole: Option<Tally> = None;
        let mut of_map = Vec::with_capacity(slabs);
        for part in parts.by_ref().take(slabs) {
            let Some((tally, visitor)) = part else { return Err(diagnose(batch)) };
            match &mut whole {
                Some(whole) => whole.add(&tally),
                None => whole = Some(tally),
            }
            of_map.push(visitor);
        }
        tallies.push(whole.expect("at least one slab"));
        visitors.push(of_map);
    }
    Ok(Visited { counts: table(batch, &tallies), visitors })
}

/// Number of bits that hold the labels below `labels`.
fn bits_of(labels: usize) -> usize {
    (usize::BITS - (labels - 1).leading_zeros()) as usize
}

/// One side of a slab: three packed slices in turn, and the tile they are packed from.
struct Side<'a> {
    image: &'a dyn Image,
    ring: [PackedSlice; 3],
    bytes: Vec<u8>,
    wide: Vec<u32>,
}

impl<'a> Side<'a> {
    fn new(image: &'a dyn Image, grid: &Grid, bits: usize) -> Self {
        let ring = std::array::from_fn(|_| PackedSlice::new(grid, bits));
        Self { image, ring, bytes: Vec::new(), wide: Vec::new() }
    }

    /// Reads and packs a slice. False where a value does not fit.
    fn load(&mut self, level: Level, slice: usize, voxels: usize) -> bool {
        self.load_at(slice % 3, level, slice, voxels)
    }

    fn load_at(&mut self, place: usize, level: Level, slice: usize, voxels: usize) -> bool {
        let packed = &mut self.ring[place];
        let start = slice * voxels;
        if packed.bits() > 8 {
            self.wide.resize(voxels, 0);
            let union = self.image.read_u32(level, start, None, &mut self.wide);
            return union <= u64::from(u32::MAX) && packed.pack_wide(&self.wide);
        }
        let labels = match self.image.bytes(start, voxels) {
            Some(bytes) => bytes,
            None => {
                self.bytes.resize(voxels, 0);
                if self.image.read_u8(level, start, None, &mut self.bytes) > 255 {
                    return false;
                }
                &self.bytes
            }
        };
        fearless_simd::dispatch!(level, simd => packed.pack(simd, labels))
    }

    fn window(&self, slice: usize, slices: usize) -> Window<'_> {
        Window {
            previous: (slice > 0).then(|| &self.ring[(slice + 2) % 3]),
            current: &self.ring[slice % 3],
            next: (slice + 1 < slices).then(|| &self.ring[(slice + 1) % 3]),
        }
    }
}

fn scan_slab<V: SliceVisitor>(
    level: Level,
    grid: &Grid,
    images: &MapImages<'_>,
    labels: usize,
    range: std::ops::Range<usize>,
    mut visitor: V,
) -> Option<(Tally, V)> {
    let bits = bits_of(labels);
    let [slices, rows, columns] = grid.size();
    let voxels = rows * columns;
    let mut tally = Tally::new(1 << bits);
    if voxels == 0 || range.is_empty() {
        tally_truncate(&mut tally, labels);
        return Some((tally, visitor));
    }
    let mut pred = Side::new(&*images.pred, grid, bits);
    let mut target = Side::new(&*images.target, grid, bits);
    let load = |pred: &mut Side<'_>, target: &mut Side<'_>, slice: usize| {
        pred.load(level, slice, voxels) && target.load(level, slice, voxels)
    };
    for slice in range.start.saturating_sub(1)..=range.start {
        load(&mut pred, &mut target, slice).then_some(())?;
    }
    for slice in range {
        if slice + 1 < slices {
            load(&mut pred, &mut target, slice + 1).then_some(())?;
        }
        let (pred, target) = (pred.window(slice, slices), target.window(slice, slices));
        count(pred.current, target.current, &mut tally);
        visitor.visit(level, slice, &pred, &target);
    }
    tally.is_valid(labels).then_some(())?;
    tally_truncate(&mut tally, labels);
    Some((tally, visitor))
}

/// Packs slices one after the other, without neighbours or counts, and hands them on; false, and no further slice, where a value does
/// not fit or `take` says so.
pub(crate) fn read_slices(
    level: Level,
    grid: &Grid,
    image: &dyn Image,
    labels: usize,
    slices: std::ops::Range<usize>,
    mut take: impl FnMut(usize, &PackedSlice) -> bool,
) -> bool {
    let [_, rows, columns] = grid.size();
    if rows * columns == 0 {
        return true;
    }
    let mut side = Side { image, ring: Default::default(), bytes: Vec::new(), wide: Vec::new() };
    side.ring[0] = PackedSlice::new(grid, bits_of(labels));
    slices.into_iter().all(|slice| side.load_at(0, level, slice, rows * columns) && take(slice, &side.ring[0]))
}

fn tally_truncate(tally: &mut Tally, labels: usize) {
    for counters in [&mut tally.pred, &mut tally.target, &mut tally.both] {
        counters.truncate(labels);
    }
}

/// Adds the labels of a slice to the counters, a word at a time.
fn count(pred: &PackedSlice, target: &PackedSlice, tally: &mut Tally) {
    // Neighbouring words mostly carry the same labels: they are added together.
    let (mut run_pred, mut run_target, mut run) = (0, 0, 0);
    for i in 0..pred.len() {
        let (p, t) = (pred.uniform(i), target.uniform(i));
        let valid = pred.valid(i);
        if p != MIXED && t != MIXED {
            if (p, t) != (run_pred, run_target) {
                tally.add_run(run_pred, run_target, run);
                (run_pred, run_target, run) = (p, t, 0);
            }
            run += u64::from(valid.count_ones());
            continue;
        }
        pred.each_label(i, valid, |label, here| {
            tally.pred[label as usize] += u64::from(here.count_ones());
            tally.both[label as usize] += u64::from((here & target.select(i, label)).count_ones());
        });
        target.each_label(i, valid, |label, here| tally.target[label as usize] += u64::from(here.count_ones()));
    }
    tally.add_run(run_pred, run_target, run);
}

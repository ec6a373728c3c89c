//! Tier 3 for queries everywhere: the full transform, slab by slab, read at the queries and never written.
//!
//! Steps along axis 0 come from bits (`steps`), axes 1 and 2 are the passes that distance transforms use
//! ([`Passes`]). A slab without a query costs nothing, a row without one no second pass. Distances are counted by value and weight as
//! they are found. Allocates a slab of steps and some slices a thread, and a counter a different distance.

use std::sync::atomic::{AtomicBool, Ordering};

use exacta_core::separable::{Edges, Lane, Passes, whole};
use exacta_core::{Cpu, Level};

use crate::carried::Carried;
use crate::dense::Dense;
use crate::steps::{Features, MOST, NONE, Steps};
use crate::tags::Tag;
use crate::tally::{Known, Tally};
use crate::words::ones;

/// Longest axis: passes hold some lines and slices of doubles.
const LONGEST: usize = 1 << 14;

/// Queries of a box, and the features they measure to.
#[derive(Debug)]
pub(crate) struct Queries<'a, T> {
    /// Lengths along the image's axes.
    pub(crate) size: [usize; 3],
    /// Queries, row after row of words.
    pub(crate) left: Vec<u64>,
    /// The elements among which the queries are.
    pub(crate) plane: &'a Dense,
    pub(crate) carried: &'a Carried<T>,
    pub(crate) features: &'a Dense,
}

/// Whether boxes of this size can be swept.
pub(crate) fn fits(size: [usize; 3]) -> bool {
    size.iter().all(|&n| n <= LONGEST.min(MOST))
}

/// Takes distances as they are found.
pub(crate) trait Sink<T>: Send {
    /// A query's squared distance, and what it carries.
    fn add(&mut self, squared: f64, tag: T);

    /// Whether this has enough: then the sweep ends.
    fn is_full(&self) -> bool {
        false
    }
}

/// Most different distances of a slab that are counted one by one where fewer would do.
const MANY: usize = 1 << 16;

/// The squared distances of all queries, counted; `None` where so many differ that they would take more room than the image, unless
/// `all` are wanted.
pub(crate) fn squared_distances<T: Tag>(
    cpu: &Cpu,
    spacing: [f64; 3],
    queries: &Queries<'_, T>,
    all: bool,
) -> Option<Vec<Known<T>>> {
    let tally = || Tally::with_most(if all { usize::MAX } else { MANY });
    let parts = sweep(cpu, spacing, queries, tally, Tally::finish)?;
    Some(parts.concat())
}

/// Sweeps all slabs, each into a sink that `make` makes and `finish` takes; `None` if one was full.
pub(crate) fn sweep<T: Tag, K: Sink<T>, R: Send>(
    cpu: &Cpu,
    spacing: [f64; 3],
    queries: &Queries<'_, T>,
    make: impl Fn() -> K + Sync,
    finish: impl Fn(K) -> R + Sync,
) -> Option<Vec<R>> {
    let flat = queries.size[0] == 1;
    // The rows of a single slice are taken as slices, which threads share.
    let of = |values: [usize; 3]| if flat { [values[1], 1, values[2]] } else { values };
    let spacing = if flat { [spacing[1], spacing[0], spacing[2]] } else { spacing };
    let size = of(queries.size);
    let words = size[2].div_ceil(64);
    let features = Features { plane: queries.features, size: [size[0], size[1], words], flat };
    let steps = Steps::new(cpu, features);
    let axes: Vec<_> = (0..3).filter(|&axis| size[axis] > 1).map(|axis| (spacing[axis], size[axis])).collect();
    let full = AtomicBool::new(false);
    let slab = |slab: usize| {
        let slices = steps.slices(slab);
        let left = &queries.left[slices.start * size[1] * words..slices.end * size[1] * words];
        let mut sink = make();
        if left.iter().any(|&bits| bits != 0) && !full.load(Ordering::Relaxed) {
            let job = Slab { queries, size, first: slices.start, left, steps: &steps.of_slab(slab), flat, full: &full };
            match whole(&axes) {
                Some(whole) if whole.largest < 1 << 24 => {
                    let units = spacing.map(|h| h / whole.unit);
                    job.run::<f32, 32, K>(cpu, units, whole.unit * whole.unit, &mut sink);
                }
                _ => job.run::<f64, 16, K>(cpu, spacing, 1.0, &mut sink),
            }
        }
        finish(sink)
    };
    let parts = cpu.threads.map(steps.slabs(), slab);
    (!full.into_inner()).then_some(parts)
}

/// Some slices.
struct Slab<'a, T> {
    queries: &'a Queries<'a, T>,
    size: [usize; 3],
    first: usize,
    left: &'a [u64],
    steps: &'a [u16],
    flat: bool,
    /// Whether any sink is full.
    full: &'a AtomicBool,
}

impl<T: Tag> Slab<'_, T> {
    fn run<L: Lane, const B: usize, K: Sink<T>>(&self, cpu: &Cpu, spacing: [f64; 3], unit: f64, sink: &mut K) {
        let [_, rows, columns] = self.size;
        let words = columns.div_ceil(64);
        let mut passes = Passes::<L, B>::new(self.size, spacing);
        let mut wanted = Vec::with_capacity(rows);
        for (slice, left) in self.left.chunks_exact(rows * words).enumerate() {
            if left.iter().all(|&bits| bits == 0) {
                continue;
            }
            let steps = &self.steps[slice * rows * words * 64..][..rows * words * 64];
            wanted.clear();
            wanted.extend(left.chunks_exact(words).map(|row| row.iter().any(|&bits| bits != 0)));
            let slice = self.first + slice;
            passed(cpu.level, &mut passes, steps, &wanted, &mut |row, values| {
                let bits = &left[row * words..][..words];
                self.row([slice, row], bits, |column| values[column].wide() * unit, sink);
            });
            if sink.is_full() {
                self.full.store(true, Ordering::Relaxed);
            }
            if self.full.load(Ordering::Relaxed) {
                return;
            }
        }
    }

    /// Hands the queries of a row to the sink.
    #[inline(always)]
    fn row<K: Sink<T>>(&self, [slice, row]: [usize; 2], left: &[u64], squared: impl Fn(usize) -> f64, sink: &mut K) {
        let mut tags = [T::FIRST; 64];
        let [plane_slice, plane_row] = if self.flat { [0, slice] } else { [slice, row] };
        let listed = self.queries.plane.row(plane_slice, plane_row);
        let base = (slice * self.size[1] + row) * left.len();
        for (word, (&bits, &listed)) in left.iter().zip(listed).enumerate().filter(|(_, (bits, _))| **bits != 0) {
            self.queries.carried.of_word([plane_slice, plane_row, word], base + word, listed, &mut tags);
            ones(bits).for_each(|bit| sink.add(squared(word * 64 + bit as usize), tags[bit as usize]));
        }
    }
}

/// Both passes of a slice, compiled once for each arithmetic, whatever takes the rows.
fn passed<L: Lane, const B: usize>(
    level: Level,
    passes: &mut Passes<L, B>,
    steps: &[u16],
    wanted: &[bool],
    out: &mut dyn FnMut(usize, &[L]),
) {
    exacta_core::dispatch!(level, simd => both(simd, passes, steps, wanted, out));
}

#[inline(always)]
fn both<S: Copy, L: Lane, const B: usize>(
    simd: S,
    passes: &mut Passes<L, B>,
    steps: &[u16],
    wanted: &[bool],
    out: &mut dyn FnMut(usize, &[L]),
) {
    passes.fill(simd, steps, NONE, u32::from);
    passes.run(simd, &Edges::default(), |row| wanted[row], out);
}

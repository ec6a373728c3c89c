//! Tier 3 for queries everywhere: the full transform, slab by slab, read at the queries and never written.
//!
//! Steps along axis 0 come from bits (`steps`), axes 1 and 2 are the passes that distance transforms use
//! ([`Passes`]). A slab without a query costs nothing, a row without one no second pass. Distances are counted by value and weight as
//! they are found. Allocates a slab of steps and some slices a thread, and a counter a different distance.

use exacta_core::Cpu;
use exacta_core::separable::{Edges, Lane, Passes, whole};

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

/// The squared distances of all queries, counted.
pub(crate) fn squared_distances<T: Tag>(cpu: &Cpu, spacing: [f64; 3], queries: &Queries<'_, T>) -> Vec<Known<T>> {
    let flat = queries.size[0] == 1;
    // The rows of a single slice are taken as slices, which threads share.
    let of = |values: [usize; 3]| if flat { [values[1], 1, values[2]] } else { values };
    let spacing = if flat { [spacing[1], spacing[0], spacing[2]] } else { spacing };
    let size = of(queries.size);
    let words = size[2].div_ceil(64);
    let features = Features { plane: queries.features, size: [size[0], size[1], words], flat };
    let steps = Steps::new(cpu, features);
    let axes: Vec<_> = (0..3).filter(|&axis| size[axis] > 1).map(|axis| (spacing[axis], size[axis])).collect();
    let slab = |slab: usize| {
        let slices = steps.slices(slab);
        let left = &queries.left[slices.start * size[1] * words..slices.end * size[1] * words];
        if left.iter().all(|&bits| bits == 0) {
            return Vec::new();
        }
        let job = Slab { queries, size, first: slices.start, left, steps: &steps.of_slab(slab), flat };
        match whole(&axes) {
            Some(whole) if whole.largest < 1 << 24 => {
                let units = spacing.map(|h| h / whole.unit);
                job.run::<f32, 32>(cpu, units, whole.unit * whole.unit)
            }
            _ => job.run::<f64, 16>(cpu, spacing, 1.0),
        }
    };
    cpu.threads.map(steps.slabs(), slab).concat()
}

/// Some slices.
struct Slab<'a, T> {
    queries: &'a Queries<'a, T>,
    size: [usize; 3],
    first: usize,
    left: &'a [u64],
    steps: &'a [u16],
    flat: bool,
}

impl<T: Tag> Slab<'_, T> {
    fn run<L: Lane, const B: usize>(&self, cpu: &Cpu, spacing: [f64; 3], unit: f64) -> Vec<Known<T>> {
        let [_, rows, columns] = self.size;
        let words = columns.div_ceil(64);
        let mut passes = Passes::<L, B>::new(self.size, spacing);
        let mut tally = Tally::new();
        for (slice, left) in self.left.chunks_exact(rows * words).enumerate() {
            if left.iter().all(|&bits| bits == 0) {
                continue;
            }
            let steps = &self.steps[slice * rows * words * 64..][..rows * words * 64];
            exacta_core::dispatch!(cpu.level, simd => self.slice(simd, slice, left, steps, unit, &mut passes, &mut tally));
        }
        tally.finish()
    }

    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "one call, inlined")]
    fn slice<S: Copy, L: Lane, const B: usize>(
        &self,
        simd: S,
        slice: usize,
        left: &[u64],
        steps: &[u16],
        unit: f64,
        passes: &mut Passes<L, B>,
        tally: &mut Tally<T>,
    ) {
        let [_, _, columns] = self.size;
        let words = columns.div_ceil(64);
        let mut tags = [T::FIRST; 64];
        passes.fill(simd, steps, NONE, u32::from);
        let wanted = |row: usize| left[row * words..][..words].iter().any(|&bits| bits != 0);
        passes.run(simd, &Edges::default(), wanted, |row, values| {
            let slice = self.first + slice;
            let at = |word| if self.flat { [0, slice, word] } else { [slice, row, word] };
            for (word, &bits) in left[row * words..][..words].iter().enumerate() {
                if bits == 0 {
                    continue;
                }
                let index = (slice * self.size[1] + row) * words + word;
                let [plane_slice, plane_row, _] = at(word);
                let listed = self.queries.plane.row(plane_slice, plane_row)[word];
                self.queries.carried.of_word(at(word), index, listed, &mut tags);
                let values = &values[word * 64..];
                for bit in ones(bits) {
                    tally.add(values[bit as usize].wide() * unit, tags[bit as usize]);
                }
            }
        });
    }
}

//! The skeleton of a volume of probabilities, slice by slice: erosion, dilation and update in one sweep an iteration.

use std::sync::Mutex;

use exacta_core::Level;
use exacta_core::parallel::Threads;

use super::volume::{BLOCK, Pool, Shape, Volume, block, block_mut, erode, largest, widen};
use crate::real::Real;

/// What the gradient of a skeleton needs of each iteration, the first of which is the start.
#[derive(Debug)]
pub(crate) struct Steps<F> {
    /// The volume after one more erosion.
    pub(crate) eroded: Vec<Volume<F>>,
    /// The skeleton after the iteration.
    pub(crate) skeletons: Vec<Volume<F>>,
}

/// Slices that one task does where there are several.
const SLAB: usize = 16;

/// The skeleton of `volume` after some iterations, the last of [`Steps::skeletons`]; with `traced`, all steps, else the last alone.
///
/// Memory: four volumes, or two an iteration. Each iteration reads two volumes and writes two. It ends early once erosion
/// changes nothing, since then nothing is opened any more.
pub(crate) fn forward<F: Real>(
    level: Level,
    threads: &Threads,
    volume: &Volume<F>,
    iterations: usize,
    traced: bool,
    pool: &mut Pool<F>,
) -> Steps<F> {
    if volume.any_nan() {
        sweeps::<F, true>(level, threads, volume, iterations, traced, pool)
    } else {
        sweeps::<F, false>(level, threads, volume, iterations, traced, pool)
    }
}

fn sweeps<F: Real, const NAN: bool>(
    level: Level,
    threads: &Threads,
    volume: &Volume<F>,
    iterations: usize,
    traced: bool,
    pool: &mut Pool<F>,
) -> Steps<F> {
    let shape = volume.shape;
    let mut steps = Steps { eroded: Vec::new(), skeletons: Vec::new() };
    let depth = if threads.count() == 1 { shape.slices } else { SLAB };
    for _ in 0..=iterations {
        let (mut next, mut skeleton) = (pool.take(shape), pool.take(shape));
        let (current, before) = (steps.eroded.last().unwrap_or(volume), steps.skeletons.last());
        let slabs: Vec<_> = next
            .values
            .chunks_mut(depth * shape.slice())
            .zip(skeleton.values.chunks_mut(depth * shape.slice()))
            .map(Mutex::new)
            .collect();
        let changed = threads.map(slabs.len(), |i| {
            let mut slab = slabs[i].try_lock().expect("each slab is taken once");
            let (next, skeleton) = &mut *slab;
            let mut sweep = Sweep::<F>::new(shape);
            exacta_core::dispatch!(level, simd => sweep.slab::<_, NAN>(simd, (current, before), i * depth, next, skeleton))
        });
        drop(slabs);
        if !traced {
            pool.give(steps.eroded.drain(..).chain(steps.skeletons.drain(..)));
        }
        steps.eroded.push(next);
        steps.skeletons.push(skeleton);
        if !changed.contains(&true) {
            break;
        }
    }
    steps
}

/// Buffers of one task.
struct Sweep<F> {
    shape: Shape,
    /// Three slices of the erosion, the largest values along its rows, and then across them: slice z at `z % 3`.
    eroded: [Vec<F>; 3],
    along: Vec<F>,
    across: [Vec<F>; 3],
    /// The skeleton before the first iteration.
    nothing: Vec<F>,
}

impl<F: Real> Sweep<F> {
    fn new(shape: Shape) -> Self {
        let slice = || vec![F::ZERO; shape.slice()];
        let three = || [(); 3].map(|()| slice());
        Self { shape, eroded: three(), along: slice(), across: three(), nothing: slice() }
    }

    /// Erodes the slices of a slab, from `first` on, and updates their skeleton. Returns whether erosion changed any voxel.
    #[inline(always)]
    fn slab<S: Copy, const NAN: bool>(
        &mut self,
        _: S,
        (current, before): (&Volume<F>, Option<&Volume<F>>),
        first: usize,
        next: &mut [F],
        skeleton: &mut [F],
    ) -> bool {
        let shape = self.shape;
        let slice = shape.slice();
        let last = first + next.len() / slice;
        let mut changed = false;
        for z in first.saturating_sub(1)..(last + 1).min(shape.slices) {
            let near = [z.saturating_sub(1), z, (z + 1).min(shape.slices - 1)].map(|z| current.slices(z..z + 1));
            let eroded = &mut self.eroded[z % 3];
            let change = erode::<F, NAN>(shape, near, eroded);
            widen::<F, NAN>(shape, eroded, &mut self.along, &mut self.across[z % 3]);
            if (first..last).contains(&z) {
                changed |= change;
                next[(z - first) * slice..][..slice].copy_from_slice(eroded);
            }
            // A slice is done once the next one is widened, the last one at once.
            let done = z.checked_sub(1).filter(|&done| done >= first);
            for done in done.into_iter().chain((z + 1 == shape.slices && z < last).then_some(z)) {
                let out = &mut skeleton[(done - first) * slice..][..slice];
                self.update::<NAN>(current, before, done, out);
            }
        }
        changed
    }

    /// Writes the skeleton of a slice whose neighbours have been widened.
    #[inline(always)]
    fn update<const NAN: bool>(&self, current: &Volume<F>, before: Option<&Volume<F>>, z: usize, out: &mut [F]) {
        let shape = self.shape;
        let [behind, ahead] = [z.saturating_sub(1), (z + 1).min(shape.slices - 1)];
        let [behind, here, ahead] = [behind, z, ahead].map(|z| &self.across[z % 3][..]);
        let values = current.slices(z..z + 1);
        let before = match before {
            Some(before) => before.slices(z..z + 1),
            None => &self.nothing[..],
        };
        for y in 0..shape.rows {
            for x in (0..shape.pitch() - 2).step_by(BLOCK) {
                let at = y * shape.pitch() + x + 1;
                let (behind, here, ahead) = (block(behind, at), block(here, at), block(ahead, at));
                let values = block(values, at);
                let before = block(before, at);
                let mut found = [F::ZERO; BLOCK];
                for i in 0..BLOCK {
                    let delta = relu(values[i] - largest::<F, NAN>(behind[i], here[i], ahead[i]));
                    found[i] = before[i] + relu(delta - before[i] * delta);
                }
                *block_mut(out, at) = found;
            }
        }
    }
}

/// The value, or 0 if it is negative; NaN stays NaN.
#[inline(always)]
fn relu<F: Real>(value: F) -> F {
    if value <= F::ZERO { F::ZERO } else { value }
}

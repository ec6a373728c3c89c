//! The skeleton of a volume of probabilities, slice by slice: erosion, dilation and update in one sweep an iteration.

use std::sync::Mutex;

use exacta_core::Level;
use exacta_core::parallel::Threads;

use super::volume::{BLOCK, Shape, Volume, block, erode, largest, widen};
use crate::real::Real;

/// A voxel whose opening removed something: all that the gradient of an iteration passes through.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Residue<F> {
    /// The voxel, in raster order.
    pub(crate) at: u32,
    /// The voxel whose erosion is the opening there: of equal ones the first in raster order.
    pub(crate) from: u32,
    /// `x - O(x)`, positive.
    pub(crate) delta: F,
    /// The skeleton before.
    pub(crate) before: F,
}

/// Residues of each iteration, the first of which is the start.
pub(crate) type Trace<F> = Vec<Vec<Residue<F>>>;

/// Slices that one task does where there are several.
const SLAB: usize = 16;

/// The skeleton of `volume` after some iterations, in raster order; with `trace`, what the gradient needs.
///
/// Memory: three volumes. Each iteration reads and writes the volume once. It ends early once erosion changes nothing, since
/// then nothing is opened any more.
pub(crate) fn forward<F: Real>(
    level: Level,
    threads: &Threads,
    volume: &Volume<F>,
    iterations: usize,
    trace: Option<&mut Trace<F>>,
) -> Vec<F> {
    if volume.any_nan() {
        sweeps::<F, true>(level, threads, volume, iterations, trace)
    } else {
        sweeps::<F, false>(level, threads, volume, iterations, trace)
    }
}

fn sweeps<F: Real, const NAN: bool>(
    level: Level,
    threads: &Threads,
    volume: &Volume<F>,
    iterations: usize,
    mut trace: Option<&mut Trace<F>>,
) -> Vec<F> {
    let shape = volume.shape;
    let mut skeleton = vec![F::ZERO; shape.voxels()];
    let (mut here, mut next) = (None::<Volume<F>>, Volume::new(shape));
    let depth = if threads.count() == 1 { shape.slices } else { SLAB };
    for _ in 0..=iterations {
        let current = here.as_ref().unwrap_or(volume);
        let slabs: Vec<_> = next
            .values
            .chunks_mut(depth * shape.slice())
            .zip(skeleton.chunks_mut(depth * shape.rows * shape.columns))
            .map(Mutex::new)
            .collect();
        let traced = trace.is_some();
        let done = threads.map(slabs.len(), |i| {
            let mut slab = slabs[i].try_lock().expect("each slab is taken once");
            let (next, skeleton) = &mut *slab;
            let mut sweep = Sweep::<F>::new(shape);
            let changed = exacta_core::dispatch!(level, simd => sweep.slab::<_, NAN>(simd, current, i * depth, next, skeleton, traced));
            (changed, sweep.residues)
        });
        drop(slabs);
        let changed = done.iter().any(|(changed, _)| *changed);
        if let Some(trace) = &mut trace {
            trace.push(done.into_iter().flat_map(|(_, residues)| residues).collect());
        }
        if !changed {
            break;
        }
        let free = here.replace(next);
        next = free.unwrap_or_else(|| Volume::new(shape));
    }
    skeleton
}

/// Buffers of one task.
struct Sweep<F> {
    shape: Shape,
    /// Three slices of the erosion, the largest values along its rows, and then across them: slice z at `z % 3`.
    eroded: [Vec<F>; 3],
    along: [Vec<F>; 3],
    across: [Vec<F>; 3],
    residues: Vec<Residue<F>>,
}

impl<F: Real> Sweep<F> {
    fn new(shape: Shape) -> Self {
        let three = || [(); 3].map(|()| vec![F::ZERO; shape.slice()]);
        Self { shape, eroded: three(), along: three(), across: three(), residues: Vec::new() }
    }

    /// Erodes the slices of a slab, from `first` on, and updates their skeleton. Returns whether erosion changed any voxel.
    #[inline(always)]
    fn slab<S: Copy, const NAN: bool>(
        &mut self,
        _: S,
        current: &Volume<F>,
        first: usize,
        next: &mut [F],
        skeleton: &mut [F],
        traced: bool,
    ) -> bool {
        let shape = self.shape;
        let (slice, plane) = (shape.slice(), shape.rows * shape.columns);
        let last = first + next.len() / slice;
        let mut changed = false;
        for z in first.saturating_sub(1)..(last + 1).min(shape.slices) {
            let near = [z.saturating_sub(1), z, (z + 1).min(shape.slices - 1)].map(|z| current.slices(z..z + 1));
            let eroded = &mut self.eroded[z % 3];
            let change = erode::<F, NAN>(shape, near, eroded);
            widen::<F, NAN>(shape, eroded, &mut self.along[z % 3], &mut self.across[z % 3]);
            if (first..last).contains(&z) {
                changed |= change;
                next[(z - first) * slice..][..slice].copy_from_slice(eroded);
            }
            if z > first {
                let done = z - 1;
                self.update::<NAN>(current, done, &mut skeleton[(done - first) * plane..][..plane], traced);
            }
        }
        if last == shape.slices {
            self.update::<NAN>(current, last - 1, &mut skeleton[(last - 1 - first) * plane..][..plane], traced);
        }
        changed
    }

    /// Updates the skeleton of a slice whose neighbours have been widened.
    #[inline(always)]
    fn update<const NAN: bool>(&mut self, current: &Volume<F>, z: usize, skeleton: &mut [F], traced: bool) {
        let shape = self.shape;
        let pitch = shape.pitch();
        let [before, after] = [z.saturating_sub(1), (z + 1).min(shape.slices - 1)];
        for (y, skeleton) in skeleton.chunks_exact_mut(shape.columns).enumerate() {
            let row = |z: usize| &self.across[z % 3][y * pitch..][..pitch];
            let (behind, here, ahead) = (row(before), row(z), row(after));
            let values = &current.slices(z..z + 1)[y * pitch..][..pitch];
            for (x, skeleton) in (0..shape.columns).step_by(BLOCK).zip(skeleton.chunks_mut(BLOCK)) {
                let (behind, here, ahead) = (block(behind, x + 1), block(here, x + 1), block(ahead, x + 1));
                let values = block(values, x + 1);
                let mut deltas = [F::ZERO; BLOCK];
                let mut any = false;
                for i in 0..BLOCK {
                    let delta = values[i] - largest::<F, NAN>(behind[i], here[i], ahead[i]);
                    // NaN stays what it is.
                    deltas[i] = if delta <= F::ZERO { F::ZERO } else { delta };
                    any |= deltas[i] != F::ZERO;
                }
                if !any {
                    continue;
                }
                for (i, skeleton) in skeleton.iter_mut().enumerate() {
                    let (delta, before) = (deltas[i], *skeleton);
                    if delta == F::ZERO {
                        continue;
                    }
                    let more = delta - before * delta;
                    *skeleton = before + if more <= F::ZERO { F::ZERO } else { more };
                    if traced && delta > F::ZERO {
                        let from = self.source(z, y, x + i, largest::<F, NAN>(behind[i], here[i], ahead[i]));
                        let at = index(shape, z, y, x + i);
                        self.residues.push(Residue { at, from, delta, before });
                    }
                }
            }
        }
    }

    /// The first voxel in raster order around one whose erosion has the value, which is the largest there.
    fn source(&self, z: usize, y: usize, x: usize, value: F) -> u32 {
        let shape = self.shape;
        let near = |at: usize, n: usize| at.saturating_sub(1)..(at + 2).min(n);
        for z in near(z, shape.slices) {
            if self.across[z % 3][y * shape.pitch() + x + 1] != value {
                continue;
            }
            for y in near(y, shape.rows) {
                if self.along[z % 3][y * shape.pitch() + x + 1] != value {
                    continue;
                }
                for x in near(x, shape.columns) {
                    if self.eroded[z % 3][y * shape.pitch() + x + 1] == value {
                        return index(shape, z, y, x);
                    }
                }
            }
        }
        unreachable!("the largest value is one of them")
    }
}

/// Number of a voxel in raster order.
#[inline(always)]
pub(crate) fn index(shape: Shape, z: usize, y: usize, x: usize) -> u32 {
    u32::try_from((z * shape.rows + y) * shape.columns + x).expect("checked by the caller")
}

//! The gradient of the skeleton: from each iteration's residues back through openings and erosions.

use exacta_core::Level;

use super::forward::{Residue, index};
use super::volume::{Shape, Volume, erode};
use crate::real::Real;

/// Adds to `gradient` (raster order) what flows into `volume` from `skeleton`, the gradient of its skeleton, which is used up.
///
/// An erosion hands its gradient to the least voxel of its neighbourhood, a dilation to the largest; of equal ones to the first in
/// raster order. Only voxels that something was handed to are visited, so the cost is that of the erosions, which are made
/// again, plus some ten reads a visited voxel and iteration.
///
/// Memory: the eroded volumes, one an iteration, and two gradients of one volume.
pub(crate) fn backward<F: Real>(
    level: Level,
    volume: &Volume<F>,
    trace: &[Vec<Residue<F>>],
    skeleton: &mut [F],
    gradient: &mut [F],
) {
    let shape = volume.shape;
    let steps = trace.iter().rposition(|residues| !residues.is_empty()).map_or(0, |last| last + 1);
    let mut eroded: Vec<Volume<F>> = Vec::with_capacity(steps);
    for step in 1..steps {
        let mut next = Volume::new(shape);
        let current = if step == 1 { volume } else { &eroded[step - 2] };
        exacta_core::dispatch!(level, simd => whole(simd, current, &mut next));
        eroded.push(next);
    }
    // Gradients of the volume after the erosion at hand, and of that before.
    let (mut after, mut before) = (Visits::new(shape), Visits::new(shape));
    for (step, residues) in trace[..steps].iter().enumerate().rev() {
        for residue in residues {
            let incoming = &mut skeleton[residue.at as usize];
            let mut opened = *incoming;
            if step > 0 {
                let kept = residue.delta - residue.before * residue.delta > F::ZERO;
                if kept {
                    opened = *incoming * (F::ONE - residue.before);
                    *incoming = *incoming * (F::ONE - residue.delta);
                } else {
                    opened = F::ZERO;
                }
            }
            after.add(residue.from, F::ZERO - opened);
            before.add(residue.at, opened);
        }
        let current = if step == 0 { volume } else { &eroded[step - 1] };
        for at in std::mem::take(&mut after.list) {
            let value = std::mem::replace(&mut after.values[at as usize], F::ZERO);
            if value != F::ZERO {
                before.add(least(current, at), value);
            }
        }
        std::mem::swap(&mut after, &mut before);
    }
    for at in after.list {
        let value = std::mem::replace(&mut after.values[at as usize], F::ZERO);
        gradient[at as usize] = gradient[at as usize] + value;
    }
}

/// A gradient that is zero but for a list of voxels, some of which may be there twice.
struct Visits<F> {
    values: Vec<F>,
    list: Vec<u32>,
}

impl<F: Real> Visits<F> {
    fn new(shape: Shape) -> Self {
        Self { values: vec![F::ZERO; shape.voxels()], list: Vec::new() }
    }

    #[inline(always)]
    fn add(&mut self, at: u32, value: F) {
        let sum = &mut self.values[at as usize];
        if *sum == F::ZERO {
            self.list.push(at);
        }
        *sum = *sum + value;
    }
}

#[inline(always)]
fn whole<S: Copy, F: Real>(_: S, volume: &Volume<F>, out: &mut Volume<F>) {
    let shape = volume.shape;
    for (z, out) in out.values.chunks_exact_mut(shape.slice()).enumerate() {
        let near = [z.saturating_sub(1), z, (z + 1).min(shape.slices - 1)].map(|z| volume.slices(z..z + 1));
        erode::<F, false>(shape, near, out);
    }
}

/// The least of a voxel and its face neighbours, the first in raster order of equal ones.
#[inline(always)]
fn least<F: Real>(volume: &Volume<F>, at: u32) -> u32 {
    let shape = volume.shape;
    let Shape { slices, rows, columns } = shape;
    let (row, x) = (at as usize / columns, at as usize % columns);
    let (z, y) = (row / rows, row % rows);
    let value = |z: usize, y: usize, x: usize| volume.values[(z * rows + y) * shape.pitch() + x + 1];
    let mut best = (value(z, y, x), [z, y, x]);
    // In raster order the voxel itself comes fourth: those before it win ties, those after it do not.
    let mut earlier = None;
    if z > 0 {
        earlier = Some((value(z - 1, y, x), [z - 1, y, x]));
    }
    let mut offer = |found: (F, [usize; 3])| {
        if earlier.is_none_or(|(least, _)| found.0 < least) {
            earlier = Some(found);
        }
    };
    if y > 0 {
        offer((value(z, y - 1, x), [z, y - 1, x]));
    }
    if x > 0 {
        offer((value(z, y, x - 1), [z, y, x - 1]));
    }
    if let Some(found) = earlier
        && found.0 <= best.0
    {
        best = found;
    }
    let mut offer = |found: (F, [usize; 3])| {
        if found.0 < best.0 {
            best = found;
        }
    };
    if x + 1 < columns {
        offer((value(z, y, x + 1), [z, y, x + 1]));
    }
    if y + 1 < rows {
        offer((value(z, y + 1, x), [z, y + 1, x]));
    }
    if z + 1 < slices {
        offer((value(z + 1, y, x), [z + 1, y, x]));
    }
    let [z, y, x] = best.1;
    index(shape, z, y, x)
}

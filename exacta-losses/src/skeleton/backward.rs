//! The gradient of the skeleton: from the last iteration to the first, through updates, openings and erosions.

use exacta_core::Level;

use super::forward::{Steps, relu};
use super::routes::{Line, gather, least};
use super::volume::{BLOCK, Pool, Shape, Volume, block, largest, widen};
use crate::real::Real;

/// Adds to `gradient` (raster order) what flows into `volume` from `skeleton`, the gradient of its skeleton, which is used up.
///
/// An erosion hands its gradient to the least voxel of its neighbourhood, a dilation to the largest; of equal ones to the first in
/// raster order. Values that are not numbers have no route.
///
/// Each iteration reads the volume, its erosion and the skeleton before, and passes over the image four times. Memory: six
/// volumes beside the steps.
pub(crate) fn backward<F: Real>(
    level: Level,
    volume: &Volume<F>,
    steps: &Steps<F>,
    skeleton: &mut Volume<F>,
    gradient: &mut [F],
    pool: &mut Pool<F>,
) {
    let shape = volume.shape;
    let mut work = Work {
        along: pool.take(shape),
        across: pool.take(shape),
        opened: pool.take(shape),
        eroded: pool.take(shape),
        routes: pool.take(shape),
        flow: pool.take(shape),
        lines: [Line::new(shape.columns), Line::new(shape.columns)],
        shape,
    };
    work.flow.values.fill(F::ZERO);
    for step in (0..steps.eroded.len()).rev() {
        let current = if step == 0 { volume } else { &steps.eroded[step - 1] };
        let before = step.checked_sub(1).map(|step| &steps.skeletons[step]);
        exacta_core::dispatch!(level, simd => work.step(simd, current, &steps.eroded[step], before, skeleton));
    }
    for (row, out) in gradient.chunks_exact_mut(shape.columns).enumerate() {
        for (out, &value) in out.iter_mut().zip(work.flow.row(row)) {
            *out = *out + value;
        }
    }
    pool.give([work.along, work.across, work.opened, work.eroded, work.routes, work.flow]);
}

/// Volumes of one iteration.
struct Work<F> {
    shape: Shape,
    /// Largest values of the erosion along its rows, and across them.
    along: Volume<F>,
    across: Volume<F>,
    /// Gradient of what was removed, `x - O(x)`.
    opened: Volume<F>,
    /// Gradient of the erosion.
    eroded: Volume<F>,
    /// Which neighbour each voxel of the erosion was.
    routes: Volume<F>,
    /// Gradient of the volume: of that after the erosion before a step, of that before it afterwards.
    flow: Volume<F>,
    lines: [Line<F>; 2],
}

impl<F: Real> Work<F> {
    #[inline(always)]
    fn step<S: Copy>(
        &mut self,
        _: S,
        current: &Volume<F>,
        eroded: &Volume<F>,
        before: Option<&Volume<F>>,
        skeleton: &mut Volume<F>,
    ) {
        let slice = self.shape.slice();
        for z in 0..self.shape.slices {
            let part = z * slice..(z + 1) * slice;
            let (along, across) = (&mut self.along.values[part.clone()], &mut self.across.values[part.clone()]);
            widen::<F, false>(self.shape, &eroded.values[part], along, across);
        }
        self.update(current, before, skeleton);
        for z in 0..self.shape.slices {
            self.dilation(eroded, z);
            for y in 0..self.shape.rows {
                let at = (z * self.shape.rows + y) * self.shape.pitch();
                let out = &mut self.routes.values[at..at + self.shape.pitch()];
                least(current, z, y, &mut self.lines[0], out);
            }
        }
        for z in 0..self.shape.slices {
            for y in 0..self.shape.rows {
                self.erosion(z, y);
            }
        }
    }

    /// Gradient of what was removed, from that of the skeleton, which becomes that of the skeleton before.
    #[inline(always)]
    fn update(&mut self, current: &Volume<F>, before: Option<&Volume<F>>, skeleton: &mut Volume<F>) {
        let shape = self.shape;
        for z in 0..shape.slices {
            let [behind, ahead] = [z.saturating_sub(1), (z + 1).min(shape.slices - 1)];
            let [behind, here, ahead] = [behind, z, ahead].map(|z| self.across.slices(z..z + 1));
            let start = z * shape.slice();
            for y in 0..shape.rows {
                for x in (0..shape.pitch() - 2).step_by(BLOCK) {
                    let at = y * shape.pitch() + x + 1;
                    let [behind, here, ahead] = [behind, here, ahead].map(|across| block(across, at));
                    let values = block(&current.values, start + at);
                    let kept = before.map_or([F::ZERO; BLOCK], |before| *block(&before.values, start + at));
                    let part = start + at..start + at + BLOCK;
                    let flow: &mut [F; BLOCK] = (&mut skeleton.values[part.clone()]).try_into().expect("a block");
                    let out: &mut [F; BLOCK] = (&mut self.opened.values[part]).try_into().expect("a block");
                    for i in 0..BLOCK {
                        let delta = relu(values[i] - largest::<F, false>(behind[i], here[i], ahead[i]));
                        let more = (delta - kept[i] * delta > F::ZERO) & (delta > F::ZERO);
                        let incoming = flow[i];
                        out[i] = if more { incoming * (F::ONE - kept[i]) } else { F::ZERO };
                        flow[i] = if more { incoming * (F::ONE - delta) } else { incoming };
                    }
                }
            }
        }
    }

    /// Gradient of a slice of the erosion: what flowed into it, less what its dilation hands back.
    #[inline(always)]
    fn dilation(&mut self, eroded: &Volume<F>, z: usize) {
        let shape = self.shape;
        let (low, none) = ([F::NEG_INFINITY; BLOCK], [F::ZERO; BLOCK]);
        let blocks = || (0..shape.pitch() - 2).step_by(BLOCK);
        let at = |y: usize| (z * shape.rows + y) * shape.pitch();
        // Along axis 0, into the flow's place for now: the slice of `eroded` is the result of each axis in turn.
        for y in 0..shape.rows {
            let value = |by: usize| self.across.padded((z + by).checked_sub(2), Some(y));
            let handed = |by: usize| self.opened.padded((z + by).checked_sub(1), Some(y));
            let (values, handed) =
                ([value(0), value(1), value(2), value(3), value(4)], [handed(0), handed(1), handed(2)]);
            for x in blocks() {
                let values = values.map(|row| row.map_or(&low, |row| block(row, x + 1)));
                let handed = handed.map(|row| row.map_or(&none, |row| block(row, x + 1)));
                let out = &mut self.eroded.values[at(y) + x + 1..][..BLOCK];
                gather(values, handed, out.try_into().expect("a block"));
            }
        }
        // Along axis 1, into the slice of `routes`, which is written later.
        for y in 0..shape.rows {
            let value = |by: usize| self.along.padded(Some(z), (y + by).checked_sub(2));
            let handed = |by: usize| self.eroded.padded(Some(z), (y + by).checked_sub(1));
            let (values, handed) =
                ([value(0), value(1), value(2), value(3), value(4)], [handed(0), handed(1), handed(2)]);
            for x in blocks() {
                let values = values.map(|row| row.map_or(&low, |row| block(row, x + 1)));
                let handed = handed.map(|row| row.map_or(&none, |row| block(row, x + 1)));
                let out = &mut self.routes.values[at(y) + x + 1..][..BLOCK];
                gather(values, handed, out.try_into().expect("a block"));
            }
        }
        // Along axis 2, and together with what flowed in.
        for y in 0..shape.rows {
            let [values, handed] = &mut self.lines;
            let row = |volume: &Volume<F>| at(y) + 1..at(y) + 1 + volume.shape.columns;
            values.set(&eroded.values[row(eroded)], F::NEG_INFINITY);
            handed.set(&self.routes.values[row(&self.routes)], F::ZERO);
            for x in blocks() {
                let mut back = [F::ZERO; BLOCK];
                let around = [0, 1, 2, 3, 4].map(|by| values.at(x, by));
                gather(around, [1, 2, 3].map(|by| handed.at(x, by)), &mut back);
                let place = at(y) + x + 1..at(y) + x + 1 + BLOCK;
                let flow = block(&self.flow.values, place.start);
                let out: &mut [F; BLOCK] = (&mut self.eroded.values[place]).try_into().expect("a block");
                for i in 0..BLOCK {
                    out[i] = flow[i] - back[i];
                }
            }
        }
    }

    /// Gradient of a row of the volume: what the erosion hands back, and what was removed.
    #[inline(always)]
    fn erosion(&mut self, z: usize, y: usize) {
        let shape = self.shape;
        let start = (z * shape.rows + y) * shape.pitch();
        let row = start + 1..start + 1 + shape.columns;
        let [routes, handed] = &mut self.lines;
        routes.set(&self.routes.values[row.clone()], F::ZERO);
        handed.set(&self.eroded.values[row], F::ZERO);
        // Who is a neighbour before of the one after it, and so on: route 0 leads from the slice after.
        let near =
            [(Some(z + 1), Some(y)), (Some(z), Some(y + 1)), (Some(z), y.checked_sub(1)), (z.checked_sub(1), Some(y))]
                .map(|(z, y)| self.routes.padded(z, y).zip(self.eroded.padded(z, y)));
        let none = [F::ZERO; BLOCK];
        let code = |n: usize| (0..n).fold(F::ZERO, |sum, _| sum + F::ONE);
        let codes = [code(0), code(1), code(5), code(6)];
        let (from_after, from_here, from_before) = (code(2), code(3), code(4));
        for x in (0..shape.pitch() - 2).step_by(BLOCK) {
            let near = near.map(|near| {
                near.map_or((&none, &none), |(routes, handed)| (block(routes, x + 1), block(handed, x + 1)))
            });
            let [before, here, after] = [1, 2, 3].map(|by| (routes.at(x, by), handed.at(x, by)));
            let opened = block(&self.opened.values, start + x + 1);
            let out = &mut self.flow.values[start + x + 1..][..BLOCK];
            for i in 0..BLOCK {
                let only = |(routes, handed): (&[F; BLOCK], &[F; BLOCK]), code: F| {
                    if routes[i] == code { handed[i] } else { F::ZERO }
                };
                let through = (only(near[0], codes[0]) + only(near[3], codes[3]))
                    + (only(near[1], codes[1]) + only(near[2], codes[2]));
                let along = only(after, from_after) + only(here, from_here) + only(before, from_before);
                out[i] = opened[i] + (through + along);
            }
        }
    }
}

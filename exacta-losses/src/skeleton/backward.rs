//! The gradient of the skeleton: from the last iteration to the first, through updates, openings and erosions.

use exacta_core::Level;
use fearless_simd::{Select, Simd, SimdBase};

use super::forward::Steps;
use super::routes::{Line, gather, least, load};
use super::volume::{Pool, Shape, Volume, widen};
use crate::number::Number;
use crate::real::Real;

/// Adds to `gradient` (raster order) what flows into `volume` from `skeleton`, the gradient of its skeleton, which is used up.
///
/// An erosion hands its gradient to the least voxel of its neighbourhood, a dilation to the largest; of equal ones to the first in
/// raster order. Values that are not numbers have no route.
///
/// Each iteration reads the volume, its erosion and the skeleton before, and passes over the image four times. Memory: six
/// volumes beside the steps.
pub(crate) fn backward<F: Real + Number>(
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
        far: [F::INFINITY, F::NEG_INFINITY, F::ZERO].map(|value| vec![value; shape.pitch()]),
        nothing: vec![F::ZERO; shape.slice()],
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
            *out += value;
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
    /// Rows that stand for those outside: of the least, of the largest, of gradients.
    far: [Vec<F>; 3],
    /// The skeleton before the first iteration.
    nothing: Vec<F>,
}

impl<F: Real + Number> Work<F> {
    #[inline(always)]
    fn step<S: Simd>(
        &mut self,
        simd: S,
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
        self.update(simd, current, before, skeleton);
        for z in 0..self.shape.slices {
            self.dilation(simd, eroded, z);
            for y in 0..self.shape.rows {
                let at = (z * self.shape.rows + y) * self.shape.pitch();
                let out = &mut self.routes.values[at..at + self.shape.pitch()];
                least(simd, current, [z, y], &self.far[0], &mut self.lines[0], out);
            }
        }
        for z in 0..self.shape.slices {
            for y in 0..self.shape.rows {
                self.erosion(simd, z, y);
            }
        }
    }

    /// Gradient of what was removed, from that of the skeleton, which becomes that of the skeleton before.
    #[inline(always)]
    fn update<S: Simd>(&mut self, simd: S, current: &Volume<F>, before: Option<&Volume<F>>, skeleton: &mut Volume<F>) {
        let shape = self.shape;
        for z in 0..shape.slices {
            let slice = |z: usize| self.across.slices(z..z + 1);
            let (behind, here, ahead) = (slice(z.saturating_sub(1)), slice(z), slice((z + 1).min(shape.slices - 1)));
            let values = current.slices(z..z + 1);
            let kept = match before {
                Some(before) => before.slices(z..z + 1),
                None => &self.nothing[..],
            };
            let part = z * shape.slice()..(z + 1) * shape.slice();
            let (flow, out) = (&mut skeleton.values[part.clone()], &mut self.opened.values[part]);
            let (zero, one) = (F::Wide::<S>::splat(simd, F::default()), F::Wide::<S>::splat(simd, F::ONE));
            for y in 0..shape.rows {
                for x in (0..shape.pitch() - 2).step_by(F::LANES) {
                    let at = y * shape.pitch() + x + 1;
                    let opening = load(simd, behind, at).max(load(simd, here, at)).max(load(simd, ahead, at));
                    let delta = load(simd, values, at) - opening;
                    let (kept, incoming) = (load(simd, kept, at), load(simd, flow, at));
                    let more = |yes: F::Wide<S>, no: F::Wide<S>| {
                        let kept = (delta - kept * delta).simd_gt(zero).select(yes, no);
                        delta.simd_gt(zero).select(kept, no)
                    };
                    more(incoming * (one - kept), zero).store_slice(&mut out[at..at + F::LANES]);
                    more(incoming * (one - delta), incoming).store_slice(&mut flow[at..at + F::LANES]);
                }
            }
        }
    }

    /// Gradient of a slice of the erosion: what flowed into it, less what its dilation hands back.
    #[inline(always)]
    fn dilation<S: Simd>(&mut self, simd: S, eroded: &Volume<F>, z: usize) {
        let shape = self.shape;
        let [_, low, none] = &self.far;
        let blocks = || (0..shape.pitch() - 2).step_by(F::LANES);
        let at = |y: usize| (z * shape.rows + y) * shape.pitch();
        // A place before the first is far beyond the last. Along axis 0; the slice of `eroded` is that of the result.
        for y in 0..shape.rows {
            let value = |by: usize| self.across.padded((z + by).wrapping_sub(2), y, low);
            let handed = |by: usize| self.opened.padded((z + by).wrapping_sub(1), y, none);
            let values = [value(0), value(1), value(2), value(3), value(4)];
            let handed = [handed(0), handed(1), handed(2)];
            let out = &mut self.eroded.values[at(y)..at(y) + shape.pitch()];
            for x in blocks() {
                let found =
                    gather::<S, F>(simd, five::<S, F>(simd, &values, x + 1), three::<S, F>(simd, &handed, x + 1));
                found.store_slice(&mut out[x + 1..x + 1 + F::LANES]);
            }
        }
        // Along axis 1, into the slice of `routes`, which is written later.
        for y in 0..shape.rows {
            let value = |by: usize| self.along.padded(z, (y + by).wrapping_sub(2), low);
            let handed = |by: usize| self.eroded.padded(z, (y + by).wrapping_sub(1), none);
            let values = [value(0), value(1), value(2), value(3), value(4)];
            let handed = [handed(0), handed(1), handed(2)];
            let out = &mut self.routes.values[at(y)..at(y) + shape.pitch()];
            for x in blocks() {
                let found =
                    gather::<S, F>(simd, five::<S, F>(simd, &values, x + 1), three::<S, F>(simd, &handed, x + 1));
                found.store_slice(&mut out[x + 1..x + 1 + F::LANES]);
            }
        }
        // Along axis 2, and together with what flowed in.
        for y in 0..shape.rows {
            let [values, handed] = &mut self.lines;
            let row = |volume: &Volume<F>| at(y) + 1..at(y) + 1 + volume.shape.columns;
            values.set(&eroded.values[row(eroded)], F::NEG_INFINITY);
            handed.set(&self.routes.values[row(&self.routes)], F::ZERO);
            for x in blocks() {
                let v = |by: usize| values.at(simd, x, by);
                let h = |by: usize| handed.at(simd, x, by);
                let back = gather::<S, F>(simd, [v(0), v(1), v(2), v(3), v(4)], [h(1), h(2), h(3)]);
                let place = at(y) + x + 1;
                let found = load::<S, F>(simd, &self.flow.values, place) - back;
                found.store_slice(&mut self.eroded.values[place..place + F::LANES]);
            }
        }
    }

    /// Gradient of a row of the volume: what the erosion hands back, and what was removed.
    #[inline(always)]
    fn erosion<S: Simd>(&mut self, simd: S, z: usize, y: usize) {
        let shape = self.shape;
        let start = (z * shape.rows + y) * shape.pitch();
        let row = start + 1..start + 1 + shape.columns;
        let [routes, handed] = &mut self.lines;
        routes.set(&self.routes.values[row.clone()], F::ZERO);
        handed.set(&self.eroded.values[row], F::ZERO);
        // The slice after has this row before it: its route 0 leads here, and so on. Outside nothing is handed.
        let none = &self.far[2];
        let rows = |z: usize, y: usize| (self.routes.padded(z, y, none), self.eroded.padded(z, y, none));
        let (ahead, down) = (rows(z + 1, y), rows(z, y + 1));
        let (up, behind) = (rows(z, y.wrapping_sub(1)), rows(z.wrapping_sub(1), y));
        let opened = &self.opened.values[start..start + shape.pitch()];
        let out = &mut self.flow.values[start..start + shape.pitch()];
        let zero = F::Wide::<S>::splat(simd, F::default());
        for x in (0..shape.pitch() - 2).step_by(F::LANES) {
            let there = |(routes, handed): (&[F], &[F])| (load(simd, routes, x + 1), load(simd, handed, x + 1));
            let here = |by: usize| (routes.at(simd, x, by), handed.at(simd, x, by));
            let mut sum = load::<S, F>(simd, opened, x + 1);
            let mut code = F::default();
            for (route, handed) in [there(ahead), there(down), here(3), here(2), here(1), there(up), there(behind)] {
                sum += route.simd_eq(F::Wide::<S>::splat(simd, code)).select(handed, zero);
                code += F::ONE;
            }
            sum.store_slice(&mut out[x + 1..x + 1 + F::LANES]);
        }
    }
}

/// Vectors of five rows.
#[inline(always)]
fn five<S: Simd, F: Number>(simd: S, rows: &[&[F]; 5], at: usize) -> [F::Wide<S>; 5] {
    let row = |i: usize| load(simd, rows[i], at);
    [row(0), row(1), row(2), row(3), row(4)]
}

/// Vectors of three rows.
#[inline(always)]
fn three<S: Simd, F: Number>(simd: S, rows: &[&[F]; 3], at: usize) -> [F::Wide<S>; 3] {
    let row = |i: usize| load(simd, rows[i], at);
    [row(0), row(1), row(2)]
}

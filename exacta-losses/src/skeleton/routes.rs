//! Which voxel an erosion or a dilation took its value from, and the gradient handed back along these routes.
//!
//! Every voxel gathers what its neighbours hand to it, so nothing is scattered and sums have one order. Of equal voxels the
//! first in raster order is the route: a dilation is taken axis by axis, last axis first, and the first of equal values at each axis,
//! from the first axis on, is the first in raster order of all.

use fearless_simd::{Select, Simd, SimdBase};

use super::volume::{BLOCK, Volume};
use crate::number::Number;
use crate::real::Real;

/// Elements of a row from `at` on, as a vector.
#[inline(always)]
pub(crate) fn load<S: Simd, F: Number>(simd: S, row: &[F], at: usize) -> F::Wide<S> {
    F::Wide::<S>::from_slice(simd, &row[at..at + F::LANES])
}

/// What three in a line hand to the middle one. `values` are the five around it, `handed` the gradients of the three: the middle is the
/// first of the largest of the one before, of its own, and of the one after.
#[inline(always)]
pub(crate) fn gather<S: Simd, F: Number>(simd: S, values: [F::Wide<S>; 5], handed: [F::Wide<S>; 3]) -> F::Wide<S> {
    let [two_before, before, here, after, two_after] = values;
    let zero = F::Wide::<S>::splat(simd, F::default());
    let (over_before, not_under_after) = (here.simd_gt(before), here.simd_ge(after));
    let from_before = over_before.select(here.simd_gt(two_before).select(handed[0], zero), zero);
    let own = over_before.select(not_under_after.select(handed[1], zero), zero);
    let from_after = not_under_after.select(here.simd_ge(two_after).select(handed[2], zero), zero);
    from_before + own + from_after
}

/// The routes of an erosion, for a row: 0 to 6 for the neighbour before along axis 0, 1 and 2, the voxel itself, and those
/// after along axis 2, 1 and 0. `far` is a row of infinities.
#[inline(always)]
pub(crate) fn least<S: Simd, F: Real + Number>(
    simd: S,
    volume: &Volume<F>,
    [z, y]: [usize; 2],
    far: &[F],
    line: &mut Line<F>,
    out: &mut [F],
) {
    // A place before the first is far beyond the last.
    let row = |z: usize, y: usize| volume.padded(z, y, far);
    let (behind, up) = (row(z.wrapping_sub(1), y), row(z, y.wrapping_sub(1)));
    let (down, ahead) = (row(z, y + 1), row(z + 1, y));
    line.set(&row(z, y)[1..=volume.shape.columns], F::INFINITY);
    for x in (0..volume.shape.pitch() - 2).step_by(F::LANES) {
        let mut best = load(simd, behind, x + 1);
        let mut route = F::Wide::<S>::splat(simd, F::default());
        let rest = [
            load(simd, up, x + 1),
            line.at(simd, x, 1),
            line.at(simd, x, 2),
            line.at(simd, x, 3),
            load(simd, down, x + 1),
            load(simd, ahead, x + 1),
        ];
        let mut code = F::default();
        for other in rest {
            code += F::ONE;
            let less = other.simd_lt(best);
            best = less.select(other, best);
            route = less.select(F::Wide::<S>::splat(simd, code), route);
        }
        route.store_slice(&mut out[x + 1..x + 1 + F::LANES]);
    }
}

/// A row with two elements of a value before it and at least as many after it.
#[derive(Debug)]
pub(crate) struct Line<F>(Vec<F>);

impl<F: Real> Line<F> {
    pub(crate) fn new(columns: usize) -> Self {
        Self(vec![F::ZERO; columns.next_multiple_of(BLOCK) + 4])
    }

    /// Takes a row, `beside` all around it.
    #[inline(always)]
    pub(crate) fn set(&mut self, row: &[F], beside: F) {
        self.0[..2].fill(beside);
        self.0[2..2 + row.len()].copy_from_slice(row);
        self.0[2 + row.len()..].fill(beside);
    }

    /// The vector from column `x` on, moved by `by - 2` columns.
    #[inline(always)]
    pub(crate) fn at<S: Simd>(&self, simd: S, x: usize, by: usize) -> F::Wide<S>
    where
        F: Number,
    {
        load(simd, &self.0, x + by)
    }
}

//! Which voxel an erosion or a dilation took its value from, and the gradient handed back along these routes.
//!
//! Every voxel gathers what its neighbours hand to it, so nothing is scattered and sums have one order. Of equal voxels the
//! first in raster order is the route: a dilation is taken axis by axis, last axis first, and the first of equal values at each axis,
//! from the first axis on, is the first in raster order of all.

use super::volume::{BLOCK, Volume, block};
use crate::real::Real;

/// What three in a line hand to the middle one. `values` are the five around it, `handed` the gradients of the three: the middle is the
/// first of the largest of the one before, of its own, and of the one after.
#[inline(always)]
pub(crate) fn gather<F: Real>(values: [&[F; BLOCK]; 5], handed: [&[F; BLOCK]; 3], out: &mut [F; BLOCK]) {
    let [two_before, before, here, after, two_after] = values;
    for i in 0..BLOCK {
        let value = here[i];
        let to_before = (value > two_before[i]) & (value > before[i]);
        let to_here = (value > before[i]) & (value >= after[i]);
        let to_after = (value >= after[i]) & (value >= two_after[i]);
        let only = |is: bool, handed: F| if is { handed } else { F::ZERO };
        out[i] = only(to_before, handed[0][i]) + only(to_here, handed[1][i]) + only(to_after, handed[2][i]);
    }
}

/// The routes of an erosion, for a row: 0 to 6 for the neighbour before along axis 0, 1 and 2, the voxel itself, and those
/// after along axis 2, 1 and 0.
#[inline(always)]
pub(crate) fn least<F: Real>(volume: &Volume<F>, z: usize, y: usize, line: &mut Line<F>, out: &mut [F]) {
    let row = |slice: Option<usize>, row: Option<usize>| volume.padded(slice, row);
    let here = row(Some(z), Some(y)).expect("of the image");
    line.set(&here[1..=volume.shape.columns], F::INFINITY);
    let near = [
        row(z.checked_sub(1), Some(y)),
        row(Some(z), y.checked_sub(1)),
        row(Some(z), Some(y + 1)),
        row(Some(z + 1), Some(y)),
    ];
    let none = [F::INFINITY; BLOCK];
    for x in (0..volume.shape.pitch() - 2).step_by(BLOCK) {
        let [behind, up, down, ahead] = near.map(|near| near.map_or(&none, |near| block(near, x + 1)));
        let rest = [up, line.at(x, 1), line.at(x, 2), line.at(x, 3), down, ahead];
        let out: &mut [F; BLOCK] = (&mut out[x + 1..x + 1 + BLOCK]).try_into().expect("a block");
        for i in 0..BLOCK {
            let (mut best, mut route, mut code) = (behind[i], F::ZERO, F::ZERO);
            for other in rest {
                code = code + F::ONE;
                let less = other[i] < best;
                best = if less { other[i] } else { best };
                route = if less { code } else { route };
            }
            out[i] = route;
        }
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

    /// The block from column `x` on, moved by `by - 2` columns.
    #[inline(always)]
    pub(crate) fn at(&self, x: usize, by: usize) -> &[F; BLOCK] {
        block(&self.0, x + by)
    }
}

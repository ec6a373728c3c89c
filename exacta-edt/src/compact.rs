//! Distances to features that lie in a small box, by trying all of them along each axis.
//!
//! A mask's own box is often a small part of the image, or the mask so scattered that a feature is near. Sums are tried outward from
//! each block of voxels until the way alone is no shorter than the best of every lane (Saito and Toriwaki 1994), by additions and
//! minima of whole vectors; at worst all of the box's. Same expression, same order of axes, so the same bits.

use exacta_core::Level;
use exacta_core::separable::Lane;
use fearless_simd::{Simd, SimdBase, SimdMask};

use crate::counters::Counter;
use crate::output::Output;
use crate::transform::{Arithmetic, Finish};

/// Sums tried a voxel, at worst, above which [`crate::transform`] is faster.
const LIMIT: usize = 160;

/// A byte a voxel: 1 where there is a feature, in a box whose first voxel is at `offset` of the image that distances are asked of.
pub(crate) struct Compact {
    /// Axes of the box.
    size: [usize; 3],
    offset: [usize; 3],
    features: Vec<u8>,
}

impl Compact {
    pub(crate) fn new(size: [usize; 3], offset: [usize; 3]) -> Self {
        Self { size, offset, features: vec![0; size.iter().product()] }
    }

    /// A row of the box.
    pub(crate) fn row_mut(&mut self, z: usize, y: usize) -> &mut [u8] {
        let [_, rows, columns] = self.size;
        &mut self.features[(z * rows + y) * columns..][..columns]
    }

    /// Whether a box of this size is worth trying for an image.
    pub(crate) fn is_worth(size: [usize; 3], image: [usize; 3]) -> bool {
        size[2] + size[1] * size[2] / image[2].max(1) <= LIMIT
    }

    /// Steps along axis 0 to the nearest feature of each column of the box, for all slices of the image.
    fn steps<C: Counter>(&self, level: Level, slices: usize) -> Vec<C> {
        let mut steps = vec![C::NONE; slices * self.size[1] * self.size[2]];
        exacta_core::dispatch!(level, simd => self.sweep(simd, slices, &mut steps));
        steps
    }

    #[inline(always)]
    fn sweep<S: Copy, C: Counter>(&self, _: S, slices: usize, steps: &mut [C]) {
        let plane = self.size[1] * self.size[2];
        for z in 0..slices {
            let (before, here) = steps.split_at_mut(z * plane);
            let here = &mut here[..plane];
            if z > 0 {
                for (here, &before) in here.iter_mut().zip(&before[(z - 1) * plane..]) {
                    *here = before.next();
                }
            }
            if let Some(slice) = z.checked_sub(self.offset[0]).filter(|&slice| slice < self.size[0]) {
                for (here, &feature) in here.iter_mut().zip(&self.features[slice * plane..]) {
                    *here = if feature != 0 { C::ZERO } else { *here };
                }
            }
        }
        for z in (0..slices.saturating_sub(1)).rev() {
            let (here, after) = steps.split_at_mut((z + 1) * plane);
            for (here, &after) in here[z * plane..].iter_mut().zip(&after[..plane]) {
                *here = (*here).min(after.next());
            }
        }
    }

    /// Writes the distance of each voxel of an image in C order.
    pub(crate) fn distances<O: Output>(
        &self,
        level: Level,
        image: [usize; 3],
        arithmetic: Arithmetic,
        finish: Finish,
        out: &mut [O],
    ) {
        match (arithmetic.single, image[0]) {
            (true, 0..=254) => self.slices::<f32, u8, O>(level, image, arithmetic, finish, out),
            (true, _) => self.slices::<f32, u32, O>(level, image, arithmetic, finish, out),
            (false, 0..=254) => self.slices::<f64, u8, O>(level, image, arithmetic, finish, out),
            (false, _) => self.slices::<f64, u32, O>(level, image, arithmetic, finish, out),
        }
    }

    fn slices<L: Lane, C: Counter, O: Output>(
        &self,
        level: Level,
        image: [usize; 3],
        arithmetic: Arithmetic,
        finish: Finish,
        out: &mut [O],
    ) {
        let steps = self.steps::<C>(level, image[0]);
        let mut slice = Slice::<L>::new(self.size, self.offset, image, arithmetic);
        let plane = self.size[1] * self.size[2];
        for (steps, out) in steps.chunks_exact(plane).zip(out.chunks_exact_mut(image[1] * image[2])) {
            exacta_core::dispatch!(level, simd => slice.fill(simd, steps));
            exacta_core::dispatch!(level, simd => slice.run(simd, finish, out));
        }
    }
}

/// Buffers of one slice.
struct Slice<L> {
    size: [usize; 3],
    offset: [usize; 3],
    image: [usize; 3],
    unit: f64,
    /// Columns of the box in whole blocks.
    pitch: usize,
    /// Spacing along axis 0.
    spacing: L,
    /// Squares of the ways along axes 1 and 2.
    ways: [Vec<L>; 2],
    plane: Vec<L>,
    /// A row of the box after axis 1, with a block of room at both ends.
    line: Vec<L>,
    row: Vec<L>,
}

impl<L: Lane> Slice<L> {
    fn new(size: [usize; 3], offset: [usize; 3], image: [usize; 3], arithmetic: Arithmetic) -> Self {
        let way = |n: usize| u32::try_from(n).expect("an axis fits 32 bits");
        let ways = |axis: usize, n: usize| {
            let spacing = L::narrow(arithmetic.spacing[axis]);
            (0..way(n)).map(|d| L::square(spacing, d)).collect()
        };
        let pitch = size[2].next_multiple_of(L::LANES);
        let width = image[2].next_multiple_of(L::LANES);
        Self {
            size,
            offset,
            image,
            unit: arithmetic.unit,
            pitch,
            spacing: L::narrow(arithmetic.spacing[0]),
            ways: [ways(1, image[1]), ways(2, width + L::LANES)],
            // What stands beyond the row must not keep a search going.
            plane: vec![L::ZERO; size[1] * pitch],
            line: vec![L::FAR; pitch + 2 * L::LANES],
            row: vec![L::FAR; width],
        }
    }

    /// Puts the squares of the ways along axis 0 into the slice.
    #[inline(always)]
    fn fill<S: Copy, C: Counter>(&mut self, _: S, steps: &[C]) {
        let (columns, spacing) = (self.size[2], self.spacing);
        for (plane, steps) in self.plane.chunks_exact_mut(self.pitch).zip(steps.chunks_exact(columns)) {
            for (out, &steps) in plane.iter_mut().zip(steps) {
                let square = L::square(spacing, steps.steps());
                *out = if steps == C::NONE { L::FAR } else { square };
            }
        }
    }

    #[inline(always)]
    fn run<S: Simd, O: Output>(&mut self, simd: S, finish: Finish, out: &mut [O]) {
        for (y, out) in out.chunks_exact_mut(self.image[2]).enumerate() {
            for x in (0..self.pitch).step_by(L::LANES) {
                let best = self.along_rows(simd, y, x);
                best.store_slice(&mut self.line[L::LANES + x..2 * L::LANES + x]);
            }
            self.line[L::LANES + self.size[2]..].fill(L::FAR);
            for x in (0..self.row.len()).step_by(L::LANES) {
                let best = self.along_columns(simd, x);
                best.store_slice(&mut self.row[x..x + L::LANES]);
            }
            if finish == Finish::Squared {
                for (out, value) in out.iter_mut().zip(&self.row) {
                    *out = O::of(value.wide() * self.unit);
                }
            } else {
                for (out, value) in out.iter_mut().zip(&self.row) {
                    *out = O::of((value.wide() * self.unit).sqrt());
                }
            }
        }
    }

    /// The least along axis 1 for row `y` of the image, in the box's columns from `x` on.
    #[inline(always)]
    fn along_rows<S: Simd>(&self, simd: S, y: usize, x: usize) -> L::Wide<S> {
        let (low, high) = (self.offset[1], self.offset[1] + self.size[1]);
        let first = if y < low { low - y } else { (y + 1).saturating_sub(high) };
        let mut best = L::Wide::<S>::splat(simd, L::FAR);
        let row = |at: usize| L::Wide::<S>::from_slice(simd, &self.plane[(at - low) * self.pitch + x..][..L::LANES]);
        for (step, &way) in self.ways[0].iter().enumerate().skip(first) {
            let way = L::Wide::<S>::splat(simd, way);
            if step > first && !best.simd_gt(way).any_true() {
                break;
            }
            let (back, forth) = (y.checked_sub(step).filter(|&at| at >= low), y + step);
            if let Some(back) = back.filter(|&back| back < high) {
                best = best.min(row(back) + way);
            }
            if forth < high && forth >= low {
                best = best.min(row(forth) + way);
            } else if back.is_none() && forth >= high {
                break;
            }
        }
        best
    }

    /// The least along axis 2 of [`Self::line`] for the image's columns from `x` on.
    #[inline(always)]
    fn along_columns<S: Simd>(&self, simd: S, x: usize) -> L::Wide<S> {
        // The last and the first lane of a block of the line that holds some of the box: entries of the line, which has room before it.
        let (room, columns) = (L::LANES, self.size[2]);
        let (low, high) = (1, room + columns);
        // The block's own place in the line, `offset` to its left.
        let (at, offset) = (x + room, self.offset[2]);
        let first = if at < offset + low { offset + low - at } else { (at + 1).saturating_sub(offset + high) };
        let mut best = L::Wide::<S>::splat(simd, L::FAR);
        let block = |at: usize| L::Wide::<S>::from_slice(simd, &self.line[at - offset..][..L::LANES]);
        for (step, &way) in self.ways[1].iter().enumerate().skip(first) {
            let way = L::Wide::<S>::splat(simd, way);
            if step > first && !best.simd_gt(way).any_true() {
                break;
            }
            let (back, forth) = (at.checked_sub(step).filter(|&at| at >= offset + low), at + step);
            if let Some(back) = back.filter(|&back| back < offset + high) {
                best = best.min(block(back) + way);
            }
            if forth < offset + high && forth >= offset + low {
                best = best.min(block(forth) + way);
            } else if back.is_none() && forth >= offset + high {
                break;
            }
        }
        best
    }
}

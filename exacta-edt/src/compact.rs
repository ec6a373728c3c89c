//! Distances to features that lie in a small box, by trying all of them along each axis.
//!
//! A mask's own box is often a small part of the image. Lines then have few features, and the least of all sums is found
//! faster by additions and minima of whole vectors than by any search. Same expression, same order of axes, so the same bits.

use exacta_core::Level;
use exacta_core::separable::{Lane, least};

use crate::output::Output;
use crate::transform::{Arithmetic, Finish};

/// Lanes that are computed together.
const BLOCK: usize = 16;

/// Sums tried a voxel above which [`crate::transform`] is faster.
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

    /// Steps along axis 0 to the nearest feature of each column of the box, for all slices of the image; [`u32::MAX`] without one.
    fn steps(&self, slices: usize) -> Vec<u32> {
        let plane = self.size[1] * self.size[2];
        let mut steps = vec![u32::MAX; slices * plane];
        for z in 0..slices {
            let (before, here) = steps.split_at_mut(z * plane);
            let here = &mut here[..plane];
            if z > 0 {
                for (here, &before) in here.iter_mut().zip(&before[(z - 1) * plane..]) {
                    *here = before.saturating_add(1);
                }
            }
            if let Some(slice) = z.checked_sub(self.offset[0]).filter(|&slice| slice < self.size[0]) {
                for (here, &feature) in here.iter_mut().zip(&self.features[slice * plane..]) {
                    *here = if feature != 0 { 0 } else { *here };
                }
            }
        }
        for z in (0..slices.saturating_sub(1)).rev() {
            let (here, after) = steps.split_at_mut((z + 1) * plane);
            for (here, &after) in here[z * plane..].iter_mut().zip(&after[..plane]) {
                *here = (*here).min(after.saturating_add(1));
            }
        }
        steps
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
        let steps = self.steps(image[0]);
        if arithmetic.single {
            self.slices::<f32, O>(level, image, arithmetic, finish, &steps, out);
        } else {
            self.slices::<f64, O>(level, image, arithmetic, finish, &steps, out);
        }
    }

    fn slices<L: Lane, O: Output>(
        &self,
        level: Level,
        image: [usize; 3],
        arithmetic: Arithmetic,
        finish: Finish,
        steps: &[u32],
        out: &mut [O],
    ) {
        let mut slice = Slice::<L>::new(self.size, self.offset, image, arithmetic);
        let plane = self.size[1] * self.size[2];
        for (steps, out) in steps.chunks_exact(plane).zip(out.chunks_exact_mut(image[1] * image[2])) {
            exacta_core::dispatch!(level, simd => slice.run(simd, steps, finish, out));
        }
    }
}

/// Buffers of one slice.
struct Slice<L> {
    size: [usize; 3],
    offset: [usize; 3],
    image: [usize; 3],
    spacing: L,
    unit: f64,
    /// Columns of the box in whole blocks.
    pitch: usize,
    /// Squares of the ways along axes 1 and 2; the latter mirrored, with blocks of room at both ends.
    rows: Vec<L>,
    columns: Vec<L>,
    plane: Vec<L>,
    line: Vec<L>,
    row: Vec<L>,
}

impl<L: Lane> Slice<L> {
    fn new(size: [usize; 3], offset: [usize; 3], image: [usize; 3], arithmetic: Arithmetic) -> Self {
        let spacing = arithmetic.spacing.map(L::narrow);
        let way = |n: usize| u32::try_from(n).expect("an axis fits 32 bits");
        let pitch = size[2].next_multiple_of(BLOCK);
        let width = image[2].next_multiple_of(BLOCK);
        let columns = (0..2 * width + BLOCK).map(|i| L::square(spacing[2], way(i.abs_diff(width)))).collect();
        Self {
            size,
            offset,
            image,
            spacing: spacing[0],
            unit: arithmetic.unit,
            pitch,
            rows: (0..image[1]).map(|d| L::square(spacing[1], way(d))).collect(),
            columns,
            plane: vec![L::FAR; size[1] * pitch],
            line: vec![L::FAR; pitch],
            row: vec![L::FAR; width],
        }
    }

    #[inline(always)]
    fn run<S: Copy, O: Output>(&mut self, _: S, steps: &[u32], finish: Finish, out: &mut [O]) {
        let [_, rows, columns] = self.size;
        for (plane, steps) in self.plane.chunks_exact_mut(self.pitch).zip(steps.chunks_exact(columns)) {
            for (out, &steps) in plane.iter_mut().zip(steps) {
                *out = if steps == u32::MAX { L::FAR } else { L::square(self.spacing, steps) };
            }
        }
        let width = self.row.len();
        for (y, out) in out.chunks_exact_mut(self.image[2]).enumerate() {
            for x in (0..self.pitch).step_by(BLOCK) {
                let mut best = [L::FAR; BLOCK];
                for source in 0..rows {
                    let way = self.rows[y.abs_diff(self.offset[1] + source)];
                    let values = block(&self.plane, source * self.pitch + x);
                    for i in 0..BLOCK {
                        best[i] = least(values[i] + way, best[i]);
                    }
                }
                self.line[x..x + BLOCK].copy_from_slice(&best);
            }
            for x in (0..width).step_by(BLOCK) {
                let mut best = [L::FAR; BLOCK];
                for (source, &value) in self.line[..columns].iter().enumerate() {
                    // The way from x to the source and those of the next columns.
                    let ways = block(&self.columns, width + x - self.offset[2] - source);
                    for i in 0..BLOCK {
                        best[i] = least(ways[i] + value, best[i]);
                    }
                }
                self.row[x..x + BLOCK].copy_from_slice(&best);
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
}

#[inline(always)]
fn block<L: Copy>(values: &[L], at: usize) -> &[L; BLOCK] {
    values[at..at + BLOCK].try_into().expect("a block")
}

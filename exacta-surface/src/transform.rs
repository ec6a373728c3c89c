//! Tier 3: a separable squared distance transform, evaluated only at the queries.
//!
//! Axis 0: for every slice with a query, the nearest feature along each column, from two arrays that are moved on as
//! slices pass. Axis 1: for every row with a query, the minimum over rows, 32 columns at a time. Axis 2: at the queries alone.
//! The last two search outward through trees of minima, which pass over whatever cannot help, however long the axis. Each
//! pass takes the exact minimum of the rounded expression, and rounding is monotone, so the result is the exact minimum over all
//! features (Saito and Toriwaki 1994). Allocates two slices of doubles a thread.

use exacta_core::Cpu;

use crate::bricks::Points;
use crate::minima::Minima;
use crate::sweep::Sink;
use crate::tags::Tag;
use crate::tally::{Known, Tally};

/// Where a query lies, and what it carries.
pub(crate) type Query<T> = ([u32; 3], T);

/// Columns of a block.
const BLOCK: usize = 32;
/// Fewest queries worth a thread of their own.
const SHARE: usize = 1 << 10;
/// With at most so many finite values in a line, each is tried.
const FEW: usize = 48;

/// Work of [`squared_distances`] in the units in which tier 2 counts its own: some nanosecond each.
pub(crate) fn cost(size: [usize; 3], queries: &Points) -> u64 {
    let voxels = (size[0] * size[1] * size[2]) as u64;
    // Slices without a query cost nothing, but few masks leave many of them out.
    2 * voxels + 64 * queries.len() as u64
}

/// The squared distances from queries to their nearest features (in ascending order), with the queries' tags, counted.
pub(crate) fn squared_distances<T: Tag>(
    cpu: &Cpu,
    size: [usize; 3],
    spacing: [f64; 3],
    features: &[[u32; 3]],
    mut queries: Vec<Query<T>>,
) -> Vec<Known<T>> {
    queries.sort_unstable();
    // Shares cut through slices and rows: what two of them need is made twice, which a few shares can afford.
    let parts = queries.len().div_ceil(SHARE).min(2 * cpu.threads.count()).max(1);
    let results = cpu.threads.map(parts, |part| {
        let range = part * queries.len() / parts..(part + 1) * queries.len() / parts;
        let queries = &queries[range];
        exacta_core::dispatch!(cpu.level, simd => some_queries(simd, size, spacing, features, queries))
    });
    results.concat()
}

#[expect(clippy::cast_precision_loss, reason = "lengths of axes are far below 2^53")]
fn squares(spacing: f64, n: usize) -> Vec<f64> {
    (0..n).map(|d| (spacing * d as f64) * (spacing * d as f64)).collect()
}

#[inline(always)]
fn some_queries<S, T: Tag>(
    _: S,
    size: [usize; 3],
    spacing: [f64; 3],
    points: &[[u32; 3]],
    queries: &[Query<T>],
) -> Vec<Known<T>> {
    let [_, rows, columns] = size;
    let (blocks, pitch) = (columns.div_ceil(BLOCK), columns.div_ceil(BLOCK) * BLOCK);
    let [along_slices, along_rows, along_columns] = [0, 1, 2].map(|k| squares(spacing[k], size[k]));
    let mut columns_of = Columns::new(size, points);
    let mut plane = vec![f64::INFINITY; rows * pitch];
    let mut over_rows: Vec<Minima> = (0..blocks).map(|_| Minima::default()).collect();
    let mut over_columns = Minima::default();
    let mut line = vec![f64::INFINITY; pitch];
    let mut out = Tally::new();
    let mut finite = Vec::new();
    for queries in queries.chunk_by(|a, b| a.0[0] == b.0[0]) {
        columns_of.slice(queries[0].0[0] as usize, &along_slices, pitch, &mut plane);
        for (block, minima) in over_rows.iter_mut().enumerate() {
            let of_row = |row: &[f64]| row[block * BLOCK..][..BLOCK].iter().copied().fold(f64::INFINITY, f64::min);
            minima.build(plane.chunks_exact(pitch).map(of_row));
        }
        for queries in queries.chunk_by(|a, b| a.0[1] == b.0[1]) {
            let row = queries[0].0[1] as usize;
            for (block, minima) in over_rows.iter().enumerate() {
                let best = row_block(&plane[block * BLOCK..], pitch, minima, &along_rows, row);
                line[block * BLOCK..][..BLOCK].copy_from_slice(&best);
            }
            finite.clear();
            finite.extend((0..columns).filter(|&column| line[column] < f64::INFINITY).take(FEW + 1));
            if finite.len() <= FEW {
                for &(query, tag) in queries {
                    let column = query[2] as usize;
                    let candidates = finite.iter().map(|&at| along_columns[at.abs_diff(column)] + line[at]);
                    out.add(candidates.fold(f64::INFINITY, |a, b| if b < a { b } else { a }), tag);
                }
                continue;
            }
            over_columns.build(line[..columns].iter().copied());
            let mut nearest = queries[0].0[2] as usize;
            for &(query, tag) in queries {
                let column = query[2] as usize;
                // The column that served the query before is nearly always close to the best.
                let mut best = along_columns[nearest.abs_diff(column)] + line[nearest];
                over_columns.search(column, &along_columns, &mut best, |at, best| {
                    let candidate = along_columns[at.abs_diff(column)] + line[at];
                    if candidate < *best {
                        (*best, nearest) = (candidate, at);
                    }
                });
                out.add(best, tag);
            }
        }
    }
    out.finish()
}

/// The minimum over rows for the 32 columns at the start of `plane`, in `row`.
#[inline(always)]
fn row_block(plane: &[f64], pitch: usize, minima: &Minima, along: &[f64], row: usize) -> [f64; BLOCK] {
    let mut best = [f64::INFINITY; BLOCK];
    let mut worst = f64::INFINITY;
    minima.search(row, along, &mut worst, |other, worst| {
        let (values, along) = (&plane[other * pitch..][..BLOCK], along[other.abs_diff(row)]);
        for k in 0..BLOCK {
            let candidate = along + values[k];
            best[k] = if candidate < best[k] { candidate } else { best[k] };
        }
        *worst = best.iter().copied().fold(0.0, |a, b| if a > b { a } else { b });
    });
    best
}

/// The nearest feature before and after the current slice in every column.
#[derive(Debug)]
struct Columns<'a> {
    points: &'a [[u32; 3]],
    following: Vec<u32>,
    passed: usize,
    before: Vec<u32>,
    after: Vec<u32>,
    columns: usize,
}

/// No feature on that side.
const NONE: u32 = u32::MAX;

impl<'a> Columns<'a> {
    fn new(size: [usize; 3], points: &'a [[u32; 3]]) -> Self {
        let mut after = vec![NONE; size[1] * size[2]];
        let mut following = vec![NONE; points.len()];
        for (i, at) in points.iter().enumerate().rev() {
            let column = at[1] as usize * size[2] + at[2] as usize;
            following[i] = after[column];
            after[column] = at[0];
        }
        Self { points, following, passed: 0, before: vec![NONE; size[1] * size[2]], after, columns: size[2] }
    }

    /// Squared distances along axis 0 in `slice`, which is not before the last one asked for.
    #[inline(always)]
    fn slice(&mut self, slice: usize, along: &[f64], pitch: usize, plane: &mut [f64]) {
        while self.passed < self.points.len() && self.points[self.passed][0] as usize <= slice {
            let [z, y, x] = self.points[self.passed];
            let column = y as usize * self.columns + x as usize;
            self.before[column] = z;
            self.after[column] = self.following[self.passed];
            self.passed += 1;
        }
        let distance = |z: u32| {
            if z == NONE { f64::INFINITY } else { along[slice.abs_diff(z as usize)] }
        };
        let rows = self.before.chunks_exact(self.columns).zip(self.after.chunks_exact(self.columns));
        for ((before, after), plane) in rows.zip(plane.chunks_exact_mut(pitch)) {
            for ((&before, &after), out) in before.iter().zip(after).zip(plane) {
                let (before, after) = (distance(before), distance(after));
                *out = if before < after { before } else { after };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::squared;
    use crate::tally::expanded;

    #[test]
    fn equals_the_least_of_all_features() {
        let size = [7, 9, 70];
        let mut state = 12_345u64;
        let mut next = |n: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % n
        };
        for (count, spacing) in
            [(1, [1.0, 1.0, 1.0]), (5, [0.7, 0.7, 3.0]), (200, [1e-3, 1.0, 0.3]), (40, [1.5, 0.8, 0.8])]
        {
            let points: Vec<[usize; 3]> = (0..count).map(|_| [next(7), next(9), next(70)]).collect();
            let whole = |at: [usize; 3]| at.map(|n| u32::try_from(n).expect("small"));
            let mut features: Vec<[u32; 3]> = points.into_iter().map(whole).collect();
            features.sort_unstable();
            let queries: Vec<Query<u8>> =
                (0..300).map(|i| (whole([next(7), next(9), next(70)]), (i % 7) as u8)).collect();
            let found = squared_distances(&Cpu::new(), size, spacing, &features, queries.clone());
            let nearest = |(query, tag): &Query<u8>| {
                let offset = |at: &[u32; 3]| std::array::from_fn(|k| f64::from(query[k]) - f64::from(at[k]));
                (features.iter().map(|at| squared(spacing, offset(at))).fold(f64::INFINITY, f64::min), *tag, 1)
            };
            let wanted: Vec<Known<u8>> = queries.iter().map(nearest).collect();
            assert_eq!(expanded(&found), expanded(&wanted));
        }
    }
}

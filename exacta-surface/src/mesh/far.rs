//! Looking far: queries that have nothing around them, against the other surface in bricks of 8x8x8 cells.

use std::collections::BTreeMap;

use nalgebra::Vector3;

use super::directed::Pending;
use super::field::Sorted;
use super::near::Geometry;
use super::patch::{Patch, vector};

/// Cells along the edge of a brick, as a power of two.
const EDGE: i32 = 3;

/// Indices of cells, those of a brick together, with the box of their corners.
#[derive(Debug, Default)]
pub(crate) struct Bricks {
    members: Vec<u32>,
    starts: Vec<usize>,
    low: [Vec<f64>; 3],
    high: [Vec<f64>; 3],
}

impl Bricks {
    /// Groups the cells at `at`.
    pub(crate) fn new(at: impl Iterator<Item = [i32; 3]>) -> Self {
        let mut bricks: BTreeMap<[i32; 3], Vec<(u32, [i32; 3])>> = BTreeMap::new();
        for (i, at) in (0..).zip(at) {
            bricks.entry(at.map(|n| n >> EDGE)).or_default().push((i, at));
        }
        let mut out = Self { starts: vec![0], ..Self::default() };
        for members in bricks.into_values() {
            for k in 0..3 {
                let along = || members.iter().map(|(_, at)| f64::from(at[k]));
                out.low[k].push(along().fold(f64::INFINITY, f64::min));
                out.high[k].push(along().fold(f64::NEG_INFINITY, f64::max));
            }
            out.members.extend(members.iter().map(|(i, _)| i));
            out.starts.push(out.members.len());
        }
        out
    }

    /// Number of bricks.
    pub(crate) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The cells of a brick.
    pub(crate) fn members(&self, brick: usize) -> &[u32] {
        &self.members[self.starts[brick]..self.starts[brick + 1]]
    }

    /// The box of the corners of a brick's cells.
    pub(crate) fn corners(&self, brick: usize) -> [Vector3<f64>; 2] {
        [&self.low, &self.high].map(|side| Vector3::new(side[0][brick], side[1][brick], side[2][brick]))
    }
}

/// Bounds of the squared distances from the elements of some cells to the nearest element of others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) lower: f64,
    pub(crate) upper: f64,
}

/// A box of corners as the box of what its cells hold, in units.
fn spanned<P: Patch>(geometry: &Geometry<'_, P>, [low, high]: [Vector3<f64>; 2]) -> [Vector3<f64>; 2] {
    let (unit, span) = (f64::from(geometry.shape.per_voxel()), geometry.shape.span);
    [low * unit + vector(span.map(|s| s[0])), high * unit + vector(span.map(|s| s[1]))]
}

/// Squared distance between two boxes, and between their farthest points.
#[inline(always)]
fn apart<P: Patch>(geometry: &Geometry<'_, P>, a: &[Vector3<f64>; 2], b: &[Vector3<f64>; 2]) -> (f64, f64) {
    let gap = (b[0] - a[1]).sup(&(a[0] - b[1])).sup(&Vector3::zeros());
    let reach = (b[1] - a[0]).sup(&(a[1] - b[0]));
    (geometry.metric.squared(&gap), geometry.metric.squared(&reach))
}

/// Bounds of the distances of the cells in a box.
#[inline(always)]
pub(crate) fn bounds<P: Patch>(geometry: &Geometry<'_, P>, corners: [Vector3<f64>; 2], bricks: &Bricks) -> Bounds {
    let query = spanned(geometry, corners);
    let mut bounds = Bounds { lower: f64::INFINITY, upper: f64::INFINITY };
    for brick in 0..bricks.len() {
        let (lower, upper) = apart(geometry, &query, &spanned(geometry, bricks.corners(brick)));
        bounds.lower = if lower < bounds.lower { lower } else { bounds.lower };
        bounds.upper = if upper < bounds.upper { upper } else { bounds.upper };
    }
    bounds
}

/// Finds the nearest elements of some queries of one box, which start from what they know; stops early for a query whose
/// centres are all at most `enough()` away.
#[inline(always)]
pub(crate) fn resolve<P: Patch>(
    geometry: &Geometry<'_, P>,
    queries: &Sorted,
    (corners, upper): ([Vector3<f64>; 2], f64),
    (cells, bricks): (&Sorted, &Bricks),
    pending: &mut [Pending],
    enough: impl Fn() -> f64,
) {
    let query = spanned(geometry, corners);
    let mut candidates: Vec<(f64, usize)> = (0..bricks.len())
        .map(|brick| (apart(geometry, &query, &spanned(geometry, bricks.corners(brick))).0, brick))
        .filter(|(lower, _)| *lower <= upper)
        .collect();
    candidates.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let unit = f64::from(geometry.shape.per_voxel());
    for pending in pending {
        let (at, code) = (queries.at[pending.cell as usize], queries.codes[pending.cell as usize]);
        let elements = geometry.shape.of(code);
        let own = spanned(geometry, [vector(at); 2]);
        let enough = enough();
        let mut widest = pending.widest();
        for &(lower, brick) in &candidates {
            if lower >= widest || widest <= enough {
                break;
            }
            if apart(geometry, &own, &spanned(geometry, bricks.corners(brick))).0 >= widest {
                continue;
            }
            for &cell in bricks.members(brick) {
                let (there, code) = (cells.at[cell as usize], cells.codes[cell as usize]);
                let shift = vector([0, 1, 2].map(|k| there[k] - at[k]));
                let there = spanned(geometry, [shift; 2]);
                for i in pending.open() {
                    let centre = geometry.centres[usize::from(elements[i].centre)];
                    let best = &mut pending.best[i];
                    if apart(geometry, &[centre; 2], &there).0 < *best {
                        *best = geometry.nearest(code, &(centre - shift * unit), *best);
                    }
                }
            }
            widest = pending.widest();
        }
    }
}

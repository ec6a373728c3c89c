//! Points grouped in bricks of 8x8x8 voxels, with tight boxes, coordinates apart.

use crate::squared;

/// Voxels along the edge of a brick, as a power of two.
const EDGE: u32 = 3;

/// Points of one surface, those of a brick together. Coordinates are in axis order, relative to the box.
#[derive(Debug, Default)]
pub(crate) struct Points {
    /// Coordinates along each axis: whole numbers, as doubles for exact arithmetic.
    pub(crate) coordinates: [Vec<f64>; 3],
    /// Where each brick's points start; one more than there are bricks.
    pub(crate) starts: Vec<usize>,
    low: [Vec<f64>; 3],
    high: [Vec<f64>; 3],
}

/// A lower and an upper bound of a squared distance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bounds {
    pub(crate) lower: f64,
    pub(crate) upper: f64,
}

impl Points {
    /// Points of a box of `size`, by brick.
    pub(crate) fn new(at: &[[u32; 3]], size: [usize; 3]) -> Self {
        Self::ordered(at, size).0
    }

    /// The same, and which of `at` each point is.
    pub(crate) fn ordered(at: &[[u32; 3]], size: [usize; 3]) -> (Self, Vec<usize>) {
        let along = size.map(|n| n.div_ceil(1 << EDGE));
        let brick = |at: &[u32; 3]| {
            let [a, b, c] = at.map(|n| (n >> EDGE) as usize);
            (a * along[1] + b) * along[2] + c
        };
        let mut points = Self { coordinates: std::array::from_fn(|_| Vec::with_capacity(at.len())), ..Self::default() };
        let mut last = None;
        let order = by_key(at, along.into_iter().product(), brick);
        for &i in &order {
            let at = &at[i];
            let fresh = last != Some(brick(at));
            last = Some(brick(at));
            if fresh {
                points.starts.push(points.len());
            }
            for (k, at) in at.iter().enumerate() {
                let at = f64::from(*at);
                points.coordinates[k].push(at);
                let (low, high) = (&mut points.low[k], &mut points.high[k]);
                if fresh {
                    low.push(at);
                    high.push(at);
                } else if let (Some(low), Some(high)) = (low.last_mut(), high.last_mut()) {
                    *low = low.min(at);
                    *high = high.max(at);
                }
            }
        }
        points.starts.push(points.len());
        (points, order)
    }

    /// Number of bricks.
    pub(crate) fn bricks(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Number of points.
    pub(crate) fn len(&self) -> usize {
        self.coordinates[0].len()
    }

    /// A point.
    #[inline(always)]
    pub(crate) fn point(&self, i: usize) -> [f64; 3] {
        [self.coordinates[0][i], self.coordinates[1][i], self.coordinates[2][i]]
    }

    /// A point as whole numbers.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "coordinates are whole and not negative"
    )]
    pub(crate) fn whole(&self, i: usize) -> [u32; 3] {
        self.point(i).map(|n| n as u32)
    }

    /// The smallest and the largest coordinates of a brick's points.
    #[inline(always)]
    pub(crate) fn corners(&self, brick: usize) -> ([f64; 3], [f64; 3]) {
        (std::array::from_fn(|k| self.low[k][brick]), std::array::from_fn(|k| self.high[k][brick]))
    }

    /// Squared distance that no point of `brick` is nearer to a box than: the metric's own expression on whole gaps, so
    /// rounding, which is monotone, keeps it a bound.
    #[inline(always)]
    pub(crate) fn lower(&self, spacing: [f64; 3], brick: usize, (low, high): ([f64; 3], [f64; 3])) -> f64 {
        let gap = |k: usize| {
            let (before, after) = (self.low[k][brick] - high[k], low[k] - self.high[k][brick]);
            let gap = if before > after { before } else { after };
            if gap > 0.0 { gap } else { 0.0 }
        };
        squared(spacing, [gap(0), gap(1), gap(2)])
    }

    /// Squared distance within which every point of a box has all points of `brick`.
    #[inline(always)]
    fn upper(&self, spacing: [f64; 3], brick: usize, (low, high): ([f64; 3], [f64; 3])) -> f64 {
        let span = |k: usize| {
            let (a, b) = (self.high[k][brick] - low[k], high[k] - self.low[k][brick]);
            if a > b { a } else { b }
        };
        squared(spacing, [span(0), span(1), span(2)])
    }

    /// Bounds of the distance from the points of a box to the nearest of these points.
    #[inline(always)]
    pub(crate) fn bounds(&self, spacing: [f64; 3], corners: ([f64; 3], [f64; 3])) -> Bounds {
        let mut bounds = Bounds { lower: f64::INFINITY, upper: f64::INFINITY };
        for brick in 0..self.bricks() {
            let (lower, upper) = (self.lower(spacing, brick, corners), self.upper(spacing, brick, corners));
            bounds.lower = if lower < bounds.lower { lower } else { bounds.lower };
            bounds.upper = if upper < bounds.upper { upper } else { bounds.upper };
        }
        bounds
    }

    /// The least squared distance from `query` to a point of `brick`, or `best` if that is less.
    #[inline(always)]
    pub(crate) fn nearest_in(&self, spacing: [f64; 3], brick: usize, query: [f64; 3], best: f64) -> f64 {
        const LANES: usize = 8;
        let range = self.starts[brick]..self.starts[brick + 1];
        let [a, b, c] = [0, 1, 2].map(|k| &self.coordinates[k][range.clone()]);
        let mut lanes = [best; LANES];
        let blocks = a.len() / LANES * LANES;
        for ((a, b), c) in a.chunks_exact(LANES).zip(b.chunks_exact(LANES)).zip(c.chunks_exact(LANES)) {
            for lane in 0..LANES {
                let d = squared(spacing, [query[0] - a[lane], query[1] - b[lane], query[2] - c[lane]]);
                lanes[lane] = if d < lanes[lane] { d } else { lanes[lane] };
            }
        }
        let mut best = best;
        for lane in lanes {
            best = if lane < best { lane } else { best };
        }
        for i in blocks..a.len() {
            let d = squared(spacing, [query[0] - a[i], query[1] - b[i], query[2] - c[i]]);
            best = if d < best { d } else { best };
        }
        best
    }
}

/// Indices of `values` in order of a key below `keys`; equal keys keep their order.
fn by_key<T>(values: &[T], keys: usize, key: impl Fn(&T) -> usize) -> Vec<usize> {
    // Counting is linear in the keys; where points are few in a large box, comparing them is less.
    if keys > 8 * values.len() + 1024 {
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by_cached_key(|&i| key(&values[i]));
        return order;
    }
    let mut starts = vec![0usize; keys + 1];
    for value in values {
        starts[key(value) + 1] += 1;
    }
    for i in 0..keys {
        starts[i + 1] += starts[i];
    }
    let mut order = vec![0; values.len()];
    for (i, value) in values.iter().enumerate() {
        let start = &mut starts[key(value)];
        order[*start] = i;
        *start += 1;
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_of_sorting_agree() {
        let at: Vec<[u32; 3]> = (0..700u32).map(|i| [i * 7 % 31, i * 13 % 57, i * 29 % 101]).collect();
        let key = |at: &[u32; 3]| (at[0] + at[1]) as usize;
        assert_eq!(by_key(&at, 100, key), by_key(&at, 1_000_000, key));
    }

    #[test]
    fn bricks_hold_their_points_in_tight_boxes() {
        let at: Vec<[u32; 3]> = vec![[0, 1, 2], [7, 3, 2], [8, 0, 0], [1, 1, 9]];
        let points = Points::new(&at, [9, 8, 16]);
        assert_eq!(points.bricks(), 3);
        assert_eq!(points.corners(0), ([0.0, 1.0, 2.0], [7.0, 3.0, 2.0]));
        assert_eq!(points.starts, [0, 2, 3, 4]);
    }
}

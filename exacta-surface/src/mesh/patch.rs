//! Exact distances from a point to an element.
//!
//! Points and vertices are whole numbers of units (a sixth or a quarter of a voxel), so every difference, cross product and
//! determinant is exact, and the spacing enters as weights of sums of positive terms: nothing cancels, at whatever anisotropy.
//! A point in the plane of a triangle and inside it is at 0, not near it.
//!
//! With `h` the spacing, `D` and `E` differences in units and `N` a normal, all in units: the squared length of `D` is `sum (h_k D_k)^2`; the
//! squared distance to the line along `E` is `sum ((D x E)_k h_i h_j)^2 / |E|^2`; that to the plane is `(N.D)^2 / sum (N_k / h_k)^2`. The
//! closest point of a triangle lies inside it if the point lies on the inner side of its three edges within the prism
//! above it, and else on an edge.
//!
//! An element is never found nearer than its bounding box, which rounding could do by a last digit, and what rounding alone tells from the
//! distance of the box is that distance: bounds are evaluated in the same expression, so whatever has a bound of at least the best
//! distance so far can be left out, bit for bit, and distances along an axis are whole multiples of the spacing.

use nalgebra::Vector3;

/// A spacing and the products that distances need.
#[derive(Debug, Clone)]
pub(crate) struct Metric {
    /// Length of a voxel along each axis.
    spacing: Vector3<f64>,
    /// Area of a face of a voxel across each axis, in units.
    across: Vector3<f64>,
    /// Voxels in a unit.
    unit: f64,
}

impl Metric {
    /// A spacing, with so many units in a voxel.
    pub(crate) fn new(spacing: [f64; 3], units: i32) -> Self {
        let ([a, b, c], unit) = (spacing, 1.0 / f64::from(units));
        let across = Vector3::new(b * c, a * c, a * b) * (unit * unit);
        Self { spacing: spacing.into(), across, unit }
    }

    /// Squared length of a difference along one axis: whole voxels give the square of whole multiples of the spacing.
    #[inline(always)]
    pub(crate) fn along(&self, axis: usize, d: f64) -> f64 {
        let length = self.spacing[axis] * (d * self.unit);
        length * length
    }

    /// Squared length of a difference. No operation is fused.
    #[inline(always)]
    pub(crate) fn squared(&self, d: &Vector3<f64>) -> f64 {
        (self.along(0, d[0]) + self.along(1, d[1])) + self.along(2, d[2])
    }

    /// Squared length of a cross product of differences.
    #[inline(always)]
    fn crossed(&self, c: &Vector3<f64>) -> f64 {
        let [a, b, c] = [self.across[0] * c[0], self.across[1] * c[1], self.across[2] * c[2]];
        (a * a + b * b) + c * c
    }

    /// Length or area of an element.
    pub(crate) fn size(&self, vertices: &[[i32; 3]]) -> f64 {
        let [a, b] = [vertices[0], vertices[1]].map(vector);
        match vertices.get(2) {
            None => self.squared(&(b - a)).sqrt(),
            Some(&c) => self.crossed(&(b - a).cross(&(vector(c) - a))).sqrt() / 2.0,
        }
    }
}

/// A squared distance that is `bound` if rounding alone tells it from that, and never less.
#[inline(always)]
fn at_least(bound: f64, squared: f64) -> f64 {
    if squared <= bound * (1.0 + ROUNDING) { bound } else { squared }
}

/// More than what is lost of a squared distance.
const ROUNDING: f64 = 8.0 * f64::EPSILON;

/// Whole numbers as a vector.
#[inline(always)]
pub(crate) fn vector([a, b, c]: [i32; 3]) -> Vector3<f64> {
    Vector3::new(f64::from(a), f64::from(b), f64::from(c))
}

/// What a distance is measured to.
pub(crate) trait Patch: Send + Sync + Sized {
    /// An element with vertices in units.
    fn new(metric: &Metric, vertices: &[Vector3<f64>]) -> Self;

    /// Whether what stands for the elements with these vertices is the same.
    fn covers(_: &[Vector3<f64>], _: &[Vector3<f64>]) -> bool {
        false
    }

    /// The squared distance from a point, in units as the vertices are, times the spacing; or `best` if that is less.
    fn nearer(&self, metric: &Metric, point: &Vector3<f64>, best: f64) -> f64;
}

/// The smallest and the largest coordinates of an element.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Hull {
    low: Vector3<f64>,
    high: Vector3<f64>,
}

impl Hull {
    fn new(vertices: &[Vector3<f64>]) -> Self {
        let bound = |f: fn(f64, f64) -> f64| vertices.iter().skip(1).fold(vertices[0], |a, b| a.zip_map(b, f));
        Self { low: bound(f64::min), high: bound(f64::max) }
    }

    /// Squared distance from a point.
    #[inline(always)]
    fn squared(&self, metric: &Metric, point: &Vector3<f64>) -> f64 {
        let gap = |k: usize| {
            let (before, after) = (self.low[k] - point[k], point[k] - self.high[k]);
            let gap = if before > after { before } else { after };
            if gap > 0.0 { gap } else { 0.0 }
        };
        metric.squared(&Vector3::new(gap(0), gap(1), gap(2)))
    }
}

#[inline(always)]
fn smaller(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// A segment between two vertices.
#[derive(Debug, Clone)]
pub(crate) struct Side {
    from: Vector3<f64>,
    edge: Vector3<f64>,
    /// The edge times the squares of the spacing: its product with a difference is the dot product in space.
    along: Vector3<f64>,
    length: f64,
}

impl Side {
    fn new(metric: &Metric, from: Vector3<f64>, to: Vector3<f64>) -> Self {
        let edge = to - from;
        let along = metric.spacing.component_mul(&metric.spacing).component_mul(&edge) * (metric.unit * metric.unit);
        Self { from, edge, along, length: metric.squared(&edge) }
    }

    #[inline(always)]
    fn squared(&self, metric: &Metric, point: &Vector3<f64>) -> f64 {
        let d = point - self.from;
        let along = self.along.dot(&d);
        if along <= 0.0 {
            metric.squared(&d)
        } else if along >= self.length {
            metric.squared(&(d - self.edge))
        } else {
            metric.crossed(&d.cross(&self.edge)) / self.length
        }
    }
}

/// A segment.
#[derive(Debug, Clone)]
pub(crate) struct Segment {
    hull: Hull,
    side: Side,
}

impl Patch for Segment {
    fn new(metric: &Metric, vertices: &[Vector3<f64>]) -> Self {
        Self { hull: Hull::new(vertices), side: Side::new(metric, vertices[0], vertices[1]) }
    }

    #[inline(always)]
    fn nearer(&self, metric: &Metric, point: &Vector3<f64>, best: f64) -> f64 {
        let least = self.hull.squared(metric, point);
        if least >= best { best } else { smaller(at_least(least, self.side.squared(metric, point)), best) }
    }
}

/// A triangle.
#[derive(Debug, Clone)]
pub(crate) struct Triangle {
    hull: Hull,
    normal: Vector3<f64>,
    /// Squared distance of a point whose product with the normal is 1.
    step: f64,
    sides: [Side; 3],
    /// The direction from each side into the triangle: a point on the inner side has a product of at least 0.
    inward: [Vector3<f64>; 3],
}

impl Patch for Triangle {
    fn new(metric: &Metric, vertices: &[Vector3<f64>]) -> Self {
        let [a, b, c] = [vertices[0], vertices[1], vertices[2]];
        let normal = (b - a).cross(&(c - a));
        let in_space = normal.component_div(&metric.spacing);
        let weighted = in_space.component_div(&metric.spacing);
        let sides = [(a, b), (b, c), (c, a)].map(|(from, to)| Side::new(metric, from, to));
        let inward = [0, 1, 2].map(|i| weighted.cross(&sides[i].edge));
        let step = metric.unit * metric.unit / in_space.norm_squared();
        Self { hull: Hull::new(vertices), normal, step, sides, inward }
    }

    #[inline(always)]
    fn nearer(&self, metric: &Metric, point: &Vector3<f64>, best: f64) -> f64 {
        let [a, b, c] = &self.sides;
        let from_a = point - a.from;
        let height = self.normal.dot(&from_a);
        let plane = height * height * self.step;
        if plane * (1.0 - 2.0 * ROUNDING) >= best {
            return best;
        }
        let least = self.hull.squared(metric, point);
        if least >= best {
            return best;
        }
        let inside = self.inward[0].dot(&from_a) >= 0.0
            && self.inward[1].dot(&(point - b.from)) >= 0.0
            && self.inward[2].dot(&(point - c.from)) >= 0.0;
        if inside {
            return smaller(at_least(least, plane), best);
        }
        // All three: which sides face the point is known to rounding only.
        let sides = smaller(a.squared(metric, point), smaller(b.squared(metric, point), c.squared(metric, point)));
        smaller(at_least(least, sides).max(plane * (1.0 - 2.0 * ROUNDING)), best)
    }
}

/// A box, flat across one axis at least: the hull of its vertices, as which a triangle of a face stands for the whole face.
#[derive(Debug, Clone)]
pub(crate) struct Flat(Hull);

impl Patch for Flat {
    fn new(_: &Metric, vertices: &[Vector3<f64>]) -> Self {
        Self(Hull::new(vertices))
    }

    fn covers(a: &[Vector3<f64>], b: &[Vector3<f64>]) -> bool {
        Hull::new(a) == Hull::new(b)
    }

    #[inline(always)]
    fn nearer(&self, metric: &Metric, point: &Vector3<f64>, best: f64) -> f64 {
        smaller(self.0.squared(metric, point), best)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::shape::{Maker, Shape};
    use super::*;

    type Whole = [i128; 3];

    fn minus(a: Whole, b: Whole) -> Whole {
        [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
    }

    /// Product of two differences in space, for whole spacings.
    fn dot(h: Whole, a: Whole, b: Whole) -> i128 {
        (0..3).map(|k| h[k] * h[k] * a[k] * b[k]).sum()
    }

    /// A fraction of whole numbers: numerator and positive denominator.
    type Fraction = (i128, i128);

    fn to_segment(h: Whole, p: Whole, a: Whole, b: Whole) -> Fraction {
        let (d, e) = (minus(p, a), minus(b, a));
        let (along, length) = (dot(h, d, e), dot(h, e, e));
        if along <= 0 {
            (dot(h, d, d), 1)
        } else if along >= length {
            (dot(h, minus(p, b), minus(p, b)), 1)
        } else {
            (dot(h, d, d) * length - along * along, length)
        }
    }

    /// The squared distance in whole numbers: to the plane if the barycentric coordinates of the point below are not negative.
    fn to_triangle(h: Whole, p: Whole, [a, b, c]: [Whole; 3]) -> Fraction {
        let (ab, ac, ap) = (minus(b, a), minus(c, a), minus(p, a));
        let (bb, cc, bc) = (dot(h, ab, ab), dot(h, ac, ac), dot(h, ab, ac));
        let (pb, pc) = (dot(h, ap, ab), dot(h, ap, ac));
        // Barycentric coordinates times the determinant.
        let (whole, v, w) = (bb * cc - bc * bc, pb * cc - pc * bc, pc * bb - pb * bc);
        if v >= 0 && w >= 0 && v + w <= whole {
            let normal: Whole = [0, 1, 2].map(|k| {
                let (i, j) = ((k + 1) % 3, (k + 2) % 3);
                ab[i] * ac[j] - ab[j] * ac[i]
            });
            let height: i128 = (0..3).map(|k| normal[k] * ap[k]).sum::<i128>() * h[0] * h[1] * h[2];
            return (height * height, (0..3).map(|k| (normal[k] * h[(k + 1) % 3] * h[(k + 2) % 3]).pow(2)).sum());
        }
        let sides = [to_segment(h, p, a, b), to_segment(h, p, b, c), to_segment(h, p, c, a)];
        sides.into_iter().min_by(|a, b| value(*a).total_cmp(&value(*b))).expect("three sides")
    }

    fn value((numerator, denominator): Fraction) -> f64 {
        numerator as f64 / denominator as f64
    }

    /// Against whole numbers at spacings far apart: right to the last digits of the distance itself, not of the extent.
    fn check(squared: f64, wanted: Fraction) {
        let wanted = value(wanted);
        assert!((squared - wanted).abs() <= 1e-14 * wanted, "{squared:e} {wanted:e}");
    }

    proptest! {
        #[test]
        fn right_in_every_digit(
            element in 0..820usize,
            centre in 0..63usize,
            offset in [-9..10i32, -9..10, -9..10],
            h in prop::sample::select(vec![[1, 1, 1], [15, 8, 8], [1, 1000, 1], [1, 1_000_000, 1000], [1000, 1, 1_000_000]]),
        ) {
            let shape = Shape::new(Maker::Contour, 3);
            let vertices: Vec<_> = shape.all()[element].vertices.iter().map(|v| v.map(|n| 3 * n)).collect();
            let at: [i32; 3] = [0, 1, 2].map(|k| shape.centres[centre][k] + 6 * offset[k]);
            let metric = Metric::new(h.map(|n| n as f64), 1);
            let h = h.map(i128::from);
            let point = vector(at);
            let [a, b, c] = [0, 1, 2].map(|i| vertices[i].map(i128::from));
            let in_space: Vec<_> = vertices.iter().map(|&v| vector(v)).collect();
            check(Triangle::new(&metric, &in_space).nearer(&metric, &point, f64::INFINITY), to_triangle(h, at.map(i128::from), [a, b, c]));
            check(
                Segment::new(&metric, &in_space[..2]).nearer(&metric, &point, f64::INFINITY),
                to_segment(h, at.map(i128::from), a, b),
            );
        }
    }

    #[test]
    fn worked_examples() {
        let metric = Metric::new([1.0; 3], 1);
        let at = |x: f64, y: f64, z: f64| Vector3::new(x, y, z);
        let corners = [at(0.0, 0.0, 0.0), at(1.0, 0.0, 0.0), at(0.0, 1.0, 0.0)];
        let triangle = Triangle::new(&metric, &corners);
        for (point, wanted) in [(at(0.0, 0.0, 1.0), 1.0), (at(2.0, 2.0, 0.0), 4.5), (at(0.25, 0.25, -2.0), 4.0)] {
            assert_eq!(triangle.nearer(&metric, &point, f64::INFINITY), wanted);
        }
        let segment = Segment::new(&metric, &corners[..2]);
        assert_eq!(segment.nearer(&metric, &at(0.0, 1.0, 0.0), f64::INFINITY), 1.0);
        assert_eq!(segment.nearer(&metric, &at(3.0, 0.0, 0.0), f64::INFINITY), 4.0);
        let face = Flat::new(&metric, &corners);
        assert_eq!(face.nearer(&metric, &at(2.0, 0.5, -2.0), f64::INFINITY), 5.0);
    }
}

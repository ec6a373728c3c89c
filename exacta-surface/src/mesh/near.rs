//! What a spacing makes of a shape: patches to measure to, sizes, the least distances between centres and what cells hold, and the
//! rows around a cell in order of how near they can be.

use nalgebra::Vector3;

use super::field::BEFORE;
use super::patch::{Metric, Patch, vector};
use super::shape::{MOST, Shape};

/// Rows looked at in all; beyond them, bricks are quicker.
const ROWS: usize = 400;
/// Offsets of rows that are considered.
const REACH: i32 = 24;
/// Rows looked at in the first round and in the next.
const ROUNDS: [usize; 3] = [60, 150, ROWS];

/// A row of cells at an offset, and the square of the least distance of any centre of a cell to any element in it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub(crate) offset: [i32; 2],
    pub(crate) bound: f64,
}

/// A number of rows, and the square of the distance up to which nothing lies outside them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Round {
    pub(crate) rows: usize,
    pub(crate) reach: f64,
}

/// What a spacing makes of a shape.
#[derive(Debug)]
pub(crate) struct Geometry<'a, P> {
    pub(crate) shape: &'a Shape,
    pub(crate) metric: Metric,
    /// Every centre, in units.
    pub(crate) centres: Vec<Vector3<f64>>,
    patches: Vec<P>,
    starts: Vec<u32>,
    /// Lengths or areas that elements have, ascending.
    pub(crate) sizes: Vec<f64>,
    /// Which of `sizes` each element has.
    pub(crate) size_of: Vec<u8>,
    pub(crate) rows: Vec<Row>,
    pub(crate) rounds: Vec<Round>,
    /// By axis, then offset, coordinate of a centre and extent of what a cell holds: the square of the gap along the axis.
    gaps: [Vec<[[f64; EXTENTS]; COORDINATES]>; 3],
    /// By axis, then difference of two centres in units, from `-BEFORE` voxels and `aside` less on: its squared length.
    pub(crate) along: [Vec<f64>; 3],
    pub(crate) aside: i32,
    /// The centres of each code, and how many it has.
    pub(crate) queries: Vec<[Centre; MOST]>,
    pub(crate) lens: [u8; 256],
    /// By distance along the row and coordinate: the lesser gap of both sides.
    pub(crate) beside: Vec<[f64; COORDINATES]>,
    /// By distance along the row: the least gap of all.
    pub(crate) narrow: Vec<f64>,
    /// What each code holds along each axis, as an index of extents.
    pub(crate) extents: Vec<[u8; 3]>,
    /// The extent of the span of a cell, along each axis.
    pub(crate) whole: [u8; 3],
}

/// Coordinates of a centre along an axis, from the least.
pub(crate) const COORDINATES: usize = 8;
/// Extents along an axis, from one of three half voxels to another: nine, and room to mask an index by.
const EXTENTS: usize = 16;

impl<'a, P: Patch> Geometry<'a, P> {
    pub(crate) fn new(shape: &'a Shape, spacing: [f64; 3]) -> Self {
        let (metric, sized) = (Metric::new(spacing, shape.per_voxel()), Metric::new(spacing, 2));
        let unit = f64::from(shape.half);
        let (mut patches, mut starts) = (Vec::new(), vec![0]);
        for code in 0..shape.codes() {
            let mut last: Option<Vec<Vector3<f64>>> = None;
            for element in shape.of(u8::try_from(code).expect("a code is a byte")) {
                let vertices: Vec<_> = element.vertices.iter().map(|&v| vector(v) * unit).collect();
                if !last.as_ref().is_some_and(|last| P::covers(last, &vertices)) {
                    patches.push(P::new(&metric, &vertices));
                }
                last = Some(vertices);
            }
            starts.push(u32::try_from(patches.len()).expect("few elements"));
        }
        let measured: Vec<f64> = shape.all().iter().map(|element| sized.size(&element.vertices)).collect();
        let mut sizes = measured.clone();
        sizes.sort_unstable_by(f64::total_cmp);
        sizes.dedup();
        let index = |size: &f64| sizes.partition_point(|known| known < size);
        let size_of = measured.iter().map(|size| u8::try_from(index(size)).expect("few sizes")).collect();
        let extent = |k: usize, vertices: &mut dyn Iterator<Item = [i32; 3]>| {
            let first = shape.span[k][0] / shape.half;
            let (low, high) =
                vertices.fold((2, 0), |(low, high): (i32, i32), v| (low.min(v[k] - first), high.max(v[k] - first)));
            u8::try_from(3 * low + high).expect("within a cell")
        };
        let extents = (0..shape.codes()).map(|code| {
            let held = || shape.of(code as u8).iter().flat_map(|element| element.vertices.iter().copied());
            [0, 1, 2].map(|k| extent(k, &mut held()))
        });
        let ends = |k: usize| shape.span[k].map(|end| [end / shape.half; 3]);
        let mut out = Self {
            shape,
            centres: shape.centres.iter().map(|&at| vector(at)).collect(),
            patches,
            starts,
            sizes,
            size_of,
            rows: Vec::new(),
            rounds: Vec::new(),
            gaps: [0, 1, 2].map(|axis| gaps(shape, &metric, axis)),
            along: [0, 1, 2].map(|axis| along(shape, &metric, axis)),
            aside: shape.per_voxel(),
            queries: Vec::new(),
            lens: std::array::from_fn(|code| if code < shape.codes() { shape.of(code as u8).len() as u8 } else { 0 }),
            extents: extents.collect(),
            beside: Vec::new(),
            narrow: Vec::new(),
            whole: [0, 1, 2].map(|k| extent(k, &mut ends(k).into_iter())),
            metric,
        };
        out.queries = (0..shape.codes())
            .map(|code| {
                let mut held = [Centre::default(); MOST];
                for (centre, element) in held.iter_mut().zip(shape.of(code as u8)) {
                    let at = shape.centres[usize::from(element.centre)];
                    *centre = Centre { index: element.centre, at: [0, 1, 2].map(|k| (at[k] - shape.span[k][0]) as u8) };
                }
                held
            })
            .collect();
        out.list_rows();
        out
    }

    /// Offsets of the rows that are looked at, in that order.
    pub(crate) fn offsets(&self) -> impl Iterator<Item = [i32; 2]> + '_ {
        self.rows.iter().map(|row| row.offset)
    }

    /// Rows in order of their bounds, and how far each round sees.
    fn list_rows(&mut self) {
        let inner = |axis: usize, offset: i32| {
            let centres = self.shape.centres.iter().map(|at| (at[axis] - self.shape.span[axis][0]) as usize);
            centres.fold(f64::INFINITY, |least, at| least.min(self.gap(axis, offset, at, self.whole[axis])))
        };
        let flat = self.shape.span[0] == [0, 0];
        let mut rows = Vec::new();
        let along_row: Vec<(i32, f64)> = (-REACH..=REACH).map(|row| (row, inner(1, row))).collect();
        for slice in if flat { 0..=0 } else { -REACH..=REACH } {
            let across = inner(0, slice);
            rows.extend(along_row.iter().map(|&(row, bound)| Row { offset: [slice, row], bound: across + bound }));
        }
        let order = |row: &Row| row.offset[0].abs() + row.offset[1].abs();
        rows.sort_by(|a, b| a.bound.total_cmp(&b.bound).then(order(a).cmp(&order(b))));
        let nearest = |least: i32, at| {
            let [after, before] = [least, -least].map(|dx| self.gap(2, dx, at, self.whole[2]));
            after.min(before)
        };
        let beside = (0..=BEFORE).map(|least| std::array::from_fn(|at| nearest(least, at))).collect();
        let narrow: Vec<f64> = (0..=BEFORE).map(|least| inner(2, least).min(inner(2, -least))).collect();
        let outside = inner(1, REACH + 1).min(inner(1, -REACH - 1));
        let outside = if flat { outside } else { outside.min(inner(0, REACH + 1)).min(inner(0, -REACH - 1)) };
        let limit = outside.min(inner(2, BEFORE + 1)).min(inner(2, -BEFORE - 1));
        rows.truncate(rows.partition_point(|row| row.bound < limit));
        self.rounds = ROUNDS
            .iter()
            .map(|&count| Round {
                rows: count.min(rows.len()),
                reach: rows.get(count).map_or(limit, |row| row.bound.min(limit)),
            })
            .collect();
        rows.truncate(ROWS);
        (self.rows, self.beside, self.narrow) = (rows, beside, narrow);
    }

    #[inline(always)]
    pub(crate) fn gap(&self, axis: usize, offset: i32, coordinate: usize, extent: u8) -> f64 {
        self.gaps[axis][(offset + BEFORE + 2) as usize][coordinate % COORDINATES][usize::from(extent) % EXTENTS]
    }

    /// The least squared distance of a point, in units from its first voxel, to the elements of a code, or `best` if that is less.
    #[inline(always)]
    pub(crate) fn nearest(&self, code: u8, point: &Vector3<f64>, mut best: f64) -> f64 {
        let range = self.starts[usize::from(code)] as usize..self.starts[usize::from(code) + 1] as usize;
        for patch in &self.patches[range] {
            best = patch.nearer(&self.metric, point, best);
        }
        best
    }
}

/// A centre that looks: which of the shape's, and its coordinates from the start of the span of the cell.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Centre {
    pub(crate) index: u8,
    pub(crate) at: [u8; 3],
}

/// Squares of the differences of two centres along an axis.
fn along(shape: &Shape, metric: &Metric, axis: usize) -> Vec<f64> {
    let most = (BEFORE + 1) * shape.per_voxel();
    (-most..=most).map(|d| metric.along(axis, f64::from(d))).collect()
}

/// Squares of gaps along an axis, by offset, coordinate and extent.
fn gaps(shape: &Shape, metric: &Metric, axis: usize) -> Vec<[[f64; EXTENTS]; COORDINATES]> {
    let gap = |offset: i32, at: usize, extent: usize| {
        let (start, at, extent) = (offset * shape.per_voxel(), at as i32, extent as i32);
        let (first, last) = (start + extent / 3 * shape.half, start + extent % 3 * shape.half);
        metric.along(axis, f64::from((first - at).max(at - last).max(0)))
    };
    let of_offset = |offset| std::array::from_fn(|at| std::array::from_fn(|extent| gap(offset, at, extent)));
    (-BEFORE - 2..=BEFORE + 2).map(of_offset).collect()
}

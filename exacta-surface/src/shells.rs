//! Tier 1: the nearest few voxels, 64 queries a step.
//!
//! Offsets with equal `|dz|, |dy|, |dx|` are equally far, so they make one shell; shells are visited in order of their
//! exact squared distance. A query word keeps the voxels that no shell has hit yet, and stops once there is none.
//! The result is a histogram over exact distances: no distance is stored.
//!
//! Exact because the list holds every offset closer than `beyond`: a hit in a shell means that no closer voxel exists.

use exacta_core::Grid;

use crate::dense::{Dense, Layout, WordBox};
use crate::squared;
use crate::tags::{Tag, Weights};
use crate::words::ones;

/// Number of shells to stop at: with isotropic voxels they reach some four voxels far.
const ENOUGH: usize = 56;
/// Farthest offsets considered along slices and rows, and along columns (less than a word).
const REACH: [usize; 3] = [8, 8, 24];

/// Shells in order of distance.
#[derive(Debug)]
pub(crate) struct Shells {
    pub(crate) list: Vec<Shell>,
    /// Squared distance that every offset outside the list reaches; infinite if the box holds none.
    pub(crate) beyond: f64,
    /// Slices and rows that offsets reach.
    pub(crate) margin: [usize; 2],
}

/// How far to look along each walked axis for some [`ENOUGH`] shells: an eighth of a ball (a quarter of a disc, where the box
/// is one voxel thick) that holds as many voxels.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a small whole number"
)]
fn reach(spacing: [f64; 3], size: [usize; 3]) -> [usize; 3] {
    let thick: Vec<usize> = (0..3).filter(|&k| size[k] > 1).collect();
    let dimensions = thick.len() as f64;
    let share = [2.0, 4.0 / std::f64::consts::PI, 6.0 / std::f64::consts::PI][thick.len().max(1) - 1];
    // Roots first: the product of three spacings may leave the range of doubles.
    let mean: f64 = thick.iter().map(|&k| spacing[k].powf(1.0 / dimensions)).product();
    let radius = mean * (share * ENOUGH as f64).powf(1.0 / dimensions);
    std::array::from_fn(|k| ((radius / spacing[k]).ceil() as usize).clamp(1, REACH[k]).min(size[k] - 1))
}

/// Offsets at one `|dz|, |dy|, |dx|`.
#[derive(Debug, Clone)]
pub(crate) struct Shell {
    pub(crate) squared: f64,
    offset: [usize; 3],
}

impl Shells {
    /// The shells of a box of `size` (slices, rows, columns), up to those farther than `within`.
    pub(crate) fn new(grid: &Grid, spacing: [f64; 3], size: [usize; 3], within: Option<f64>) -> Self {
        let at = |offset: [usize; 3]| {
            #[expect(clippy::cast_precision_loss, reason = "offsets are small")]
            let by_axis = grid.by_axis(offset).map(|d| d as f64);
            squared(spacing, by_axis)
        };
        let reach = reach(grid.walked(spacing), size);
        // The nearest offset that the reach leaves out; none where it spans the box.
        let mut beyond = f64::INFINITY;
        for k in 0..3 {
            if reach[k] + 1 < size[k] {
                let mut offset = [0; 3];
                offset[k] = reach[k] + 1;
                beyond = beyond.min(at(offset));
            }
        }
        let mut list = Vec::new();
        for z in 0..=reach[0] {
            for y in 0..=reach[1] {
                for x in 0..=reach[2] {
                    let squared = at([z, y, x]);
                    if squared >= beyond {
                        break;
                    }
                    list.push(Shell { squared, offset: [z, y, x] });
                }
            }
        }
        list.sort_by(|a, b| a.squared.total_cmp(&b.squared));
        let mut keep = list.len().min(ENOUGH);
        if let Some(within) = within {
            keep = keep.min(list.partition_point(|shell| shell.squared.sqrt() <= within).max(1));
        }
        // Equally far offsets stay together.
        while keep < list.len() && list[keep].squared == list[keep - 1].squared {
            keep += 1;
        }
        if keep < list.len() {
            beyond = list[keep].squared;
            list.truncate(keep);
        }
        let margin = std::array::from_fn(|k| list.iter().map(|shell| shell.offset[k]).max().unwrap_or(0));
        Self { list, beyond, margin }
    }

    /// The shells as steps in a plane of `layout`.
    pub(crate) fn steps(&self, layout: &Layout) -> Vec<Step> {
        self.list
            .iter()
            .map(|shell| {
                let [z, y, x] = shell.offset.map(|d| isize::try_from(d).expect("offsets are small"));
                let mut rows = Vec::with_capacity(4);
                for z in if z == 0 { vec![0] } else { vec![-z, z] } {
                    for y in if y == 0 { vec![0] } else { vec![-y, y] } {
                        rows.push(layout.step(z, y));
                    }
                }
                Step { rows, columns: u32::try_from(x).expect("offsets are small") }
            })
            .collect()
    }
}

/// A shell as row offsets in memory and a shift along the row.
#[derive(Debug)]
pub(crate) struct Step {
    rows: Vec<isize>,
    columns: u32,
}

impl Step {
    /// The queries at bit positions of word `at` that this shell hits.
    #[inline(always)]
    pub(crate) fn hits(&self, plane: &[u64], at: usize) -> u64 {
        let mut hits = 0;
        for &row in &self.rows {
            let i = at.wrapping_add_signed(row);
            if self.columns == 0 {
                hits |= plane[i];
            } else {
                let near = &plane[i - 1..i + 2];
                let (left, right) = (self.columns, 64 - self.columns);
                hits |= near[1] << left | near[0] >> right | near[1] >> left | near[2] << right;
            }
        }
        hits
    }
}

/// What tier 1 found for some query words.
#[derive(Debug)]
pub(crate) struct Resolved<T> {
    /// Number of queries hit by each shell, by weight: those of a shell together.
    pub(crate) counts: Vec<u64>,
    /// Words with the queries that no shell hit.
    pub(crate) left: Vec<(u32, u64)>,
    /// What those queries carry: the places of their weights.
    pub(crate) tags: Vec<T>,
}

impl<T> Default for Resolved<T> {
    fn default() -> Self {
        Self { counts: Vec::new(), left: Vec::new(), tags: Vec::new() }
    }
}

/// Resolves query words against the other surface; `tags` are of all their bits in order.
pub(crate) fn resolve<T: Tag>(
    steps: &[Step],
    bounds: &WordBox,
    plane: &Dense,
    weights: &Weights,
    queries: impl Iterator<Item = (u32, u64)>,
    mut tags: &[T],
) -> Resolved<T> {
    let kinds = weights.values.len();
    let mut counts = vec![0; steps.len() * kinds];
    let (mut left, mut left_tags) = (Vec::new(), Vec::new());
    for (word, bits) in queries {
        let here;
        (here, tags) = tags.split_at(bits.count_ones() as usize);
        let at = plane.layout.index(bounds.at(word));
        let mut unresolved = bits;
        for (step, counts) in steps.iter().zip(counts.chunks_exact_mut(kinds)) {
            let hits = step.hits(&plane.bits, at) & unresolved;
            T::count(weights, bits, hits, here, counts);
            unresolved &= !hits;
            if unresolved == 0 {
                break;
            }
        }
        if unresolved != 0 {
            left.push((word, unresolved));
            let of_bits = ones(bits).zip(here).filter(|(bit, _)| unresolved >> bit & 1 == 1);
            left_tags.extend(of_bits.map(|(_, tag)| tag.class(weights)));
        }
    }
    Resolved { counts, left, tags: left_tags }
}

//! Surfaces with elements nearly everywhere in their box, such as noise: planes of bits from first to last, never a list of elements.
//!
//! Tier 1 asks the shells of all queries, as for sparse words, then tier 3 ([`sweep`]) answers what is left, if that is needed. Where
//! a sample of the queries says that the shells find little, they end early.
//!
//! [`sweep`]: crate::sweep

use exacta_core::Cpu;

use crate::carried::Carried;
use crate::dense::{AxisBox, Dense, Layout};
use crate::shells::{Shells, Step};
use crate::sweep;
use crate::tags::Tag;

/// Fewest elements that are worth planes, and the places of the box there may be for each.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bulk {
    pub(crate) least: u64,
    pub(crate) sparsity: u64,
}

impl Default for Bulk {
    fn default() -> Self {
        Self { least: 1 << 15, sparsity: 4 }
    }
}

impl Bulk {
    /// Whether so many elements of both surfaces are many for a box of this size.
    pub(crate) fn is_met(&self, elements: u64, size: [usize; 3]) -> bool {
        elements >= self.least
            && elements * self.sparsity > size.into_iter().product::<usize>() as u64
            && sweep::fits(size)
    }
}

/// Slices of queries handed to a thread at a time.
const SHARE: usize = 4;
/// Words looked at to see what shells are good for.
const SAMPLE: usize = 256;

/// What the shells found for one direction.
#[derive(Debug)]
pub(crate) struct Found {
    /// Number of queries hit by each shell, by weight.
    pub(crate) counts: Vec<u64>,
    /// Number of queries of each weight.
    pub(crate) totals: Vec<u64>,
    /// Queries that no shell hit, row after row of words.
    pub(crate) left: Vec<u64>,
}

/// How many of the shells to try: all, unless a sample of the queries stays unresolved by and large; then those that resolve it but
/// for a fiftieth. Shells at one distance stay together.
fn worthwhile(shells: &Shells, steps: &[Step], queries: &Dense, features: &Dense) -> usize {
    let filled: Vec<usize> = (0..queries.bits.len()).filter(|&i| queries.bits[i] != 0).collect();
    let (mut found, mut total) = (vec![0u64; steps.len()], 0);
    for &at in filled.iter().step_by(filled.len().div_ceil(SAMPLE).max(1)) {
        let mut left = queries.bits[at];
        total += u64::from(left.count_ones());
        for (step, found) in steps.iter().zip(&mut found) {
            let hits = step.hits(&features.bits, at) & left;
            *found += u64::from(hits.count_ones());
            left &= !hits;
        }
    }
    let all: u64 = found.iter().sum();
    if 10 * all >= 9 * total {
        return steps.len();
    }
    let mut so_far = 0;
    let mut enough = found.iter().position(|&found| {
        so_far += found;
        50 * (all - so_far) <= total
    });
    if let Some(last) = &mut enough {
        while *last + 1 < steps.len() && shells.list[*last + 1].squared == shells.list[*last].squared {
            *last += 1;
        }
    }
    enough.map_or(steps.len(), |last| last + 1)
}

/// Resolves the elements of `queries` against `features`, which lie in planes of one layout; `kinds` is the number of weights.
/// Also the squared distance that whatever is left reaches.
pub(crate) fn resolve<T: Tag>(
    cpu: &Cpu,
    space: &AxisBox<'_>,
    shells: &Shells,
    [queries, features]: [&Dense; 2],
    carried: &Carried<T>,
    kinds: usize,
) -> (Found, f64) {
    let [slices, rows, words] = space.words();
    let steps = shells.steps(&queries.layout);
    let count = worthwhile(shells, &steps, queries, features);
    let beyond = shells.list.get(count).map_or(shells.beyond, |shell| shell.squared);
    let part = |part: usize| {
        let mut found = Found { counts: vec![0; count * kinds], totals: vec![0; kinds], left: Vec::new() };
        for slice in part * SHARE..slices.min((part + 1) * SHARE) {
            for row in 0..rows {
                let place = Words { layout: &queries.layout, slice, row, base: (slice * rows + row) * words };
                let bits = queries.row(slice, row);
                exacta_core::dispatch!(cpu.level, simd =>
                    resolve_row(simd, &steps[..count], bits, features, place, carried, kinds, &mut found));
            }
        }
        found
    };
    let mut whole = Found { counts: vec![0; count * kinds], totals: vec![0; kinds], left: Vec::new() };
    let mut left = Vec::new();
    for part in cpu.threads.map(slices.div_ceil(SHARE), part) {
        whole.counts.iter_mut().zip(part.counts).for_each(|(a, b)| *a += b);
        whole.totals.iter_mut().zip(part.totals).for_each(|(a, b)| *a += b);
        left.push(part.left);
    }
    whole.left = left.concat();
    // Queries are counted one by one but where the first shell hit them, as nearly all of them in noise.
    if count > 0 {
        let mut rest = whole.totals.clone();
        for counts in whole.counts[kinds..].chunks_exact(kinds) {
            rest.iter_mut().zip(counts).for_each(|(rest, count)| *rest -= count);
        }
        // The first row has counted what no shell hit so far.
        whole.counts[..kinds].iter_mut().zip(rest).for_each(|(count, rest)| *count = rest - *count);
    }
    (whole, beyond)
}

/// A row of words.
#[derive(Debug, Clone, Copy)]
struct Words<'a> {
    layout: &'a Layout,
    slice: usize,
    row: usize,
    /// Words of the box before it.
    base: usize,
}

#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "one call, inlined")]
fn resolve_row<S, T: Tag>(
    _: S,
    steps: &[Step],
    queries: &[u64],
    features: &Dense,
    place: Words<'_>,
    carried: &Carried<T>,
    kinds: usize,
    found: &mut Found,
) {
    let mut tags = [T::FIRST; 64];
    let start = place.layout.index([place.slice, place.row, 0]);
    for (word, &bits) in queries.iter().enumerate() {
        let mut left = bits;
        if bits != 0 {
            carried.of_word([place.slice, place.row, word], place.base + word, bits, &mut tags);
            T::gather(bits, &tags, &mut found.totals);
            for (shell, step) in steps.iter().enumerate() {
                let hits = step.hits(&features.bits, start + word) & left;
                if shell > 0 && hits != 0 {
                    T::gather(hits, &tags, &mut found.counts[shell * kinds..][..kinds]);
                }
                left &= !hits;
                if left == 0 {
                    break;
                }
            }
            if left != 0 && !steps.is_empty() {
                T::gather(left, &tags, &mut found.counts[..kinds]);
            }
        }
        found.left.push(left);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use exacta_core::ndarray::{ArrayD, Dimension, IxDyn};
    use exacta_core::parallel::Threads;
    use exacta_core::quantile::{percentile, pooled_percentile, within};
    use exacta_core::stages::{Directed, Elements, Need, SurfaceDistances};
    use exacta_core::testing::{labels_of, levels};
    use exacta_core::{Batch, LabelSpec, Level, Percentile, Spacing, Table};

    use super::*;
    use crate::boundary::boundary_voxels;
    use crate::corners::corner_cells_of;
    use crate::distances::distances_of;
    use crate::naive::{naive_distances, naive_surfel_distances};

    /// Planes for everything.
    const ALWAYS: Bulk = Bulk { least: 0, sparsity: 1 << 40 };

    fn measured(
        cpu: &Cpu,
        kind: Elements,
        [pred, target]: [&ArrayD<i64>; 2],
        classes: usize,
        spacing: Spacing,
        need: Need,
    ) -> Vec<SurfaceDistances> {
        let spec = LabelSpec::index(classes).without_background();
        let batch = Batch::new(pred.view(), target.view(), spec, None).expect("valid");
        let (spacings, needs) = (vec![spacing; batch.cases()], vec![need; spec.selected()]);
        let table: Table<SurfaceDistances> = if kind == Elements::Points {
            let (_, voxels) = boundary_voxels(cpu, &batch).expect("valid");
            distances_of(cpu, &voxels, &spacings, &needs, ALWAYS)
        } else {
            let (_, cells) = corner_cells_of(cpu, &batch, 0).expect("valid");
            distances_of(cpu, &cells, &spacings, &needs, ALWAYS)
        };
        table.into_values()
    }

    fn q(value: f64) -> Percentile {
        Percentile::new(value).expect("a percentile")
    }

    /// All distances are those of the definition, and so is every statistic that less is needed for.
    fn check(cpu: &Cpu, kind: Elements, images: [&ArrayD<i64>; 2], classes: usize, spacing: &[f64]) {
        let spacing = Spacing::new(spacing).expect("in range");
        let naive = if kind == Elements::Points { naive_distances } else { naive_surfel_distances };
        let of = |label: usize| {
            let mask = |image: &ArrayD<i64>| {
                image.index_axis(exacta_core::ndarray::Axis(0), 0).mapv(|v| v == label as i64).into_dyn()
            };
            naive(&mask(images[0]), &mask(images[1]), spacing.volume())
        };
        let wanted: Vec<_> = (1..classes).map(of).collect();
        let directions = |d: &SurfaceDistances| [d.pred_to_target.clone(), d.target_to_pred.clone()];
        let none = Need::default();
        let all = measured(cpu, kind, images, classes, spacing, Need::ALL);
        for (found, wanted) in all.iter().zip(&wanted) {
            for (found, wanted) in directions(found).into_iter().zip(directions(wanted)) {
                assert!((found.weight - wanted.weight).abs() <= 1e-12 * wanted.weight);
                assert_eq!(found, Directed { weight: found.weight, ..wanted });
            }
        }
        let reached = |need: Need| measured(cpu, kind, images, classes, spacing, need).into_iter().zip(&all);
        for (found, all) in reached(Need { max: true, directed_percentile: Some(95.0), ..none }) {
            for (found, all) in directions(&found).iter().zip(&directions(all)).filter(|(_, all)| all.max.is_some()) {
                assert_eq!((found.max, percentile(found, q(95.0))), (all.max, percentile(all, q(95.0))));
            }
        }
        for (found, all) in reached(Need { pooled_percentile: Some(50.0), within: Some(1.3), ..none }) {
            let pooled = |d: &SurfaceDistances| pooled_percentile(&d.pred_to_target, &d.target_to_pred, q(50.0));
            if all.pred_to_target.max.is_some() {
                assert_eq!(pooled(&found), pooled(all));
                let [a, b] = [&found, all].map(|d| within(&d.pred_to_target, 1.3).expect("resolved"));
                assert!((a - b).abs() <= 1e-12 * b, "{a} {b}");
            }
        }
    }

    fn fortran(array: &ArrayD<i64>) -> ArrayD<i64> {
        let reversed: Vec<usize> = (0..array.ndim()).rev().collect();
        array.clone().permuted_axes(IxDyn(&reversed)).as_standard_layout().into_owned().permuted_axes(IxDyn(&reversed))
    }

    fn cpus() -> Vec<Cpu> {
        let pool = |n| Threads::Pool(Arc::new(rayon::ThreadPoolBuilder::new().num_threads(n).build().expect("a pool")));
        let mut cpus: Vec<Cpu> = levels().into_iter().map(|level| Cpu { level, threads: Threads::Serial }).collect();
        cpus.extend([1, 6].map(|n| Cpu { level: Level::new(), threads: pool(n) }));
        cpus
    }

    const KINDS: [Elements; 2] = [Elements::Points, Elements::Patches];

    /// Masks for which lists of elements would be the wrong tool, small: planes from first to last.
    #[test]
    fn worst_cases() {
        for shape in [vec![1, 9, 11, 70], vec![1, 18, 5, 33], vec![1, 30, 67]] {
            let three = |at: &IxDyn| {
                let n = at.slice().len();
                [if n == 4 { at[1] } else { 0 }, at[n - 2], at[n - 1]]
            };
            let fill =
                |f: &dyn Fn([usize; 3]) -> bool| ArrayD::from_shape_fn(IxDyn(&shape), |at| i64::from(f(three(&at))));
            let board = |k: usize, shift: usize| {
                fill(&|[z, y, x]| ((z + shift) / k + (y + shift) / k + (x + shift) / k).is_multiple_of(2))
            };
            let last = fill(&|_| false).len() - 1;
            let voxel = |i: usize| {
                let mut mask = fill(&|_| false);
                mask.as_slice_mut().expect("contiguous")[i] = 1;
                mask
            };
            let (half, other) = (fill(&|[_, y, _]| y < 3), fill(&|[_, y, _]| y >= 3));
            let noise = labels_of(&shape[1..], 1, 2, 5, 0);
            let pairs = [
                (half.clone(), other),
                (board(1, 0), board(1, 1)),
                (board(2, 0), board(2, 1)),
                (board(3, 0), half),
                (noise.clone(), board(1, 0)),
                (noise, voxel(last)),
                (voxel(0), voxel(last)),
            ];
            for (i, (pred, target)) in pairs.iter().enumerate() {
                for kind in KINDS {
                    let spacings = [[1.0, 1.0, 1.0], [1.5, 0.8, 0.7], [0.5, 3.0, 1.25]];
                    let spacing = &spacings[i % 3][4 - shape.len()..];
                    cpus().iter().for_each(|cpu| check(cpu, kind, [pred, target], 2, spacing));
                    check(&Cpu::new(), kind, [&fortran(pred), &fortran(target)], 2, spacing);
                    check(&Cpu::new(), kind, [&fortran(pred), target], 2, spacing);
                }
            }
        }
    }

    /// Several classes of one map in planes of their labels, some slabs from the first slice on, some later.
    #[test]
    fn classes_of_noise() {
        let shape = [40, 4, 66];
        let (mut pred, target) = (labels_of(&shape, 1, 4, 5, 0), labels_of(&shape, 1, 4, 6, 0));
        // Quiet slices first: words, then planes.
        pred.slice_axis_mut(exacta_core::ndarray::Axis(1), exacta_core::ndarray::Slice::from(0..9)).fill(2);
        for cpu in [Cpu::serial(), Cpu::new()] {
            for kind in KINDS {
                check(&cpu, kind, [&pred, &target], 4, &[1.5, 0.8, 0.7]);
            }
            check(&cpu, Elements::Patches, [&fortran(&pred), &fortran(&target)], 4, &[1.5, 0.8, 0.7]);
        }
    }
}

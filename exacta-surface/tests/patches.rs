//! Distances between contours and between voxel faces against every element by every element, on every instruction set, with
//! threads, in every memory order, for every need.

use std::sync::Arc;

use exacta_core::ndarray::{ArrayD, Axis, IxDyn};
use exacta_core::parallel::Threads;
use exacta_core::quantile::{percentile, pooled_percentile, within};
use exacta_core::stages::{Need, SurfaceDistances, SurfaceStage};
use exacta_core::testing::{Case, cases, labels_of, levels};
use exacta_core::{Batch, Cpu, LabelSpec, Percentile, Spacing, SurfaceKind};
use exacta_surface::{CpuSurface, naive_patches};
use proptest::prelude::*;

const KINDS: [SurfaceKind; 2] = [SurfaceKind::Mesh, SurfaceKind::Faces];

fn stages() -> Vec<CpuSurface> {
    let pool = Threads::Pool(Arc::new(rayon::ThreadPoolBuilder::new().num_threads(3).build().expect("a pool")));
    let mut out: Vec<CpuSurface> =
        levels().into_iter().map(|level| CpuSurface { cpu: Cpu { level, threads: Threads::Serial } }).collect();
    out.push(CpuSurface { cpu: Cpu { level: exacta_core::Level::new(), threads: pool } });
    out
}

/// Distances of every case and class, by the definition.
fn naive(
    (pred, target): (&ArrayD<i64>, &ArrayD<i64>),
    spec: &LabelSpec,
    kind: SurfaceKind,
    spacing: &Spacing,
) -> Vec<SurfaceDistances> {
    let mut out = Vec::new();
    for (p, t) in pred.outer_iter().zip(target.outer_iter()) {
        for class in spec.first_class()..spec.num_classes {
            let mask = |image: &exacta_core::ndarray::ArrayViewD<'_, i64>| image.mapv(|v| v == class as i64).into_dyn();
            out.push(naive_patches(&mask(&p), &mask(&t), kind == SurfaceKind::Faces, spacing.volume()));
        }
    }
    out
}

fn measure(
    stage: &CpuSurface,
    (pred, target): (&ArrayD<i64>, &ArrayD<i64>),
    spec: LabelSpec,
    kind: SurfaceKind,
    spacing: &Spacing,
    need: Need,
) -> Vec<SurfaceDistances> {
    let batch = Batch::new(pred.view(), target.view(), spec, None).expect("a valid batch");
    let (counts, surfaces) = stage.surfaces(&batch, kind).expect("valid labels");
    assert_eq!(counts.values(), exacta_core::testing::naive_counts(pred, target, &spec, None));
    let spacings = vec![*spacing; batch.cases()];
    let needs = vec![need; spec.selected()];
    stage.distances(&surfaces, &spacings, &needs).expect("measured").into_values()
}

fn q(value: f64) -> Percentile {
    Percentile::new(value).expect("a percentile")
}

/// What a need promises holds: the statistic equals that of all distances.
fn check_need(found: &SurfaceDistances, wanted: &SurfaceDistances, need: &Need) {
    let directions = [(&found.pred_to_target, &wanted.pred_to_target), (&found.target_to_pred, &wanted.target_to_pred)];
    for (found, wanted) in directions {
        assert_eq!((found.total, found.weight, found.elements), (wanted.total, wanted.weight, wanted.elements));
        if wanted.bins.is_empty() {
            continue;
        }
        if need.all {
            assert_eq!(found, wanted);
        }
        if need.max {
            assert_eq!(found.max, wanted.max);
        }
        if let Some(p) = need.directed_percentile {
            assert_eq!(percentile(found, q(p)), percentile(wanted, q(p)), "percentile {p}");
        }
        if let Some(tolerance) = need.within {
            assert_eq!(within(found, tolerance), within(wanted, tolerance));
        }
        if let Some(tolerance) = need.least() {
            assert_eq!(within(found, tolerance), within(wanted, tolerance));
        }
    }
    let both = |d: &SurfaceDistances, p: f64| pooled_percentile(&d.pred_to_target, &d.target_to_pred, q(p));
    if let Some(p) = need.pooled_percentile.filter(|_| !wanted.pred_to_target.bins.is_empty()) {
        assert_eq!(both(found, p), both(wanted, p), "pooled percentile {p}");
    }
}

fn needs() -> Vec<Need> {
    let none = Need::default();
    vec![
        Need::ALL,
        Need { max: true, ..none },
        Need { directed_percentile: Some(95.0), ..none },
        Need { directed_percentile: Some(50.0), ..none },
        Need { pooled_percentile: Some(95.0), ..none },
        Need { within: Some(1.0), ..none },
        Need { within: Some(0.0), ..none },
        Need { within: Some(7.5), ..none },
        Need { max: true, directed_percentile: Some(95.0), pooled_percentile: Some(99.5), within: Some(2.0), ..none },
    ]
}

fn check(pair: (&ArrayD<i64>, &ArrayD<i64>), spec: LabelSpec, spacing: &Spacing, stages: &[CpuSurface]) {
    for kind in KINDS {
        let wanted = naive(pair, &spec, kind, spacing);
        for stage in stages {
            for need in needs() {
                let found = measure(stage, pair, spec, kind, spacing, need);
                assert_eq!(found.len(), wanted.len());
                for (found, wanted) in found.iter().zip(&wanted) {
                    check_need(found, wanted, &need);
                }
            }
        }
    }
}

fn fortran(array: &ArrayD<i64>) -> ArrayD<i64> {
    let reversed: Vec<usize> = (0..array.ndim()).rev().collect();
    array.clone().permuted_axes(IxDyn(&reversed)).as_standard_layout().into_owned().permuted_axes(IxDyn(&reversed))
}

/// Another order of the axes in memory: the last but one fastest.
fn swapped(array: &ArrayD<i64>) -> ArrayD<i64> {
    let n = array.ndim();
    let mut order: Vec<usize> = (0..n).collect();
    order.swap(n - 1, n - 2);
    array.clone().permuted_axes(IxDyn(&order)).as_standard_layout().into_owned().permuted_axes(IxDyn(&order))
}

fn spacings() -> impl Strategy<Value = [f64; 3]> {
    prop::sample::select(vec![
        [1.0, 1.0, 1.0],
        [0.7, 0.7, 0.7],
        [1.5, 0.8, 0.8],
        [5.0, 1.0, 1.0],
        [0.3, 0.3, 3.0],
        [1e-3, 1e3, 1.0],
        [1e-50, 1e-50, 1e-50],
        [1e-9, 1e7, 1.0],
        [1e-50, 1.0, 1e50],
    ])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn every_need_on_every_backend(case in cases(6), spacing in spacings()) {
        let Case { pred, target, classes, shape } = &case;
        let mut spec = LabelSpec::index(*classes);
        spec.include_background = *classes == 1 || shape.len() == 2;
        let spacing = Spacing::new(&spacing[3 - shape.len()..]).expect("in range");
        check((pred, target), spec, &spacing, &stages());
        for kind in KINDS {
            let wanted = measure(&stages()[0], (pred, target), spec, kind, &spacing, Need::ALL);
            for layout in [fortran, swapped] {
                let found = measure(&stages()[1], (&layout(pred), &layout(target)), spec, kind, &spacing, Need::ALL);
                prop_assert_eq!(&found, &wanted);
            }
        }
    }

    #[test]
    fn far_apart(seed in any::<u64>(), spacing in spacings()) {
        // A few voxels in a larger image: there is nothing around them.
        let shape = [70, 43, 90];
        let few = |seed: u64| {
            let small = labels_of(&[2, 3, 2], 1, 2, seed, 0);
            let mut out = ArrayD::zeros(IxDyn(&[1, shape[0], shape[1], shape[2]]));
            for (at, &label) in small.indexed_iter() {
                let place: Vec<usize> = (0..4).map(|k| if k == 0 { 0 } else {
                    (at[k] * 35 + (seed >> (k * 7)) as usize % 7).min(shape[k - 1] - 1)
                }).collect();
                out[&place[..]] = label;
            }
            out
        };
        let (pred, target) = (few(seed), few(seed ^ 0x00ff_1234_5678_9abc));
        let spec = LabelSpec::index(2).without_background();
        check((&pred, &target), spec, &Spacing::new(&spacing).expect("in range"), &stages()[3..]);
    }
}

/// On larger surfaces, percentiles are looked for in a window that a sample gives: they equal those of all distances.
#[test]
fn windows_hide_nothing_that_decides() {
    let (pred, target) = exacta_core::testing::organs(40);
    // A surface of which many distances are equal, and a few voxels far away.
    let shifted = ArrayD::from_shape_fn(target.raw_dim(), |at| {
        let n = at[3].saturating_sub(1);
        target[[at[0], at[1], at[2], n]]
    });
    let far = ArrayD::from_shape_fn(target.raw_dim(), |at| {
        i64::from((at[1] < 16 && at[2] > 3) || (at[1] == 37 && at[2] == 37 && at[3] % 9 == 0))
    });
    let spec = LabelSpec::index(4).without_background();
    let none = Need::default();
    for pair in [(&pred, &target), (&target, &shifted), (&far, &target), (&target, &far)] {
        for (kind, spacing) in KINDS.into_iter().zip([[1.5, 0.8, 0.8], [1.0, 1.0, 1.0]]) {
            let spacing = Spacing::new(&spacing).expect("in range");
            let all = measure(&stages()[0], pair, spec, kind, &spacing, Need::ALL);
            if let Some(stage) = stages().last() {
                for p in [0.0, 50.0, 95.0, 99.999] {
                    let [directed, pooled] = [Some(p); 2];
                    for need in [
                        Need { directed_percentile: directed, ..none },
                        Need { pooled_percentile: pooled, ..none },
                        Need { pooled_percentile: pooled, max: true, ..none },
                        Need {
                            directed_percentile: directed,
                            pooled_percentile: Some(95.0),
                            within: Some(0.8),
                            ..none
                        },
                        Need { within: Some(p / 20.0), ..none },
                        Need { within: Some(0.4), ..none }.join(Need { within: Some(p / 20.0), ..none }),
                    ] {
                        let found = measure(stage, pair, spec, kind, &spacing, need);
                        for (found, all) in found.iter().zip(&all) {
                            check_need(found, all, &need);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn one_hot_channels_may_overlap() {
    let shape = [4, 5, 6];
    let (a, b) = (labels_of(&shape, 1, 2, 3, 1), labels_of(&shape, 1, 2, 8, 0));
    let stack = |a: &ArrayD<i64>, b: &ArrayD<i64>| {
        exacta_core::ndarray::stack(Axis(1), &[a.view(), b.view()]).expect("equal shapes")
    };
    let (pred, target) = (stack(&a, &b), stack(&b, &a));
    let spacing = Spacing::new(&[1.0, 2.0, 0.5]).expect("in range");
    for kind in KINDS {
        let single = |p: &ArrayD<i64>, t: &ArrayD<i64>| {
            naive((p, t), &LabelSpec::index(2).without_background(), kind, &spacing).remove(0)
        };
        let stage = CpuSurface::default();
        let found = measure(&stage, (&pred, &target), LabelSpec::one_hot(2), kind, &spacing, Need::ALL);
        assert_eq!(found, [single(&a, &b), single(&b, &a)]);
    }
}

//! Distances equal the definition, on each instruction set, thread count and layout, and each need is met exactly.

use std::sync::Arc;

use exacta_core::ndarray::{ArrayD, Axis, IxDyn, Slice};
use exacta_core::parallel::Threads;
use exacta_core::quantile::{percentile, pooled_percentile, within};
use exacta_core::stages::{Directed, Elements, Need, SurfaceDistances, SurfaceStage};
use exacta_core::testing::{Case, cases, labels_of, levels};
use exacta_core::{Batch, Cpu, LabelSpec, Percentile, Spacing, SurfaceKind};
use exacta_surface::{CpuSurface, naive_distances, naive_surfel_distances};
use proptest::prelude::*;

fn stages() -> Vec<CpuSurface> {
    let pool = Threads::Pool(Arc::new(rayon::ThreadPoolBuilder::new().num_threads(6).build().expect("a pool")));
    let mut out: Vec<CpuSurface> =
        levels().into_iter().map(|level| CpuSurface { cpu: Cpu { level, threads: Threads::Serial } }).collect();
    out.push(CpuSurface { cpu: Cpu { level: exacta_core::Level::new(), threads: pool } });
    out
}

const KINDS: [SurfaceKind; 2] = [SurfaceKind::Voxels, SurfaceKind::Surfels];

/// Distances of every case and class, by the definition.
fn naive(
    kind: SurfaceKind,
    pred: &ArrayD<i64>,
    target: &ArrayD<i64>,
    spec: &LabelSpec,
    spacing: &Spacing,
) -> Vec<SurfaceDistances> {
    let distances = if kind == SurfaceKind::Voxels { naive_distances } else { naive_surfel_distances };
    let mut out = Vec::new();
    for (p, t) in pred.outer_iter().zip(target.outer_iter()) {
        for class in spec.first_class()..spec.num_classes {
            let mask = |image: &exacta_core::ndarray::ArrayViewD<'_, i64>| image.mapv(|v| v == class as i64).into_dyn();
            out.push(distances(&mask(&p), &mask(&t), spacing.volume()));
        }
    }
    out
}

fn measure(
    kind: SurfaceKind,
    stage: &CpuSurface,
    pred: &ArrayD<i64>,
    target: &ArrayD<i64>,
    spec: LabelSpec,
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

/// Weights of surfaces are sums in other orders, of at most some ten thousand terms here.
fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-12 * b
}

/// The same, but for the order of the sum of weights.
fn check_equal(found: &SurfaceDistances, wanted: &SurfaceDistances) {
    let directions = [(&found.pred_to_target, &wanted.pred_to_target), (&found.target_to_pred, &wanted.target_to_pred)];
    for (found, wanted) in directions {
        assert!(close(found.weight, wanted.weight), "{} {}", found.weight, wanted.weight);
        assert_eq!(&Directed { weight: wanted.weight, ..found.clone() }, wanted);
    }
}

/// What a need promises holds: the statistic equals that of all distances.
fn check_need(found: &SurfaceDistances, wanted: &SurfaceDistances, need: &Need) {
    let directions = [(&found.pred_to_target, &wanted.pred_to_target), (&found.target_to_pred, &wanted.target_to_pred)];
    if need.all {
        check_equal(found, wanted);
    }
    for (found, wanted) in directions {
        assert_eq!(found.total, wanted.total);
        if wanted.bins.is_empty() {
            continue;
        }
        if need.max {
            assert_eq!(found.max, wanted.max);
        }
        if let Some(p) = need.directed_percentile {
            let lesser = need.lesser || wanted.elements == Elements::Points;
            for p in [p, p / 2.0, 0.0].into_iter().take(if lesser { 3 } else { 1 }) {
                assert_eq!(percentile(found, q(p)), percentile(wanted, q(p)), "percentile {p}");
            }
        }
        if let Some(tolerance) = need.within {
            let [found, wanted] = [found, wanted].map(|d| within(d, tolerance).expect("resolved"));
            assert!(close(found, wanted), "{found} {wanted} within {tolerance}");
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
        Need { directed_percentile: Some(95.0), lesser: true, ..none },
        Need { within: Some(0.0), ..none },
        Need { within: Some(7.5), ..none },
        Need {
            max: true,
            directed_percentile: Some(95.0),
            pooled_percentile: Some(99.5),
            within: Some(2.0),
            lesser: true,
            ..none
        },
    ]
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
        [0.9, 1.7, 0.1],
        [1e-50, 1e-50, 1e-50],
    ])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn every_need_on_every_backend(case in cases(11), spacing in spacings()) {
        let Case { pred, target, classes, shape } = &case;
        let mut spec = LabelSpec::index(*classes);
        spec.include_background = *classes == 1 || shape.len() == 2;
        let spacing = Spacing::new(&spacing[3 - shape.len()..]).expect("in range");
        for kind in KINDS {
            let wanted = naive(kind, pred, target, &spec, &spacing);
            for stage in stages() {
                for need in needs() {
                    let found = measure(kind, &stage, pred, target, spec, &spacing, need);
                    found.iter().zip(&wanted).for_each(|(found, wanted)| check_need(found, wanted, &need));
                }
            }
            let stage = &stages()[1];
            let as_laid = measure(kind, stage, pred, target, spec, &spacing, Need::ALL);
            for layout in [fortran, swapped] {
                let (pred, target) = (layout(pred), layout(target));
                prop_assert_eq!(&measure(kind, stage, &pred, &target, spec, &spacing, Need::ALL), &as_laid);
            }
            prop_assert_eq!(&measure(kind, stage, &fortran(pred), target, spec, &spacing, Need::ALL), &as_laid);
        }
    }

    #[test]
    fn far_apart(seed in any::<u64>(), spacing in spacings(), classes in 2..4usize) {
        // A few voxels in a larger image: the shells find nothing.
        let shape = [40, 33, 70];
        let (pred, target) = (labels_of(&shape, 1, classes, seed, 2), labels_of(&shape, 1, classes, seed ^ 77, 2));
        let spec = LabelSpec::index(classes).without_background();
        let spacing = Spacing::new(&spacing).expect("in range");
        for kind in KINDS {
            let wanted = naive(kind, &pred, &target, &spec, &spacing);
            for stage in [CpuSurface::default(), CpuSurface { cpu: Cpu::serial() }] {
                for need in needs() {
                    let found = measure(kind, &stage, &pred, &target, spec, &spacing, need);
                    found.iter().zip(&wanted).for_each(|(found, wanted)| check_need(found, wanted, &need));
                }
            }
        }
    }
}

/// Prediction and reference that a tier finds hard, with every tier's answer the definition's.
#[test]
fn hard_masks() {
    let shape = [1, 24, 26, 66];
    let fill = |f: &dyn Fn(usize, usize, usize) -> bool| {
        ArrayD::from_shape_fn(IxDyn(&shape), |at| i64::from(f(at[1], at[2], at[3])))
    };
    let checkerboard = fill(&|z, y, x| (z + y + x) % 2 == 0 && x < 40);
    let plane = fill(&|_, _, x| x == 65);
    let voxel = fill(&|z, y, x| (z, y, x) == (23, 25, 65));
    let half = fill(&|z, _, _| z < 12);
    let other_half = fill(&|z, _, _| z >= 12);
    let hollow = fill(&|z, y, x| {
        (4..20).contains(&z) && (4..22).contains(&y) && (8..60).contains(&x) && (z, y, x) != (10, 10, 30)
    });
    let spec = LabelSpec::index(2).without_background();
    for spacing in [[1.0, 1.0, 1.0], [0.7, 1.3, 0.31]] {
        let spacing = Spacing::new(&spacing).expect("in range");
        for (pred, target) in [
            (&checkerboard, &plane),
            (&checkerboard, &voxel),
            (&half, &other_half),
            (&hollow, &voxel),
            (&hollow, &checkerboard),
        ] {
            for kind in KINDS {
                let wanted = naive(kind, pred, target, &spec, &spacing);
                for need in needs() {
                    let found = measure(kind, &CpuSurface::default(), pred, target, spec, &spacing, need);
                    found.iter().zip(&wanted).for_each(|(found, wanted)| check_need(found, wanted, &need));
                }
            }
        }
    }
}

#[test]
fn one_hot_channels_may_overlap() {
    let shape = [6, 7, 9];
    let (a, b) = (labels_of(&shape, 1, 2, 3, 1), labels_of(&shape, 1, 2, 8, 0));
    let stack = |a: &ArrayD<i64>, b: &ArrayD<i64>| {
        exacta_core::ndarray::stack(Axis(1), &[a.view(), b.view()]).expect("equal shapes")
    };
    let (pred, target) = (stack(&a, &b), stack(&b, &a));
    let spacing = Spacing::new(&[1.0, 2.0, 0.5]).expect("in range");
    let index = LabelSpec::index(2).without_background();
    for kind in KINDS {
        let single = |p: &ArrayD<i64>, t: &ArrayD<i64>| naive(kind, p, t, &index, &spacing).remove(0);
        let wanted = [single(&a, &b), single(&b, &a)];
        for (spec, first) in [(LabelSpec::one_hot(2), 0), (LabelSpec::one_hot(2).without_background(), 1)] {
            let found = measure(kind, &CpuSurface::default(), &pred, &target, spec, &spacing, Need::ALL);
            found.iter().zip(&wanted[first..]).for_each(|(found, wanted)| check_equal(found, wanted));
            assert_eq!(found.len(), 2 - first);
        }
    }
}

#[test]
fn empty_surfaces_have_no_distances() {
    let empty = ArrayD::<i64>::zeros(IxDyn(&[1, 4, 5]));
    let mut full = empty.clone();
    full.slice_axis_mut(Axis(1), Slice::from(1..3)).fill(1);
    let spacing = Spacing::isotropic(1.0, 2).expect("in range");
    let spec = LabelSpec::index(2).without_background();
    let found = measure(SurfaceKind::Voxels, &CpuSurface::default(), &full, &empty, spec, &spacing, Need::ALL);
    assert_eq!(found[0].pred_to_target, Directed::lone_points(10));
    assert_eq!(found[0].target_to_pred, Directed::default());
    let found = measure(SurfaceKind::Surfels, &CpuSurface::default(), &full, &empty, spec, &spacing, Need::ALL);
    // A rectangle of 2x5 pixels: ten straight sides of length 1, four cut corners.
    let lone = Directed { elements: Elements::Patches, ..Directed::default() };
    let weight = 10.0 + 4.0 * 0.5f64.sqrt();
    assert_eq!(found[0].pred_to_target, Directed { total: 14, weight, ..lone.clone() });
    assert_eq!(found[0].target_to_pred, lone);
}

/// In noise, boundaries are everywhere, and slabs keep planes instead of words.
#[test]
fn noise() {
    let spacing = Spacing::new(&[1.5, 0.8, 0.7]).expect("in range");
    for background in [true, false] {
        let spec = LabelSpec { include_background: background, ..LabelSpec::index(4) };
        // Nearly every corner is a surfel of every class, which takes the definition long.
        for (kind, shape) in KINDS.into_iter().zip([[26, 24, 66], [9, 9, 66]]) {
            let (pred, target) = (labels_of(&shape, 1, 4, 5, 0), labels_of(&shape, 1, 4, 6, 0));
            let wanted = naive(kind, &pred, &target, &spec, &spacing);
            for stage in [CpuSurface::default(), CpuSurface { cpu: Cpu::serial() }] {
                let found = measure(kind, &stage, &pred, &target, spec, &spacing, Need::ALL);
                found.iter().zip(&wanted).for_each(|(found, wanted)| check_equal(found, wanted));
            }
        }
    }
}

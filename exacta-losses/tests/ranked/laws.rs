//! What holds for every input.

use std::sync::Arc;

use exacta_core::ndarray::{ArrayD, Axis, IxDyn, Slice};
use exacta_core::parallel::Threads;
use exacta_core::testing::levels;
use exacta_core::{Cpu, Error, Level};

use crate::{Case, array};

/// Numbers in [0, 1), the same each time.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn logits(&mut self, shape: &[usize], scale: f64) -> ArrayD<f64> {
        ArrayD::from_shape_simple_fn(IxDyn(shape), || (self.next() + self.next() + self.next() - 1.5) * scale)
    }

    fn labels(&mut self, shape: &[usize], classes: usize) -> ArrayD<i64> {
        ArrayD::from_shape_simple_fn(IxDyn(shape), || (self.next() * classes as f64) as i64)
    }

    fn mask(&mut self, shape: &[usize], share: f64) -> ArrayD<bool> {
        ArrayD::from_shape_simple_fn(IxDyn(shape), || self.next() < share)
    }
}

/// All losses on random inputs with these spatial axes.
fn cases(seed: u64, cases: usize, channels: usize, spatial: &[usize]) -> Vec<Case> {
    let mut noise = Noise(seed);
    let input = noise.logits(&[&[cases, channels], spatial].concat(), 4.0);
    let labels = noise.labels(&[&[cases], spatial].concat(), channels);
    let hot = noise.labels(&[&[cases, channels], spatial].concat(), 2);
    let mask = noise.mask(&[&[cases], spatial].concat(), 0.7);
    let index = |name| Case::new(name, input.clone(), labels.clone());
    let many = |name| Case::new(name, input.clone(), hot.clone()).one_hot();
    let mut ignored = labels.clone();
    ignored.zip_mut_with(&mask, |label, &keep| *label = if keep { *label } else { 255 });
    let ignoring = |name| Case::new(name, input.clone(), ignored.clone()).ignoring(255);
    let mut out = vec![
        index("topk_ce"),
        index("topk_ce").number("fraction", 0.6).masked(mask.clone()),
        ignoring("topk_ce").number("fraction", 0.3),
        index("topk_ce").numbers("class_weight", &vec![1.5; channels]),
        index("dice_topk_ce").number("fraction", 0.4),
        ignoring("dice_topk_ce").flag("squared_pred", true).flag("batch_dice", true).number("lambda_ce", 0.5),
        index("dice_topk_ce").number("lambda_ce", 0.0).masked(mask.clone()),
        index("dice_topk_ce").number("lambda_dice", 0.0),
        index("lovasz_softmax"),
        index("lovasz_softmax").flag("per_image", true).masked(mask.clone()),
        ignoring("lovasz_softmax").text("classes", "all"),
        index("lovasz_softmax").flag("from_logits", false),
        many("lovasz_hinge").flag("multilabel", true),
        many("lovasz_hinge").flag("multilabel", true).flag("per_image", false).masked(mask.clone()),
    ];
    if channels > 1 {
        let matrix: Vec<f64> =
            (0..channels * channels).map(|i| f64::from(u8::from(i / channels != i % channels))).collect();
        let wasserstein = |case: Case| case.numbers("dist_matrix", &matrix);
        out.extend([
            index("lovasz_softmax").flag("include_background", false),
            wasserstein(index("generalized_wasserstein_dice")),
            wasserstein(ignoring("generalized_wasserstein_dice")).text("weighting_mode", "GDL"),
            wasserstein(index("generalized_wasserstein_dice")).text("reduction", "none").masked(mask.clone()),
        ]);
    } else {
        let binary = noise.labels(&[&[cases], spatial].concat(), 2);
        out.push(Case::new("lovasz_hinge", input.clone(), binary));
    }
    if (2..=3).contains(&spatial.len()) {
        let spacing: Vec<f64> = spatial.iter().map(|_| 0.5 + noise.next()).collect();
        let each: Vec<f64> = (0..cases * spatial.len()).map(|_| 0.5 + noise.next()).collect();
        let map = noise.logits(&[&[cases, channels], spatial].concat(), 3.0).mapv(f64::abs);
        let all = |case: Case| case.flag("include_background", true);
        let sigmoid = |name| all(many(name)).text("activation", "sigmoid");
        out.extend([
            all(index("boundary")).numbers("spacing", &spacing),
            sigmoid("boundary").numbers("spacing", &each).masked(mask.clone()),
            all(index("boundary")).with_map(map.clone()),
            all(index("hausdorff_dt")).numbers("spacing", &spacing),
            sigmoid("hausdorff_dt").numbers("spacing", &each).number("alpha", 1.5).masked(mask.clone()),
            all(index("hausdorff_dt")).numbers("spacing", &spacing).number("alpha", 1.0).with_map(map),
            all(index("soft_cldice")).number("iterations", 3.0),
            sigmoid("soft_cldice").number("smooth", 0.5),
        ]);
        if channels > 1 {
            out.extend([
                index("boundary").numbers("spacing", &spacing),
                index("hausdorff_dt").numbers("spacing", &spacing),
                index("soft_cldice"),
            ]);
        }
    }
    out
}

const SHAPES: [(usize, usize, &[usize]); 6] =
    [(2, 3, &[7]), (2, 2, &[5, 6]), (1, 1, &[4, 9]), (3, 4, &[3, 4, 5]), (1, 5, &[2, 3, 3, 2]), (2, 10, &[4, 5])];

/// Directional derivatives by central differences.
#[test]
fn gradients_are_those_of_the_values() {
    for (seed, (n, channels, spatial)) in (1..).zip(SHAPES) {
        for case in cases(seed, n, channels, spatial) {
            let cpu = Cpu::serial();
            let (_, gradient) = case.run(&cpu).expect("computed");
            let mut noise = Noise(seed + 100);
            for _ in 0..3 {
                let way = noise.logits(case.input.shape(), 1.0);
                let h = 1e-7;
                let value = |t: f64| -> f64 {
                    let input = &case.input + &(&way * t);
                    Case { input, ..case.clone() }.run(&cpu).expect("computed").0.iter().sum()
                };
                let expected = (value(h) - value(-h)) / (2.0 * h);
                let found = (&gradient * &way).sum();
                // Rounding of values near 1 over 2h, and the curvature times h, both below 1e-7.
                assert!((found - expected).abs() < 1e-6 * (1.0 + expected.abs()), "{found} {expected} {case:?}");
            }
        }
    }
}

#[test]
fn bits_depend_neither_on_threads_nor_on_instructions_nor_on_layout() {
    let pool = Threads::Pool(Arc::new(rayon::ThreadPoolBuilder::new().num_threads(3).build().expect("a pool")));
    // More than one block of voxels.
    for (seed, (n, channels, spatial)) in (7..).zip([(2, 3, &[30, 30, 21][..]), (1, 2, &[140, 150]), (2, 4, &[11])]) {
        for case in cases(seed, n, channels, spatial) {
            let serial = Cpu { level: Level::baseline(), threads: Threads::Serial };
            let (values, gradient) = case.run(&serial).expect("computed");
            let single = case.run_single(&serial).expect("computed");
            let mut cpus: Vec<_> = levels().into_iter().map(|level| Cpu { level, threads: Threads::Serial }).collect();
            cpus.push(Cpu { level: Level::new(), threads: pool.clone() });
            for cpu in cpus {
                assert_eq!(case.run(&cpu).expect("computed"), (values.clone(), gradient.clone()), "{}", case.name);
                assert_eq!(case.run_single(&cpu).expect("computed"), single, "{}", case.name);
            }
            // Channels last, into a gradient that is reversed.
            let last = case.input.ndim();
            let order: Vec<usize> = std::iter::once(0).chain(2..last).chain([1]).collect();
            let moved = case.input.clone().permuted_axes(IxDyn(&order)).as_standard_layout().into_owned();
            let back: Vec<usize> = [0, last - 1].into_iter().chain(1..last - 1).collect();
            let view = moved.view().permuted_axes(IxDyn(&back));
            let mut reversed = ArrayD::from_elem(case.input.raw_dim(), 7.0);
            reversed.invert_axis(Axis(last - 1));
            assert_eq!(case.run_view(&serial, view, reversed).expect("computed"), (values, gradient), "{}", case.name);
        }
    }
}

/// Single precision is as near to double precision as its rounding.
#[test]
fn single_precision_agrees() {
    for (seed, (n, channels, spatial)) in (20..).zip(SHAPES) {
        for case in cases(seed, n, channels, spatial) {
            // The same numbers in both.
            let case = Case { input: case.input.mapv(|value| f64::from(value as f32)), ..case };
            let (values, gradient) = case.run(&Cpu::new()).expect("computed");
            let (singles, single) = case.run_single(&Cpu::new()).expect("computed");
            for (found, expected) in singles.iter().zip(&values) {
                assert!((found - expected).abs() < 1e-5 * (1.0 + expected.abs()), "{found} {expected} {case:?}");
            }
            let most = gradient.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
            for (found, expected) in single.iter().zip(&gradient) {
                assert!((f64::from(*found) - expected).abs() <= 1e-4 * most, "{found} {expected} {case:?}");
            }
        }
    }
}

/// What is excluded may hold anything, and gets no gradient.
#[test]
fn excluded_voxels_do_not_matter() {
    for (seed, (n, channels, spatial)) in (40..).zip(SHAPES) {
        for case in cases(seed, n, channels, spatial) {
            let Some(mask) = case.mask.clone() else { continue };
            let (values, gradient) = case.run(&Cpu::new()).expect("computed");
            let mut other = case.clone();
            for channel in 0..channels {
                let mut view = other.input.index_axis_mut(Axis(1), channel);
                view.zip_mut_with(&mask, |value, &keep| {
                    if !keep {
                        *value = if case.name == "hausdorff_dt" { *value } else { f64::NAN };
                    }
                });
                let gradient = gradient.index_axis(Axis(1), channel);
                assert!(gradient.iter().zip(&mask).all(|(&g, &keep)| keep || g == 0.0), "{case:?}");
            }
            assert_eq!(other.run(&Cpu::new()).expect("computed"), (values, gradient), "{}", case.name);
            // Nothing counts.
            let none = Case { mask: Some(mask.mapv(|_| false)), ..case };
            let (values, gradient) = none.run(&Cpu::new()).expect("computed");
            assert!(values.iter().all(|&value| value == 0.0), "{values:?} {none:?}");
            assert!(gradient.iter().all(|&value| value == 0.0), "{none:?}");
        }
    }
}

/// Saturated predictions: as many ties as can be.
#[test]
fn extreme_logits_stay_finite() {
    for (seed, (n, channels, spatial)) in (60..).zip(SHAPES) {
        for case in cases(seed, n, channels, spatial) {
            let from_logits = case.input.mapv(|value| value.signum() * 1e4);
            let case = Case { input: from_logits, ..case };
            let (values, gradient) = case.run(&Cpu::new()).expect("computed");
            assert!(values.iter().chain(&gradient).all(|value| value.is_finite()), "{case:?}");
            let (values, gradient) = case.run_single(&Cpu::new()).expect("computed");
            assert!(values.iter().all(|value| value.is_finite()) && gradient.iter().all(|g| g.is_finite()));
        }
    }
}

/// An axis of a batch more is a batch more.
#[test]
fn batches_are_split_along_cases() {
    for case in cases(80, 3, 3, &[4, 5]) {
        let mean_of_cases = match case.name {
            "boundary" | "hausdorff_dt" => case.mask.is_none(),
            "soft_cldice" => true,
            _ => false,
        };
        if !mean_of_cases || case.map.is_some() {
            continue;
        }
        let (values, _) = case.run(&Cpu::new()).expect("computed");
        let mut sum = 0.0;
        for i in 0..3 {
            let one = |array: &ArrayD<f64>| array.slice_axis(Axis(0), Slice::from(i..i + 1)).to_owned();
            let target = case.target.slice_axis(Axis(0), Slice::from(i..i + 1)).to_owned();
            let part = Case { input: one(&case.input), target, ..case.clone() };
            sum += part.run(&Cpu::new()).expect("computed").0[0];
        }
        assert!((values[0] - sum / 3.0).abs() < 1e-14);
    }
}

#[test]
fn single_precision_lovasz_keeps_its_gradient() {
    let mut noise = Noise(5);
    let spatial = [100, 100, 100];
    let input = noise.logits(&[1, 4, 100, 100, 100], 2.0).mapv(|value| f64::from(value as f32));
    let case = Case::new("lovasz_softmax", input, noise.labels(&[&[1], &spatial[..]].concat(), 4));
    let (_, gradient) = case.run(&Cpu::new()).expect("computed");
    let (_, single) = case.run_single(&Cpu::new()).expect("computed");
    let mut apart = 0.0;
    let mut all = 0.0;
    for (&found, &expected) in single.iter().zip(&gradient) {
        apart += (f64::from(found) - expected).powi(2);
        all += expected * expected;
    }
    assert!((apart / all).sqrt() < 1e-5, "{}", (apart / all).sqrt());
}

#[test]
fn wrong_settings_are_errors() {
    let input = || ArrayD::zeros(vec![1, 2, 3, 4]);
    let labels = || ArrayD::<i64>::zeros(vec![1, 3, 4]);
    let hot = || ArrayD::<i64>::zeros(vec![1, 2, 3, 4]);
    let option = |case: Case, wanted: &str| match case.run(&Cpu::new()) {
        Err(Error::LossOption { argument, .. }) => assert_eq!(argument, wanted, "{case:?}"),
        other => panic!("{other:?} of {case:?}"),
    };
    option(Case::new("topk_ce", input(), labels()).number("fraction", 0.0), "fraction");
    option(Case::new("topk_ce", input(), hot()).one_hot(), "target_format");
    option(Case::new("topk_ce", input(), labels()).numbers("class_weight", &[1.0]), "class_weight");
    option(Case::new("lovasz_hinge", input(), labels()), "input");
    option(
        Case::new("lovasz_softmax", ArrayD::zeros(vec![1, 1, 3]), ArrayD::zeros(vec![1, 3]))
            .flag("include_background", false),
        "include_background",
    );
    option(Case::new("boundary", input(), labels()), "spacing");
    option(Case::new("boundary", input(), labels()).numbers("spacing", &[1.0]), "spacing");
    option(Case::new("hausdorff_dt", input(), labels()).number("alpha", 0.0), "alpha");
    option(Case::new("hausdorff_dt", input(), labels()).number("threshold", 1.0), "threshold");
    option(Case::new("hausdorff_dt", input(), labels()), "spacing");
    let negative = Case::new("hausdorff_dt", input(), labels()).numbers("spacing", &[1.0, 1.0]);
    option(negative.with_map(ArrayD::from_elem(vec![1, 1, 3, 4], -1.0)), "distance_map");
    option(Case::new("soft_cldice", input(), labels()).number("iterations", -1.0), "iterations");
    option(Case::new("soft_cldice", input(), labels()).number("smooth", 0.0), "smooth");
    let beside = Case::new("soft_cldice", input(), labels());
    option(beside.with_map(ArrayD::from_elem(vec![1, 1, 3, 4], 0.5)), "target_skeleton");
    for matrix in [&[0.0, 1.0, 2.0, 0.0][..], &[1.0, 1.0, 1.0, 1.0], &[0.0; 4], &[0.0, -1.0, -1.0, 0.0], &[0.0; 3]] {
        let case = Case::new("generalized_wasserstein_dice", input(), labels());
        option(case.numbers("dist_matrix", matrix), "dist_matrix");
    }
    let infinite = array(&[1, 1, 2, 2], &[0.0, f64::INFINITY, 0.0, 0.0]);
    option(Case::new("lovasz_hinge", infinite.clone(), ArrayD::zeros(vec![1, 2, 2])), "input");
    let case =
        Case::new("hausdorff_dt", infinite, ArrayD::zeros(vec![1, 1, 2, 2])).one_hot().text("activation", "none");
    option(case.flag("include_background", true).numbers("spacing", &[1.0, 1.0]), "input");
    let two = ArrayD::from_elem(vec![1, 3, 4], 2i64);
    let labels_error = |name| {
        let case = Case::new(name, input(), two.clone());
        let case = if name == "soft_cldice" || name == "topk_ce" || name == "lovasz_softmax" {
            case
        } else {
            case.numbers("spacing", &[1.0, 1.0])
        };
        assert!(matches!(case.run(&Cpu::new()), Err(Error::LossLabel { .. })), "{name}");
    };
    ["topk_ce", "lovasz_softmax", "boundary", "hausdorff_dt", "soft_cldice"].into_iter().for_each(labels_error);
    let soft = Case::new("boundary", input(), hot().mapv(|_| 2)).one_hot().numbers("spacing", &[1.0, 1.0]);
    assert!(matches!(soft.run(&Cpu::new()), Err(Error::NotBinary { .. })));
    let hinge = Case::new("lovasz_hinge", ArrayD::zeros(vec![1, 1, 4]), array(&[1, 4], &[0, 1, 2, 0]));
    assert!(matches!(hinge.run(&Cpu::new()), Err(Error::NotBinary { .. })));
    let below = Case::new("lovasz_hinge", ArrayD::zeros(vec![1, 1, 4]), array(&[1, 4], &[0, 1, -1, 0]));
    assert!(matches!(below.run(&Cpu::new()), Err(Error::NotBinary { .. })));
}

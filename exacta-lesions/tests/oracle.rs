//! Reports equal the definition, voxel by voxel, on each instruction set, thread count and layout.

use std::sync::Arc;

use exacta_components::{CpuComponents, naive_label, neighbours};
use exacta_core::ndarray::{ArrayD, ArrayViewD, Dimension, IxDyn};
use exacta_core::parallel::Threads;
use exacta_core::quantile::percentile;
use exacta_core::testing::{Case, cases, levels};
use exacta_core::{Batch, Cpu, LabelSpec, Level, MatchRule, MatchScore, Matching, Percentile, Spacing};
use exacta_lesions::{Lesion, LesionOptions, LesionReport, Prediction, evaluate, report};
use exacta_surface::{CpuSurface, naive_distances};
use proptest::prelude::*;

fn cpus() -> Vec<Cpu> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(6).build().expect("a pool");
    let threads = Threads::Pool(Arc::new(pool));
    let mut out: Vec<Cpu> = levels().into_iter().map(|level| Cpu { level, threads: Threads::Serial }).collect();
    out.push(Cpu { level: Level::new(), threads });
    out
}

fn grown(mask: &ArrayD<bool>, connectivity: usize, steps: usize) -> ArrayD<bool> {
    let mut mask = mask.clone();
    for _ in 0..steps {
        let before = mask.clone();
        for (at, _) in before.indexed_iter().filter(|(_, inside)| **inside) {
            for near in neighbours(at.as_array_view().to_vec(), before.shape(), connectivity) {
                mask[IxDyn(&near)] = true;
            }
        }
    }
    mask
}

/// Voxels of a number, of both where `other` is given.
fn count(labels: &ArrayD<i32>, number: u32, other: Option<(&ArrayD<i32>, &[u32])>) -> u64 {
    let here = labels.indexed_iter().filter(|(_, label)| **label as u32 == number);
    let both = |at: &IxDyn| other.is_none_or(|(labels, numbers)| numbers.contains(&(labels[at] as u32)));
    here.filter(|(at, _)| both(at)).count() as u64
}

/// The definition, for one image; not of the Hungarian matching.
fn naive(pred: &ArrayD<bool>, target: &ArrayD<bool>, spacing: &Spacing, options: &LesionOptions) -> LesionReport {
    let (pred_labels, preds) = naive_label(pred, options.connectivity);
    let grown = grown(target, options.dilation_connectivity, options.dilation);
    let (grown_labels, lesions) = naive_label(&grown, options.connectivity);
    let mut own_labels = grown_labels.clone();
    own_labels.zip_mut_with(target, |label, &inside| *label *= i32::from(inside));
    let (preds, lesions) = (1..=preds as u32, 1..=lesions as u32);
    let size = |labels: &ArrayD<i32>, number: u32| count(labels, number, None);
    let mut taken: Vec<Vec<u32>> = vec![Vec::new(); lesions.clone().count()];
    let rule = options.rule;
    let score = |preds: &[u32], lesion: u32| {
        let shared = count(&grown_labels, lesion, Some((&pred_labels, preds)));
        let voxels = preds.iter().map(|&pred| size(&pred_labels, pred)).sum();
        (shared > 0).then(|| rule.score.of(shared, voxels, size(&grown_labels, lesion)))
    };
    let mut pairs = Vec::new();
    for pred in preds.clone() {
        for lesion in lesions.clone() {
            if let Some(score) = score(&[pred], lesion) {
                pairs.push((pred, lesion, score));
            }
        }
    }
    let mut used: Vec<u32> = Vec::new();
    while !pairs.is_empty() {
        // The first of the best, so that ties go to the lower numbers.
        let best = pairs.iter().map(|pair| pair.2).fold(0.0, f64::max);
        let at = pairs.iter().position(|pair| pair.2 == best).expect("not empty");
        let (pred, lesion, value) = pairs.remove(at);
        let of = &mut taken[lesion as usize - 1];
        let joined: Vec<u32> = of.iter().copied().chain([pred]).collect();
        let take = match rule.matching {
            Matching::Overlap => true,
            _ if used.contains(&pred) => false,
            _ if of.is_empty() => rule.passes(value),
            Matching::Merge => score(&joined, lesion) > score(of, lesion),
            _ => false,
        };
        if take {
            of.push(pred);
            used.push(pred);
        }
    }
    let mask = |labels: &ArrayD<i32>, numbers: &[u32]| labels.mapv(|label| numbers.contains(&(label as u32)));
    let rows = lesions.zip(taken).map(|(number, mut predictions)| {
        predictions.sort_unstable();
        let voxels = size(&own_labels, number);
        let predicted_voxels = predictions.iter().map(|&pred| size(&pred_labels, pred)).sum();
        let shared = count(&own_labels, number, Some((&pred_labels, &predictions)));
        let kept = voxels as f64 * spacing.voxel() > options.min_target_volume;
        let matched = !predictions.is_empty();
        let value = |score: MatchScore| if matched { score.of(shared, predicted_voxels, voxels) } else { 0.0 };
        let hd95 = (kept && matched).then(|| {
            let (pred, own) = (mask(&pred_labels, &predictions), mask(&own_labels, &[number]));
            let distances = naive_distances(&pred, &own, spacing.volume());
            let q = Percentile::new(95.0).expect("a percentile");
            let [a, b] = [&distances.pred_to_target, &distances.target_to_pred]
                .map(|directed| percentile(directed, q).expect("all known"));
            a.max(b)
        });
        let (iou, dice) = (value(MatchScore::Iou), value(MatchScore::Dice));
        Lesion { number, voxels, kept, predictions, predicted_voxels, shared, iou, dice, hd95 }
    });
    let prediction =
        |number| Prediction { number, voxels: size(&pred_labels, number), matched: used.contains(&number) };
    LesionReport { lesions: rows.collect(), predictions: preds.map(prediction).collect() }
}

fn options() -> impl Strategy<Value = LesionOptions> {
    let matching = prop::sample::select(vec![Matching::Greedy, Matching::Merge, Matching::Overlap]);
    let score = prop::sample::select(vec![MatchScore::Iou, MatchScore::Dice]);
    let threshold = prop::sample::select(vec![0.1, 0.25, 1.0 / 3.0, 0.5]);
    let small = prop::sample::select(vec![0.0, 1.0, 3.0]);
    (matching, score, threshold, any::<bool>(), 1..=2usize, 0..3usize, 1..=2usize, small).prop_map(
        |(matching, score, threshold, strict, connectivity, dilation, dilation_connectivity, min_target_volume)| {
            let rule = MatchRule { matching, score, threshold, strict };
            let dilation = if matching == Matching::Overlap { dilation } else { 0 };
            let base = LesionOptions::new(rule, connectivity);
            LesionOptions { dilation, dilation_connectivity, min_target_volume, ..base }
        },
    )
}

fn check(case: &Case, options: &LesionOptions) {
    let spec = if case.classes > 1 { case.spec().without_background() } else { case.spec() };
    let spacing = Spacing::new(&[1.5, 0.8, 0.7][..case.shape.len()]).expect("in range");
    let wanted: Vec<LesionReport> = case
        .pred
        .outer_iter()
        .zip(case.target.outer_iter())
        .flat_map(|(pred, target)| {
            let of_class = move |class: usize| {
                let mask = |image: &ArrayViewD<'_, i64>| image.mapv(|label| label == class as i64).into_dyn();
                naive(&mask(&pred), &mask(&target), &spacing, options)
            };
            (spec.first_class()..spec.num_classes).map(of_class).collect::<Vec<_>>()
        })
        .collect();
    let spacings = vec![spacing; case.pred.shape()[0]];
    // The same labels in Fortran order: reversed axes of a copy, but for the batch axis in front.
    let fortran = |labels: &ArrayD<i64>| {
        let mut axes: Vec<usize> = (0..labels.ndim()).collect();
        axes[1..].reverse();
        labels.view().permuted_axes(axes.clone()).as_standard_layout().into_owned().permuted_axes(axes)
    };
    let (pred, target) = (fortran(&case.pred), fortran(&case.target));
    for cpu in cpus() {
        let stages = (CpuComponents { cpu: cpu.clone() }, CpuSurface { cpu });
        for (pred, target) in [(&case.pred, &case.target), (&pred, &target)] {
            let batch = Batch::new(pred.view(), target.view(), spec, None).expect("valid");
            let found = report(&stages.0, &stages.1, &batch, Some(&spacings), options).expect("valid labels");
            assert_eq!(found.values(), wanted, "{options:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn reports_equal_the_definition(
        case in cases(7).prop_filter("few classes", |case| case.classes < 5 && case.pred.len() < 2500),
        options in options(),
    ) {
        check(&case, &options);
    }
}

#[test]
fn errors_come_before_any_label_is_read() {
    let image = ArrayD::<u8>::from_elem(IxDyn(&[1, 4, 4]), 9);
    let batch = Batch::new(image.view(), image.view(), LabelSpec::index(2), None).expect("valid shapes");
    let stages = (CpuComponents::default(), CpuSurface::default());
    let base = LesionOptions::new(MatchRule::new(Matching::Greedy), 1);
    let overlap = LesionOptions::new(MatchRule::new(Matching::Overlap), 1);
    let wrong = [
        (LesionOptions { connectivity: 3, ..base }, "connectivity must lie in [1, 2] for images of 2 axes; got 3"),
        (LesionOptions { dilation: 1, ..base }, "dilation must be 0 with matching=\"greedy\""),
        (LesionOptions { dilation: 1, dilation_connectivity: 0, ..overlap }, "connectivity must lie in [1, 2]"),
        (base, "labels must lie in [0, 2)"),
    ];
    for (options, wanted) in wrong {
        let error = evaluate(&stages.0, &stages.1, &batch, None, &options).expect_err("refused").to_string();
        assert!(error.starts_with(wanted), "{error}");
    }
}

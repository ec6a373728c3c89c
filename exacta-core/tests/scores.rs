//! Sums, calibration and rankings equal their definitions: each instruction set, thread count, layout and dtype.

use std::sync::Arc;

use exacta_core::parallel::Threads;
use exacta_core::stages::{RankNeed, RankSums, RankTable, ScoreStage, SelectedScores, Term};
use exacta_core::testing::{
    ScoreCase, levels, naive_probabilities, naive_rank_sums, naive_ranked, naive_reliability, naive_terms, score_cases,
};
use exacta_core::{Bins, CalibrationMode, Cpu, Error, Labels, ScoreBatch, ScoreSpec};
use ndarray::{ArrayD, Axis, IxDyn, Slice};
use proptest::prelude::*;

fn pool(n: usize) -> Threads {
    Threads::Pool(Arc::new(rayon::ThreadPoolBuilder::new().num_threads(n).build().expect("a pool")))
}

fn backends() -> Vec<Cpu> {
    let threads = [Threads::Serial, pool(2)];
    levels().into_iter().flat_map(|level| threads.clone().map(|threads| Cpu { level, threads })).collect()
}

/// The same values in another memory order: reversed axes.
fn fortran<T: Clone>(array: &ArrayD<T>) -> ArrayD<T> {
    let reversed: Vec<usize> = (0..array.ndim()).rev().collect();
    array.clone().permuted_axes(IxDyn(&reversed)).as_standard_layout().into_owned().permuted_axes(IxDyn(&reversed))
}

/// The same values, walked backwards in memory.
fn backwards<T: Clone>(array: &ArrayD<T>) -> ArrayD<T> {
    let mut out = array.clone();
    for axis in 0..out.ndim() {
        out.invert_axis(Axis(axis));
    }
    let mut out = out.as_standard_layout().into_owned();
    for axis in 0..out.ndim() {
        out.slice_axis_inplace(Axis(axis), Slice::new(0, None, -1));
    }
    out
}

/// Everything that the stage gives, in bits.
fn everything(cpu: &Cpu, batch: &ScoreBatch<'_>) -> Vec<u128> {
    let bins = Bins::new(7, 1).expect("a number");
    let mut out = Vec::new();
    for term in [Term::Brier, Term::LogLoss] {
        let sums = cpu.score_sums(batch, term).expect("valid scores");
        out.extend(sums.values().iter().flat_map(|sums| [u128::from(sums.count), u128::from(sums.sum.to_bits())]));
    }
    for mode in [CalibrationMode::TopLabel, CalibrationMode::Classwise] {
        for bin in cpu.reliability(batch, bins, mode).expect("valid scores").values().iter().flat_map(|row| &row.bins) {
            out.extend([bin.count, bin.confidence.to_bits(), bin.outcomes].map(u128::from));
        }
    }
    for need in [RankNeed::Wins, RankNeed::Precisions] {
        for sums in cpu.rank_sums(batch, need, 0).expect("valid scores").values() {
            out.extend([u128::from(sums.positives), sums.wins, u128::from(sums.precision_sum.to_bits())]);
        }
    }
    for step in cpu.rank_tables(batch, 0).expect("valid scores").values().iter().flat_map(|table| &table.steps) {
        out.extend([step.threshold.to_bits(), step.positives, step.negatives].map(u128::from));
    }
    let histograms = cpu.rank_histograms(batch, bins, 0).expect("valid scores");
    out.extend(histograms.values().iter().flatten().flatten().map(|&count| u128::from(count)));
    out
}

/// Near enough: `n` roundings of values below `size` in double precision, and the working precision of a term.
fn near(found: f64, wanted: f64, size: f64, working: f64) -> bool {
    found == wanted || (found - wanted).abs() <= size * (1e-13 + working)
}

fn agrees(cpu: &Cpu, case: &ScoreCase, batch: &ScoreBatch<'_>, working: f64) {
    let maps = case.maps();
    let (spec, bins) = (&case.spec, Bins::new(7, 1).expect("a number"));
    let brier = cpu.score_sums(batch, Term::Brier).expect("valid scores").into_values();
    let loss = cpu.score_sums(batch, Term::LogLoss).expect("valid scores").into_values();
    for (map, (brier, loss)) in maps.iter().zip(brier.iter().zip(&loss)) {
        let (terms, logs) = naive_terms(map, spec);
        assert_eq!((brier.count, loss.count), (terms.len() as u64, terms.len() as u64));
        let sum = terms.iter().sum::<f64>();
        assert!(near(brier.sum, sum, terms.len() as f64, working), "{} {sum}", brier.sum);
        let sum = logs.iter().sum::<f64>();
        assert!(near(loss.sum, sum, sum + logs.len() as f64, working), "{} {sum}", loss.sum);
    }
    for mode in [CalibrationMode::TopLabel, CalibrationMode::Classwise] {
        let table = cpu.reliability(batch, bins, mode).expect("valid scores");
        let columns = table.values().len() / maps.len();
        for (i, found) in table.values().iter().enumerate() {
            let map = &maps[i / columns];
            let wanted = naive_reliability(map, spec, bins, mode, i % columns);
            // Softmax in single precision may move a confidence over an edge; steps of 1/16 are far from sevenths.
            for (found, (count, confidence, outcomes)) in found.bins.iter().zip(wanted) {
                assert_eq!((found.count, found.outcomes), (count, outcomes), "{mode}");
                assert!(near(found.confidence, confidence, count as f64, working));
            }
        }
    }
    let tables = cpu.rank_tables(batch, 0).expect("valid scores");
    let wins = cpu.rank_sums(batch, RankNeed::Wins, 0).expect("valid scores");
    let precisions = cpu.rank_sums(batch, RankNeed::Precisions, 0).expect("valid scores");
    let histograms = cpu.rank_histograms(batch, bins, 0).expect("valid scores");
    let selected = cpu.selected(batch, 0).expect("valid scores");
    let columns = tables.values().len() / maps.len();
    for i in 0..tables.values().len() {
        let map = &maps[i / columns];
        let ranked = naive_ranked(map, spec, i % columns);
        let wanted = naive_rank_sums(&ranked);
        assert_eq!(tables.values()[i].sums(), wanted, "column {i}");
        assert_eq!(wins.values()[i], RankSums { precision_sum: 0.0, ..wanted });
        assert_eq!(precisions.values()[i], RankSums { wins: 0, ..wanted });
        let mut distinct: Vec<f64> = ranked.iter().map(|(score, _)| *score).collect();
        distinct.sort_by(|a, b| b.total_cmp(a));
        distinct.dedup();
        let thresholds: Vec<f64> = tables.values()[i].steps.iter().map(|step| step.threshold).collect();
        assert_eq!(thresholds, distinct);
        let scores: Vec<f64> = match &selected.values()[i].scores {
            SelectedScores::Single(scores) => scores.iter().map(|&score| f64::from(score)).collect(),
            SelectedScores::Double(scores) => scores.clone(),
        };
        let found: Vec<(f64, bool)> =
            scores.iter().map(|s| s + 0.0).zip(selected.values()[i].positives.clone()).collect();
        assert_eq!(found, ranked);
        let mut wanted = vec![[0u64; 2]; bins.count()];
        let probabilities = &naive_probabilities(map, spec)[if map.channels.len() == 1 { 0 } else { i % columns }];
        for (&p, (_, positive)) in probabilities.iter().zip(&ranked) {
            wanted[bins.of(p) as usize][usize::from(*positive)] += 1;
        }
        assert_eq!(histograms.values()[i], wanted);
        let binned = RankTable::of_histogram(&wanted);
        assert!(binned.steps.len() == 7 && binned.steps[6].threshold == 0.0);
    }
}

fn batch<'a>(
    pred: Labels<'a>,
    target: &'a ArrayD<i64>,
    mask: Option<&'a ArrayD<bool>>,
    spec: ScoreSpec,
) -> ScoreBatch<'a> {
    ScoreBatch::new(pred, target.view(), spec, mask.map(|mask| mask.view().into())).expect("a valid batch")
}

/// bfloat16 and half bits of a value that both hold exactly, or of NaN.
fn half_bits(value: f64, bfloat: bool) -> u16 {
    let bits = (value as f32).to_bits();
    if bfloat {
        return (bits >> 16) as u16;
    }
    let sign = (bits >> 16 & 0x8000) as u16;
    match (bits >> 23 & 255, bits & 0x7f_ffff) {
        (0, _) => sign,
        (255, fraction) => sign | 0x7c00 | (fraction >> 13) as u16,
        (exponent, fraction) => sign | ((exponent - 112) << 10) as u16 | (fraction >> 13) as u16,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn as_defined(case in score_cases(6)) {
        let cpu = Cpu::serial();
        let single = case.pred.mapv(|value| value as f32);
        agrees(&cpu, &case, &batch(case.pred.view().into(), &case.target, case.mask.as_ref(), case.spec), 0.0);
        // Single precision rounds a term of size up to 1 to 2^-24, a few times.
        agrees(&cpu, &case, &batch(single.view().into(), &case.target, case.mask.as_ref(), case.spec), 1e-6);
    }

    #[test]
    fn the_same_bits_everywhere(case in score_cases(6)) {
        let single = case.pred.mapv(|value| value as f32);
        let mask = case.mask.clone();
        let wanted = everything(&Cpu::serial(), &batch(single.view().into(), &case.target, mask.as_ref(), case.spec));
        for cpu in backends() {
            for (pred, target) in [
                (single.clone(), case.target.clone()),
                (fortran(&single), case.target.clone()),
                (backwards(&single), fortran(&case.target)),
            ] {
                let found = everything(&cpu, &batch(pred.view().into(), &target, mask.as_ref(), case.spec));
                prop_assert_eq!(&found, &wanted, "{}", cpu.level_name());
            }
        }
        for bfloat in [false, true] {
            let bits = case.pred.mapv(|value| half_bits(value, bfloat));
            let pred = if bfloat { Labels::Bf16(bits.view()) } else { Labels::F16(bits.view()) };
            prop_assert_eq!(&everything(&Cpu::serial(), &batch(pred, &case.target, mask.as_ref(), case.spec)), &wanted);
        }
    }
}

/// A volume of many shares, with few and with many positives.
#[test]
fn large_volumes() {
    let shape = [1, 3, 43, 71, 83];
    let mut state = 9u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    let target = ArrayD::from_shape_simple_fn(IxDyn(&[1, 43, 71, 83]), || match random() % 64 {
        0 => 1,
        1..=20 => 2,
        _ => 0,
    });
    let logits = ArrayD::from_shape_simple_fn(IxDyn(&shape), || random() as f32 / 2e9 - 0.5);
    let spec = ScoreSpec { from_logits: true, ..ScoreSpec::default() };
    let wanted = everything(&Cpu::serial(), &batch(logits.view().into(), &target, None, spec));
    let turned = fortran(&logits);
    let cpu = Cpu { threads: pool(3), ..Cpu::serial() };
    assert_eq!(everything(&cpu, &batch(logits.view().into(), &target, None, spec)), wanted);
    assert_eq!(everything(&cpu, &batch(turned.view().into(), &target, None, spec)), wanted);
    // What sorts few and what sorts all agree, and so does the mask that takes nothing out.
    let all = ArrayD::from_elem(IxDyn(&[1, 43, 71, 83]), true);
    assert_eq!(everything(&cpu, &batch(logits.view().into(), &target, Some(&all), spec)), wanted);
    let channels = logits.mapv(|value| (value + 1.0) / 2.0);
    let one = channels.slice_axis(Axis(1), Slice::from(0..1)).to_owned();
    let few = target.mapv(|label| i64::from(label == 1));
    for target in [&few, &few.mapv(|label| 1 - label), &target.mapv(|label| i64::from(label == 2))] {
        let batch = batch(one.view().into(), target, None, ScoreSpec::default());
        let table = cpu.rank_tables(&batch, 0).expect("valid scores").get(0, 0).sums();
        let wins = *cpu.rank_sums(&batch, RankNeed::Wins, 0).expect("valid scores").get(0, 0);
        let precisions = *cpu.rank_sums(&batch, RankNeed::Precisions, 0).expect("valid scores").get(0, 0);
        assert_eq!((wins.wins, precisions.precision_sum), (table.wins, table.precision_sum));
    }
}

#[test]
fn broken_values_are_named_in_order() {
    let refuse = |pred: &[f64], target: &[i64], spec: ScoreSpec, channels: usize, wanted: Error| {
        let pred =
            ArrayD::from_shape_vec(IxDyn(&[1, channels, 1, pred.len() / channels]), pred.to_vec()).expect("a shape");
        let shape = if spec.multilabel { pred.shape().to_vec() } else { vec![1, 1, target.len()] };
        let target = ArrayD::from_shape_vec(IxDyn(&shape), target.to_vec()).expect("a shape");
        let batch = batch(pred.view().into(), &target, None, spec);
        let cpu = Cpu::serial();
        let bins = Bins::new(3, 2).expect("a number");
        assert_eq!(cpu.score_sums(&batch, Term::Brier).expect_err("refused"), wanted);
        assert_eq!(cpu.reliability(&batch, bins, CalibrationMode::Classwise).expect_err("refused"), wanted);
        assert_eq!(cpu.rank_sums(&batch, RankNeed::Wins, 0).expect_err("refused"), wanted);
        assert_eq!(cpu.rank_tables(&batch, 0).expect_err("refused"), wanted);
        assert_eq!(cpu.rank_histograms(&batch, bins, 0).expect_err("refused"), wanted);
        assert_eq!(cpu.selected(&batch, 0).expect_err("refused"), wanted);
    };
    let plain = ScoreSpec::default();
    let logits = ScoreSpec { from_logits: true, ..plain };
    let multi = ScoreSpec { multilabel: true, ..plain };
    let class = |classes, min, max| Error::TargetClass { classes, min, max, hint: "" };
    refuse(&[2.0, f64::INFINITY], &[0, 2], plain, 1, class(2, 0, 2));
    refuse(&[2.0, f64::INFINITY], &[0, 1], plain, 1, Error::NotFinite { value: f64::INFINITY });
    refuse(&[2.0, f64::NEG_INFINITY], &[0, 1], logits, 1, Error::NotFinite { value: f64::NEG_INFINITY });
    refuse(&[0.5, 1.5], &[0, 1], plain, 1, Error::NotProbability { value: 1.5 });
    refuse(&[0.5, -0.5, 0.5, 0.5], &[0, 1], plain, 2, Error::NotProbability { value: -0.5 });
    refuse(&[0.5, 0.5, 0.5, 0.25], &[0, 1], plain, 2, Error::ChannelSum { sum: 0.75, tolerance: 1e-3 });
    refuse(&[0.5, 2.0], &[0, 3], multi, 1, Error::MultilabelTarget { value: 3.0 });
    refuse(&[0.5, 2.0], &[0, 1], multi, 1, Error::NotProbability { value: 2.0 });
}

#[test]
fn shapes_are_checked() {
    let pred = ArrayD::<f32>::zeros(IxDyn(&[2, 3, 4, 5]));
    let index = ArrayD::<u8>::zeros(IxDyn(&[2, 4, 5]));
    let channels = ArrayD::<u8>::zeros(IxDyn(&[2, 3, 4, 5]));
    type Kind = std::mem::Discriminant<Error>;
    fn new<'a>(pred: Labels<'a>, target: Labels<'a>, spec: ScoreSpec, mask: Option<Labels<'a>>) -> Result<(), Kind> {
        ScoreBatch::new(pred, target, spec, mask).map(|_| ()).map_err(|error| std::mem::discriminant(&error))
    }
    let kind = |error: Error| Err(std::mem::discriminant(&error));
    let (plain, multi) = (ScoreSpec::default(), ScoreSpec { multilabel: true, ..ScoreSpec::default() });
    let shape = || Error::TargetShape { expected: vec![], found: vec![] };
    assert_eq!(new(pred.view().into(), index.view().into(), plain, None), Ok(()));
    assert_eq!(new(pred.view().into(), channels.view().into(), multi, Some(channels.view().into())), Ok(()));
    assert_eq!(new(pred.view().into(), channels.view().into(), multi, Some(index.view().into())), Ok(()));
    assert_eq!(new(channels.view().into(), index.view().into(), plain, None), kind(Error::ScoreDtype { dtype: "" }));
    assert_eq!(new(pred.view().into(), channels.view().into(), plain, None), kind(shape()));
    assert_eq!(new(pred.view().into(), index.view().into(), multi, None), kind(shape()));
    let mask = || Error::MaskShape { expected: vec![], found: vec![] };
    assert_eq!(new(pred.view().into(), index.view().into(), plain, Some(channels.view().into())), kind(mask()));
    let ignored = ScoreSpec { ignore_index: Some(1), ..multi };
    assert_eq!(new(pred.view().into(), channels.view().into(), ignored, None), kind(Error::IgnoreWithOneHot));
    // A first class beyond the last leaves no column.
    for (spec, target) in [(plain, &index), (multi, &channels)] {
        let batch =
            ScoreBatch::new(pred.view(), target.view(), ScoreSpec { from_logits: true, ..spec }, None).expect("valid");
        let tables = Cpu::serial().rank_tables(&batch, 7).expect("valid scores");
        assert_eq!((tables.cases(), tables.classes()), (2, 0));
    }
    assert!(Bins::new(0, 1).is_err() && Bins::new(1, 2).is_err() && Bins::new(2, 2).is_ok());
    let hundred = Bins::new(100, 1).expect("a number");
    assert_eq!((hundred.of(0.29), hundred.of(1.0), hundred.of(0.0)), (28, 99, 0));
}

//! The counts of both passes equal the definition: each instruction set, thread count, layout and dtype.

use std::sync::Arc;

use exacta_core::parallel::Threads;
use exacta_core::scan::{SliceVisitor, Window, scan_planes};
use exacta_core::stages::{CountStage, Counts};
use exacta_core::testing::{Case, cases, levels, naive_counts};
use exacta_core::{Batch, Cpu, Error, LabelSpec, Labels, Level};
use ndarray::{ArrayD, ArrayViewD, Axis, IxDyn};
use proptest::prelude::*;

/// Sees every slice and keeps nothing but how many it saw.
#[derive(Debug)]
struct Slices(usize);

impl SliceVisitor for Slices {
    fn visit(&mut self, _: Level, slice: usize, pred: &Window<'_>, target: &Window<'_>) {
        assert_eq!(pred.previous.is_some(), slice > 0);
        assert_eq!(pred.next.is_some(), target.next.is_some());
        self.0 += 1;
    }
}

fn backends() -> Vec<Cpu> {
    let pool = |n| Threads::Pool(Arc::new(rayon::ThreadPoolBuilder::new().num_threads(n).build().expect("a pool")));
    let threads = [Threads::Serial, pool(1), pool(6)];
    levels().into_iter().flat_map(|level| threads.clone().map(|threads| Cpu { level, threads })).collect()
}

/// Both passes, on every backend, give `wanted`.
fn check<'a>(pred: Labels<'a>, target: Labels<'a>, spec: LabelSpec, mask: Option<&'a ArrayD<bool>>, wanted: &[Counts]) {
    let batch = Batch::new(pred, target, spec, mask.map(|mask| mask.view().into())).expect("a valid batch");
    for cpu in backends() {
        let counts = cpu.counts(&batch).expect("valid labels");
        assert_eq!(counts.values(), wanted, "counts, {}", cpu.level_name());
        if !batch.is_masked() {
            let visited = scan_planes(&cpu, &batch, |_| Slices(0)).expect("valid labels");
            assert_eq!(visited.counts.values(), wanted, "planes, {}", cpu.level_name());
            let slices: usize = visited.visitors.iter().flatten().map(|slices| slices.0).sum();
            assert_eq!(slices, visited.visitors.len() * batch.grid().size()[0]);
        }
    }
}

/// The same values in another memory order: reversed axes.
fn fortran<T: Clone>(array: &ArrayD<T>) -> ArrayD<T> {
    let reversed: Vec<usize> = (0..array.ndim()).rev().collect();
    array.clone().permuted_axes(IxDyn(&reversed)).as_standard_layout().into_owned().permuted_axes(IxDyn(&reversed))
}

/// The same values, every second of a larger array.
fn strided<T: Clone>(array: &ArrayD<T>) -> ArrayD<T> {
    let mut shape = array.shape().to_vec();
    *shape.last_mut().expect("an axis") *= 2;
    let last = Axis(shape.len() - 1);
    let mut wide = ArrayD::from_elem(IxDyn(&shape), array.first().expect("a value").clone());
    wide.slice_axis_mut(last, ndarray::Slice::new(0, None, 2)).assign(array);
    wide.slice_axis_move(last, ndarray::Slice::new(0, None, 2))
}

fn view<T>(array: &ArrayD<T>) -> ArrayViewD<'_, T> {
    array.view()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn index_maps(case in cases(9), background in any::<bool>()) {
        let Case { pred, target, classes, .. } = &case;
        let mut spec = case.spec();
        spec.include_background = background || *classes == 1;
        let wanted = naive_counts(pred, target, &spec, None);
        check(view(pred).into(), view(target).into(), spec, None, &wanted);
        check(view(&fortran(pred)).into(), view(&fortran(target)).into(), spec, None, &wanted);
        check(view(&fortran(pred)).into(), view(target).into(), spec, None, &wanted);
        check(view(&strided(pred)).into(), view(target).into(), spec, None, &wanted);
        let (mut flipped_pred, mut flipped_target) = (pred.clone(), target.clone());
        for axis in 1..flipped_pred.ndim() {
            flipped_pred.invert_axis(Axis(axis));
            flipped_target.invert_axis(Axis(axis));
        }
        check(view(&flipped_pred).into(), view(&flipped_target).into(), spec, None, &wanted);
    }

    #[test]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "labels fit")]
    fn every_dtype(case in cases(7)) {
        let Case { pred, target, .. } = &case;
        let spec = case.spec();
        let wanted = naive_counts(pred, target, &spec, None);
        macro_rules! as_type {
            ($($type:ty),+) => {$(
                if i128::try_from(case.classes - 1).expect("small") <= <$type>::MAX as i128 {
                    let (p, t) = (pred.mapv(|v| v as $type), target.mapv(|v| v as $type));
                    check(view(&p).into(), view(&t).into(), spec, None, &wanted);
                    check(view(&p).into(), view(target).into(), spec, None, &wanted);
                }
            )+};
        }
        as_type!(u8, i8, u16, i16, u32, i32, u64, f32, f64);
        if case.classes <= 2 {
            let (p, t) = (pred.mapv(|v| v != 0), target.mapv(|v| v != 0));
            check(view(&p).into(), view(&t).into(), spec, None, &wanted);
        }
    }

    #[test]
    fn masked(case in cases(7), seed in any::<u64>(), ignore in prop::option::of(-1..2i64)) {
        let Case { pred, target, classes, .. } = &case;
        let mask = exacta_core::testing::labels_of(&case.shape, pred.shape()[0], 3, seed, 0).mapv(|v| v > 0);
        let mut spec = case.spec();
        spec.ignore_index = ignore;
        // What is left out may hold anything.
        let (mut p, mut t) = (pred.clone(), target.clone());
        for ((p, t), &counts) in p.iter_mut().zip(&mut t).zip(&mask) {
            if !counts {
                (*p, *t) = (i64::MAX, -77);
            } else if ignore == Some(-1) && *t == 0 {
                (*p, *t) = (*classes as i64 + 9, -1);
            }
        }
        let wanted = naive_counts(&p, &t, &spec, Some(&mask));
        check(view(&p).into(), view(&t).into(), spec, Some(&mask), &wanted);
        check(view(&fortran(&p)).into(), view(&strided(&t)).into(), spec, Some(&fortran(&mask)), &wanted);
    }

    #[test]
    fn one_hot(case in cases(6), seed in any::<u64>()) {
        let batch = case.pred.shape()[0];
        let channels = 3;
        let shape: Vec<usize> = [&[channels], &case.shape[..]].concat();
        let p = exacta_core::testing::labels_of(&shape, batch, 2, seed, 0);
        let t = exacta_core::testing::labels_of(&shape, batch, 2, seed ^ 5, 1);
        let mask = exacta_core::testing::labels_of(&case.shape, batch, 3, seed ^ 9, 0).mapv(|v| v > 0);
        for spec in [LabelSpec::one_hot(channels), LabelSpec::one_hot(channels).without_background()] {
            let wanted = naive_counts(&p, &t, &spec, None);
            check(view(&p).into(), view(&t).into(), spec, None, &wanted);
            check(view(&p.mapv(|v| v != 0)).into(), view(&t.mapv(|v| v as f32)).into(), spec, None, &wanted);
            let half = p.mapv(|v| if v == 1 { 0x3c00u16 } else { 0x8000 });
            check(Labels::F16(half.view()), view(&fortran(&t)).into(), spec, None, &wanted);
            let bf16 = p.mapv(|v| if v == 1 { 0x3f80u16 } else { 0 });
            check(Labels::Bf16(bf16.view()), view(&t).into(), spec, None, &wanted);
            let wanted = naive_counts(&p, &t, &spec, Some(&mask));
            check(view(&p).into(), view(&t).into(), spec, Some(&mask), &wanted);
        }
    }

    #[test]
    fn a_value_that_is_no_label_is_found_wherever_it_lies(case in cases(7), at in any::<prop::sample::Index>(), in_pred in any::<bool>()) {
        for value in [case.classes as i64, -1, 255.max(case.classes as i64), 256.max(case.classes as i64), 1 << 40, i64::MIN] {
            let (mut p, mut t) = (case.pred.clone(), case.target.clone());
            let array = if in_pred { &mut p } else { &mut t };
            let i = at.index(array.len());
            *array.iter_mut().nth(i).expect("inside") = value;
            let batch = Batch::new(view(&p), view(&t), case.spec(), None).expect("a valid batch");
            for cpu in backends() {
                let error = cpu.counts(&batch).expect_err("an invalid label");
                prop_assert!(matches!(error, Error::LabelOutOfRange { min, max, .. } if min == i128::from(value) || max == i128::from(value)), "{error:?}");
                let error = scan_planes(&cpu, &batch, |_| Slices(0)).expect_err("an invalid label");
                prop_assert!(matches!(error, Error::LabelOutOfRange { .. }), "{error:?}");
            }
        }
    }
}

#[test]
fn large_maps_take_several_shares_and_slabs() {
    let case = Case {
        shape: vec![70, 66, 130],
        classes: 5,
        pred: exacta_core::testing::labels_of(&[70, 66, 130], 1, 5, 3, 1),
        target: exacta_core::testing::labels_of(&[70, 66, 130], 1, 5, 4, 1),
    };
    let wanted = naive_counts(&case.pred, &case.target, &case.spec(), None);
    check(view(&case.pred).into(), view(&case.target).into(), case.spec(), None, &wanted);
    let (p, t) = (case.pred.mapv(|v| v as u8), case.target.mapv(|v| v as u8));
    check(view(&p).into(), view(&t).into(), case.spec(), None, &wanted);
}

#[test]
fn fractional_and_non_binary_values_are_named() {
    let good = ndarray::array![[[0.0, 1.0]]].into_dyn();
    let bad = ndarray::array![[[0.0, 0.5]]].into_dyn();
    let cpu = Cpu::new();
    let batch = Batch::new(view(&good), view(&bad), LabelSpec::index(2), None).expect("a valid batch");
    assert_eq!(cpu.counts(&batch).expect_err("0.5"), Error::FractionalLabel { argument: "target", value: 0.5 });
    let channels = |a: &ArrayD<f64>| a.clone().insert_axis(Axis(1));
    let (good, bad) = (channels(&good), channels(&bad));
    let batch = Batch::new(view(&bad), view(&good), LabelSpec::one_hot(1), None).expect("a valid batch");
    assert!(matches!(cpu.counts(&batch), Err(Error::NotBinary { argument: "pred", value: 0.5, .. })));
    // Counted voxels alone are checked.
    let mask = ndarray::array![[[true, false]]].into_dyn();
    let batch =
        Batch::new(view(&bad), view(&good), LabelSpec::one_hot(1), Some(view(&mask).into())).expect("a valid batch");
    assert_eq!(cpu.counts(&batch).expect("0.5 is left out").get(0, 0).counted(), 1);
}

#[test]
fn empty_batches_and_images_count_nothing() {
    let cpu = Cpu::new();
    for shape in [[0, 3, 4], [2, 0, 4], [2, 3, 0]] {
        let empty = ArrayD::<u8>::zeros(IxDyn(&shape));
        let batch = Batch::new(view(&empty), view(&empty), LabelSpec::index(3), None).expect("a valid batch");
        let counts = cpu.counts(&batch).expect("no label");
        assert_eq!((counts.cases(), counts.classes()), (shape[0], 3));
        assert!(counts.values().iter().all(|counts| *counts == Counts::default()));
        assert_eq!(scan_planes(&cpu, &batch, |_| Slices(0)).expect("no label").counts, counts);
    }
}

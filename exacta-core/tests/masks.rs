//! The mask of a class equals its definition, on each instruction set, thread count, layout and dtype.

use std::sync::Arc;

use exacta_core::parallel::Threads;
use exacta_core::testing::{Case, cases, labels_of, levels, naive_counts};
use exacta_core::{Batch, Bits, Cpu, Error, InputFormat, LabelSpec, Labels, Level, Masks, Region, Side};
use ndarray::{ArrayD, Axis, Dimension, IxDyn, Slice};
use proptest::prelude::*;

fn cpus() -> Vec<Cpu> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(5).build().expect("a pool");
    let threads = Threads::Pool(Arc::new(pool));
    let mut out: Vec<Cpu> = levels().into_iter().map(|level| Cpu { level, threads: Threads::Serial }).collect();
    out.push(Cpu { level: Level::new(), threads });
    out
}

/// The mask of a class in one case, voxel by voxel.
fn naive_mask(labels: &ArrayD<i64>, spec: &LabelSpec, case: usize, class: usize) -> ArrayD<bool> {
    let image = labels.index_axis(Axis(0), case);
    let class = class + spec.first_class();
    match spec.format {
        InputFormat::Index => image.mapv(|label| label == class as i64),
        InputFormat::OneHot => image.index_axis(Axis(0), class).mapv(|value| value == 1),
    }
}

/// First and last index along each axis of the image.
fn naive_box(mask: &ArrayD<bool>) -> Option<Vec<(usize, usize)>> {
    let mut found: Option<Vec<(usize, usize)>> = None;
    for (at, _) in mask.indexed_iter().filter(|&(_, &inside)| inside) {
        let at = at.as_array_view().to_vec();
        let found = found.get_or_insert_with(|| at.iter().map(|&i| (i, i)).collect());
        for (range, i) in found.iter_mut().zip(at) {
            *range = (range.0.min(i), range.1.max(i));
        }
    }
    found
}

fn check<'a>(pred: Labels<'a>, target: Labels<'a>, spec: LabelSpec, naive: [&ArrayD<i64>; 2]) {
    let batch = Batch::new(pred, target, spec, None).expect("a valid batch");
    for cpu in cpus() {
        let (counts, masks) = cpu.masks(&batch).expect("valid labels");
        assert_eq!(counts.values(), naive_counts(naive[0], naive[1], &spec, None));
        let alone = Masks::new(&cpu, &batch).expect("valid labels");
        for (case, class) in (0..masks.cases()).flat_map(|case| (0..masks.classes()).map(move |class| (case, class))) {
            for (side, naive) in Side::BOTH.into_iter().zip(naive) {
                let wanted = naive_mask(naive, &spec, case, class);
                let bounds = naive_box(&wanted);
                let lead = 3 - wanted.ndim();
                let region = masks.region(case, class, side);
                let axes = |region: &Region| {
                    let ranges = masks.grid().by_axis([0, 1, 2].map(|k| (region.low()[k], region.size()[k])));
                    ranges[lead..].to_vec()
                };
                let box_of = region.as_ref().map(|region| {
                    axes(region).into_iter().map(|(low, size)| (low, low + size - 1)).collect::<Vec<_>>()
                });
                assert_eq!(box_of, bounds);
                assert_eq!(alone.region(case, class, side), region);
                let wider = region.clone().map(Region::from_whole_word);
                for region in region.into_iter().chain(wider).chain([Region::whole(masks.grid())]) {
                    let bits = masks.bits(case, class, side, &region);
                    let mut cut = wanted.view();
                    for (axis, (low, size)) in axes(&region).into_iter().enumerate() {
                        cut.slice_axis_inplace(Axis(axis), Slice::from(low..low + size));
                    }
                    assert_eq!(bits, Bits::nonzero_as(&cpu, cut, bits.grid()).expect("one shape"));
                    assert_eq!(bits, alone.bits(case, class, side, &region));
                }
            }
        }
    }
}

/// The same values in another memory order: reversed axes.
fn fortran<T: Clone>(array: &ArrayD<T>) -> ArrayD<T> {
    let reversed: Vec<usize> = (0..array.ndim()).rev().collect();
    array.clone().permuted_axes(IxDyn(&reversed)).as_standard_layout().into_owned().permuted_axes(IxDyn(&reversed))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn index_maps(case in cases(8), background in any::<bool>()) {
        let Case { pred, target, classes, .. } = &case;
        prop_assume!(*classes <= 9 || case.shape.len() == 2);
        let mut spec = case.spec();
        spec.include_background = background || *classes == 1;
        check(pred.view().into(), target.view().into(), spec, [pred, target]);
        check(fortran(pred).view().into(), target.view().into(), spec, [pred, target]);
        let small = pred.mapv(|label| u16::try_from(label).expect("small"));
        check(small.view().into(), fortran(target).view().into(), spec, [pred, target]);
    }

    #[test]
    fn one_hot(case in cases(7), seed in any::<u64>()) {
        let batch = case.pred.shape()[0];
        let shape: Vec<usize> = [&[3], &case.shape[..]].concat();
        let (p, t) = (labels_of(&shape, batch, 2, seed, 0), labels_of(&shape, batch, 2, seed ^ 5, 1));
        for spec in [LabelSpec::one_hot(3), LabelSpec::one_hot(3).without_background()] {
            check(p.view().into(), t.view().into(), spec, [&p, &t]);
            check(p.mapv(|v| v != 0).view().into(), fortran(&t).mapv(|v| v as f32).view().into(), spec, [&p, &t]);
        }
    }
}

#[test]
fn volumes_of_several_slabs() {
    let shape = [70, 20, 130];
    let (p, t) = (labels_of(&shape, 1, 5, 3, 1), labels_of(&shape, 1, 5, 4, 0));
    check(p.view().into(), t.view().into(), LabelSpec::index(5), [&p, &t]);
}

#[test]
fn what_is_no_label_is_an_error_and_empty_images_have_no_mask() {
    let cpu = Cpu::new();
    let (good, bad) = (ndarray::array![[[0, 1]]].into_dyn(), ndarray::array![[[0, 7]]].into_dyn());
    let batch = Batch::new(good.view(), bad.view(), LabelSpec::index(2), None).expect("a valid batch");
    assert!(matches!(cpu.masks(&batch), Err(Error::LabelOutOfRange { max: 7, .. })));
    assert!(matches!(Masks::new(&cpu, &batch), Err(Error::LabelOutOfRange { max: 7, .. })));
    // Two bits hold a 3, of which there is no class.
    let batch = Batch::new(good.view(), bad.view(), LabelSpec::index(3), None).expect("a valid batch");
    let three = bad.mapv(|label| label.min(3));
    assert!(Masks::new(&cpu, &batch).is_err());
    let batch = Batch::new(good.view(), three.view(), LabelSpec::index(3), None).expect("a valid batch");
    assert!(matches!(Masks::new(&cpu, &batch), Err(Error::LabelOutOfRange { max: 3, .. })));
    let batch = Batch::new(good.view(), bad.view(), LabelSpec::index(2), None).expect("a valid batch");
    assert!(Masks::new(&cpu, &batch).is_err());
    let batch = Batch::new(good.view(), good.view(), LabelSpec::index(2).ignoring(0), None).expect("a valid batch");
    assert!(matches!(cpu.masks(&batch), Err(Error::MaskedSurface)));
    for shape in [[0, 3, 4], [2, 0, 4], [2, 3, 0]] {
        let empty = ArrayD::<u8>::zeros(IxDyn(&shape));
        let batch = Batch::new(empty.view(), empty.view(), LabelSpec::index(2), None).expect("a valid batch");
        let (_, masks) = cpu.masks(&batch).expect("no label");
        let whole = Region::whole(masks.grid());
        for case in 0..masks.cases() {
            assert_eq!(masks.joint_region(case, 1), None);
            assert_eq!(masks.bits(case, 1, Side::Pred, &whole).count(), 0);
        }
    }
}

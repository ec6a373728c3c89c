//! Transforms equal the definition, on each instruction set, thread count, dtype and layout.

use std::sync::Arc;

use exacta_core::ndarray::{ArrayD, ArrayViewD, Axis, IxDyn, Slice, array};
use exacta_core::parallel::Threads;
use exacta_core::testing::{labels_of, levels};
use exacta_core::{Border, Cpu, Error, Features, Level};
use exacta_edt::{Edt, naive_signed_distances, naive_squared_distances};
use proptest::prelude::*;

fn backends() -> Vec<Cpu> {
    let pool = Threads::Pool(Arc::new(rayon::ThreadPoolBuilder::new().num_threads(5).build().expect("a pool")));
    let mut out: Vec<Cpu> = levels().into_iter().map(|level| Cpu { level, threads: Threads::Serial }).collect();
    out.push(Cpu { level: Level::new(), threads: pool });
    out
}

/// Copies of an array whose axes lie in memory otherwise, and one that is a view of every other element, reversed.
fn layouts(array: &ArrayD<i64>) -> Vec<ArrayD<i64>> {
    let n = array.ndim();
    let mut out = vec![array.clone()];
    let mut orders: Vec<Vec<usize>> = vec![(0..n).rev().collect(), (0..n).collect()];
    if n > 1 {
        orders[1].swap(n - 1, n - 2);
    }
    for order in orders {
        let mut inverse = vec![0; n];
        order.iter().enumerate().for_each(|(i, &axis)| inverse[axis] = i);
        let moved = array.clone().permuted_axes(IxDyn(&order)).as_standard_layout().into_owned();
        out.push(moved.permuted_axes(IxDyn(&inverse)));
    }
    out
}

fn check(image: &ArrayD<i64>, spacing: &[f64]) {
    for border in [Border::Open, Border::Background] {
        let edt = Edt::new(spacing).expect("in range").border(border);
        for features in [Features::Zeros, Features::NonZeros, Features::OtherLabels] {
            let wanted = naive_squared_distances(&image.view(), spacing, features, border);
            let edt = edt.features(features);
            for cpu in backends() {
                for image in layouts(image) {
                    let found = edt.squared_distances(&cpu, &image.view().into()).expect("measured");
                    assert_eq!(found, wanted, "{features} {border} {} {spacing:?}", cpu.level_name());
                    if image.len() > 1 {
                        assert_eq!(found.strides().iter().map(|s| s.signum()).min(), Some(1));
                    }
                }
            }
        }
        let wanted = naive_signed_distances(&image.view(), spacing, border);
        for image in layouts(image) {
            assert_eq!(
                edt.signed_distances(&Cpu::serial(), &image.view().into()).expect("measured"),
                wanted,
                "{border}"
            );
        }
    }
    check_nearest(image, spacing);
}

/// The nearest feature is one, and at the distance found.
fn check_nearest(image: &ArrayD<i64>, spacing: &[f64]) {
    for features in [Features::Zeros, Features::NonZeros] {
        let wanted = naive_squared_distances(&image.view(), spacing, features, Border::Open);
        let edt = Edt::new(spacing).expect("in range").features(features);
        let found = edt.nearest(&Cpu::serial(), &image.view().into()).expect("measured");
        for cpu in backends().into_iter().rev().take(1) {
            for image in layouts(image) {
                assert_eq!(edt.nearest(&cpu, &image.view().into()).expect("measured"), found);
            }
        }
        for (at, &wanted) in wanted.indexed_iter() {
            let at: Vec<usize> = (0..image.ndim()).map(|k| at[k]).collect();
            let to: Vec<i64> = (0..image.ndim()).map(|k| found[&[&[k], &at[..]].concat()[..]]).collect();
            if wanted.is_infinite() {
                assert!(to.iter().all(|&index| index == -1));
                continue;
            }
            let to: Vec<usize> = to.iter().map(|&index| usize::try_from(index).expect("a feature")).collect();
            assert_eq!(image[&to[..]] == 0, features == Features::Zeros);
            let sum = (0..at.len()).fold(0.0, |sum, k| {
                let way = spacing[k] * at[k].abs_diff(to[k]) as f64;
                sum + way * way
            });
            assert_eq!(sum, wanted);
        }
    }
}

fn shapes() -> impl Strategy<Value = Vec<usize>> {
    let axis = 1..=9usize;
    prop_oneof![
        4 => (axis.clone(), axis.clone(), 1..=20usize).prop_map(|(a, b, c)| vec![a, b, c]),
        1 => (1..=3usize, 1..=3usize, prop::sample::select(vec![15usize, 16, 17, 32, 33, 70])).prop_map(|(a, b, c)| vec![a, b, c]),
        1 => (1..=2usize, 20..=50usize, 1..=5usize).prop_map(|(a, b, c)| vec![a, b, c]),
        2 => (axis.clone(), 1..=40usize).prop_map(|(a, b)| vec![a, b]),
        1 => (1..=70usize).prop_map(|a| vec![a]),
    ]
}

fn spacings() -> impl Strategy<Value = [f64; 3]> {
    prop::sample::select(vec![
        [1.0, 1.0, 1.0],
        [0.5, 0.75, 2.0],
        [0.7, 0.7, 0.7],
        [1.5, 0.8, 0.8],
        [5.0, 1.0, 1.0],
        [4096.0, 1.0, 4096.0],
        [0.3, 0.3, 3.0],
        [1e-3, 1e3, 1.0],
        [0.9, 1.7, 0.1],
        [1e-100, 1e-100, 1e-100],
        [1e100, 1e-100, 1.0],
    ])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn equals_the_definition(shape in shapes(), spacing in spacings(), classes in 2..5usize, seed in any::<u64>(), kind in 0..3u8, invert in any::<bool>()) {
        let mut image = labels_of(&shape, 1, classes, seed, kind).index_axis_move(Axis(0), 0);
        if invert {
            image.mapv_inplace(|label| i64::from(label == 0));
        }
        check(&image, &spacing[..shape.len()]);
    }
}

/// Long lines with far features, which go by their envelopes, and counters of two bytes.
#[test]
fn long_lines_equal_the_definition() {
    for shape in [vec![600, 2], vec![2, 600], vec![3, 300, 2], vec![2, 2, 300], vec![300, 2, 3], vec![700]] {
        for (kind, seed) in [(1, 3), (2, 5), (2, 9), (0, 1)] {
            let mut image = labels_of(&shape, 1, 3, seed, kind).index_axis_move(Axis(0), 0);
            image.mapv_inplace(|label| i64::from(label == 0));
            for spacing in [[1.0, 1.0, 1.0], [1.5, 0.8, 0.7]] {
                let wanted =
                    naive_squared_distances(&image.view(), &spacing[..shape.len()], Features::Zeros, Border::Open);
                for cpu in backends() {
                    let edt = Edt::new(&spacing[..shape.len()]).expect("in range");
                    assert_eq!(edt.squared_distances(&cpu, &image.view().into()).expect("measured"), wanted);
                }
            }
        }
    }
}

/// A ramp of features about every line, so that all searches are long: the envelope must take over.
#[test]
fn ramps_equal_the_definition() {
    for (n, spacing) in [(64, [1.0, 1.0, 1.0]), (48, [0.3, 0.7, 0.9])] {
        let mut image = ArrayD::from_elem(IxDyn(&[n, 6, 40]), 1i64);
        for y in 0..6 {
            for x in 0..40 {
                if (x + 3 * y) % 7 < 3 {
                    image[[(x * x / 80 + y) % n / 3, y, x]] = 0;
                }
            }
        }
        let wanted = naive_squared_distances(&image.view(), &spacing, Features::Zeros, Border::Open);
        for cpu in backends() {
            let edt = Edt::new(&spacing).expect("in range");
            assert_eq!(edt.squared_distances(&cpu, &image.view().into()).expect("measured"), wanted);
        }
    }
}

fn squared(mask: ArrayViewD<'_, u8>, spacing: &[f64]) -> ArrayD<f64> {
    let edt = Edt::new(spacing).expect("in range").features(Features::NonZeros);
    edt.squared_distances(&Cpu::serial(), &mask.into()).expect("measured")
}

#[test]
fn worked_examples() {
    let inf = f64::INFINITY;
    assert_eq!(
        squared(array![[0u8, 0, 0], [0, 0, 1]].into_dyn().view(), &[1.5, 0.8]),
        array![[4.8100000000000005, 2.89, 2.25], [2.5600000000000005, 0.6400000000000001, 0.0]].into_dyn()
    );
    assert_eq!(
        squared(array![[0u8, 0], [0, 0]].into_dyn().view(), &[1.0, 1.0]),
        array![[inf, inf], [inf, inf]].into_dyn()
    );
    assert_eq!(
        squared(array![[1u8, 0, 0], [0, 0, 0]].into_dyn().view(), &[2.0]),
        array![[0.0, 4.0, 16.0], [inf, inf, inf]].into_dyn()
    );
    assert_eq!(
        squared(array![1u8, 0, 0, 0].into_dyn().view(), &[0.1]),
        array![0.0, 0.010000000000000002, 0.04000000000000001, 0.09000000000000002].into_dyn()
    );
    assert_eq!(squared(array![0u8, 1].into_dyn().view(), &[]), array![inf, 0.0].into_dyn());
    for shape in [vec![0, 3], vec![3, 0], vec![2, 0, 4]] {
        let empty = ArrayD::<u8>::zeros(IxDyn(&shape));
        assert_eq!(squared(empty.view(), &[1.0, 1.0]).shape(), shape);
    }
}

/// P13, P69: the edge of the array, and a mask without background.
#[test]
fn edges_are_open_or_background() {
    let ones = array![[1u8, 1, 1], [1, 1, 1], [1, 1, 1]].into_dyn();
    let edt = Edt::new(&[1.0, 1.0]).expect("in range");
    let found = edt.border(Border::Background).distances(&Cpu::serial(), &ones.view().into()).expect("measured");
    assert_eq!(found, array![[1.0, 1.0, 1.0], [1.0, 2.0, 1.0], [1.0, 1.0, 1.0]].into_dyn());
    let found = edt.distances(&Cpu::serial(), &ones.view().into()).expect("measured");
    assert!(found.iter().all(|&d| d == f64::INFINITY));
    let signed = edt.signed_distances(&Cpu::serial(), &ones.view().into()).expect("measured");
    assert!(signed.iter().all(|&d| d == f64::NEG_INFINITY));
    assert!(edt.nearest(&Cpu::serial(), &ones.view().into()).expect("measured").iter().all(|&index| index == -1));
}

/// P71: steps beyond the square root of 2^31.
#[test]
fn squares_do_not_overflow() {
    let mut ones = ArrayD::from_elem(IxDyn(&[65_536, 2]), 1u8);
    ones[[0, 0]] = 0;
    let found = Edt::new(&[1.0, 1.0]).expect("in range").distances(&Cpu::new(), &ones.view().into()).expect("measured");
    assert!((0..65_536).all(|r| found[[r, 0]] == r as f64));
}

#[test]
fn batches_of_any_layout_are_images_apart() {
    let images = labels_of(&[5, 6, 7], 6, 2, 77, 1).into_shape_with_order(IxDyn(&[2, 3, 5, 6, 7])).expect("as large");
    let edt = Edt::new(&[1.5, 0.8, 0.8]).expect("in range");
    let view = images.slice_each_axis(|axis| Slice::new(0, None, if axis.axis.index() == 3 { -2 } else { 1 }));
    for cpu in backends() {
        let found = edt.squared_distances(&cpu, &view.clone().into()).expect("measured");
        for b in 0..2 {
            for c in 0..3 {
                let one = view.index_axis(Axis(0), b).index_axis_move(Axis(0), c).to_owned();
                let wanted = naive_squared_distances(&one.view(), &[1.5, 0.8, 0.8], Features::Zeros, Border::Open);
                assert_eq!(found.index_axis(Axis(0), b).index_axis(Axis(0), c), wanted);
            }
        }
    }
}

#[test]
fn every_dtype_is_read_natively() {
    let image = labels_of(&[6, 7, 8], 1, 3, 5, 0).index_axis_move(Axis(0), 0);
    let edt = Edt::new(&[1.0, 1.0, 1.0]).expect("in range").features(Features::OtherLabels);
    let wanted = naive_squared_distances(&image.view(), &[1.0, 1.0, 1.0], Features::OtherLabels, Border::Open);
    macro_rules! check {
        ($($type:ty),+) => {$(
            let typed = image.mapv(|label| label as $type);
            assert_eq!(edt.squared_distances(&Cpu::new(), &typed.view().into()).expect("measured"), wanted);
        )+};
    }
    check!(u8, i8, u16, i16, u32, i32, u64, i64, f32, f64);
    let huge = image.mapv(|label| {
        u64::MAX * u64::try_from(label.min(1)).expect("small") - u64::try_from(label).expect("small") / 2
    });
    assert_eq!(edt.squared_distances(&Cpu::new(), &huge.view().into()).expect("measured"), wanted);
}

#[test]
fn wrong_arguments_are_errors() {
    assert_eq!(Edt::new(&[1.0; 4]), Err(Error::SpacingLength { expected: 3, found: 4 }));
    for value in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-101] {
        assert!(matches!(Edt::new(&[1.0, value]), Err(Error::InvalidSpacing { axis: 1, .. })));
    }
    let mask = array![1u8, 0].into_dyn();
    let edt = Edt::new(&[1.0, 1.0]).expect("in range");
    assert!(edt.distances(&Cpu::new(), &mask.view().into()).is_err());
    let edt = Edt::new(&[1.0]).expect("in range");
    assert!(edt.features(Features::OtherLabels).nearest(&Cpu::new(), &mask.view().into()).is_err());
    assert!(edt.border(Border::Background).nearest(&Cpu::new(), &mask.view().into()).is_err());
}

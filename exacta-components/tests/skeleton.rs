//! Skeletons equal the definition, on each instruction set, thread count and layout.

use std::sync::Arc;

use exacta_components::{label, naive_skeleton, skeleton};
use exacta_core::ndarray::{Array3, ArrayD, IxDyn, array};
use exacta_core::parallel::Threads;
use exacta_core::testing::levels;
use exacta_core::{Bits, Connectivity, Cpu, Level, Thinning};
use proptest::prelude::*;

fn cpus() -> Vec<Cpu> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().expect("a pool");
    let threads = Threads::Pool(Arc::new(pool));
    let mut out: Vec<Cpu> = levels().into_iter().map(|level| Cpu { level, threads: Threads::Serial }).collect();
    out.push(Cpu { level: Level::new(), threads });
    out
}

fn noise(shape: &[usize], density: f64, seed: u64) -> ArrayD<bool> {
    let mut state = seed | 1;
    ArrayD::from_shape_simple_fn(IxDyn(shape), || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64 <= density
    })
}

/// Noise of any density, or thick shapes: noise grown by two voxels along each axis.
fn masks(longest: usize) -> impl Strategy<Value = ArrayD<bool>> {
    let axis = 1..=longest;
    let row = prop_oneof![4 => 1..=longest, 1 => prop::sample::select(vec![61usize, 62, 63, 64, 65, 124, 125, 130])];
    let shape = prop_oneof![
        4 => (axis.clone(), axis.clone(), row.clone()).prop_map(|(d, h, w)| vec![d, h, w]),
        2 => (axis, row.clone()).prop_map(|(h, w)| vec![h, w]),
        1 => row.prop_map(|w| vec![w]),
    ];
    let density = prop::sample::select(vec![0.002, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98, 1.0]);
    (shape, density, any::<u64>(), any::<bool>()).prop_map(|(shape, density, seed, thick)| {
        let mask = noise(&shape, density, seed);
        if !thick {
            return mask;
        }
        let cpu = Cpu::serial();
        let bits = Bits::nonzero(&cpu, mask.view()).expect("one to three axes");
        let all = Connectivity::new(shape.len(), shape.len()).expect("in range");
        let mut bytes = vec![0; mask.len()];
        bits.dilate(&cpu, all, 2).write_bytes(&cpu, &mut bytes, false).expect("as long");
        ArrayD::from_shape_vec(IxDyn(&shape), bytes).expect("as long").mapv(|byte| byte == 1)
    })
}

/// The same mask in C order, and in Fortran order.
fn layouts(mask: &ArrayD<bool>) -> Vec<ArrayD<bool>> {
    vec![mask.clone(), mask.t().as_standard_layout().into_owned().reversed_axes()]
}

fn check(mask: &ArrayD<bool>, rule: Thinning) {
    let wanted = naive_skeleton(mask, rule);
    for cpu in cpus() {
        for mask in layouts(mask) {
            let bits = Bits::nonzero(&cpu, mask.view()).expect("one to three axes");
            let found = skeleton(&cpu, &bits, rule);
            let wanted = Bits::nonzero_as(&cpu, wanted.view(), bits.grid()).expect("one shape");
            assert!(found == wanted, "{rule} {} {:?}", cpu.level_name(), mask.shape());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    #[test]
    fn equal_to_the_definition(mask in masks(9), rule in prop::sample::select(vec![Thinning::Lee, Thinning::KeepComponents])) {
        check(&mask, rule);
    }

    #[test]
    fn a_subset_with_as_many_components(mask in masks(14)) {
        let cpu = Cpu::serial();
        let bits = Bits::nonzero(&cpu, mask.view()).expect("one to three axes");
        let all = Connectivity::new(mask.ndim(), mask.ndim()).expect("in range");
        let kept = skeleton(&cpu, &bits, Thinning::KeepComponents);
        prop_assert_eq!(kept.count_common(&bits), kept.count());
        let count = |bits: Bits| label(&cpu, bits, all).expect("few runs").count();
        prop_assert_eq!(count(kept), count(bits));
    }
}

#[test]
fn large_masks_of_several_words() {
    for (shape, density) in [([12, 20, 140], 0.004), ([3, 30, 200], 0.01), ([1, 60, 130], 0.01)] {
        let mask = noise(&shape, density, 9);
        let cpu = Cpu::serial();
        let bits = Bits::nonzero(&cpu, mask.view()).expect("three axes");
        let grown = bits.dilate(&cpu, Connectivity::new(2, 3).expect("in range"), 3);
        let mut bytes = vec![0; mask.len()];
        grown.write_bytes(&cpu, &mut bytes, false).expect("as long");
        check(&ArrayD::from_shape_vec(IxDyn(&shape), bytes).expect("as long").mapv(|b| b == 1), Thinning::Lee);
    }
}

fn ones(shape: &[usize]) -> ArrayD<u8> {
    ArrayD::from_elem(IxDyn(shape), 1)
}

/// The voxels of the skeleton, in C order.
fn voxels(mask: &ArrayD<u8>, rule: Thinning) -> Vec<Vec<usize>> {
    let cpu = Cpu::new();
    let bits = Bits::nonzero(&cpu, mask.view()).expect("one to three axes");
    let mut bytes = vec![0; mask.len()];
    skeleton(&cpu, &bits, rule).write_bytes(&cpu, &mut bytes, false).expect("as long");
    let found = ArrayD::from_shape_vec(mask.raw_dim(), bytes).expect("as long");
    let inside = found.indexed_iter().filter(|&(_, &value)| value == 1);
    inside.map(|(at, _)| (0..mask.ndim()).map(|k| at[k]).collect()).collect()
}

#[test]
fn masks_whose_skeletons_are_known() {
    let lee = |mask: &ArrayD<u8>| voxels(mask, Thinning::Lee);
    assert_eq!(lee(&ones(&[1, 1])), [[0, 0]]);
    assert_eq!(lee(&ones(&[1, 1, 1])), [[0, 0, 0]]);
    assert_eq!(lee(&ones(&[2, 2])), [[1, 0], [1, 1]]);
    assert_eq!(lee(&ones(&[3, 5])), [[1, 0], [1, 1], [1, 2], [1, 3], [1, 4]]);
    assert_eq!(lee(&ones(&[4, 4])), [[2, 1], [2, 2]]);
    assert_eq!(lee(&ones(&[5, 5])), [[2, 1], [2, 2], [2, 3]]);
    assert_eq!(lee(&ones(&[3, 3, 3])), [[0, 1, 1], [1, 1, 1], [2, 1, 1]]);
    assert_eq!(lee(&ones(&[2, 3, 4])), [[0, 1, 1], [0, 1, 2]]);
    let l = array![[1, 1, 1, 0, 0], [1, 1, 1, 0, 0], [1, 1, 1, 1, 1], [1, 1, 1, 1, 1], [1, 1, 1, 1, 1]].into_dyn();
    assert_eq!(lee(&l), [[1, 1], [2, 1], [3, 2], [3, 3], [3, 4]]);
    for shape in [[2, 2, 2], [4, 4, 4], [2, 2, 6]] {
        assert!(lee(&ones(&shape)).is_empty());
        assert!(!voxels(&ones(&shape), Thinning::KeepComponents).is_empty());
    }
    assert!(lee(&ones(&[0, 3])).is_empty());
}

#[test]
fn a_sheet_is_thinned_as_the_image_it_lies_in() {
    assert_eq!(voxels(&ones(&[4, 4]), Thinning::Lee).len(), 2);
    assert_eq!(voxels(&ones(&[1, 4, 4]), Thinning::Lee).len(), 2);
    let mut volume = Array3::<u8>::zeros((3, 4, 4));
    volume.index_axis_mut(exacta_core::ndarray::Axis(0), 1).fill(1);
    assert!(voxels(&volume.into_dyn(), Thinning::Lee).is_empty());
}

#[test]
fn a_bar_keeps_its_component_where_asked() {
    let mut volume = Array3::<u8>::zeros((12, 12, 20));
    volume.indexed_iter_mut().for_each(|((z, y, _), v)| *v = u8::from((3..7).contains(&z) && (3..7).contains(&y)));
    let volume = volume.into_dyn();
    assert!(voxels(&volume, Thinning::Lee).is_empty());
    let kept = voxels(&volume, Thinning::KeepComponents);
    assert_eq!(kept.len(), 1);
}

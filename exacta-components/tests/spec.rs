//! The worked examples of the specification, and pitfalls of other tools.

use exacta_components::{Components, CpuComponents, label};
use exacta_core::ndarray::{Array2, Array3, ArrayD, IxDyn, array, s};
use exacta_core::stages::ComponentStage;
use exacta_core::{Bits, Connectivity, Cpu, Element, Error};

fn components<T: Element>(mask: &ArrayD<T>, connectivity: usize) -> Components {
    let cpu = Cpu::new();
    let connectivity = Connectivity::new(connectivity, mask.ndim()).expect("in range");
    label(&cpu, Bits::nonzero(&cpu, mask.view()).expect("one to three axes"), connectivity).expect("few runs")
}

/// Rows of digits, as a 2-D array.
fn drawn(rows: &[&str]) -> ArrayD<i32> {
    let digits = rows.concat().bytes().map(|digit| i32::from(digit - b'0')).collect();
    ArrayD::from_shape_vec(IxDyn(&[rows.len(), rows[0].len()]), digits).expect("rows of one length")
}

fn bytes(bits: &Bits) -> Vec<u8> {
    let mut out = vec![0; bits.grid().voxels()];
    bits.write_bytes(&Cpu::serial(), &mut out, false).expect("as long");
    out
}

const M: [&str; 4] = ["1001", "0101", "0000", "1101"];

#[test]
fn numbers_of_the_worked_examples() {
    let check = |rows: &[&str], connectivity: usize, want: &[&str], count: u32| {
        let found = components(&drawn(rows), connectivity);
        assert_eq!((found.labels(&Cpu::new()), found.count()), (drawn(want), count), "{rows:?}");
    };
    check(&M, 1, &["1002", "0302", "0000", "4405"], 5);
    check(&M, 2, &["1002", "0102", "0000", "3304"], 4);
    check(&["101", "101", "111"], 1, &["101", "101", "111"], 1);
    let values = array![[0, 2, 3, 0, -1]].into_dyn();
    assert_eq!(components(&values, 1).labels(&Cpu::new()), drawn(&["01102"]));
}

#[test]
fn largest_and_small_of_the_worked_examples() {
    let cpu = Cpu::new();
    let m = drawn(&M);
    let mask = |rows: &[&str]| drawn(rows).iter().map(|&digit| u8::from(digit == 1)).collect::<Vec<_>>();
    assert_eq!(bytes(&components(&m, 1).largest(&cpu)), mask(&["0001", "0001", "0000", "0000"]));
    assert_eq!(bytes(&components(&m, 2).largest(&cpu)), mask(&["1000", "0100", "0000", "0000"]));
    assert_eq!(bytes(&components(&drawn(&["011011"]), 1).largest(&cpu)), mask(&["011000"]));
    assert_eq!(bytes(&components(&m, 1).remove_small(&cpu, 2)), mask(&["0001", "0001", "0000", "1100"]));
    assert_eq!(components(&m, 2).remove_small(&cpu, 3).count(), 0);
    for keep_all in [0, 1] {
        assert_eq!(bytes(&components(&m, 1).remove_small(&cpu, keep_all)), mask(&M));
    }
}

#[test]
fn empty_and_full() {
    let cpu = Cpu::new();
    for shape in [vec![0], vec![3, 0], vec![0, 3], vec![2, 0, 3], vec![4, 5, 0], vec![0, 0, 0]] {
        let found = components(&ArrayD::<u8>::zeros(IxDyn(&shape)), 1);
        assert_eq!((found.count(), found.labels(&cpu).shape()), (0, &shape[..]));
        assert!(found.sizes(&cpu).is_empty());
        assert!(found.table(&cpu, None).expect("one grid").components.is_empty());
        assert_eq!(found.largest(&cpu).count(), 0);
    }
    for shape in [vec![1], vec![300], vec![1, 1, 1], vec![5, 64], vec![3, 70, 129]] {
        let full = ArrayD::<u8>::ones(IxDyn(&shape));
        for connectivity in 1..=shape.len() {
            assert_eq!(components(&full, connectivity).count(), 1);
            assert_eq!(components(&full.mapv(|v| 1 - v), connectivity).count(), 0);
        }
    }
}

/// P15, P30: numbers never take the dtype of the mask.
#[test]
fn many_components_of_a_bool_mask() {
    let mut mask = Array2::from_elem((513, 513), false);
    mask.slice_mut(s![..;2, ..;2]).fill(true);
    let mask = mask.into_dyn();
    for connectivity in [1, 2] {
        let found = components(&mask, connectivity);
        assert_eq!(found.count(), 66_049);
        assert_eq!(found.labels(&Cpu::new())[[512, 512]], 66_049);
    }
}

/// P25: any strides, in place.
#[test]
fn largest_of_a_transposed_mask() {
    let cpu = Cpu::new();
    let mut m = Array3::<u8>::zeros((4, 5, 6));
    m.slice_mut(s![0..2, 0..2, 0..2]).fill(1);
    m.slice_mut(s![3..4, 4..5, 3..6]).fill(1);
    let transposed = m.view().permuted_axes([2, 1, 0]).into_dyn();
    let bits = Bits::nonzero(&cpu, transposed.view()).expect("three axes");
    let found = label(&cpu, bits, Connectivity::new(1, 3).expect("in range")).expect("few runs");
    let largest = found.largest(&cpu);
    assert_eq!(largest.count(), 8);
    let want = Bits::nonzero_as(
        &cpu,
        m.slice(s![.., .., ..]).mapv(|_| 0u8).into_dyn().view().permuted_axes(IxDyn(&[2, 1, 0])),
        largest.grid(),
    );
    assert_eq!(want.expect("one shape").count(), 0);
    assert_eq!(found.table(&cpu, None).expect("one grid").components[0].high, [1, 1, 1]);
}

/// P53: the neighbourhoods.
#[test]
fn neighbourhoods() {
    for offset in neighbour_offsets() {
        let mut mask = Array3::<u8>::zeros((3, 3, 3));
        mask[[1, 1, 1]] = 1;
        mask[offset.map(|d| d as usize)] = 1;
        let axes = offset.iter().filter(|&&d| d != 1).count();
        let mask = mask.into_dyn();
        let counts: Vec<u32> = (1..=3).map(|connectivity| components(&mask, connectivity).count()).collect();
        let want: Vec<u32> = (1..=3).map(|connectivity| if axes <= connectivity { 1 } else { 2 }).collect();
        assert_eq!(counts, want, "{offset:?}");
    }
}

fn neighbour_offsets() -> Vec<[i32; 3]> {
    let mut out = Vec::new();
    for i in 0..27 {
        let offset = [i / 9, i / 3 % 3, i % 3];
        if offset != [1, 1, 1] {
            out.push(offset);
        }
    }
    out
}

/// P54: the end of a row is no neighbour of the beginning of the next, at words' ends neither.
#[test]
fn rows_do_not_wrap() {
    for columns in [4, 63, 64, 65, 128] {
        let mut mask = Array2::<u8>::zeros((3, columns));
        mask[[0, columns - 1]] = 1;
        mask[[1, 0]] = 1;
        assert_eq!(components(&mask.into_dyn(), 2).count(), 2);
    }
}

#[test]
fn wrong_input_is_an_error() {
    let cpu = Cpu::new();
    let stage = CpuComponents::default();
    let plane = ArrayD::<u8>::ones(IxDyn(&[3, 4]));
    let bits = stage.mask(plane.view().into(), None).expect("two axes");
    let three = Connectivity::new(3, 3).expect("in range");
    assert_eq!(label(&cpu, bits.clone(), three).err(), Some(Error::InvalidConnectivity { value: 3, axes: 2 }));
    let one = Connectivity::new(1, 2).expect("in range");
    let found = stage.components(bits.clone(), one).expect("few runs");
    let other = stage.mask(plane.t().into(), None).expect("two axes");
    assert!(matches!(stage.table(&found, Some(&other)), Err(Error::ShapeMismatch { .. })));
    let fortran = ArrayD::<u8>::ones(IxDyn(&[4, 3])).reversed_axes();
    let other = stage.mask(fortran.view().into(), None).expect("two axes");
    assert!(matches!(stage.table(&found, Some(&other)), Err(Error::GridMismatch { .. })));
    let other = stage.mask(fortran.view().into(), Some(&bits)).expect("one shape");
    assert!(stage.table(&found, Some(&other)).is_ok());
    assert!(found.write_labels(&cpu, &mut [0; 3], false).is_err());
}

//! Maps for losses equal the definition.

use std::sync::Arc;

use exacta_core::ndarray::{ArrayView, IxDyn};
use exacta_core::parallel::Threads;
use exacta_core::stages::{DistanceMap, DistanceStage, DistancesMut};
use exacta_core::{Border, Cpu, Error, Level};
use exacta_edt::{CpuMaps, naive_signed_distances};

fn backends() -> [Cpu; 2] {
    let pool = Arc::new(rayon::ThreadPoolBuilder::new().num_threads(3).build().expect("a pool"));
    [Cpu::serial(), Cpu { level: Level::new(), threads: Threads::Pool(pool) }]
}

fn found(cpu: &Cpu, masks: &[u8], shape: &[usize], spacing: &[f64], map: DistanceMap) -> Vec<f64> {
    let mut out = vec![-7.0; masks.len()];
    CpuMaps.maps(cpu, masks, shape, spacing, map, DistancesMut::F64(&mut out)).expect("measured");
    let mut single = vec![-7.0; masks.len()];
    CpuMaps.maps(cpu, masks, shape, spacing, map, DistancesMut::F32(&mut single)).expect("measured");
    assert_eq!(single, out.iter().map(|&value| value as f32).collect::<Vec<_>>());
    out
}

fn check(masks: &[u8], shape: &[usize], spacing: &[f64]) {
    let voxels: usize = shape.iter().product();
    let (mut signed, mut unsigned) = (Vec::new(), Vec::new());
    for mask in masks.chunks(voxels) {
        let labels: Vec<i64> = mask.iter().map(|&value| value.into()).collect();
        let image = ArrayView::from_shape(IxDyn(shape), &labels[..]).expect("as large as its shape");
        let far = shape.iter().zip(spacing).map(|(&n, h)| (n as f64 * h).powi(2)).sum::<f64>().sqrt();
        let map = naive_signed_distances(&image, spacing, Border::Background);
        signed.extend(map.iter().map(|&value| if value == f64::INFINITY { far } else { value }));
        let map = naive_signed_distances(&image, spacing, Border::Open);
        unsigned.extend(map.iter().map(|&value| if value.is_infinite() { 0.0 } else { value.abs() }));
    }
    for cpu in backends() {
        assert_eq!(found(&cpu, masks, shape, spacing, DistanceMap::Signed), signed);
        assert_eq!(found(&cpu, masks, shape, spacing, DistanceMap::Unsigned), unsigned);
        let squared = found(&cpu, masks, shape, spacing, DistanceMap::UnsignedSquared);
        assert_eq!(squared.iter().map(|value| value.sqrt()).collect::<Vec<_>>(), unsigned);
    }
}

#[test]
fn equal_the_definition() {
    let mut state = 9u64;
    let mut noise = |n: usize, percent: u64| -> Vec<u8> {
        (0..n)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                u8::from(state >> 33 & 127 < percent)
            })
            .collect()
    };
    for (shape, spacing) in [
        (&[2, 3][..], &[2.0, 1.0][..]),
        (&[5, 7], &[0.7, 1.3]),
        (&[4, 1, 6], &[3.0, 1.0, 0.5]),
        (&[1, 5, 3], &[0.8, 0.8, 1.7]),
        (&[3, 4, 5], &[1.0, 1.0, 1.0]),
        (&[9], &[0.3]),
    ] {
        let n: usize = shape.iter().product();
        for percent in [0, 5, 60, 125, 128] {
            check(&noise(n, percent), shape, spacing);
            check(&noise(4 * n, percent), shape, spacing);
        }
    }
}

/// Section 7.1 of the specification.
#[test]
fn worked_values() {
    let serial = Cpu::serial();
    let foreground = [0, 1, 1, 0, 1, 0];
    let signed = |mask: &[u8]| found(&serial, mask, &[2, 3], &[2.0, 1.0], DistanceMap::Signed);
    assert_eq!(signed(&foreground), [1.0, -1.0, -1.0, 1.0, -1.0, 1.0]);
    assert_eq!(signed(&[0; 6]), [5.0; 6]);
    assert_eq!(signed(&[1; 6]), [-1.0, -2.0, -1.0, -1.0, -2.0, -1.0]);
    let unsigned = |mask: &[u8]| found(&serial, mask, &[2, 3], &[2.0, 1.0], DistanceMap::Unsigned);
    assert_eq!(unsigned(&foreground), [1.0, 1.0, 2.0, 1.0, 1.0, 1.0]);
    assert_eq!(unsigned(&[1; 6]), [0.0; 6]);
}

#[test]
fn lengths_are_checked() {
    let maps = |shape: &[usize], spacing: &[f64]| {
        CpuMaps.maps(&Cpu::serial(), &[0; 6], shape, spacing, DistanceMap::Signed, DistancesMut::F64(&mut [0.0; 6]))
    };
    assert_eq!(maps(&[2, 3], &[1.0]), Err(Error::SpacingLength { expected: 2, found: 1 }));
    assert!(matches!(maps(&[2, 2], &[1.0, 1.0]), Err(Error::OutputLength { .. })));
    assert!(matches!(maps(&[2, 3], &[1.0, 0.0]), Err(Error::InvalidSpacing { .. })));
    assert!(maps(&[2, 3], &[1.0, 1.0]).is_ok());
}

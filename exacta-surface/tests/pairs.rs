//! Many pairs measured together are each pair measured by itself: a batch of one case and channel.

use std::sync::Arc;

use exacta_core::ndarray::{ArrayD, Axis, IxDyn};
use exacta_core::parallel::Threads;
use exacta_core::quantile::percentile;
use exacta_core::stages::{Need, SurfaceStage, distances_of_pair};
use exacta_core::testing::{labels_of, levels};
use exacta_core::{Bits, Cpu, Error, Level, Percentile, Spacing, SurfaceKind};
use exacta_surface::CpuSurface;
use proptest::prelude::*;

const KINDS: [SurfaceKind; 4] = [SurfaceKind::Voxels, SurfaceKind::Surfels, SurfaceKind::Mesh, SurfaceKind::Faces];

fn stages() -> Vec<CpuSurface> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().expect("a pool");
    let mut cpus: Vec<Cpu> = levels().into_iter().map(|level| Cpu { level, threads: Threads::Serial }).collect();
    cpus.push(Cpu { level: Level::new(), threads: Threads::Pool(Arc::new(pool)) });
    cpus.into_iter().map(|cpu| CpuSurface { cpu }).collect()
}

/// Two masks of a box, in C order or with their axes reversed in memory.
fn pair(shape: &[usize], seed: u64, fortran: bool) -> [Bits; 2] {
    [seed, seed ^ 77].map(|seed| {
        let labels = labels_of(shape, 1, 2, seed, (seed % 2) as u8);
        let mut mask: ArrayD<i64> = labels.index_axis_move(Axis(0), 0);
        if fortran {
            mask = mask.t().as_standard_layout().into_owned().reversed_axes();
        }
        Bits::nonzero(&Cpu::serial(), mask.view()).expect("two or three axes")
    })
}

fn check(pairs: &[[Bits; 2]], spacing: &Spacing) {
    let q = Percentile::new(95.0).expect("a percentile");
    for stage in stages() {
        for kind in KINDS {
            for need in [Need::ALL, Need { directed_percentile: Some(95.0), ..Need::default() }] {
                let make = |i: usize| Ok(pairs[i].clone());
                let found = stage.distances_of_pairs(pairs.len(), &make, kind, spacing, &need).expect("measured");
                assert_eq!(found.len(), pairs.len());
                for (found, pair) in found.iter().zip(pairs) {
                    let wanted = distances_of_pair(&stage, pair, kind, spacing, &need).expect("measured");
                    for (found, wanted) in [
                        (&found.pred_to_target, &wanted.pred_to_target),
                        (&found.target_to_pred, &wanted.target_to_pred),
                    ] {
                        assert_eq!((found.total, found.weight), (wanted.total, wanted.weight), "{kind:?}");
                        if need == Need::ALL {
                            assert_eq!(found, wanted, "{kind:?}");
                        }
                        if pair.iter().all(|mask| mask.count() > 0) {
                            assert_eq!(percentile(found, q), percentile(wanted, q), "{kind:?}");
                        }
                    }
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn together_as_apart(
        sizes in prop::collection::vec((1..7usize, 1..8usize, prop_oneof![3 => 1..9usize, 1 => 60..70usize]), 1..5),
        seed in any::<u64>(),
        fortran in any::<bool>(),
        flat in any::<bool>(),
        spacing in prop::sample::select(vec![[1.0, 1.0, 1.0], [1.5, 0.8, 0.8], [0.3, 1.0, 2.5]]),
    ) {
        let shapes = sizes.into_iter().map(|(d, h, w)| if flat { vec![h.max(2), w.max(2)] } else { vec![d.max(2), h.max(2), w.max(2)] });
        let pairs: Vec<_> = (seed % 1000..).zip(shapes).map(|(seed, shape)| pair(&shape, seed, fortran)).collect();
        let spacing = Spacing::new(&spacing[if flat { 1 } else { 0 }..]).expect("positive");
        check(&pairs, &spacing);
    }
}

#[test]
fn none_empty_and_of_another_order() {
    let stage = CpuSurface::default();
    let spacing = Spacing::new(&[1.0, 1.0, 1.0]).expect("positive");
    let none = stage.distances_of_pairs(0, &|_| unreachable!("no pair"), SurfaceKind::Mesh, &spacing, &Need::ALL);
    assert_eq!(none, Ok(Vec::new()));
    let mut pairs = vec![pair(&[4, 5, 6], 1, false), pair(&[5, 4, 70], 2, false)];
    let empty = ArrayD::<u8>::zeros(IxDyn(&[4, 5, 6]));
    pairs[0][1] = Bits::nonzero(&Cpu::serial(), empty.view()).expect("three axes");
    check(&pairs, &spacing);
    pairs[1] = pair(&[4, 5, 6], 3, true);
    let make = |i: usize| Ok(pairs[i].clone());
    let mixed = stage.distances_of_pairs(2, &make, SurfaceKind::Voxels, &spacing, &Need::ALL);
    assert!(matches!(mixed, Err(Error::GridMismatch { .. })));
}

//! Transforms of one mask: `edt/<side>/<mask>/<spacing>`, two threads.
#![allow(missing_docs, reason = "criterion's macros make public items")]

use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use exacta_core::ndarray::{ArrayD, Axis};
use exacta_core::parallel::Threads;
use exacta_core::testing::{labels_of, organs};
use exacta_core::{Cpu, Level};
use exacta_edt::Edt;

fn masks(n: usize) -> Vec<(&'static str, ArrayD<u8>)> {
    let organs = organs(n).1.index_axis_move(Axis(0), 0).mapv(|label| u8::from(label != 0));
    let noise = |of: i64, below: i64| {
        let labels = labels_of(&[n, n, n], 1, usize::try_from(of).expect("small"), 7, 0).index_axis_move(Axis(0), 0);
        labels.mapv(|label| u8::from(label < below))
    };
    let mut far = ArrayD::from_elem(organs.raw_dim(), 1);
    far[[1, 2, n - 3]] = 0;
    let outside = organs.mapv(|value| 1 - value);
    vec![
        ("organs", organs),
        ("outside", outside),
        ("noise 30", noise(10, 3)),
        ("noise 70", noise(10, 7)),
        ("far voxel", far),
    ]
}

fn transforms(c: &mut Criterion) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    let cpu = Cpu { level: Level::new(), threads: Threads::Pool(Arc::new(pool)) };
    for n in [128, 256] {
        let mut group = c.benchmark_group(format!("edt/{n}"));
        group.sample_size(10).throughput(Throughput::Elements((n * n * n) as u64));
        for (name, mask) in masks(n) {
            let labels = mask.view().into();
            for (spacing, values) in [("isotropic", [1.0, 1.0, 1.0]), ("anisotropic", [1.5, 0.8, 0.8])] {
                let edt = Edt::new(&values).expect("in range");
                let found = edt.squared_distances(&cpu, &labels).expect("measured");
                assert!(found.iter().all(|&d| d < f64::INFINITY));
                group.bench_function(format!("{name}/{spacing}"), |b| b.iter(|| edt.squared_distances(&cpu, &labels)));
            }
        }
        let (_, mask) = masks(n).swap_remove(0);
        let edt = Edt::new(&[1.0, 1.0, 1.0]).expect("in range");
        group.bench_function("organs/signed", |b| b.iter(|| edt.signed_distances(&cpu, &mask.view().into())));
        group.bench_function("organs/nearest", |b| b.iter(|| edt.nearest(&cpu, &mask.view().into())));
    }
}

criterion_group!(benches, transforms);
criterion_main!(benches);

//! Labelling and thinning: `label/<phantom>/<side>/<part>/<connectivity>`, `label/<phantom>/<side>/skeleton`; throughput in voxels.
#![allow(missing_docs, reason = "criterion's macros make public items")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use exacta_components::{label, skeleton};
use exacta_core::ndarray::{Array3, ArrayD};
use exacta_core::testing::organs;
use exacta_core::{Bits, Connectivity, Cpu, Thinning};

/// Three organs, or noise of density 0.3.
fn phantom(name: &str, n: usize) -> ArrayD<u8> {
    if name == "organs" {
        let (_, target) = organs(n);
        let target = target.into_shape_with_order([n, n, n]).expect("one case");
        return target.mapv(|label| u8::from(label > 0)).into_dyn();
    }
    let mut state = 1u64;
    Array3::from_shape_simple_fn([n, n, n], || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        u8::from(state >> 40 < (3 << 24) / 10)
    })
    .into_dyn()
}

fn labelling(c: &mut Criterion) {
    let cpu = Cpu::new();
    for (name, n) in [("organs", 128), ("organs", 256), ("noise", 128), ("noise", 256)] {
        let mask = phantom(name, n);
        let mut group = c.benchmark_group(format!("label/{name}/{n}"));
        group.sample_size(20).throughput(Throughput::Elements((n * n * n) as u64));
        let bits = Bits::nonzero(&cpu, mask.view()).expect("three axes");
        group.bench_function("bits", |b| b.iter(|| Bits::nonzero(&cpu, mask.view())));
        let mut out = vec![0; n * n * n];
        for (value, neighbours) in [(1, 6), (2, 18), (3, 26)] {
            let connectivity = Connectivity::new(value, 3).expect("in range");
            let found = label(&cpu, bits.clone(), connectivity).expect("few runs");
            assert_eq!(found.sizes(&cpu).iter().sum::<u64>(), bits.count());
            group.bench_function(format!("unite/{neighbours}"), |b| {
                b.iter(|| label(&cpu, bits.clone(), connectivity));
            });
            group.bench_function(format!("write/{neighbours}"), |b| {
                b.iter(|| found.write_labels(&cpu, &mut out, false));
            });
            group.bench_function(format!("sizes/{neighbours}"), |b| b.iter(|| found.sizes(&cpu)));
            group.bench_function(format!("table/{neighbours}"), |b| b.iter(|| found.table(&cpu, None)));
        }
        let three = Connectivity::new(3, 3).expect("in range");
        group.bench_function("dilate/26", |b| b.iter(|| bits.dilate(&cpu, three, 1)));
        if name == "organs" {
            let found = skeleton(&cpu, &bits, Thinning::Lee);
            assert_eq!(found.count_common(&bits), found.count());
            group.bench_function("skeleton", |b| b.iter(|| skeleton(&cpu, &bits, Thinning::Lee)));
        }
    }
}

criterion_group!(benches, labelling);
criterion_main!(benches);

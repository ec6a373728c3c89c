//! Counting: `counts/<side>/<dtype>/<instruction set>`, throughput in bytes of labels.
#![allow(missing_docs, reason = "criterion's macros make public items")]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use exacta_core::stages::CountStage;
use exacta_core::testing::{levels, organs};
use exacta_core::{Batch, Cpu, Element, LabelSpec, parallel::Threads};
use ndarray::ArrayD;

/// Touches every element once.
#[inline(always)]
fn read<S, T: Element + PartialEq>(_: S, values: &[T]) -> bool {
    let first = values[0];
    values.iter().fold(false, |differs, value| differs | (*value != first))
}

fn one<T: Element + PartialEq>(
    c: &mut Criterion,
    n: usize,
    dtype: &str,
    pred: &ArrayD<T>,
    target: &ArrayD<T>,
    wanted: u64,
) {
    let mut group = c.benchmark_group(format!("counts/{n}"));
    group.throughput(Throughput::Bytes(2 * (n * n * n * size_of::<T>()) as u64)).sample_size(20);
    let batch = Batch::new(pred.view(), target.view(), LabelSpec::index(4), None).expect("a valid batch");
    // The floor: the same bytes, read and nothing else done.
    for (threads, name) in [(Threads::Serial, "1"), (Threads::Current, "all")] {
        let (p, t) = (pred.as_slice().expect("standard layout"), target.as_slice().expect("standard layout"));
        let share = p.len() / 64;
        group.bench_function(BenchmarkId::new(dtype, format!("floor/{name}")), |b| {
            b.iter(|| {
                threads.map(64, |i| {
                    let range = i * share..(i + 1) * share;
                    let level = exacta_core::Level::new();
                    exacta_core::dispatch!(level, simd => read(simd, &p[range.clone()]) | read(simd, &t[range.clone()]))
                })
            });
        });
    }
    for level in levels() {
        if n == 256 && level.is_fallback() {
            continue;
        }
        for (threads, name) in [(Threads::Serial, "1"), (Threads::Current, "all")] {
            let cpu = Cpu { level, threads };
            assert_eq!(cpu.counts(&batch).expect("valid labels").get(0, 1).true_positives, wanted);
            let id = BenchmarkId::new(dtype, format!("{}/{name}", cpu.level_name()));
            group.bench_function(id, |b| b.iter(|| cpu.counts(&batch)));
        }
    }
}

fn counts(c: &mut Criterion) {
    for n in [128, 256] {
        let (pred, target) = organs(n);
        let wanted = pred.iter().zip(&target).filter(|(p, t)| **p == 1 && **t == 1).count() as u64;
        one(c, n, "int64", &pred, &target, wanted);
        let byte = |a: &ArrayD<i64>| a.mapv(|v| u8::try_from(v).expect("a small label"));
        one(c, n, "uint8", &byte(&pred), &byte(&target), wanted);
    }
}

criterion_group!(benches, counts);
criterion_main!(benches);

//! Counting: `counts/<side>/<dtype>/<instruction set>`, throughput in bytes of labels.
#![allow(missing_docs, reason = "criterion's macros make public items")]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use exacta_core::stages::CountStage;
use exacta_core::testing::{levels, organs};
use exacta_core::{Batch, Cpu, Element, LabelSpec, parallel::Threads};
use ndarray::ArrayD;

fn one<T: Element>(c: &mut Criterion, n: usize, dtype: &str, pred: &ArrayD<T>, target: &ArrayD<T>, wanted: u64) {
    let mut group = c.benchmark_group(format!("counts/{n}"));
    group.throughput(Throughput::Bytes(2 * (n * n * n * size_of::<T>()) as u64)).sample_size(20);
    let batch = Batch::new(pred.view(), target.view(), LabelSpec::index(4), None).expect("a valid batch");
    for level in levels() {
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

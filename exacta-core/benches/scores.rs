//! Probabilities: `scores/<measure>/<threads>` of 128^3 voxels, four channels of f32 and an int64 reference; throughput in bytes.
#![allow(missing_docs, reason = "criterion's macros make public items")]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use exacta_core::stages::{RankNeed, ScoreStage, Term};
use exacta_core::testing::organs;
use exacta_core::{Bins, CalibrationMode, Cpu, ScoreBatch, ScoreSpec, parallel::Threads};
use ndarray::{Array4, Array5, Axis};

const SIDE: usize = 128;
const CHANNELS: usize = 4;

/// Mostly right, never sure: the reference's class gets 0.4 to 1 of the weight.
fn probabilities(target: &Array4<i64>) -> Array5<f32> {
    let mut state = 1u64;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        f32::from(u16::try_from(state >> 48).expect("16 bits")) / 65536.0
    };
    let mut scores = Array5::zeros((1, CHANNELS, SIDE, SIDE, SIDE));
    for (mut voxel, &label) in scores.index_axis_mut(Axis(0), 0).lanes_mut(Axis(0)).into_iter().zip(target) {
        let own = 0.4 + 0.6 * uniform();
        for (class, score) in (0i64..).zip(&mut voxel) {
            *score = if class == label { own } else { (1.0 - own) / 3.0 };
        }
    }
    scores
}

fn scores(c: &mut Criterion) {
    let (_, target) = organs(SIDE);
    let target = target.into_dimensionality().expect("(batch, depth, height, width)");
    let pred = probabilities(&target);
    let spec = ScoreSpec { multilabel: false, from_logits: false, ignore_index: None };
    let batch = ScoreBatch::new(pred.view().into_dyn(), target.view().into_dyn(), spec, None).expect("a valid batch");
    let mut group = c.benchmark_group("scores");
    group.throughput(Throughput::Bytes((pred.len() * 4 + target.len() * 8) as u64)).sample_size(20);
    let bins = Bins::new(15, 1).expect("a number");
    for (threads, name) in [(Threads::Serial, "1"), (Threads::Current, "all")] {
        let cpu = Cpu { threads, ..Cpu::new() };
        group.bench_function(BenchmarkId::new("expected_calibration_error", name), |b| {
            b.iter(|| cpu.reliability(&batch, bins, CalibrationMode::TopLabel));
        });
        group.bench_function(BenchmarkId::new("expected_calibration_error_classwise", name), |b| {
            b.iter(|| cpu.reliability(&batch, bins, CalibrationMode::Classwise));
        });
        group.bench_function(BenchmarkId::new("brier_score", name), |b| {
            b.iter(|| cpu.score_sums(&batch, Term::Brier));
        });
        group.bench_function(BenchmarkId::new("negative_log_likelihood", name), |b| {
            b.iter(|| cpu.score_sums(&batch, Term::LogLoss));
        });
        group.bench_function(BenchmarkId::new("auroc", name), |b| {
            b.iter(|| cpu.rank_sums(&batch, RankNeed::Wins, 1));
        });
        group.bench_function(BenchmarkId::new("average_precision", name), |b| {
            b.iter(|| cpu.rank_sums(&batch, RankNeed::Precisions, 1));
        });
    }
}

criterion_group!(benches, scores);
criterion_main!(benches);

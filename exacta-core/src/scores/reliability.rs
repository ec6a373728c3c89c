//! Confidences and outcomes, summed in bins.

use super::batch::{ScoreBatch, ScoreMap};
use super::diagnose::diagnose;
use super::real::Real;
use super::tile::{Activation, Invalid, TILE, Tile};
use crate::stages::{Reliability, ReliabilityBin};
use crate::{Bins, CalibrationMode, Cpu, Result, Table};

/// Independent partial sums of a bin: voxel `i` of a tile goes to `i % WAYS`, so neighbours do not wait for each other.
const WAYS: usize = 4;

/// Partial sums of a bin: two stores a voxel.
#[derive(Debug, Clone, Copy, Default)]
struct Partial {
    confidence: f64,
    /// Voxels in the low half, outcomes in the high one: a share has fewer than 2^32 voxels.
    tally: u64,
}

pub(crate) fn reliability(
    cpu: &Cpu,
    batch: &ScoreBatch<'_>,
    bins: Bins,
    mode: CalibrationMode,
) -> Result<Table<Reliability>> {
    let shares = batch.shares();
    let double = batch.is_double() || batch.spec().multilabel;
    let top = mode == CalibrationMode::TopLabel && !batch.spec().multilabel;
    let columns = if top || batch.is_binary() { 1 } else { batch.channels() };
    let parts = batch.threads(&cpu.threads).map(batch.maps() * shares, |item| {
        let (map, voxels) = (batch.map(item / shares), batch.share(item % shares));
        if double {
            share::<f64>(cpu, batch, &map, (bins, top, columns), voxels)
        } else {
            share::<f32>(cpu, batch, &map, (bins, top, columns), voxels)
        }
    });
    let mut tables = Vec::with_capacity(batch.maps() * columns);
    let mut parts = parts.into_iter();
    for _ in 0..batch.maps() {
        let mut whole = vec![Reliability::new(bins.count()); columns];
        for part in parts.by_ref().take(shares) {
            for (whole, part) in whole.iter_mut().zip(part.map_err(|Invalid| diagnose(cpu, batch))?) {
                *whole += &part;
            }
        }
        tables.append(&mut whole);
    }
    Ok(Table::new(batch.cases(), batch.maps_of_case() * columns, tables))
}

fn share<T: Real>(
    cpu: &Cpu,
    batch: &ScoreBatch<'_>,
    map: &ScoreMap<'_>,
    (bins, top, columns): (Bins, bool, usize),
    voxels: std::ops::Range<usize>,
) -> Result<Vec<Reliability>, Invalid> {
    let mut tile = Tile::<T>::new(map);
    let (mut confidence, mut outcome, mut places) = (vec![T::ZERO; TILE], vec![0u32; TILE], vec![0u32; TILE]);
    let mut sums = vec![Partial::default(); columns * bins.count() * WAYS];
    for start in voxels.clone().step_by(TILE) {
        let len = TILE.min(voxels.end - start);
        tile.load(map, cpu.level, start, len)?;
        tile.check(cpu.level, batch, false)?;
        if batch.spec().from_logits {
            tile.activate(Activation::Probability);
        }
        let n = tile.len();
        let (confidence, outcome, places) = (&mut confidence[..n], &mut outcome[..n], &mut places[..n]);
        for (column, sums) in sums.chunks_exact_mut(bins.count() * WAYS).enumerate() {
            fearless_simd::dispatch!(cpu.level, _simd => {
                judge(batch, &tile, (top, column), confidence, outcome);
                for (place, value) in places.iter_mut().zip(&*confidence) {
                    *place = bins.of(value.to_f64());
                }
            });
            for i in 0..n {
                let bin = &mut sums[places[i] as usize * WAYS + i % WAYS];
                bin.confidence += confidence[i].to_f64();
                bin.tally += 1 | u64::from(outcome[i]) << 32;
            }
        }
    }
    let columns = sums.chunks_exact(bins.count() * WAYS).map(|sums| {
        let bins = sums.chunks_exact(WAYS).map(|ways| {
            let mut whole = ReliabilityBin::default();
            for way in ways {
                whole += ReliabilityBin {
                    count: way.tally & u64::from(u32::MAX),
                    confidence: way.confidence,
                    outcomes: way.tally >> 32,
                };
            }
            whole
        });
        Reliability { bins: bins.collect() }
    });
    Ok(columns.collect())
}

/// Confidence and outcome of each voxel.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "labels of a map fit u32")]
fn judge<T: Real>(
    batch: &ScoreBatch<'_>,
    tile: &Tile<T>,
    (top, column): (bool, usize),
    confidence: &mut [T],
    outcome: &mut [u32],
) {
    let labels = tile.labels();
    if batch.is_binary() {
        let half = T::from_f64(0.5);
        for i in 0..confidence.len() {
            let value = tile.channel(0)[i];
            let positive = !top | (value > half);
            confidence[i] = if positive { value } else { T::ONE - value };
            outcome[i] = u32::from((labels[i] == 1) == positive);
        }
    } else if top {
        confidence.copy_from_slice(tile.channel(0));
        for class in 1..batch.channels() {
            for (confidence, &value) in confidence.iter_mut().zip(tile.channel(class)) {
                *confidence = value.max(*confidence);
            }
        }
        // Bit 0: a class has the largest value; bit 1: the first such class is the label. Words are or-ed, since keeping a class
        // where it stays would make masked stores as well.
        outcome.fill(0);
        for class in 0..batch.channels() {
            let voxels = outcome.iter_mut().zip(&*confidence).zip(tile.channel(class)).zip(labels);
            for (((state, &confidence), &value), &label) in voxels {
                let first = u32::from(value == confidence) & !*state;
                *state |= first | (first & u32::from(label == class as u32)) << 1;
            }
        }
        for outcome in &mut *outcome {
            *outcome >>= 1;
        }
    } else {
        confidence.copy_from_slice(tile.channel(column));
        for (outcome, &label) in outcome.iter_mut().zip(labels) {
            *outcome = u32::from(label == column as u32);
        }
    }
}

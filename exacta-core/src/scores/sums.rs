//! Sums of a term per voxel: Brier and logarithmic scores.
//!
//! Memory touched: each score and label once; allocated: a tile a thread.

use super::batch::{ScoreBatch, ScoreMap};
use super::diagnose::diagnose;
use super::real::Real;
use super::tile::{Activation, Invalid, TILE, Tile};
use super::{LANES, add_lanes, sum_lanes};
use crate::stages::{ScoreSums, Term};
use crate::{Cpu, Result, Table};

pub(crate) fn score_sums(cpu: &Cpu, batch: &ScoreBatch<'_>, term: Term) -> Result<Table<ScoreSums>> {
    let shares = batch.shares();
    let double = batch.is_double() || batch.spec().multilabel;
    let parts = batch.threads(&cpu.threads).map(batch.maps() * shares, |item| {
        let (map, voxels) = (batch.map(item / shares), batch.share(item % shares));
        if double { share::<f64>(cpu, batch, &map, term, voxels) } else { share::<f32>(cpu, batch, &map, term, voxels) }
    });
    let mut sums = Vec::with_capacity(batch.maps());
    for parts in parts.chunks(shares) {
        let mut whole = ScoreSums::default();
        for part in parts {
            whole += (*part).map_err(|Invalid| diagnose(cpu, batch))?;
        }
        sums.push(whole);
    }
    Ok(Table::new(batch.cases(), batch.maps_of_case(), sums))
}

fn share<T: Real>(
    cpu: &Cpu,
    batch: &ScoreBatch<'_>,
    map: &ScoreMap<'_>,
    term: Term,
    voxels: std::ops::Range<usize>,
) -> Result<ScoreSums, Invalid> {
    let mut tile = Tile::<T>::new(map);
    let mut terms = [T::ZERO; TILE];
    let (mut count, mut lanes) = (0, [0.0; LANES]);
    for start in voxels.clone().step_by(TILE) {
        let len = TILE.min(voxels.end - start);
        tile.load(map, cpu.level, start, len)?;
        tile.check(cpu.level, batch, false)?;
        let terms = &mut terms[..tile.len()];
        match term {
            Term::Brier => {
                if batch.spec().from_logits {
                    tile.activate(Activation::Probability);
                }
                fearless_simd::dispatch!(cpu.level, _simd => brier(batch, &tile, terms));
            }
            Term::LogLoss => log_loss(batch, &mut tile, terms),
        }
        add_lanes(&mut lanes, terms);
        count += tile.len() as u64;
    }
    Ok(ScoreSums { count, sum: sum_lanes(lanes) })
}

/// The squared distance to the outcome, over all channels.
#[inline(always)]
fn brier<T: Real>(batch: &ScoreBatch<'_>, tile: &Tile<T>, terms: &mut [T]) {
    let labels = tile.labels();
    terms.fill(T::ZERO);
    let channels = if batch.is_binary() { 1..2 } else { 0..batch.channels() };
    for class in channels {
        let values = tile.channel(if batch.is_binary() { 0 } else { class });
        #[expect(clippy::cast_possible_truncation, reason = "labels of a map fit u32")]
        let class = class as u32;
        for ((term, &value), &label) in terms.iter_mut().zip(values).zip(labels) {
            let gap = value - if label == class { T::ONE } else { T::ZERO };
            *term = *term + gap * gap;
        }
    }
}

/// Minus the logarithm of the probability of the outcome.
fn log_loss<T: Real>(batch: &ScoreBatch<'_>, tile: &mut Tile<T>, terms: &mut [T]) {
    let spec = *batch.spec();
    if !batch.is_binary() {
        if spec.from_logits {
            tile.activate(Activation::LogSoftmax);
        }
        for (i, (term, &label)) in terms.iter_mut().zip(tile.labels()).enumerate() {
            let value = tile.channel(label as usize)[i];
            *term = -if spec.from_logits { value } else { value.ln() };
        }
        return;
    }
    for ((term, &value), &label) in terms.iter_mut().zip(tile.channel(0)).zip(tile.labels()) {
        *term = if spec.from_logits {
            let z = if label != 0 { -value } else { value };
            (if z > T::ZERO { z } else { T::ZERO }) + (-z.abs()).exp().ln_1p()
        } else if label != 0 {
            -value.ln()
        } else if spec.multilabel {
            -(-value).ln_1p()
        } else {
            -(T::ONE - value).ln()
        };
    }
}

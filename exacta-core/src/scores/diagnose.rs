//! Why a batch was refused: the first rule broken, in the documented order, by the first value that breaks it.

use super::batch::ScoreBatch;
use super::tile::TILE;
use crate::labels::sealed::Value;
use crate::{Cpu, Error};

/// The error of a batch in which a pass found a value that breaks a rule.
pub(super) fn diagnose(cpu: &Cpu, batch: &ScoreBatch<'_>) -> Error {
    target(cpu, batch)
        .or_else(|| scores(cpu, batch, |value| !value.is_finite(), |value| Error::NotFinite { value }))
        .or_else(|| scores(cpu, batch, |value| !(0.0..=1.0).contains(&value), |value| Error::NotProbability { value }))
        .or_else(|| sums(cpu, batch))
        .expect("a pass found a value that breaks a rule")
}

fn keep(cpu: &Cpu, map: &super::batch::ScoreMap<'_>, voxels: usize) -> Vec<u8> {
    let mut keep = vec![1; voxels];
    map.keep(cpu.level, 0, &mut keep);
    keep
}

fn target(cpu: &Cpu, batch: &ScoreBatch<'_>) -> Option<Error> {
    let (mut min, mut max, mut fraction) = (i128::MAX, i128::MIN, None);
    for map in 0..batch.maps() {
        let map = batch.map(map);
        let keep = keep(cpu, &map, batch.voxels());
        map.target.for_each(&mut |i, value| {
            if keep[i] != 0 {
                match value {
                    Value::Whole(value) => (min, max) = (min.min(value), max.max(value)),
                    Value::Fractional(value) => fraction = fraction.or(Some(value)),
                }
            }
        });
    }
    let classes = if batch.is_binary() { 2 } else { batch.channels() };
    let broken = min <= max && (min < 0 || max >= classes as i128);
    #[expect(clippy::cast_precision_loss, reason = "for a message")]
    if batch.spec().multilabel {
        fraction
            .or(broken.then_some(if min < 0 { min } else { max } as f64))
            .map(|value| Error::MultilabelTarget { value })
    } else {
        broken.then(|| {
            let hint = match max {
                255 if min >= 0 && batch.spec().ignore_index.is_none() => {
                    "; pass ignore_index=255 if that marks voxels to leave out"
                }
                -1.. if min == -1 && batch.spec().ignore_index.is_none() => {
                    "; pass ignore_index=-1 if that marks voxels to leave out"
                }
                _ => "",
            };
            Error::TargetClass { classes, min, max, hint }
        })
    }
}

/// The first counted score that is `bad`.
fn scores(cpu: &Cpu, batch: &ScoreBatch<'_>, bad: impl Fn(f64) -> bool, error: impl Fn(f64) -> Error) -> Option<Error> {
    let mut values = vec![0.0; TILE];
    for map in 0..batch.maps() {
        let map = batch.map(map);
        let keep = keep(cpu, &map, batch.voxels());
        for channel in &map.channels {
            for (tile, keep) in keep.chunks(TILE).enumerate() {
                channel.read(tile * TILE, &mut values[..keep.len()]);
                let found = values.iter().zip(keep).find(|(value, keep)| **keep != 0 && bad(**value));
                if let Some((&value, _)) = found {
                    return Some(error(value));
                }
            }
        }
    }
    None
}

fn sums(cpu: &Cpu, batch: &ScoreBatch<'_>) -> Option<Error> {
    let (mut values, tolerance) = (vec![0.0; TILE], batch.tolerance());
    let mut worst = 1.0f64;
    for map in 0..batch.maps() {
        let map = batch.map(map);
        let keep = keep(cpu, &map, batch.voxels());
        for (tile, keep) in keep.chunks(TILE).enumerate() {
            let mut sums = vec![0.0f64; keep.len()];
            for channel in &map.channels {
                channel.read(tile * TILE, &mut values[..keep.len()]);
                for (sum, value) in sums.iter_mut().zip(&values) {
                    *sum += value;
                }
            }
            for (&sum, _) in sums.iter().zip(keep).filter(|(_, keep)| **keep != 0) {
                if (sum - 1.0).abs() > (worst - 1.0).abs() {
                    worst = sum;
                }
            }
        }
    }
    // The farthest: in single precision a sum may fail that is within by a hair in double.
    Some(Error::ChannelSum { sum: worst, tolerance })
}

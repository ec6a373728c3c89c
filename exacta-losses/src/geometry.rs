//! What the losses of distances and skeletons share: masks of the target, maps, and a gradient from kept slopes.

use exacta_core::stages::DistanceMap;
use exacta_core::{Cpu, Error, Result};

use crate::activation::Activation;
use crate::batch::LossBatch;
use crate::blocks::Blocks;
use crate::logits::{LogitViews, LogitsMut};
use crate::loss::Saved;
use crate::lovasz::{background, one_number};
use crate::predict::{chain, class, predict};
use crate::real::Float;
use crate::tile::Tile;

/// The selected channels of a batch: rows of a number a voxel, case by case.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Selected {
    pub(crate) first: usize,
    pub(crate) channels: usize,
    pub(crate) voxels: usize,
    pub(crate) cases: usize,
}

impl Selected {
    /// All channels, or all but the first.
    ///
    /// # Errors
    /// [`Error::LossShape`] unless there are two or three spatial axes, none of them empty; [`Error::LossOption`] without
    /// channels.
    pub(crate) fn new(batch: &LossBatch<'_>, include_background: bool) -> Result<Self> {
        let shape = batch.shape();
        if !(4..=5).contains(&shape.len()) || shape.contains(&0) {
            return Err(Error::LossShape {
                argument: "input",
                rule: "have shape (B, C, H, W) or (B, C, D, H, W) and no empty axis",
                found: shape.to_vec(),
                input: shape.to_vec(),
            });
        }
        background(include_background, batch.channels())?;
        let first = usize::from(!include_background);
        let (cases, voxels) = (batch.cases(), batch.voxels());
        if u32::try_from(voxels).is_err() {
            return Err(Error::TooLarge {
                what: "number of voxels of a case",
                value: voxels,
                limit: u32::MAX as usize,
            });
        }
        Ok(Self { first, channels: batch.channels() - first, voxels, cases })
    }

    /// Number of maps.
    pub(crate) const fn rows(&self) -> usize {
        self.cases * self.channels
    }

    /// Elements of all maps.
    pub(crate) const fn size(&self) -> usize {
        self.rows() * self.voxels
    }

    /// The row of a case and channel.
    pub(crate) const fn row(&self, case: usize, channel: usize) -> usize {
        case * self.channels + channel - self.first
    }
}

/// What a pass over all voxels leaves, rows of the selected channels.
#[derive(Debug)]
pub(crate) struct Fields<F> {
    /// Predictions.
    pub(crate) predictions: Option<Vec<F>>,
    /// 1 where the prediction is above the threshold.
    pub(crate) predicted: Vec<u8>,
    /// 1 where the target is the class.
    pub(crate) target: Vec<u8>,
}

/// Which fields are needed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Want {
    pub(crate) predictions: bool,
    pub(crate) threshold: Option<f64>,
    pub(crate) target: bool,
}

/// Reads every voxel, excluded or not, once.
///
/// # Errors
/// [`Error::LossLabel`]; [`Error::NotBinary`] for a one-hot target that is neither 0 nor 1; with a threshold
/// [`Error::LossOption`] for a prediction that is not finite.
pub(crate) fn fields<F: Float>(
    cpu: &Cpu,
    batch: &LossBatch<'_>,
    activation: Activation,
    selected: Selected,
    want: Want,
) -> Result<Fields<F>> {
    let batch = &batch.unmasked();
    let of = |wanted: bool| if wanted { selected.size() } else { 0 };
    let mut predictions = vec![F::ZERO; of(want.predictions)];
    let (mut predicted, mut target) = (vec![0u8; of(want.threshold.is_some())], vec![0u8; of(want.target)]);
    let blocks = (
        Blocks::new(&mut predictions, selected.voxels),
        Blocks::new(&mut predicted, selected.voxels),
        Blocks::new(&mut target, selected.voxels),
    );
    let threshold = want.threshold.map(F::from_f64);
    let found = batch.map_blocks(cpu, |case, voxels| {
        let mut tile = Tile::<F>::new(batch.channels(), batch.is_one_hot());
        let (mut invalid, mut other, mut infinite) = (0, None, None);
        for start in voxels.clone().step_by(tile.row) {
            let len = tile.row.min(voxels.end - start);
            batch.read(cpu.level, case, start, len, &mut tile);
            invalid += tile.invalid;
            let channels = 0..batch.channels();
            if batch.is_one_hot() {
                for channel in channels.clone() {
                    let goals = &tile.goals[tile.channel(channel)];
                    let bad = |goal: &&F| !(**goal == F::ZERO || **goal == F::ONE);
                    other = other.or_else(|| goals.iter().find(bad).map(|goal| goal.to_f64()));
                }
            }
            if want.predictions || threshold.is_some() {
                predict(cpu.level, activation, &mut tile);
            }
            for channel in channels.skip(selected.first) {
                let (row, place) = (selected.row(case, channel), tile.channel(channel));
                if want.target {
                    blocks.2.with(row, start, len, |out| {
                        if batch.is_one_hot() {
                            let goals = &tile.goals[place.clone()];
                            exacta_core::dispatch!(cpu.level, simd => equal(simd, goals, F::ONE, out));
                        } else {
                            let labels = &tile.labels[..len];
                            exacta_core::dispatch!(cpu.level, simd => equal(simd, labels, class(channel), out));
                        }
                    });
                }
                let p = &tile.logits[place];
                if want.predictions {
                    blocks.0.with(row, start, len, |out| out.copy_from_slice(p));
                }
                if let Some(threshold) = threshold {
                    blocks.1.with(row, start, len, |out| {
                        let finite = exacta_core::dispatch!(cpu.level, simd => above(simd, p, threshold, out));
                        if !finite {
                            infinite = infinite.or_else(|| p.iter().map(|p| p.to_f64()).find(|p| !p.is_finite()));
                        }
                    });
                }
            }
        }
        (invalid, other, infinite)
    });
    drop(blocks);
    if found.iter().any(|&(invalid, ..)| invalid > 0) {
        return Err(batch.label_error());
    }
    if let Some(value) = found.iter().find_map(|&(_, other, _)| other) {
        let hint = ": geometry has no soft targets and no ignored markers";
        return Err(Error::NotBinary { argument: "target", value, hint });
    }
    if let Some(value) = found.iter().find_map(|&(.., infinite)| infinite) {
        let rule = "give finite predictions everywhere, also where the mask excludes: distances see the whole image";
        return Err(Error::LossOption { argument: "input", rule: rule.to_owned(), value: value.to_string() });
    }
    Ok(Fields { predictions: want.predictions.then_some(predictions), predicted, target })
}

#[inline(always)]
fn equal<S: Copy, F: Float>(_: S, values: &[F], value: F, out: &mut [u8]) {
    for (out, &other) in out.iter_mut().zip(values) {
        *out = u8::from(other == value);
    }
}

/// Which values are above a threshold; whether all are finite.
#[inline(always)]
fn above<S: Copy, F: Float>(_: S, values: &[F], threshold: F, out: &mut [u8]) -> bool {
    let mut finite = true;
    for (out, &value) in out.iter_mut().zip(values) {
        *out = u8::from(value > threshold);
        finite &= value * F::ZERO == F::ZERO;
    }
    finite
}

/// Distance maps of masks, with one spacing for all cases or one a case.
///
/// # Errors
/// [`Error::LossOption`] without a spacing, with another number of values, or without a stage; those of the stage.
pub(crate) fn maps<F: Float>(
    cpu: &Cpu,
    batch: &LossBatch<'_>,
    selected: Selected,
    spacing: &[f64],
    masks: &[u8],
    map: DistanceMap,
) -> Result<Vec<F>> {
    let axes = batch.shape().len() - 2;
    let per_case = match spacing.len() {
        n if n == axes => false,
        n if n == axes * batch.cases() => true,
        n => {
            let rule = format!("have {axes} values, or {axes} a case");
            return Err(Error::LossOption { argument: "spacing", rule, value: format!("{n} values") });
        }
    };
    let Some(stage) = batch.distances() else {
        let rule = "be given where no distance stage is".to_owned();
        return Err(Error::LossOption { argument: "distance_map", rule, value: "none".to_owned() });
    };
    let mut out = vec![F::ZERO; masks.len()];
    let together = if per_case { selected.channels * selected.voxels } else { masks.len() };
    for (case, (masks, out)) in masks.chunks(together.max(1)).zip(out.chunks_mut(together.max(1))).enumerate() {
        let spacing = if per_case { &spacing[case * axes..(case + 1) * axes] } else { spacing };
        stage.maps(cpu, masks, &batch.shape()[2..], spacing, map, F::distances(out))?;
    }
    Ok(out)
}

/// A given map as numbers.
///
/// # Errors
/// [`Error::LossShape`], and [`Error::LossOption`] for a value that is not finite or for which `allowed` fails.
pub(crate) fn given<F: Float>(
    cpu: &Cpu,
    batch: &LossBatch<'_>,
    selected: Selected,
    argument: &'static str,
    (rule, allowed): (&str, impl Fn(usize, f64) -> bool + Sync),
) -> Result<Option<Vec<F>>> {
    let Some(map) = batch.map() else { return Ok(None) };
    let mut shape = batch.shape().to_vec();
    shape[1] = selected.channels;
    if map.shape() != shape {
        let rule = "have the shape of the selected channels of input";
        return Err(Error::LossShape { argument, rule, found: map.shape().to_vec(), input: shape });
    }
    let views = LogitViews::new(map)?;
    let mut out = vec![F::ZERO; selected.size()];
    let blocks = Blocks::new(&mut out, selected.voxels);
    let wrong = batch.map_blocks(cpu, |case, voxels| {
        let mut wrong = None;
        for channel in 0..selected.channels {
            let row = case * selected.channels + channel;
            blocks.with(row, voxels.start, voxels.len(), |out| {
                views.read(cpu.level, [case, channel], voxels.start, out);
                for (i, value) in out.iter().enumerate() {
                    let value = value.to_f64();
                    if !(value.is_finite() && allowed(row * selected.voxels + voxels.start + i, value)) {
                        wrong = wrong.or(Some(value));
                    }
                }
            });
        }
        wrong
    });
    drop(blocks);
    match wrong.into_iter().flatten().next() {
        Some(value) => Err(Error::LossOption { argument, rule: rule.to_owned(), value: value.to_string() }),
        None => Ok(Some(out)),
    }
}

/// Number of counted voxels of the batch times selected channels: what means are divided by.
pub(crate) fn divisor<F: Float>(cpu: &Cpu, batch: &LossBatch<'_>, selected: Selected) -> f64 {
    let included = if batch.has_exclusions() {
        let sums = batch.sum_tiles::<F>(cpu, 1, |tile, sums| {
            sums[0] += crate::lovasz::count(usize::try_from(tile.included).unwrap_or(usize::MAX));
        });
        sums.iter().sum()
    } else {
        crate::lovasz::count(selected.cases * selected.voxels)
    };
    included * crate::lovasz::count(selected.channels)
}

/// Writes the gradient from kept derivatives by the predictions of the selected channels.
///
/// # Errors
/// [`Error::LossOption`] if they are not of this batch.
pub(crate) fn gradient_of_slopes<F: Float>(
    cpu: &Cpu,
    batch: &LossBatch<'_>,
    activation: Activation,
    selected: Selected,
    saved: &Saved,
    grad_output: &[f64],
    grad_input: LogitsMut<'_>,
) -> Result<()> {
    let kept = F::kept_all(&saved.kept, selected.size())?;
    let incoming = F::from_f64(one_number(grad_output)?);
    batch.write_gradient::<F>(cpu, grad_input, |tile| {
        predict(cpu.level, activation, tile);
        let mut slopes = vec![F::ZERO; tile.channels * tile.row];
        for channel in selected.first..tile.channels {
            let kept = &kept[selected.row(tile.case, channel) * selected.voxels + tile.start..][..tile.len];
            let out = &mut slopes[tile.channel(channel)];
            exacta_core::dispatch!(cpu.level, simd => scale(simd, kept, incoming, out));
        }
        chain(cpu.level, activation, tile, &slopes);
    })
}

#[inline(always)]
fn scale<S: Copy, F: Float>(_: S, values: &[F], factor: F, out: &mut [F]) {
    for (out, &value) in out.iter_mut().zip(values) {
        *out = value * factor;
    }
}

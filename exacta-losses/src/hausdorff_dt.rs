//! The Hausdorff distance loss by distance transforms.

use exacta_core::stages::DistanceMap;
use exacta_core::{Cpu, Error, Result};

use crate::activation::Activation;
use crate::batch::LossBatch;
use crate::blocks::Blocks;
use crate::boundary::no_spacing;
use crate::geometry::{Selected, Want, divisor, fields, given, gradient_of_slopes, maps};
use crate::logits::LogitsMut;
use crate::loss::{Forward, Loss, Saved};
use crate::predict::{class, predict};
use crate::real::Float;

/// Hausdorff-DT loss: the mean of `(p - g)² (h^α + t^α)` over selected channels and counted voxels.
///
/// t is the distance of each voxel to the other side of the target mask, h that of the mask `p > threshold`, both 0 in an image of one
/// side alone ([`DistanceMap::Unsigned`]); a map of the caller's stands for t, not raised. Each channel has its own masks, also with
/// softmax. The mask of the batch limits the mean, never the geometry: predictions must be finite everywhere.
/// # Gradient
/// `2 (p - g) (h^α + t^α) / divisor` by p; distances are constants.
/// # Memory
/// Two maps and two bytes a voxel and channel; a number a voxel and channel is kept.
/// # Agreement
/// MONAI's `HausdorffDTLoss` at unit spacing.
/// # Reference
/// Karimi, Salcudean: Reducing the Hausdorff distance in medical image segmentation with convolutional neural networks, 2019, equation 7.
#[derive(Debug, Clone, PartialEq)]
pub struct HausdorffDt {
    /// What turns logits into predictions.
    pub activation: Activation,
    /// Whether channel 0 takes part.
    pub include_background: bool,
    /// Voxel size along each axis, for all cases or for each.
    pub spacing: Option<Vec<f64>>,
    alpha: f64,
    threshold: f64,
}

impl HausdorffDt {
    /// With an exponent and a threshold.
    ///
    /// # Errors
    /// [`Error::LossOption`] unless `alpha` is finite and positive and `threshold` lies in (0, 1).
    pub fn new(alpha: f64, threshold: f64) -> Result<Self> {
        let wrong = |argument, rule: &str, value: f64| {
            Err(Error::LossOption { argument, rule: rule.to_owned(), value: value.to_string() })
        };
        if !(alpha.is_finite() && alpha > 0.0) {
            return wrong("alpha", "be finite and positive", alpha);
        }
        if !(threshold > 0.0 && threshold < 1.0) {
            return wrong("threshold", "lie in (0, 1)", threshold);
        }
        Ok(Self { activation: Activation::Softmax, include_background: false, spacing: None, alpha, threshold })
    }

    /// The same of other predictions, with or without channel 0.
    #[must_use]
    pub fn of(self, activation: Activation, include_background: bool) -> Self {
        Self { activation, include_background, ..self }
    }

    /// The same with a voxel size.
    #[must_use]
    pub fn with_spacing(self, spacing: Option<Vec<f64>>) -> Self {
        Self { spacing, ..self }
    }

    fn forward_in<F: Float>(&self, cpu: &Cpu, batch: &LossBatch<'_>, selected: Selected) -> Result<Forward> {
        let rule = ("be finite and not negative", |_, value: f64| value >= 0.0);
        let target_map = given::<F>(cpu, batch, selected, "distance_map", rule)?;
        let want = Want { threshold: Some(self.threshold), target: target_map.is_none(), predictions: false };
        let found = fields::<F>(cpu, batch, self.activation, selected, want)?;
        let spacing = self.spacing.as_deref().ok_or_else(|| no_spacing("the Hausdorff loss"))?;
        // Squares come without their root where they are what is asked for.
        let squared = self.alpha == 2.0;
        let map = if squared { DistanceMap::UnsignedSquared } else { DistanceMap::Unsigned };
        let mut weights = maps::<F>(cpu, batch, selected, spacing, &found.predicted, map)?;
        let (target_map, raised) = match target_map {
            Some(map) => (map, false),
            None => (maps::<F>(cpu, batch, selected, spacing, &found.target, map)?, squared),
        };
        drop(found);
        let divisor = divisor::<F>(cpu, batch, selected);
        let blocks = Blocks::new(&mut weights, selected.voxels);
        let scale = F::from_f64(if divisor > 0.0 { 2.0 / divisor } else { 0.0 });
        let sums = batch.sum_tiles::<F>(cpu, 1, |tile, sums| {
            predict(cpu.level, self.activation, tile);
            let (len, labels) = (tile.len, &tile.labels[..tile.len]);
            for channel in selected.first..tile.channels {
                let place = tile.channel(channel);
                let row = selected.row(tile.case, channel);
                let there = &target_map[row * selected.voxels + tile.start..][..len];
                let goals = if batch.is_one_hot() { Err(&tile.goals[place.clone()]) } else { Ok(class(channel)) };
                let p = &tile.logits[place];
                blocks.with(row, tile.start, len, |out| {
                    let mut apart = [F::ZERO; 512];
                    exacta_core::dispatch!(cpu.level, simd => differences(simd, p, labels, goals, &mut apart[..len]));
                    let here = |h: F| if squared { h } else { self.power(h) };
                    for (((out, &there), &apart), &label) in out.iter_mut().zip(there).zip(&apart).zip(labels) {
                        let weight = here(*out) + if raised { there } else { self.power(there) };
                        if label >= F::ZERO {
                            sums[0] += (apart * apart * weight).to_f64();
                            *out = apart * weight * scale;
                        } else {
                            *out = F::ZERO;
                        }
                    }
                });
            }
        });
        drop(blocks);
        let value = if divisor > 0.0 { sums.iter().sum::<f64>() / divisor } else { 0.0 };
        Ok(Forward { values: vec![value], saved: Saved { numbers: Vec::new(), kept: F::keep_all(weights) } })
    }

    fn power<F: Float>(&self, distance: F) -> F {
        if self.alpha == 2.0 {
            distance * distance
        } else if self.alpha == 1.0 {
            distance
        } else {
            F::from_f64(distance.to_f64().powf(self.alpha))
        }
    }
}

/// `p - g` of a row: labels of a class, or goals.
#[inline(always)]
fn differences<S: Copy, F: Float>(_: S, p: &[F], labels: &[F], goals: Result<F, &[F]>, out: &mut [F]) {
    match goals {
        Ok(class) => {
            for ((out, &p), &label) in out.iter_mut().zip(p).zip(labels) {
                *out = p - if label == class { F::ONE } else { F::ZERO };
            }
        }
        Err(goals) => {
            for ((out, &p), &goal) in out.iter_mut().zip(p).zip(goals) {
                *out = p - goal;
            }
        }
    }
}

impl Loss for HausdorffDt {
    fn forward(&self, cpu: &Cpu, batch: &LossBatch<'_>) -> Result<Forward> {
        let selected = Selected::new(batch, self.include_background)?;
        if batch.is_double() {
            self.forward_in::<f64>(cpu, batch, selected)
        } else {
            self.forward_in::<f32>(cpu, batch, selected)
        }
    }

    fn backward(
        &self,
        cpu: &Cpu,
        batch: &LossBatch<'_>,
        saved: &Saved,
        grad_output: &[f64],
        grad_input: LogitsMut<'_>,
    ) -> Result<()> {
        let selected = Selected::new(batch, self.include_background)?;
        if batch.is_double() {
            gradient_of_slopes::<f64>(cpu, batch, self.activation, selected, saved, grad_output, grad_input)
        } else {
            gradient_of_slopes::<f32>(cpu, batch, self.activation, selected, saved, grad_output, grad_input)
        }
    }
}

//! The boundary loss.

use exacta_core::stages::DistanceMap;
use exacta_core::{Cpu, Error, Result};
use fearless_simd::{Select, Simd, SimdBase};

use crate::activation::Activation;
use crate::batch::LossBatch;
use crate::geometry::{Selected, Want, divisor, fields, given, gradient_of_slopes, maps};
use crate::logits::LogitsMut;
use crate::loss::{Forward, Loss, Saved};
use crate::predict::{lane_sum, predict};
use crate::real::Float;

/// Boundary loss: the mean of `p φ` over selected channels and counted voxels, φ the signed distance map of the target.
///
/// φ is positive outside and negative inside ([`DistanceMap::Signed`]), or a map of the caller's; its target is one-hot with 0 and 1
/// alone, or labels. The mask limits the mean, never the geometry. The value may be negative; it is linear in p.
/// # Gradient
/// `φ / divisor` by p.
/// # Memory
/// A map and a byte a voxel and channel; the map, a number a voxel and channel, is kept.
/// # Agreement
/// `SurfaceLoss` of the authors with a map of theirs, whose inner boundary is 0.
/// # Reference
/// Kervadec et al.: Boundary loss for highly unbalanced segmentation, 2019, equation 5.
#[derive(Debug, Clone, PartialEq)]
pub struct Boundary {
    /// What turns logits into predictions.
    pub activation: Activation,
    /// Whether channel 0 takes part.
    pub include_background: bool,
    /// Voxel size along each axis, for all cases or for each; not needed with a map.
    pub spacing: Option<Vec<f64>>,
}

/// The error of a spacing that is needed and was not given.
pub(crate) fn no_spacing(loss: &str) -> Error {
    let rule = format!("be given for {loss}: the voxel size along each axis");
    Error::LossOption { argument: "spacing", rule, value: "none".to_owned() }
}

impl Loss for Boundary {
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
        // The map is kept as it is, and its divisor beside it.
        let &[divisor] = &saved.numbers[..] else { return Err(crate::real::not_kept(1)) };
        let scaled: Vec<f64> =
            grad_output.iter().map(|incoming| if divisor > 0.0 { incoming / divisor } else { 0.0 }).collect();
        if batch.is_double() {
            gradient_of_slopes::<f64>(cpu, batch, self.activation, selected, saved, &scaled, grad_input)
        } else {
            gradient_of_slopes::<f32>(cpu, batch, self.activation, selected, saved, &scaled, grad_input)
        }
    }
}

impl Boundary {
    fn forward_in<F: Float>(&self, cpu: &Cpu, batch: &LossBatch<'_>, selected: Selected) -> Result<Forward> {
        let map = match given::<F>(cpu, batch, selected, "distance_map", ("be finite", |_, _| true))? {
            Some(map) => {
                // The target is not needed, but a wrong one is still an error.
                fields::<F>(cpu, batch, self.activation, selected, Want::default())?;
                map
            }
            None => {
                let want = Want { target: true, ..Want::default() };
                let target = fields::<F>(cpu, batch, self.activation, selected, want)?.target;
                let spacing = self.spacing.as_deref().ok_or_else(|| no_spacing("the boundary loss"))?;
                maps::<F>(cpu, batch, selected, spacing, &target, DistanceMap::Signed)?
            }
        };
        let sums = batch.sum_tiles::<F>(cpu, 1, |tile, sums| {
            predict(cpu.level, self.activation, tile);
            for channel in selected.first..tile.channels {
                let map = &map[selected.row(tile.case, channel) * selected.voxels + tile.start..][..tile.len];
                let (p, labels) = (&tile.logits[tile.channel(channel)], &tile.labels[..tile.len]);
                sums[0] += exacta_core::dispatch!(cpu.level, simd => product(simd, p, map, labels));
            }
        });
        let divisor = divisor::<F>(cpu, batch, selected);
        let value = if divisor > 0.0 { sums.iter().sum::<f64>() / divisor } else { 0.0 };
        Ok(Forward { values: vec![value], saved: Saved { numbers: vec![divisor], kept: F::keep_all(map) } })
    }
}

/// `Σ p φ` over the counted voxels of a row.
#[inline(always)]
fn product<S: Simd, F: Float>(simd: S, p: &[F], map: &[F], labels: &[F]) -> f64 {
    let zero = F::Wide::<S>::splat(simd, F::default());
    let whole = p.len() / F::LANES * F::LANES;
    let sum = lane_sum::<S, F>(simd, whole, |at| {
        let keep = F::Wide::<S>::from_slice(simd, &labels[at.clone()]).simd_ge(zero);
        let product = F::Wide::<S>::from_slice(simd, &p[at.clone()]) * F::Wide::<S>::from_slice(simd, &map[at]);
        keep.select(product, zero)
    });
    (whole..p.len()).fold(sum, |sum, i| if labels[i] >= F::ZERO { sum + (p[i] * map[i]).to_f64() } else { sum })
}

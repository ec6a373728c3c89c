//! The Lovász hinge.

use exacta_core::{Cpu, Error, Result};

use crate::batch::LossBatch;
use crate::blocks::Blocks;
use crate::logits::LogitsMut;
use crate::loss::{Forward, Loss, Saved};
use crate::lovasz::{Rows, count, shares};
use crate::predict::class;
use crate::radix::Ranked;
use crate::real::Float;
use crate::tile::Tile;

/// The Lovász hinge of binary masks: `Σ relu(m_(k)) (J_k - J_(k-1))` over margins `m = 1 - z (2 f - 1)` in descending order.
///
/// # Conventions
/// A row a case and channel, or a channel of the whole batch; the mean over rows with a counted voxel, 0 if there is none. A row
/// without foreground has the largest margin as its loss. Logits must be finite and targets 0 or 1 where the voxel counts.
/// `multilabel` targets have the shape of the input; else the input has one channel, and the target one value a voxel.
/// # Gradient
/// `-(2 f - 1) (J_k - J_(k-1))` where the margin is positive, else 0.
/// # Memory
/// As [`crate::LovaszSoftmax`]; voxels with a margin that is not positive are not sorted.
/// # Agreement
/// `lovasz_hinge(logits, labels, per_image, ignore)` of the authors.
/// # Reference
/// Yu, Blaschko: Learning submodular losses with the Lovász hinge, 2015; Berman, Triki, Blaschko, 2018, equation 7.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LovaszHinge {
    /// Whether channels are masks of their own.
    pub multilabel: bool,
    /// A row a case.
    pub per_image: bool,
}

impl Default for LovaszHinge {
    fn default() -> Self {
        Self { multilabel: false, per_image: true }
    }
}

/// What a block of voxels has of one channel.
#[derive(Debug, Clone, Copy, Default)]
struct Found {
    /// Foreground, and all voxels, with a margin that is not positive.
    hidden: [u64; 2],
    /// A target that is neither 0 nor 1.
    other: Option<f64>,
    /// A logit that is not finite.
    infinite: Option<f64>,
}

impl Loss for LovaszHinge {
    fn forward(&self, cpu: &Cpu, batch: &LossBatch<'_>) -> Result<Forward> {
        self.check(batch)?;
        if batch.is_double() { self.forward_in::<f64>(cpu, batch) } else { self.forward_in::<f32>(cpu, batch) }
    }

    fn backward(
        &self,
        cpu: &Cpu,
        batch: &LossBatch<'_>,
        saved: &Saved,
        grad_output: &[f64],
        grad_input: LogitsMut<'_>,
    ) -> Result<()> {
        self.check(batch)?;
        if batch.is_double() {
            self.backward_in::<f64>(cpu, batch, saved, grad_output, grad_input)
        } else {
            self.backward_in::<f32>(cpu, batch, saved, grad_output, grad_input)
        }
    }
}

impl LovaszHinge {
    fn check(&self, batch: &LossBatch<'_>) -> Result<()> {
        if batch.is_one_hot() != self.multilabel {
            let rule = "be \"one-hot\" with multilabel and \"index\" without".to_owned();
            let value = if batch.is_one_hot() { "\"one-hot\"" } else { "\"index\"" }.to_owned();
            return Err(Error::LossOption { argument: "target_format", rule, value });
        }
        if !self.multilabel && batch.channels() != 1 {
            let rule = "have one channel: pass multilabel=True for several masks".to_owned();
            return Err(Error::LossOption { argument: "input", rule, value: format!("{} channels", batch.channels()) });
        }
        Ok(())
    }

    fn forward_in<F: Float>(&self, cpu: &Cpu, batch: &LossBatch<'_>) -> Result<Forward> {
        let rows = Rows::new(batch, 0, self.per_image)?;
        let channels = batch.channels();
        let mut codes = vec![F::NONE; rows.size()];
        let blocks = Blocks::new(&mut codes, batch.voxels());
        let found = batch.map_blocks(cpu, |case, voxels| {
            let mut found = vec![Found::default(); channels];
            let mut tile = Tile::<F>::new(channels, self.multilabel);
            for start in voxels.clone().step_by(tile.row) {
                let len = tile.row.min(voxels.end - start);
                batch.read(cpu.level, case, start, len, &mut tile);
                for (c, found) in found.iter_mut().enumerate() {
                    let (logits, labels) = (&tile.logits[tile.channel(c)], &tile.labels[..len]);
                    // Without channels of its own the target is the label, whose range is not that of the channels.
                    let goals = if self.multilabel { &tile.goals[tile.channel(c)] } else { labels };
                    let part = rows.part(case, c).expect("all channels are rows");
                    blocks.with(part, start, len, |out| encode(logits, labels, goals, out, found));
                }
                if !self.multilabel {
                    let ones = tile.labels[..len].iter().filter(|&&label| label > F::ZERO).count() as u64;
                    if ones != tile.invalid {
                        found[0].other = Some(-1.0);
                    }
                }
            }
            (case, found)
        });
        drop(blocks);
        let mut hidden = vec![[0; 2]; rows.count()];
        for (case, found) in &found {
            for (c, found) in found.iter().enumerate() {
                let row = &mut hidden[rows.of_part(rows.part(*case, c).expect("all channels are rows"))];
                *row = [row[0] + found.hidden[0], row[1] + found.hidden[1]];
            }
        }
        let all = || found.iter().flat_map(|(_, found)| found);
        if let Some(value) = all().find_map(|found| found.other) {
            let hint = ", or a negative label, where the voxel counts";
            return Err(Error::NotBinary { argument: "target", value, hint: if value < 0.0 { hint } else { "" } });
        }
        if let Some(value) = all().find_map(|found| found.infinite) {
            let rule = "be finite where the voxel counts".to_owned();
            return Err(Error::LossOption { argument: "input", rule, value: value.to_string() });
        }
        let found = rows.extend::<F>(cpu, &mut codes, &hidden, true);
        let active = found.iter().filter(|row| row.included > 0).count();
        let share = |included: u64| if included > 0 { 1.0 / count(active) } else { 0.0 };
        let value = found.iter().fold(0.0, |sum, row| sum + row.loss) / count(active.max(1));
        let numbers = found.iter().map(|row| share(row.included)).collect();
        let kept = F::keep_all(codes.into_iter().map(F::kept).collect());
        Ok(Forward { values: vec![value], saved: Saved { numbers, kept } })
    }

    fn backward_in<F: Float>(
        &self,
        cpu: &Cpu,
        batch: &LossBatch<'_>,
        saved: &Saved,
        grad_output: &[f64],
        grad_input: LogitsMut<'_>,
    ) -> Result<()> {
        let rows = Rows::new(batch, 0, self.per_image)?;
        let weights = F::kept_all(&saved.kept, rows.size())?;
        let shares = shares::<F>(saved, grad_output, rows.count())?;
        batch.write_gradient::<F>(cpu, grad_input, |tile| {
            for c in 0..tile.channels {
                let part = rows.part(tile.case, c).expect("all channels are rows");
                let weights = &weights[part * batch.voxels() + tile.start..][..tile.len];
                let share = shares[rows.of_part(part)];
                let place = tile.channel(c);
                let goals = if self.multilabel { &tile.goals[place.clone()] } else { &tile.labels[..tile.len] };
                for ((out, &goal), &weight) in tile.logits[place].iter_mut().zip(goals).zip(weights) {
                    let slope = weight * share;
                    *out = if goal > F::ZERO { F::ZERO - slope } else { slope };
                }
            }
        })
    }
}

/// Margins as codes; those that are not positive are left out and counted.
fn encode<F: Float>(logits: &[F], labels: &[F], goals: &[F], out: &mut [F::Code], found: &mut Found) {
    let one = class::<F>(1);
    for (((out, &z), &label), &goal) in out.iter_mut().zip(logits).zip(labels).zip(goals) {
        *out = F::NONE;
        if label < F::ZERO {
            continue;
        }
        if !(goal == F::ZERO || goal == one) {
            found.other = found.other.or(Some(goal.to_f64()));
        }
        if !z.to_f64().is_finite() {
            found.infinite = found.infinite.or(Some(z.to_f64()));
        }
        let side = goal == one;
        let margin = if side { one - z } else { one + z };
        if margin > F::ZERO {
            *out = Ranked::code(margin, side);
        } else {
            found.hidden = [found.hidden[0] + u64::from(side), found.hidden[1] + 1];
        }
    }
}

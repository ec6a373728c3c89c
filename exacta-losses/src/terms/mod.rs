//! Any combination of an overlap term and a pointwise term: one read of the logits forward, one backward.

mod elementwise;
mod lanes;
mod plan;
mod reduce;
mod softmax;

use exacta_core::{Cpu, Error, Result};

use crate::activation::Activation;
use crate::batch::LossBatch;
use crate::cross_entropy::CrossEntropy;
use crate::dice::Dice;
use crate::dispatch::dispatch;
use crate::focal::Focal;
use crate::generalized_dice::GeneralizedDice;
use crate::logits::LogitsMut;
use crate::loss::{Forward, Loss, Pooled, Saved, Statistics};
use crate::number::Number;
use crate::smooth::Smooth;
use crate::tversky::Tversky;
pub(crate) use plan::{Factors, Layout};
use plan::{Plan, Power, Sums};

/// A ratio of sums over the voxels of a case.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Overlap {
    /// Soft Dice, a ratio a class.
    Dice(Dice),
    /// Tversky or focal Tversky, a ratio a class.
    Tversky(Tversky),
    /// Generalized Dice, a ratio for all classes.
    GeneralizedDice(GeneralizedDice),
}

/// A sum over voxels.
#[derive(Debug, Clone, PartialEq)]
pub enum Pointwise {
    /// Cross-entropy.
    CrossEntropy(CrossEntropy),
    /// The focal loss.
    Focal(Focal),
}

/// `lambda_o overlap + lambda_p pointwise`, either of them or both, from one read of the logits.
///
/// # Conventions
/// Overlap: a ratio a case and selected class (or a case, for generalized Dice), averaged over both; over the cases with a
/// voxel that counts, where voxels can be excluded. With `batch_dice` the sums of all cases are one case. Without the background, channel 0 is left out of the ratios
/// alone, after the activation. `class_weight` makes the mean over classes a weighted one, and multiplies the weights of generalized Dice. Pointwise: over all channels and all counted voxels of the batch.
/// A coefficient of 0 drops its term with all its checks.
/// # Memory
/// Some tens of kilobytes a thread, and four numbers a class and block of 16,384 voxels.
#[derive(Debug, Clone, PartialEq)]
pub struct Terms {
    /// What turns logits into predictions.
    pub activation: Activation,
    /// The overlap term and its coefficient.
    pub overlap: Option<(f64, Overlap)>,
    /// The pointwise term and its coefficient.
    pub pointwise: Option<(f64, Pointwise)>,
    /// Whether channel 0 takes part in the overlap term.
    pub include_background: bool,
    /// Whether sums are taken over the whole batch before the ratio.
    pub batch_dice: bool,
    /// Smoothing of the overlap ratio.
    pub smooth: Smooth,
    /// Weight of each class in the mean of overlap ratios, or in the sums of generalized Dice, one a channel.
    pub overlap_weight: Option<Vec<f64>>,
    /// Weight of each class in the pointwise term, one a channel.
    pub pointwise_weight: Option<Vec<f64>>,
}

impl Terms {
    /// No term yet, with the defaults.
    pub const fn new(activation: Activation) -> Self {
        Self {
            activation,
            overlap: None,
            pointwise: None,
            include_background: true,
            batch_dice: false,
            smooth: Smooth::DEFAULT,
            overlap_weight: None,
            pointwise_weight: None,
        }
    }

    /// The same with an overlap term.
    pub fn with_overlap(self, coefficient: f64, overlap: Overlap) -> Self {
        Self { overlap: (coefficient != 0.0).then_some((coefficient, overlap)), ..self }
    }

    /// The same with a pointwise term.
    pub fn with_pointwise(self, coefficient: f64, pointwise: Pointwise) -> Self {
        Self { pointwise: (coefficient != 0.0).then_some((coefficient, pointwise)), ..self }
    }

    pub(crate) fn check(&self, channels: usize) -> Result<()> {
        if self.activation == Activation::None && self.pointwise.is_some() {
            let rule = "be \"softmax\" or \"sigmoid\" for cross-entropy and focal terms".to_owned();
            return Err(Error::LossOption { argument: "activation", rule, value: "\"none\"".to_owned() });
        }
        for weights in [&self.overlap_weight, &self.pointwise_weight].into_iter().flatten() {
            if weights.len() != channels {
                let rule = format!("have {channels} values, one a channel of input");
                return Err(Error::LossOption { argument: "class_weight", rule, value: weights.len().to_string() });
            }
            if !weights.iter().all(|w| w.is_finite() && *w >= 0.0) {
                let rule = "be finite and not negative".to_owned();
                return Err(Error::LossOption { argument: "class_weight", rule, value: format!("{weights:?}") });
            }
        }
        if self.overlap.is_some() && !self.include_background && channels == 1 {
            let rule = "be true for an input of one channel: nothing would be left".to_owned();
            return Err(Error::LossOption { argument: "include_background", rule, value: "false".to_owned() });
        }
        Ok(())
    }

    fn plan<F: Number>(&self, channels: usize) -> Result<Plan<F>> {
        let sigmoid = self.activation == Activation::Sigmoid;
        let (mut positive, mut negative) = (vec![1.0; channels], vec![1.0; channels]);
        let pointwise = match &self.pointwise {
            None => plan::Pointwise::Nothing,
            Some((_, Pointwise::CrossEntropy(_))) => plan::Pointwise::Entropy,
            Some((_, Pointwise::Focal(focal))) => {
                (positive, negative) = focal.weights(channels, sigmoid)?;
                plan::Pointwise::Focal(Power::new(focal.gamma()))
            }
        };
        if let Some(weights) = &self.pointwise_weight {
            for (c, weight) in weights.iter().enumerate() {
                positive[c] *= weight;
                negative[c] *= weight;
            }
        }
        Ok(Plan {
            sums: match &self.overlap {
                None => Sums::Nothing,
                Some((_, Overlap::Dice(Dice { squared_pred: true }))) => Sums::Squared,
                Some((_, Overlap::Tversky(_))) => Sums::Rates,
                Some(_) => Sums::Plain,
            },
            pointwise,
            weighted: positive.iter().any(|&w| w != 1.0),
            positive: positive.into_iter().map(F::from_f64).collect(),
            negative: negative.into_iter().map(F::from_f64).collect(),
        })
    }

    /// Sums of each case, or of all in one row.
    fn sums(&self, cpu: &Cpu, batch: &LossBatch<'_>) -> Result<Statistics> {
        self.check(batch.channels())?;
        if batch.is_double() { self.sums_in::<f64>(cpu, batch) } else { self.sums_in::<f32>(cpu, batch) }
    }

    fn sums_in<F: Number>(&self, cpu: &Cpu, batch: &LossBatch<'_>) -> Result<Statistics> {
        let channels = batch.channels();
        let plan: Plan<F> = self.plan(channels)?;
        let layout = Layout { channels };
        let (level, activation) = (cpu.level, self.activation);
        let width = layout.width();
        let mut sums = batch.sum_voxels::<F>(cpu, width, |voxels, sums| {
            match activation {
                Activation::Softmax => dispatch!(level, simd => softmax::sums(simd, &plan, voxels, sums)),
                Activation::Sigmoid | Activation::None => {
                    let sigmoid = activation == Activation::Sigmoid;
                    dispatch!(level, simd => elementwise::sums(simd, &plan, sigmoid, voxels, sums));
                }
            }
            #[expect(clippy::cast_precision_loss, reason = "a tile is small")]
            {
                sums[layout.included()] += voxels.included as f64;
                sums[layout.invalid()] += voxels.invalid as f64;
            }
        });
        for row in sums.chunks_exact_mut(width) {
            row[layout.weight()] = self.denominator(batch, row[layout.weight()], row[layout.included()], channels);
        }
        Ok(self.rows(Statistics { channels, rows: batch.cases(), sums }))
    }

    /// Rows of cases, or their sum where the ratio is that of the batch.
    pub(crate) fn rows(&self, cases: Statistics) -> Statistics {
        if !self.batch_dice && self.overlap.is_some() {
            return cases;
        }
        let width = Layout { channels: cases.channels }.width();
        let mut sums = vec![0.0; width];
        for row in cases.sums.chunks_exact(width) {
            sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
        }
        Statistics { rows: 1, sums, ..cases }
    }

    /// What the pointwise sum of a case is divided by.
    #[expect(clippy::cast_precision_loss, reason = "channels are below 2^24")]
    fn denominator(&self, batch: &LossBatch<'_>, weight: f64, included: f64, channels: usize) -> f64 {
        match (&self.pointwise, self.activation) {
            (_, Activation::Sigmoid) => included * channels as f64,
            (Some((_, Pointwise::CrossEntropy(_))), _) if self.divides_by_weight(batch) => weight,
            _ => included,
        }
    }

    /// Whether cross-entropy is divided by the weight of the labels.
    fn divides_by_weight(&self, batch: &LossBatch<'_>) -> bool {
        self.activation == Activation::Softmax && self.pointwise_weight.is_some() && !batch.is_one_hot()
    }
}

impl Loss for Terms {
    fn forward(&self, cpu: &Cpu, batch: &LossBatch<'_>) -> Result<Forward> {
        let statistics = self.sums(cpu, batch)?;
        let layout = Layout { channels: batch.channels() };
        if statistics.sums.chunks_exact(layout.width()).any(|row| row[layout.invalid()] > 0.0) {
            return Err(batch.label_error());
        }
        // A total weight of 0, of labels that all weigh nothing, is no mean of nothing.
        let excluding = batch.has_exclusions();
        Ok(self.reduce(&statistics, excluding, excluding || self.divides_by_weight(batch)))
    }

    fn backward(
        &self,
        cpu: &Cpu,
        batch: &LossBatch<'_>,
        saved: &Saved,
        grad_output: &[f64],
        grad_input: LogitsMut<'_>,
    ) -> Result<()> {
        self.check(batch.channels())?;
        if batch.is_double() {
            self.backward_in::<f64>(cpu, batch, saved, grad_output, grad_input)
        } else {
            self.backward_in::<f32>(cpu, batch, saved, grad_output, grad_input)
        }
    }

    fn as_pooled(&self) -> Option<&dyn Pooled> {
        Some(self)
    }
}

impl Terms {
    fn backward_in<F: Number>(
        &self,
        cpu: &Cpu,
        batch: &LossBatch<'_>,
        saved: &Saved,
        grad_output: &[f64],
        grad_input: LogitsMut<'_>,
    ) -> Result<()> {
        let plan: Plan<F> = self.plan(batch.channels())?;
        let factors = self.factors::<F>(batch, saved, grad_output)?;
        let (level, activation) = (cpu.level, self.activation);
        batch.write_voxels::<F>(cpu, grad_input, |voxels, out| {
            let factors: &Factors<F> = &factors[if factors.len() == 1 { 0 } else { voxels.case }];
            match activation {
                Activation::Softmax => {
                    dispatch!(level, simd => softmax::gradient(simd, &plan, factors, voxels, out));
                }
                Activation::Sigmoid | Activation::None => {
                    let sigmoid = activation == Activation::Sigmoid;
                    dispatch!(level, simd => elementwise::gradient(simd, &plan, sigmoid, factors, voxels, out));
                }
            }
        })
    }
}

impl Pooled for Terms {
    fn statistics(&self, cpu: &Cpu, batch: &LossBatch<'_>) -> Result<Statistics> {
        self.sums(cpu, batch)
    }

    fn from_statistics(&self, statistics: &Statistics) -> Result<Forward> {
        let layout = Layout { channels: statistics.channels };
        if statistics.sums.len() != statistics.rows * layout.width() {
            let rule = format!("have {} numbers a row for {} channels", layout.width(), statistics.channels);
            let value = format!("{} in {} rows", statistics.sums.len(), statistics.rows);
            return Err(Error::LossOption { argument: "statistics", rule, value });
        }
        self.check(statistics.channels)?;
        let count: f64 = statistics.sums.chunks_exact(layout.width()).map(|row| row[layout.invalid()]).sum();
        if count > 0.0 {
            return Err(Error::LossLabelCount { channels: statistics.channels, count });
        }
        Ok(self.reduce(statistics, true, true))
    }
}

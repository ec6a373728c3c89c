//! From sums to the value and the factors of the gradient: small arithmetic in double precision.

use exacta_core::{Error, Result};

use super::plan::{Factors, Layout};
use super::{Overlap, Terms};
use crate::batch::LossBatch;
use crate::loss::{Forward, Saved, Statistics};
use crate::number::Number;
use crate::smooth::Entry;

impl Terms {
    /// Value and saved factors: rows of `A`, rows of `B`, the weight of a voxel.
    ///
    /// `excluding`: only cases with a counted voxel are averaged; `nothing_is_zero`: a pointwise denominator of 0 gives 0.
    #[expect(clippy::cast_precision_loss, reason = "cases are few")]
    pub(crate) fn reduce(&self, statistics: &Statistics, excluding: bool, nothing_is_zero: bool) -> Forward {
        let Statistics { channels, rows, sums } = statistics;
        let layout = Layout { channels: *channels };
        let row = |r: usize| &sums[r * layout.width()..(r + 1) * layout.width()];
        let (mut value, mut a, mut b) = (0.0, vec![0.0; rows * channels], vec![0.0; rows * channels]);
        if let Some((coefficient, overlap)) = &self.overlap {
            let active: Vec<_> = (0..*rows).filter(|&r| !excluding || row(r)[layout.included()] > 0.0).collect();
            let cases = if excluding { active.len().max(1) } else { *rows } as f64;
            let mut total = 0.0;
            for &r in &active {
                let (loss, entries) = self.case(*overlap, row(r), *channels);
                total += loss;
                for (c, entry) in entries {
                    a[r * channels + c] = coefficient * entry.a / cases;
                    b[r * channels + c] = coefficient * entry.b / cases;
                }
            }
            value += coefficient * (total / cases);
        }
        let mut scale = 0.0;
        if let Some((coefficient, _)) = &self.pointwise {
            let sum = |at: usize| (0..*rows).map(|r| row(r)[at]).fold(0.0, |x, y| x + y);
            let (numerator, denominator) = (sum(layout.pointwise()), sum(layout.weight()));
            if denominator != 0.0 || !nothing_is_zero {
                value += coefficient * (numerator / denominator);
                scale = coefficient / denominator;
            }
        }
        a.append(&mut b);
        a.push(scale);
        Forward { values: vec![value], saved: Saved { numbers: a, ..Saved::default() } }
    }

    /// Loss of one case, and the entries of its selected classes, each divided by the number of classes it is averaged over.
    #[expect(clippy::cast_precision_loss, reason = "channels are below 2^24")]
    fn case(&self, overlap: Overlap, row: &[f64], channels: usize) -> (f64, Vec<(usize, Entry)>) {
        let selected = usize::from(!self.include_background)..channels;
        let [first, second, third] = [0, 1, 2].map(|k| &row[k * channels..(k + 1) * channels][selected.clone()]);
        if let Overlap::GeneralizedDice(loss) = overlap {
            let weights = self.overlap_weight.as_ref().map(|weights| &weights[selected.clone()]);
            let (value, entries) = loss.entries(self.smooth, [first, second, third], weights);
            return (value, selected.zip(entries).collect());
        }
        let weight = |c: usize| self.overlap_weight.as_ref().map_or(1.0, |weights| weights[c]);
        let total: f64 = match &self.overlap_weight {
            None => selected.len() as f64,
            Some(weights) => weights[selected.clone()].iter().sum(),
        };
        if total == 0.0 {
            return (0.0, Vec::new());
        }
        let mut value = 0.0;
        let mut entries = Vec::with_capacity(selected.len());
        for (i, c) in selected.enumerate() {
            let sums = [first[i], second[i], third[i]];
            let entry = match overlap {
                Overlap::Dice(loss) => loss.entry(self.smooth, sums),
                Overlap::Tversky(loss) => loss.entry(self.smooth, sums),
                Overlap::GeneralizedDice(_) => continue,
            };
            value += weight(c) * entry.loss;
            let share = weight(c) / total;
            entries.push((c, Entry { loss: entry.loss, a: share * entry.a, b: share * entry.b }));
        }
        (value / total, entries)
    }

    /// Factors of each row of sums, times the incoming gradient.
    pub(crate) fn factors<F: Number>(
        &self,
        batch: &LossBatch<'_>,
        saved: &Saved,
        grad_output: &[f64],
    ) -> Result<Vec<Factors<F>>> {
        let channels = batch.channels();
        let rows = if self.batch_dice || self.overlap.is_none() { 1 } else { batch.cases() };
        let numbers = &saved.numbers;
        if numbers.len() != 2 * rows * channels + 1 {
            let rule = format!("hold {} numbers, what the forward pass of this batch gave", 2 * rows * channels + 1);
            return Err(Error::LossOption { argument: "saved", rule, value: numbers.len().to_string() });
        }
        let &[incoming] = grad_output else {
            let rule = "hold one number".to_owned();
            return Err(Error::LossOption { argument: "grad_output", rule, value: grad_output.len().to_string() });
        };
        let squared = matches!(self.overlap, Some((_, Overlap::Dice(dice))) if dice.squared_pred);
        let twice = if squared { 2.0 } else { 1.0 };
        let scale = F::from_f64(incoming * numbers[2 * rows * channels]);
        let of = |from: usize, factor: f64| -> Vec<F> {
            numbers[from..from + channels].iter().map(|x| F::from_f64(incoming * factor * x)).collect()
        };
        Ok((0..rows)
            .map(|r| Factors { target: of(r * channels, 1.0), constant: of((rows + r) * channels, twice), scale })
            .collect())
    }
}

//! The generalized Wasserstein Dice loss.

use exacta_core::{Cpu, Error, Result};

use crate::activation::Activation;
use crate::batch::LossBatch;
use crate::logits::LogitsMut;
use crate::loss::{Forward, Loss, Saved};
use crate::lovasz::count;
use crate::predict::{chain, predict};
use crate::real::Float;

/// How voxels are weighed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Weighting {
    /// 1 for foreground and 0 for background in the overlap, every error once.
    #[default]
    Default,
    /// `1 / (n_y + 1)` for both, `n_y` the counted voxels of the label in the case.
    Gdl,
}

impl Weighting {
    /// The spellings, in order of the variants.
    pub const NAMES: &'static [&'static str] = &["default", "GDL"];
}

impl std::str::FromStr for Weighting {
    type Err = Error;

    fn from_str(value: &str) -> Result<Self> {
        match value {
            "default" => Ok(Self::Default),
            "GDL" => Ok(Self::Gdl),
            _ => Err(Error::UnknownName { argument: "weighting_mode", value: value.to_owned(), names: Self::NAMES }),
        }
    }
}

/// Losses of cases into values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reduction {
    /// The mean over cases; with exclusions, over those with a counted voxel.
    #[default]
    Mean,
    /// The sum.
    Sum,
    /// A value a case.
    None,
}

impl Reduction {
    /// The spellings, in order of the variants.
    pub const NAMES: &'static [&'static str] = &["mean", "sum", "none"];
}

impl std::str::FromStr for Reduction {
    type Err = Error;

    fn from_str(value: &str) -> Result<Self> {
        match value {
            "mean" => Ok(Self::Mean),
            "sum" => Ok(Self::Sum),
            "none" => Ok(Self::None),
            _ => Err(Error::UnknownName { argument: "reduction", value: value.to_owned(), names: Self::NAMES }),
        }
    }
}

/// Generalized Wasserstein Dice: `1 - (2 T + s) / (2 T + R + s)` a case, with the cost `d_i = Σ_c p_ic M[y_i, c]` of each voxel,
/// `T = Σ w_i (1 - d_i)` and `R = Σ e_i d_i`.
///
/// `w` and `e` depend on the label alone ([`Weighting`]), so the counts of labels and the sum of `d` over each label are all that
/// is needed: one read of the logits, whatever the matrix.
///
/// # Conventions
/// Softmax; the matrix is divided by its largest entry. A denominator of 0 gives 0. Cases without a counted voxel are 0, and left out
/// of the mean.
/// # Gradient
/// `dL/dd_i = (2 w D + N (e - 2 w)) / D²` with N and D numerator and denominator; `dd/dp_c = M[y, c]`.
/// # Agreement
/// The authors' and MONAI's class of this name.
/// # Reference
/// Fidon et al.: Generalised Wasserstein Dice score for imbalanced multi-class segmentation using holistic convolutional networks, 2017,
/// equations 10 and 11.
#[derive(Debug, Clone, PartialEq)]
pub struct GeneralizedWassersteinDice {
    /// Rows of the matrix, divided by its largest entry.
    costs: Vec<f64>,
    classes: usize,
    weighting: Weighting,
    smooth: f64,
    reduction: Reduction,
}

impl GeneralizedWassersteinDice {
    /// From the rows of a distance matrix, the defaults for the rest.
    ///
    /// # Errors
    /// [`Error::LossOption`] unless it is square, at least 2 by 2, finite, not negative, symmetric and 0 on the diagonal alone
    /// or not everywhere.
    pub fn new(matrix: &[f64]) -> Result<Self> {
        let wrong = |rule: &str, value: String| {
            Err(Error::LossOption { argument: "dist_matrix", rule: rule.to_owned(), value })
        };
        let classes = matrix.len().isqrt();
        if classes < 2 || classes * classes != matrix.len() {
            return wrong("be square and at least 2 by 2", format!("{} entries", matrix.len()));
        }
        if let Some(value) = matrix.iter().find(|value| !(value.is_finite() && **value >= 0.0)) {
            return wrong("hold finite numbers that are not negative", value.to_string());
        }
        let at = |i: usize, j: usize| matrix[i * classes + j];
        let pairs = (0..classes).flat_map(|i| (0..=i).map(move |j| (i, j)));
        for (i, j) in pairs {
            if at(i, j) != at(j, i) || (i == j && at(i, j) != 0.0) {
                return wrong("be symmetric with a diagonal of 0", format!("{} at [{i}, {j}]", at(i, j)));
            }
        }
        let most = matrix.iter().copied().fold(0.0, f64::max);
        if most == 0.0 {
            return wrong("have a positive entry", "zeros".to_owned());
        }
        let costs = matrix.iter().map(|value| value / most).collect();
        let (weighting, reduction) = (Weighting::Default, Reduction::Mean);
        Ok(Self { costs, classes, weighting, smooth: 1e-5, reduction })
    }

    /// The same with another weighting.
    ///
    /// # Errors
    /// [`Error::LossOption`] for the default weighting if a class is nearer to the background than the largest distance.
    pub fn with_weighting(self, weighting: Weighting) -> Result<Self> {
        if weighting == Weighting::Default && self.costs[1..self.classes].iter().any(|&cost| cost != 1.0) {
            let rule = "have its largest entry at every place but the first of row 0 for weighting_mode=\"default\""
                .to_owned();
            let value = format!("{:?}, divided by it", &self.costs[..self.classes]);
            return Err(Error::LossOption { argument: "dist_matrix", rule, value });
        }
        Ok(Self { weighting, ..self })
    }

    /// The same with another smoothing.
    ///
    /// # Errors
    /// [`Error::LossOption`] unless finite and not negative.
    pub fn with_smooth(self, smooth: f64) -> Result<Self> {
        if !(smooth.is_finite() && smooth >= 0.0) {
            let rule = "be finite and not negative".to_owned();
            return Err(Error::LossOption { argument: "smooth", rule, value: smooth.to_string() });
        }
        Ok(Self { smooth, ..self })
    }

    /// The same with another reduction.
    #[must_use]
    pub fn with_reduction(self, reduction: Reduction) -> Self {
        Self { reduction, ..self }
    }

    fn check(&self, batch: &LossBatch<'_>) -> Result<()> {
        if batch.is_one_hot() {
            let rule = "be \"index\" for the generalized Wasserstein Dice loss".to_owned();
            return Err(Error::LossOption { argument: "target_format", rule, value: "\"one-hot\"".to_owned() });
        }
        if batch.channels() != self.classes {
            let rule = format!("have {} channels, the size of dist_matrix", self.classes);
            return Err(Error::LossOption { argument: "input", rule, value: batch.channels().to_string() });
        }
        Ok(())
    }

    /// Weights `w` and `e` of a label with so many voxels.
    fn weights(&self, label: usize, voxels: f64) -> (f64, f64) {
        match self.weighting {
            Weighting::Default => (if label == 0 { 0.0 } else { 1.0 }, 1.0),
            Weighting::Gdl => (1.0 / (voxels + 1.0), 1.0 / (voxels + 1.0)),
        }
    }

    /// Loss of a case and its derivative by the cost of a voxel of each label, from counts and summed costs of labels.
    fn case(&self, counts: &[f64], costs: &[f64]) -> (f64, Vec<f64>) {
        let (mut overlap, mut error) = (0.0, 0.0);
        for (label, (&n, &d)) in counts.iter().zip(costs).enumerate() {
            let (w, e) = self.weights(label, n);
            overlap += w * (n - d);
            error += e * d;
        }
        let top = 2.0 * overlap + self.smooth;
        let bottom = top + error;
        if bottom == 0.0 {
            return (0.0, vec![0.0; self.classes]);
        }
        let slopes = counts.iter().enumerate().map(|(label, &n)| {
            let (w, e) = self.weights(label, n);
            (2.0 * w * bottom + top * (e - 2.0 * w)) / (bottom * bottom)
        });
        (1.0 - top / bottom, slopes.collect())
    }

    fn forward_in<F: Float>(&self, cpu: &Cpu, batch: &LossBatch<'_>) -> Result<Forward> {
        let n = self.classes;
        let width = 2 * n + 1;
        let costs: Vec<F> = self.costs.iter().map(|&cost| F::from_f64(cost)).collect();
        let sums = batch.sum_tiles::<F>(cpu, width, |tile, sums| {
            sums[2 * n] += count(usize::try_from(tile.invalid).unwrap_or(1));
            if tile.invalid > 0 {
                return;
            }
            predict(cpu.level, Activation::Softmax, tile);
            let mut cost = vec![F::ZERO; tile.len];
            exacta_core::dispatch!(cpu.level, simd => voxel_costs(simd, tile.row, &tile.logits, &tile.labels[..tile.len], &costs, &mut cost));
            for (&label, &cost) in tile.labels.iter().zip(&cost) {
                if let Some(label) = label_of(label) {
                    sums[label] += 1.0;
                    sums[n + label] += cost.to_f64();
                }
            }
        });
        if sums.chunks_exact(width).any(|row| row[2 * n] > 0.0) {
            return Err(batch.label_error());
        }
        let (mut values, mut slopes, mut counted) = (Vec::new(), Vec::new(), 0);
        for row in sums.chunks_exact(width) {
            let any = row[..n].iter().any(|&count| count > 0.0);
            counted += usize::from(any);
            let (value, slope) = self.case(&row[..n], &row[n..2 * n]);
            values.push(value);
            slopes.extend(slope);
        }
        let cases = if batch.has_exclusions() { counted } else { batch.cases() };
        let share = if self.reduction == Reduction::Mean { 1.0 / count(cases.max(1)) } else { 1.0 };
        slopes.iter_mut().for_each(|slope| *slope *= share);
        if self.reduction != Reduction::None {
            values = vec![values.iter().fold(0.0, |sum, value| sum + value) * share];
        }
        Ok(Forward { values, saved: Saved { numbers: slopes, ..Saved::default() } })
    }

    fn backward_in<F: Float>(
        &self,
        cpu: &Cpu,
        batch: &LossBatch<'_>,
        saved: &Saved,
        grad_output: &[f64],
        grad_input: LogitsMut<'_>,
    ) -> Result<()> {
        let n = self.classes;
        let values = if self.reduction == Reduction::None { batch.cases() } else { 1 };
        let (cases, numbers) = (batch.cases(), &saved.numbers);
        for (argument, length, wanted) in
            [("grad_output", grad_output.len(), values), ("saved", numbers.len(), cases * n)]
        {
            if length != wanted {
                let rule = format!("hold {wanted} numbers, as the forward pass of this batch gave");
                return Err(Error::LossOption { argument, rule, value: length.to_string() });
            }
        }
        // Rows of M for each case, times the derivative by the cost of their label.
        let rows: Vec<F> = (0..cases * n * n)
            .map(|i| {
                let (case, label) = (i / (n * n), i / n % n);
                let incoming = grad_output[if values == 1 { 0 } else { case }];
                F::from_f64(numbers[case * n + label] * incoming * self.costs[label * n + i % n])
            })
            .collect();
        batch.write_gradient::<F>(cpu, grad_input, |tile| {
            predict(cpu.level, Activation::Softmax, tile);
            let rows = &rows[tile.case * n * n..][..n * n];
            let mut slopes = vec![F::ZERO; tile.channels * tile.row];
            let labels = &tile.labels[..tile.len];
            exacta_core::dispatch!(cpu.level, simd => voxel_slopes(simd, tile.row, labels, rows, &mut slopes));
            chain(cpu.level, Activation::Softmax, tile, &slopes);
        })
    }
}

/// The class of a label, if the voxel counts.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "classes are whole and below 2^24")]
#[inline(always)]
fn label_of<F: Float>(label: F) -> Option<usize> {
    (label >= F::ZERO).then(|| label.to_f64() as usize)
}

/// Up to so many classes every row of the matrix is tried for each vector; beyond, rows are looked up.
const FEW: usize = 8;

/// `Σ_c p_c M[y, c]` of each voxel.
#[inline(always)]
fn voxel_costs<S: Copy, F: Float>(_: S, row: usize, p: &[F], labels: &[F], costs: &[F], out: &mut [F]) {
    let n = costs.len().isqrt();
    for c in 0..n {
        let p = &p[c * row..][..labels.len()];
        if n <= FEW {
            for y in 0..n {
                let (class, cost) = (crate::predict::class::<F>(y), costs[y * n + c]);
                for ((out, &p), &label) in out.iter_mut().zip(p).zip(labels) {
                    *out += if label == class { p * cost } else { F::ZERO };
                }
            }
        } else {
            for ((out, &p), &label) in out.iter_mut().zip(p).zip(labels) {
                *out += label_of(label).map_or(F::ZERO, |y| p * costs[y * n + c]);
            }
        }
    }
}

/// The row of the label, a column a channel.
#[inline(always)]
fn voxel_slopes<S: Copy, F: Float>(_: S, row: usize, labels: &[F], rows: &[F], out: &mut [F]) {
    let n = rows.len().isqrt();
    for c in 0..n {
        let out = &mut out[c * row..][..labels.len()];
        if n <= FEW {
            for y in 0..n {
                let (class, value) = (crate::predict::class::<F>(y), rows[y * n + c]);
                for (out, &label) in out.iter_mut().zip(labels) {
                    *out = if label == class { value } else { *out };
                }
            }
        } else {
            for (out, &label) in out.iter_mut().zip(labels) {
                *out = label_of(label).map_or(F::ZERO, |y| rows[y * n + c]);
            }
        }
    }
}

impl Loss for GeneralizedWassersteinDice {
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

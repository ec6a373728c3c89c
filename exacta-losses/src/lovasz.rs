//! The Lovász losses: the Jaccard loss of a ranking, extended to errors between 0 and 1, or to hinges.

use std::sync::Mutex;

use exacta_core::{Cpu, Error, Result};

use crate::activation::Activation;
use crate::batch::LossBatch;
use crate::blocks::Blocks;
use crate::jaccard::{Buffers, Row, extend};
use crate::logits::LogitsMut;
use crate::loss::{Forward, Loss, Saved};
use crate::predict::{chain, class, predict};
use crate::real::Float;
use crate::tile::Tile;
use crate::topk_ce::check_weights;

/// Which classes the Lovász-softmax loss averages over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Classes {
    /// Those with a counted voxel in the target.
    #[default]
    Present,
    /// All.
    All,
}

impl Classes {
    /// The spellings, in order of the variants.
    pub const NAMES: &'static [&'static str] = &["present", "all"];
}

impl std::str::FromStr for Classes {
    type Err = Error;

    fn from_str(value: &str) -> Result<Self> {
        match value {
            "present" => Ok(Self::Present),
            "all" => Ok(Self::All),
            _ => Err(Error::UnknownName { argument: "classes", value: value.to_owned(), names: Self::NAMES }),
        }
    }
}

/// Lovász-softmax: per class `Σ e_(k) (J_k - J_(k-1))` over errors `e = |[y = c] - p_c|` in descending order, the mean over classes.
///
/// `J_k = 1 - I_k / U_k` is the Jaccard loss if the k voxels of largest error were wrong. Equal errors rank by index.
///
/// # Conventions
/// Voxels of the batch are pooled, or `per_image` each case is a mean of its own, averaged over the cases with a counted voxel. Classes
/// without a voxel count only where [`Classes::All`] asks for them. No class left gives 0.
/// # Gradient
/// `sign(p - [y = c]) (J_k - J_(k-1))` by `p_c`, 0 where the error is 0; weights are constants.
/// # Memory
/// A number a voxel and class, kept for the gradient; 16 bytes (32 in double precision) a voxel and thread for the sort.
/// # Agreement
/// `lovasz_softmax(probas, labels, classes, per_image, ignore)` of the authors.
/// # Reference
/// Berman, Triki, Blaschko: The Lovász-softmax loss, 2018, equations 8, 9 and 11.
#[derive(Debug, Clone, PartialEq)]
pub struct LovaszSoftmax {
    /// Softmax of the input, or the input as it is.
    pub from_logits: bool,
    /// Which classes are averaged over.
    pub classes: Classes,
    /// A mean a case.
    pub per_image: bool,
    /// Whether channel 0 is a class.
    pub include_background: bool,
    /// Weights of the mean over classes, one a channel.
    pub class_weight: Option<Vec<f64>>,
}

impl Default for LovaszSoftmax {
    fn default() -> Self {
        Self {
            from_logits: true,
            classes: Classes::Present,
            per_image: false,
            include_background: true,
            class_weight: None,
        }
    }
}

/// Rows of a ranking: which voxels are ranked together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows {
    cases: usize,
    /// First channel of a row.
    first: usize,
    channels: usize,
    voxels: usize,
    per_image: bool,
}

impl Rows {
    pub(crate) fn new(batch: &LossBatch<'_>, first: usize, per_image: bool) -> Result<Self> {
        let (cases, channels, voxels) = (batch.cases(), batch.channels(), batch.voxels());
        let rows = Self { cases, first, channels: channels - first, voxels, per_image };
        if u32::try_from(rows.length()).is_err() {
            let limit = u32::MAX as usize;
            return Err(Error::TooLarge { what: "number of voxels ranked together", value: rows.length(), limit });
        }
        Ok(rows)
    }

    /// Number of rows.
    pub(crate) const fn count(&self) -> usize {
        if self.per_image { self.cases * self.channels } else { self.channels }
    }

    /// Voxels of a row.
    pub(crate) const fn length(&self) -> usize {
        if self.per_image { self.voxels } else { self.cases * self.voxels }
    }

    /// Elements of all rows.
    pub(crate) const fn size(&self) -> usize {
        self.cases * self.channels * self.voxels
    }

    /// Which part of `voxels` elements is that of a case and channel, if the channel has one.
    pub(crate) fn part(&self, case: usize, channel: usize) -> Option<usize> {
        let c = channel.checked_sub(self.first)?;
        Some(if self.per_image { case * self.channels + c } else { c * self.cases + case })
    }

    /// The row of a part.
    pub(crate) const fn of_part(&self, part: usize) -> usize {
        if self.per_image { part } else { part / self.cases }
    }

    /// Extends every row, several at once.
    pub(crate) fn extend<F: Float>(
        &self,
        cpu: &Cpu,
        codes: &mut [F::Code],
        hidden: &[[u64; 2]],
        all: bool,
    ) -> Vec<Row> {
        let none = Row { loss: 0.0, foreground: 0, included: 0 };
        if codes.is_empty() {
            return vec![none; self.count()];
        }
        let length = self.length();
        let rows: Vec<_> = codes.chunks_mut(length).map(Mutex::new).collect();
        let buffers: Mutex<Vec<Buffers<F>>> = Mutex::new(Vec::new());
        let take = || buffers.lock().expect("no holder of the lock panics").pop();
        cpu.threads.map(rows.len(), |r| {
            let mut codes = rows[r].try_lock().expect("each row is taken once");
            let mut mine = take().unwrap_or_else(Buffers::new);
            let row = extend::<F>(cpu.level, &mut codes, hidden.get(r).copied().unwrap_or_default(), all, &mut mine);
            buffers.lock().expect("no holder of the lock panics").push(mine);
            row
        })
    }
}

impl Loss for LovaszSoftmax {
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

impl LovaszSoftmax {
    fn check(&self, batch: &LossBatch<'_>) -> Result<()> {
        if batch.is_one_hot() {
            let rule = "be \"index\" for the Lovász-softmax loss".to_owned();
            return Err(Error::LossOption { argument: "target_format", rule, value: "\"one-hot\"".to_owned() });
        }
        check_weights(self.class_weight.as_deref(), batch.channels())?;
        background(self.include_background, batch.channels())
    }

    const fn activation(&self) -> Activation {
        if self.from_logits { Activation::Softmax } else { Activation::None }
    }

    fn rows(&self, batch: &LossBatch<'_>) -> Result<Rows> {
        Rows::new(batch, usize::from(!self.include_background), self.per_image)
    }

    fn forward_in<F: Float>(&self, cpu: &Cpu, batch: &LossBatch<'_>) -> Result<Forward> {
        let rows = self.rows(batch)?;
        let mut codes = vec![F::NONE; rows.size()];
        let blocks = Blocks::new(&mut codes, batch.voxels());
        let invalid: u64 = batch
            .map_blocks(cpu, |case, voxels| {
                let mut invalid = 0;
                let mut tile = Tile::<F>::new(batch.channels(), false);
                for start in voxels.clone().step_by(tile.row) {
                    let len = tile.row.min(voxels.end - start);
                    batch.read(cpu.level, case, start, len, &mut tile);
                    invalid += tile.invalid;
                    predict(cpu.level, self.activation(), &mut tile);
                    for channel in rows.first..batch.channels() {
                        let part = rows.part(case, channel).expect("of the rows");
                        let (p, labels) = (&tile.logits[tile.channel(channel)], &tile.labels[..len]);
                        blocks.with(part, start, len, |out| {
                            exacta_core::dispatch!(cpu.level, simd => encode(simd, p, labels, class(channel), out));
                        });
                    }
                }
                invalid
            })
            .into_iter()
            .sum();
        drop(blocks);
        if invalid > 0 {
            return Err(batch.label_error());
        }
        let found = rows.extend::<F>(cpu, &mut codes, &[], self.classes == Classes::All);
        let active = |row: &Row| if self.classes == Classes::All { row.included > 0 } else { row.foreground > 0 };
        let groups = found.chunks(rows.channels.max(1));
        let counted = groups.clone().filter(|rows| rows.iter().any(|row| row.included > 0)).count();
        let weight = |c: usize| self.class_weight.as_ref().map_or(1.0, |weights| weights[rows.first + c]);
        let (mut value, mut shares) = (0.0, Vec::with_capacity(found.len()));
        for group in groups {
            let weights = group.iter().enumerate().map(|(c, row)| if active(row) { weight(c) } else { 0.0 });
            let total: f64 = weights.clone().sum();
            let (mut sum, many) = (0.0, total * count(counted));
            for (row, weight) in group.iter().zip(weights) {
                if weight > 0.0 {
                    sum += weight * row.loss;
                }
                shares.push(if weight > 0.0 { weight / many } else { 0.0 });
            }
            value += if total > 0.0 { sum / many } else { 0.0 };
        }
        let kept = F::keep_all(codes.into_iter().map(F::kept).collect());
        Ok(Forward { values: vec![value], saved: Saved { numbers: shares, kept } })
    }

    fn backward_in<F: Float>(
        &self,
        cpu: &Cpu,
        batch: &LossBatch<'_>,
        saved: &Saved,
        grad_output: &[f64],
        grad_input: LogitsMut<'_>,
    ) -> Result<()> {
        let rows = self.rows(batch)?;
        let weights = F::kept_all(&saved.kept, rows.size())?;
        let shares = shares::<F>(saved, grad_output, rows.count())?;
        batch.write_gradient::<F>(cpu, grad_input, |tile| {
            predict(cpu.level, self.activation(), tile);
            let mut slopes = vec![F::default(); tile.channels * tile.row];
            for channel in rows.first..tile.channels {
                let part = rows.part(tile.case, channel).expect("of the rows");
                let weights = &weights[part * rows.voxels + tile.start..][..tile.len];
                let place = tile.channel(channel);
                let (p, labels) = (&tile.logits[place.clone()], &tile.labels[..tile.len]);
                let share = shares[rows.of_part(part)];
                let out = &mut slopes[place];
                exacta_core::dispatch!(cpu.level, simd => slope(simd, p, labels, class(channel), weights, share, out));
            }
            chain(cpu.level, self.activation(), tile, &slopes);
        })
    }
}

/// Errors of a class as codes.
#[inline(always)]
fn encode<S: Copy, F: Float>(_: S, p: &[F], labels: &[F], class: F, out: &mut [F::Code]) {
    let (one, zero) = (F::ONE, F::ZERO);
    for ((out, &p), &label) in out.iter_mut().zip(p).zip(labels) {
        let side = label == class;
        let error = if side { one - p } else { p };
        let error = if error < zero { zero - error } else { error };
        *out = if label >= zero { error.code(side) } else { F::NONE };
    }
}

/// Derivatives by the predictions of a class.
#[inline(always)]
fn slope<S: Copy, F: Float>(_: S, p: &[F], labels: &[F], class: F, weights: &[F], share: F, out: &mut [F]) {
    for (((out, &p), &label), &weight) in out.iter_mut().zip(p).zip(labels).zip(weights) {
        let apart = p - if label == class { F::ONE } else { F::ZERO };
        let slope = weight * share;
        let away = if apart < F::ZERO { F::ZERO - slope } else { slope };
        *out = if apart == F::ZERO { F::ZERO } else { away };
    }
}

/// What each row counts, times the incoming gradient.
pub(crate) fn shares<F: Float>(saved: &Saved, grad_output: &[f64], rows: usize) -> Result<Vec<F>> {
    let incoming = one_number(grad_output)?;
    if saved.numbers.len() != rows {
        let rule = format!("hold {rows} numbers, what the forward pass of this batch gave");
        return Err(Error::LossOption { argument: "saved", rule, value: saved.numbers.len().to_string() });
    }
    Ok(saved.numbers.iter().map(|share| F::from_f64(share * incoming)).collect())
}

/// The incoming gradient of a loss with one value.
pub(crate) fn one_number(grad_output: &[f64]) -> Result<f64> {
    let &[incoming] = grad_output else {
        let rule = "hold one number".to_owned();
        return Err(Error::LossOption { argument: "grad_output", rule, value: grad_output.len().to_string() });
    };
    Ok(incoming)
}

/// Refuses to leave out the only channel.
pub(crate) fn background(include: bool, channels: usize) -> Result<()> {
    if !include && channels == 1 {
        let rule = "be true for an input of one channel: nothing would be left".to_owned();
        return Err(Error::LossOption { argument: "include_background", rule, value: "false".to_owned() });
    }
    Ok(())
}

/// A count as a number.
#[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
pub(crate) fn count(n: usize) -> f64 {
    n as f64
}

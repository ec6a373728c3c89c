//! Soft clDice, and the soft skeleton by itself.

use std::sync::Mutex;

use exacta_core::parallel::Threads;
use exacta_core::{Cpu, Error, Level, Result};

use crate::activation::Activation;
use crate::batch::LossBatch;
use crate::geometry::{Selected, Want, fields, given, gradient_of_slopes};
use crate::logits::{LogitViews, Logits, LogitsMut};
use crate::loss::{Forward, Loss, Saved};
use crate::lovasz::count;
use crate::real::Float;
use crate::skeleton::{Mask, Pool, Shape, backward, forward};

/// Soft centreline Dice: the mean of `1 - 2 tp ts / (tp + ts)` over cases and selected channels.
///
/// `tp = (Σ S(p) g + s) / (Σ S(p) + s)`, how much of the predicted skeleton lies in the target, and `ts = (Σ S(g) p + s) / (Σ S(g) + s)`,
/// how much of the target's skeleton is predicted; S is the soft skeleton ([`soft_skeletonize`]).
///
/// # Conventions
/// Targets are 0 and 1 alone; a skeleton of the caller's may stand for S(g), with `0 <= S(g) <= g`. No voxels are left out.
/// # Gradient
/// With `H = tp + ts` and `E` ratios: `dtp = -2 ts² / (E H²)` and `dts = -2 tp² / (E H²)`; by p it is `dts S(g) / (Σ S(g) + s)`, and
/// `dtp (g - tp) / (Σ S(p) + s)` by S(p), through the skeleton.
/// # Memory
/// A number and a byte a voxel and channel; the number is kept. A thread holds two volumes an iteration.
/// # Agreement
/// `soft_cldice` of the authors' repository for one case and one channel and 10 iterations; it and MONAI pool channels in one ratio.
/// # Reference
/// Shit et al.: clDice, a novel topology-preserving loss function for tubular structure segmentation, 2021, algorithms 1 and 2.
#[derive(Debug, Clone, PartialEq)]
pub struct SoftClDice {
    /// What turns logits into predictions.
    pub activation: Activation,
    /// Whether channel 0 takes part.
    pub include_background: bool,
    iterations: usize,
    smooth: f64,
}

/// Erosions of a skeleton.
///
/// # Errors
/// [`Error::LossOption`] unless not negative.
pub(crate) fn iterations(value: Option<i64>) -> Result<usize> {
    let value = value.unwrap_or(10);
    usize::try_from(value).map_err(|_| {
        let rule = "be a whole number that is not negative".to_owned();
        Error::LossOption { argument: "iterations", rule, value: value.to_string() }
    })
}

impl SoftClDice {
    /// With a number of erosions and a smoothing.
    ///
    /// # Errors
    /// [`Error::LossOption`] unless `smooth` is finite and positive.
    pub fn new(iterations: usize, smooth: f64) -> Result<Self> {
        if !(smooth.is_finite() && smooth > 0.0) {
            let rule = "be finite and positive".to_owned();
            return Err(Error::LossOption { argument: "smooth", rule, value: smooth.to_string() });
        }
        Ok(Self { activation: Activation::Softmax, include_background: false, iterations, smooth })
    }

    /// The same of other predictions, with or without channel 0.
    #[must_use]
    pub fn of(self, activation: Activation, include_background: bool) -> Self {
        Self { activation, include_background, ..self }
    }

    fn forward_in<F: Float>(&self, cpu: &Cpu, batch: &LossBatch<'_>, selected: Selected) -> Result<Forward> {
        let want = Want { predictions: true, threshold: None, target: true };
        let found = fields::<F>(cpu, batch, self.activation, selected, want)?;
        let target = &found.target;
        let allowed = |i: usize, value: f64| (0.0..=f64::from(target[i])).contains(&value);
        let rule = ("be finite and lie between 0 and the target", allowed);
        let given = given::<F>(cpu, batch, selected, "target_skeleton", rule)?;
        let mut slopes = found.predictions.expect("asked for");
        let shape = Shape::new(&batch.shape()[2..]);
        let one = Ratio { shape, iterations: self.iterations, smooth: self.smooth, ratios: count(selected.rows()) };
        let rows: Vec<_> = slopes.chunks_mut(selected.voxels).map(Mutex::new).collect();
        // Whole volumes side by side where there are enough, else each by all threads.
        let losses = each_volume::<F, _>(&cpu.threads, rows.len(), |threads, row, pool| {
            let part = row * selected.voxels..(row + 1) * selected.voxels;
            let mut slopes = rows[row].try_lock().expect("each row is taken once");
            let given = given.as_ref().map(|given| &given[part.clone()]);
            one.run((cpu.level, threads), &mut slopes, &target[part], given, pool)
        });
        drop(rows);
        let value = losses.iter().fold(0.0, |sum, loss| sum + loss) / one.ratios;
        Ok(Forward { values: vec![value], saved: Saved { numbers: Vec::new(), kept: F::keep_all(slopes) } })
    }
}

/// Calls `f` for volumes side by side where there are enough, else for one after the other with all threads; what a thread
/// allocates for one volume serves the next.
fn each_volume<F: Float, T: Send>(
    threads: &Threads,
    volumes: usize,
    f: impl Fn(&Threads, usize, &mut Pool<F>) -> T + Sync,
) -> Vec<T> {
    let apart = volumes >= threads.count();
    let inside = if apart { Threads::Serial } else { threads.clone() };
    let outside = if apart { threads } else { &Threads::Serial };
    let pools: Mutex<Vec<Pool<F>>> = Mutex::new(Vec::new());
    let take = || pools.lock().expect("no holder of the lock panics").pop();
    outside.map(volumes, |volume| {
        let mut pool = take().unwrap_or_else(Pool::new);
        let result = f(&inside, volume, &mut pool);
        pools.lock().expect("no holder of the lock panics").push(pool);
        result
    })
}

/// One case and channel.
struct Ratio {
    shape: Shape,
    iterations: usize,
    smooth: f64,
    /// Number of ratios in the mean.
    ratios: f64,
}

impl Ratio {
    /// The loss; predictions give way to the derivatives of the mean by them.
    fn run<F: Float>(
        &self,
        (level, threads): (Level, &Threads),
        values: &mut [F],
        target: &[u8],
        given: Option<&[F]>,
        pool: &mut Pool<F>,
    ) -> f64 {
        let mut volume = pool.take(self.shape);
        volume.write(0, values);
        let steps = forward(level, threads, &volume, self.iterations, true, pool);
        let skeleton = steps.skeletons.last().expect("there is one");
        let (mut all, mut hit) = (0.0, 0.0);
        for (row, target) in target.chunks(self.shape.columns).enumerate() {
            let (mut row_all, mut row_hit) = (0.0, 0.0);
            for (&value, &target) in skeleton.row(row).iter().zip(target) {
                let value = value.to_f64();
                row_all += value;
                row_hit += if target != 0 { value } else { 0.0 };
            }
            (all, hit) = (all + row_all, hit + row_hit);
        }
        let reference = Reference::new(self, target, given);
        let (mut size, mut found) = (0.0, 0.0);
        reference.each(|i, weight: F| {
            size += weight.to_f64();
            found += (weight * values[i]).to_f64();
        });
        let s = self.smooth;
        let (tp, ts) = ((hit + s) / (all + s), (found + s) / (size + s));
        let sum = tp + ts;
        let (by_tp, by_ts) = (-2.0 * ts * ts / (self.ratios * sum * sum), -2.0 * tp * tp / (self.ratios * sum * sum));
        let (inside, outside) = (by_tp * (1.0 - tp) / (all + s), by_tp * -tp / (all + s));
        let [inside, outside] = [inside, outside].map(F::from_f64);
        for (value, &target) in values.iter_mut().zip(target) {
            *value = if target != 0 { inside } else { outside };
        }
        let mut incoming = pool.take(self.shape);
        incoming.write(0, values);
        values.fill(F::ZERO);
        let direct = F::from_f64(by_ts / (size + s));
        reference.each(|i, weight: F| values[i] = direct * weight);
        backward(level, &volume, &steps, &mut incoming, values, pool);
        pool.give(steps.eroded.into_iter().chain(steps.skeletons).chain([volume, incoming]));
        1.0 - 2.0 * tp * ts / sum
    }
}

/// The skeleton of the target.
enum Reference<'a, F> {
    Given(&'a [F]),
    Found(Shape, Mask),
}

impl<'a, F: Float> Reference<'a, F> {
    fn new(ratio: &Ratio, target: &[u8], given: Option<&'a [F]>) -> Self {
        if let Some(given) = given {
            return Self::Given(given);
        }
        let mut mask = Mask::new(ratio.shape);
        mask.write(0, target, |value| value != 0);
        Self::Found(ratio.shape, mask.skeleton(ratio.iterations))
    }

    /// Calls `f` with each voxel that is not 0, in raster order.
    fn each(&self, mut f: impl FnMut(usize, F)) {
        match self {
            Self::Given(given) => {
                given
                    .iter()
                    .enumerate()
                    .filter(|(_, weight)| **weight != F::ZERO)
                    .for_each(|(i, &weight)| f(i, weight));
            }
            Self::Found(shape, mask) => {
                for row in 0..shape.slices * shape.rows {
                    for (w, &word) in mask.row(row).iter().enumerate() {
                        let mut rest = word;
                        while rest != 0 {
                            f(row * shape.columns + w * 64 + rest.trailing_zeros() as usize, F::ONE);
                            rest &= rest - 1;
                        }
                    }
                }
            }
        }
    }
}

impl Loss for SoftClDice {
    fn forward(&self, cpu: &Cpu, batch: &LossBatch<'_>) -> Result<Forward> {
        if batch.has_exclusions() {
            let rule = "be left out: the skeleton has no excluded voxels".to_owned();
            return Err(Error::LossOption { argument: "mask", rule, value: "a mask or ignore_index".to_owned() });
        }
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

/// A soft skeleton, or its gradient: `(B, C, H, W)` or `(B, C, D, H, W)` in C order.
#[derive(Debug, Clone, PartialEq)]
pub enum Skeletons {
    /// Single precision, of single and half precision.
    F32(Vec<f32>),
    /// Double precision.
    F64(Vec<f64>),
}

/// The soft skeleton of each channel of each case: `S = relu(x - O(x))`; then `iterations` times `x = E(x)`,
/// `d = relu(x - O(x))`, `S = S + relu(d - S d)`.
///
/// E is the least of a voxel and its face neighbours (5 or 7 voxels), M the largest of the full box of 9 or 27, O is M of E; the
/// outside is left out. With `gradient`, the derivative of `Σ gradient S` by the input instead of S: erosions hand it to the least voxel,
/// dilations to the largest, of equal ones to the first in raster order. A NaN spreads.
///
/// # Errors
/// [`Error::LossShape`] unless there are two or three spatial axes, none of them empty, and `gradient` has the shape of the input.
/// # Reference
/// As [`SoftClDice`].
pub fn soft_skeletonize(
    cpu: &Cpu,
    input: &Logits<'_>,
    iterations: usize,
    gradient: Option<&Logits<'_>>,
) -> Result<Skeletons> {
    Ok(if input.is_double() {
        Skeletons::F64(skeletons::<f64>(cpu, input, iterations, gradient)?)
    } else {
        Skeletons::F32(skeletons::<f32>(cpu, input, iterations, gradient)?)
    })
}

fn skeletons<F: Float>(
    cpu: &Cpu,
    input: &Logits<'_>,
    iterations: usize,
    gradient: Option<&Logits<'_>>,
) -> Result<Vec<F>> {
    let shape = input.shape().to_vec();
    let wrong = |argument, rule, found: &[usize]| {
        Err(Error::LossShape { argument, rule, found: found.to_vec(), input: shape.clone() })
    };
    if !(4..=5).contains(&shape.len()) || shape.contains(&0) {
        return wrong("probs", "have shape (B, C, H, W) or (B, C, D, H, W) and no empty axis", &shape);
    }
    if let Some(gradient) = gradient
        && gradient.shape() != shape
    {
        return wrong("gradient", "have the shape of probs", gradient.shape());
    }
    let voxels: usize = shape[2..].iter().product();
    if u32::try_from(voxels).is_err() {
        return Err(Error::TooLarge { what: "number of voxels of a case", value: voxels, limit: u32::MAX as usize });
    }
    let (views, weights) = (LogitViews::new(input)?, gradient.map(LogitViews::new).transpose()?);
    let mut out = vec![F::ZERO; shape.iter().product()];
    let parts: Vec<_> = out.chunks_mut(voxels).map(Mutex::new).collect();
    each_volume::<F, _>(&cpu.threads, parts.len(), |threads, row, pool| {
        let mut out = parts[row].try_lock().expect("each row is taken once");
        let at = [row / shape[1], row % shape[1]];
        let shape = Shape::new(&shape[2..]);
        let mut volume = pool.take(shape);
        views.read(cpu.level, at, 0, &mut out);
        volume.write(0, &out);
        let steps = forward(cpu.level, threads, &volume, iterations, weights.is_some(), pool);
        if let Some(weights) = &weights {
            let mut incoming = pool.take(shape);
            weights.read(cpu.level, at, 0, &mut out);
            incoming.write(0, &out);
            out.fill(F::ZERO);
            backward(cpu.level, &volume, &steps, &mut incoming, &mut out, pool);
            pool.give([incoming]);
        } else {
            steps.skeletons.last().expect("there is one").read(&mut out);
        }
        pool.give(steps.eroded.into_iter().chain(steps.skeletons).chain([volume]));
    });
    drop(parts);
    Ok(out)
}

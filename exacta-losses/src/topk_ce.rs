//! Cross-entropy of the hardest voxels, alone or beside Dice.

use exacta_core::{Cpu, Error, Result};
use fearless_simd::{Select, Simd, SimdBase};

use crate::activation::Activation;
use crate::batch::LossBatch;
use crate::blocks::Blocks;
use crate::dice::Dice;
use crate::logits::LogitsMut;
use crate::loss::{Forward, Kept, Loss, Saved, Statistics};
use crate::lovasz::one_number;
use crate::predict::{class, lane_sum, predict, predict_with_entropy};
use crate::real::{Float, not_kept};
use crate::select::{Cut, largest};
use crate::terms::{Factors, Layout, Overlap, Terms};
use crate::tile::{BLOCK, STRIP, Tile};

/// Mean cross-entropy of the k voxels of the batch where it is largest, `k = ceil(fraction n)` of n counted voxels; with
/// `dice`, the weighted sum with soft Dice.
///
/// # Conventions
/// The count is evaluated in double precision, so 0.07 of 100 voxels are 8. Of voxels with equal values at the cut those come first
/// that have the lowest index, case by case. All cases are pooled. No counted voxel gives 0. A NaN ranks highest.
/// # Gradient
/// `(p - [c = y]) / k` at the chosen voxels, else 0.
/// # Memory
/// A number a voxel in the forward pass; a bit a voxel is kept.
/// # Agreement
/// nnU-Net's `TopKLoss` but for its count, which is rounded down.
/// # Reference
/// Wu, Shen, van den Hengel: Bridging category-level and instance-level semantic image segmentation, 2016, section 3.
#[derive(Debug, Clone, PartialEq)]
pub struct TopKCe {
    fraction: f64,
    lambda_ce: f64,
    dice: Option<Terms>,
    class_weight: Option<Vec<f64>>,
}

impl TopKCe {
    /// Of the given fraction of voxels.
    ///
    /// # Errors
    /// [`Error::LossOption`] unless it lies in (0, 1].
    pub fn new(fraction: f64) -> Result<Self> {
        if !(fraction > 0.0 && fraction <= 1.0) {
            let rule = "lie in (0, 1]".to_owned();
            return Err(Error::LossOption { argument: "fraction", rule, value: fraction.to_string() });
        }
        Ok(Self { fraction, lambda_ce: 1.0, dice: None, class_weight: None })
    }

    /// The same times a coefficient, plus Dice terms with softmax.
    #[must_use]
    pub fn with_dice(self, lambda_ce: f64, dice: Terms) -> Self {
        Self { lambda_ce, dice: Some(dice), ..self }
    }

    /// The same with cross-entropy times a weight a class, before the choice of voxels.
    #[must_use]
    pub fn with_class_weight(self, class_weight: Option<Vec<f64>>) -> Self {
        Self { class_weight, ..self }
    }

    /// The Dice terms, unless their coefficient is 0.
    fn overlap(&self) -> Option<(&Terms, bool)> {
        let terms = self.dice.as_ref()?;
        match terms.overlap {
            Some((_, Overlap::Dice(Dice { squared_pred }))) => Some((terms, squared_pred)),
            _ => None,
        }
    }
}

impl Loss for TopKCe {
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

impl TopKCe {
    fn check(&self, batch: &LossBatch<'_>) -> Result<()> {
        if batch.is_one_hot() {
            let rule = "be \"index\" for top-k cross-entropy".to_owned();
            return Err(Error::LossOption { argument: "target_format", rule, value: "\"one-hot\"".to_owned() });
        }
        check_weights(self.class_weight.as_deref(), batch.channels())?;
        self.overlap().map_or(Ok(()), |(terms, _)| terms.check(batch.channels()))
    }

    fn weights<F: Float>(&self) -> Option<Vec<F>> {
        Some(self.class_weight.as_ref()?.iter().map(|&weight| F::from_f64(weight)).collect())
    }

    fn forward_in<F: Float>(&self, cpu: &Cpu, batch: &LossBatch<'_>) -> Result<Forward> {
        let (cases, channels, voxels) = (batch.cases(), batch.channels(), batch.voxels());
        let layout = Layout { channels };
        let overlap = self.overlap();
        let ranked = self.lambda_ce != 0.0;
        let weights = self.weights::<F>();
        let mut codes = vec![F::NONE; if ranked { cases * voxels } else { 0 }];
        let blocks = Blocks::new(&mut codes, voxels);
        let width = layout.width();
        let sums = batch.sum_tiles::<F>(cpu, width, |tile, sums| {
            let mut entropy = [F::default(); 512];
            let (case, start, len) = (tile.case, tile.start, tile.len);
            if ranked {
                if overlap.is_some() {
                    predict_with_entropy(cpu.level, tile, &mut entropy);
                } else {
                    exacta_core::dispatch!(cpu.level, simd => entropies(simd, tile, &mut entropy));
                }
                if let Some(weights) = &weights {
                    exacta_core::dispatch!(cpu.level, simd => weigh(simd, &tile.labels[..len], weights, &mut entropy));
                }
                blocks.with(case, start, len, |out| {
                    let labels = &tile.labels[..len];
                    exacta_core::dispatch!(cpu.level, simd => encode(simd, &entropy, labels, out));
                });
            } else {
                predict(cpu.level, Activation::Softmax, tile);
            }
            if let Some((_, squared)) = overlap {
                exacta_core::dispatch!(cpu.level, simd => dice_sums(simd, tile, squared, sums));
            }
            #[expect(clippy::cast_precision_loss, reason = "a tile is small")]
            {
                sums[layout.included()] += tile.included as f64;
                sums[layout.invalid()] += tile.invalid as f64;
            }
        });
        drop(blocks);
        let rows = || sums.chunks_exact(width);
        if rows().any(|row| row[layout.invalid()] > 0.0) {
            return Err(batch.label_error());
        }
        let included: f64 = rows().map(|row| row[layout.included()]).sum();
        let mut out = Forward { values: vec![0.0], saved: Saved::default() };
        if let Some((terms, _)) = overlap {
            out = terms.reduce(&terms.rows(Statistics { channels, rows: cases, sums }), batch.has_exclusions(), true);
        }
        let k = (self.fraction * included).ceil();
        let mut scale = 0.0;
        if ranked && k > 0.0 {
            scale = self.lambda_ce / k;
            let (sum, chosen) = choose::<F>(cpu, batch, &codes, k.min(included));
            out.values[0] += scale * sum;
            out.saved.kept = Kept::U8(chosen.into());
        }
        out.saved.numbers.push(scale);
        Ok(out)
    }

    fn backward_in<F: Float>(
        &self,
        cpu: &Cpu,
        batch: &LossBatch<'_>,
        saved: &Saved,
        grad_output: &[f64],
        grad_input: LogitsMut<'_>,
    ) -> Result<()> {
        let incoming = one_number(grad_output)?;
        let mut numbers = saved.numbers.clone();
        let scale = numbers.pop().ok_or_else(|| not_kept(1))?;
        let per_case = batch.voxels().div_ceil(8);
        let chosen: &[u8] = match &saved.kept {
            _ if scale == 0.0 => &[],
            Kept::U8(chosen) if chosen.len() == batch.cases() * per_case => chosen,
            _ => return Err(not_kept(batch.cases() * per_case)),
        };
        let (factors, squared) = match self.overlap() {
            Some((terms, squared)) => {
                let saved = Saved { numbers, kept: Kept::Nothing };
                (terms.factors::<F>(batch, &saved, grad_output)?, squared)
            }
            None => (Vec::new(), false),
        };
        let scale = F::from_f64(scale * incoming);
        let weights = self.weights::<F>();
        batch.write_tiles::<F>(cpu, grad_input, |tile| {
            let (mut places, mut count) = ([0; 512], 0);
            if !chosen.is_empty() {
                let bytes = &chosen[tile.case * per_case + tile.start / 8..];
                count = places_of(&bytes[..tile.len.div_ceil(8)], &mut places);
            }
            let places = &places[..count];
            let factors = factors.get(if factors.len() == 1 { 0 } else { tile.case });
            if factors.is_none() && count < tile.len / 2 {
                tile.logits.fill(F::ZERO);
                if count > 0 {
                    let mut few = gathered(cpu, batch, tile, places);
                    let mut shares = [scale; 512];
                    self.finish(cpu, &mut few, None, false, weights.as_deref(), &mut shares);
                    for (c, values) in tile.logits.chunks_exact_mut(tile.row).enumerate() {
                        let few = &few.logits[few.channel(c)];
                        places.iter().zip(few).for_each(|(&place, &value)| values[usize::from(place)] = value);
                    }
                }
                return;
            }
            batch.read_logits(cpu.level, tile);
            let mut shares = [F::ZERO; 512];
            places.iter().for_each(|&place| shares[usize::from(place)] = scale);
            self.finish(cpu, tile, factors, squared, weights.as_deref(), &mut shares);
        })
    }

    /// Turns the logits of a tile into the gradient; each voxel's share of the cross-entropy is still to be weighted.
    fn finish<F: Float>(
        &self,
        cpu: &Cpu,
        tile: &mut Tile<F>,
        factors: Option<&Factors<F>>,
        squared: bool,
        weights: Option<&[F]>,
        shares: &mut [F],
    ) {
        if let Some(weights) = weights {
            exacta_core::dispatch!(cpu.level, simd => weigh(simd, &tile.labels[..tile.len], weights, shares));
        }
        predict(cpu.level, Activation::Softmax, tile);
        exacta_core::dispatch!(cpu.level, simd => gradient(simd, tile, factors, squared, shares));
    }
}

/// The places of set bits, in order; their number.
fn places_of(bytes: &[u8], places: &mut [u16; 512]) -> usize {
    let mut count = 0;
    for (&byte, first) in bytes.iter().zip((0..).step_by(8)) {
        let mut left = byte;
        while left != 0 {
            places[count] = first + u16::try_from(left.trailing_zeros()).expect("below 8");
            count += 1;
            left &= left - 1;
        }
    }
    count
}

/// Some voxels of a tile, by their places, as a tile of their own.
fn gathered<F: Float>(cpu: &Cpu, batch: &LossBatch<'_>, tile: &Tile<F>, places: &[u16]) -> Tile<F> {
    let row = places.len().next_multiple_of(STRIP);
    let mut few = Tile {
        len: places.len(),
        row,
        logits: vec![F::ZERO; tile.channels * row],
        labels: vec![F::from_f64(-1.0); row],
        goals: Vec::new(),
        included: places.len() as u64,
        ..*tile
    };
    few.labels.iter_mut().zip(places).for_each(|(label, &place)| *label = tile.labels[usize::from(place)]);
    for (c, out) in few.logits.chunks_exact_mut(row).enumerate() {
        let out = &mut out[..places.len()];
        batch.logits().gather(cpu.level, [tile.case, c], (tile.start, tile.len), places, out);
    }
    few
}

/// Refuses weights that are not one a channel, finite and not negative.
pub(crate) fn check_weights(weights: Option<&[f64]>, channels: usize) -> Result<()> {
    let Some(weights) = weights else { return Ok(()) };
    let (rule, value) = if weights.len() != channels {
        (format!("have {channels} values, one a channel of input"), weights.len().to_string())
    } else if !weights.iter().all(|weight| weight.is_finite() && *weight >= 0.0) {
        ("be finite and not negative".to_owned(), format!("{weights:?}"))
    } else {
        return Ok(());
    };
    Err(Error::LossOption { argument: "class_weight", rule, value })
}

/// Multiplies each value by the weight of its label.
#[inline(always)]
fn weigh<S: Copy, F: Float>(_: S, labels: &[F], weights: &[F], values: &mut [F]) {
    let mut factors = [F::ONE; 512];
    for (c, &weight) in weights.iter().enumerate() {
        let class = class::<F>(c);
        for (factor, &label) in factors.iter_mut().zip(labels) {
            *factor = if label == class { weight } else { *factor };
        }
    }
    for (value, &factor) in values.iter_mut().zip(&factors) {
        *value *= factor;
    }
}

/// Sum of the k largest values, and a bit a voxel for who is among them.
fn choose<F: Float>(cpu: &Cpu, batch: &LossBatch<'_>, codes: &[F::Code], k: f64) -> (f64, Vec<u8>) {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a positive count")]
    let cut: Cut<F::Code> = largest::<F>(&cpu.threads, codes, k as u64);
    let voxels = batch.voxels();
    let per_case = voxels.div_ceil(8);
    let parts = batch.map_blocks(cpu, |case, block| {
        let first = case * voxels + block.start;
        let codes = &codes[first..first + block.len()];
        let mut bytes = vec![0u8; codes.len().div_ceil(8)];
        let (out, least) = (&mut bytes[..], cut.threshold);
        // Values equal to the threshold are all chosen up to a certain index.
        if first >= cut.ties_before {
            exacta_core::dispatch!(cpu.level, simd => mark::<_, F>(simd, codes, |code| code > least, out));
        } else if first + codes.len() <= cut.ties_before {
            exacta_core::dispatch!(cpu.level, simd => mark::<_, F>(simd, codes, |code| code >= least, out));
        } else {
            for (i, &code) in codes.iter().enumerate() {
                out[i / 8] |= u8::from(code != F::NONE && cut.takes(code, first + i)) << (i % 8);
            }
        }
        let mut sum = 0.0;
        for (&byte, codes) in bytes.iter().zip(codes.chunks(8)) {
            let mut left = byte;
            while left != 0 {
                sum += F::value(codes[left.trailing_zeros() as usize]);
                left &= left - 1;
            }
        }
        (case, block.start, sum, bytes)
    });
    let mut chosen = vec![0; batch.cases() * per_case];
    let mut total = 0.0;
    for (case, start, sum, bytes) in parts {
        total += sum;
        chosen[case * per_case + start / 8..][..bytes.len()].copy_from_slice(&bytes);
    }
    (total, chosen)
}

const _: () = assert!(BLOCK.is_multiple_of(8), "blocks start at whole bytes");

/// A bit for each code that is not left out and that `takes` holds for.
#[inline(always)]
fn mark<S: Copy, F: Float>(_: S, codes: &[F::Code], takes: impl Fn(F::Code) -> bool, out: &mut [u8]) {
    let bit = |code: F::Code| u8::from((code != F::NONE) & takes(code));
    let (whole, rest) = codes.as_chunks::<8>();
    for (out, codes) in out.iter_mut().zip(whole) {
        *out = (0..8).fold(0, |byte, i| byte | bit(codes[i]) << i);
    }
    for (i, &code) in rest.iter().enumerate() {
        out[whole.len()] |= bit(code) << i;
    }
}

/// Cross-entropy `-log p_y` of each voxel, as [`predict_with_entropy`] does.
#[inline(always)]
fn entropies<S: Simd, F: Float>(simd: S, tile: &Tile<F>, out: &mut [F]) {
    let zero = F::Wide::<S>::splat(simd, F::default());
    let one = F::Wide::<S>::splat(simd, F::from_f64(1.0));
    for at in (0..tile.len).step_by(F::LANES) {
        let label = F::Wide::<S>::from_slice(simd, &tile.labels[at..at + F::LANES]);
        let logits = |c: usize| F::Wide::<S>::from_slice(simd, &tile.logits[c * tile.row + at..][..F::LANES]);
        let most = (1..tile.channels).fold(logits(0), |most, c| most.max(logits(c)));
        let (mut rest, mut ties, mut own) = (zero, zero - one, zero);
        for c in 0..tile.channels {
            let less = logits(c) - most;
            let top = less.simd_eq(zero);
            rest += top.select(zero, F::exp(simd, less));
            ties += top.select(one, zero);
            own = label.simd_eq(F::Wide::<S>::splat(simd, class(c))).select(less, own);
        }
        // What rounding loses of 1 + r is put back.
        let rest = rest + ties;
        let sum = rest + one;
        let log = F::log(simd, sum) + (rest - (sum - one)) / sum;
        (log - own).store_slice(&mut out[at..at + F::LANES]);
    }
}

#[inline(always)]
fn encode<S: Copy, F: Float>(_: S, entropy: &[F], labels: &[F], out: &mut [F::Code]) {
    for ((out, &entropy), &label) in out.iter_mut().zip(entropy).zip(labels) {
        *out = if label >= F::ZERO { entropy.code(false) } else { F::NONE };
    }
}

/// Adds `Σ p g`, `Σ p` or `Σ p²`, and `Σ g` of each class of predictions.
#[inline(always)]
fn dice_sums<S: Simd, F: Float>(simd: S, tile: &Tile<F>, squared: bool, sums: &mut [f64]) {
    let zero = F::Wide::<S>::splat(simd, F::default());
    let one = F::Wide::<S>::splat(simd, F::from_f64(1.0));
    for c in 0..tile.channels {
        let is = |at: std::ops::Range<usize>| {
            F::Wide::<S>::from_slice(simd, &tile.labels[at]).simd_eq(F::Wide::<S>::splat(simd, class(c)))
        };
        let p = |at: std::ops::Range<usize>| {
            F::Wide::<S>::from_slice(simd, &tile.logits[c * tile.row + at.start..c * tile.row + at.end])
        };
        sums[c] += lane_sum::<S, F>(simd, tile.len, |at| is(at.clone()).select(p(at), zero));
        sums[tile.channels + c] += lane_sum::<S, F>(simd, tile.len, |at| {
            let p = p(at);
            if squared { p * p } else { p }
        });
        sums[2 * tile.channels + c] += lane_sum::<S, F>(simd, tile.len, |at| is(at).select(one, zero));
    }
}

/// `p_c (dp_c - Σ p_k dp_k) + share (p_c - [c = y])` from predictions; `dp` is Dice's.
#[inline(always)]
fn gradient<S: Simd, F: Float>(simd: S, tile: &mut Tile<F>, factors: Option<&Factors<F>>, squared: bool, shares: &[F]) {
    let zero = F::Wide::<S>::splat(simd, F::default());
    let (row, channels) = (tile.row, tile.channels);
    for at in (0..tile.len).step_by(F::LANES) {
        let label = F::Wide::<S>::from_slice(simd, &tile.labels[at..at + F::LANES]);
        let share = F::Wide::<S>::from_slice(simd, &shares[at..at + F::LANES]);
        let is = |c: usize| label.simd_eq(F::Wide::<S>::splat(simd, class(c)));
        let place = |c: usize| c * row + at..c * row + at + F::LANES;
        let slope = |c: usize, p: F::Wide<S>| {
            let Some(factors) = factors else { return zero };
            let constant = F::Wide::<S>::splat(simd, factors.constant[c]);
            let along = if squared { constant * p } else { constant };
            along - is(c).select(F::Wide::<S>::splat(simd, factors.target[c]), zero)
        };
        let mut common = zero;
        if factors.is_some() {
            for c in 0..channels {
                let p = F::Wide::<S>::from_slice(simd, &tile.logits[place(c)]);
                common += p * slope(c, p);
            }
        }
        for c in 0..channels {
            let p = F::Wide::<S>::from_slice(simd, &tile.logits[place(c)]);
            let dz = p * (slope(c, p) - common) + (share * p - is(c).select(share, zero));
            dz.store_slice(&mut tile.logits[place(c)]);
        }
    }
}

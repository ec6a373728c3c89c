//! A few voxels at a time: read, reduced to those that count, checked and activated in cache.

use super::batch::{ScoreBatch, ScoreMap};
use super::real::Real;
use super::select::Codes;
use crate::Level;

/// Voxels of a tile: some channels of them stay in the first-level cache.
pub(super) const TILE: usize = 2048;

/// A counted value that breaks a rule; a second look says which.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Invalid;

/// What is done with the scores once they are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Activation {
    /// Nothing.
    Raw,
    /// Probabilities of logits: softmax over several channels, sigmoid of one.
    Probability,
    /// Logarithm of the softmax.
    LogSoftmax,
}

/// The counted voxels of a piece of a map, in C order.
pub(super) struct Tile<T> {
    values: Vec<T>,
    labels: Vec<u32>,
    keep: Vec<u8>,
    /// Per voxel: a maximum or a sum.
    scratch: Vec<T>,
    wide: Vec<f64>,
    len: usize,
}

impl<T: Real> Tile<T> {
    pub(super) fn new(map: &ScoreMap<'_>) -> Self {
        Self {
            values: vec![T::ZERO; map.channels.len() * TILE],
            labels: vec![0; TILE],
            keep: vec![1; TILE],
            scratch: vec![T::ZERO; TILE],
            wide: Vec::new(),
            len: 0,
        }
    }

    /// Number of voxels that count.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn labels(&self) -> &[u32] {
        &self.labels[..self.len]
    }

    pub(super) fn channel(&self, channel: usize) -> &[T] {
        &self.values[channel * TILE..channel * TILE + self.len]
    }

    fn channels(&self) -> usize {
        self.values.len() / TILE
    }

    /// Labels and channels of `len` voxels from `start` on; only the counted ones stay.
    pub(super) fn load(&mut self, map: &ScoreMap<'_>, level: Level, start: usize, len: usize) -> Result<(), Invalid> {
        if map.is_masked() {
            map.keep(level, start, &mut self.keep[..len]);
        }
        if !map.labels(level, start, &self.keep[..len], &mut self.labels[..len]) {
            return Err(Invalid);
        }
        self.len = len;
        if map.is_masked() {
            self.len = compact(&mut self.labels[..len], &self.keep);
            if self.len == 0 {
                return Ok(());
            }
        }
        for (channel, values) in map.channels.iter().zip(self.values.chunks_exact_mut(TILE)) {
            T::read(channel, start, &mut values[..len]);
            if map.is_masked() {
                compact(&mut values[..len], &self.keep);
            }
        }
        Ok(())
    }

    /// The same with labels that are known, and of the channels only those that are `wanted`.
    pub(super) fn load_coded(
        &mut self,
        map: &ScoreMap<'_>,
        codes: &Codes,
        start: usize,
        len: usize,
        wanted: impl Fn(usize) -> bool,
    ) {
        codes.read(start, &mut self.labels[..len], &mut self.keep[..len]);
        self.len = if codes.is_masked() { compact(&mut self.labels[..len], &self.keep) } else { len };
        if self.len == 0 {
            return;
        }
        for (i, (channel, values)) in map.channels.iter().zip(self.values.chunks_exact_mut(TILE)).enumerate() {
            if wanted(i) {
                T::read(channel, start, &mut values[..len]);
                if codes.is_masked() {
                    compact(&mut values[..len], &self.keep);
                }
            }
        }
    }

    /// Whether every value is what `batch` says: finite logits, or probabilities that sum to 1.
    ///
    /// `wide` adds channels in double precision, else in that of the tile.
    pub(super) fn check(&mut self, level: Level, batch: &ScoreBatch<'_>, wide: bool) -> Result<(), Invalid> {
        let (n, values) = (self.len, &self.values);
        let mut bad = fearless_simd::dispatch!(level, _simd => out_of_range(values, n, batch.spec().from_logits));
        if !batch.spec().from_logits && !batch.is_binary() {
            if wide {
                self.wide.clear();
                self.wide.resize(n, 0.0);
                let (sums, tolerance) = (&mut self.wide[..], batch.tolerance());
                bad |= fearless_simd::dispatch!(level, _simd => far_from_one(values, sums, tolerance));
            } else {
                let (sums, tolerance) = (&mut self.scratch[..n], T::from_f64(batch.tolerance()));
                sums.fill(T::ZERO);
                bad |= fearless_simd::dispatch!(level, _simd => far_from_one(values, sums, tolerance));
            }
        }
        if bad == 0 { Ok(()) } else { Err(Invalid) }
    }

    /// Replaces logits.
    pub(super) fn activate(&mut self, activation: Activation) {
        let n = self.len;
        match activation {
            Activation::Raw => {}
            Activation::Probability if self.channels() == 1 => {
                for value in &mut self.values[..n] {
                    *value = sigmoid(*value);
                }
            }
            Activation::Probability => {
                self.subtract_max();
                let mut sums = vec![T::ZERO; n];
                for channel in self.values.chunks_exact_mut(TILE) {
                    for (value, sum) in channel[..n].iter_mut().zip(&mut sums) {
                        *value = value.exp();
                        *sum = *sum + *value;
                    }
                }
                for channel in self.values.chunks_exact_mut(TILE) {
                    for (value, &sum) in channel[..n].iter_mut().zip(&sums) {
                        *value = *value / sum;
                    }
                }
            }
            Activation::LogSoftmax => {
                self.subtract_max();
                let mut sums = vec![T::ZERO; n];
                for channel in self.values.chunks_exact(TILE) {
                    for (value, sum) in channel[..n].iter().zip(&mut sums) {
                        *sum = *sum + value.exp();
                    }
                }
                for sum in &mut sums {
                    *sum = sum.ln();
                }
                for channel in self.values.chunks_exact_mut(TILE) {
                    for (value, &sum) in channel[..n].iter_mut().zip(&sums) {
                        *value = *value - sum;
                    }
                }
            }
        }
    }

    fn subtract_max(&mut self) {
        let n = self.len;
        let most = &mut self.scratch[..n];
        most.copy_from_slice(&self.values[..n]);
        for channel in self.values.chunks_exact(TILE).skip(1) {
            for (most, &value) in most.iter_mut().zip(&channel[..n]) {
                *most = value.max(*most);
            }
        }
        for channel in self.values.chunks_exact_mut(TILE) {
            for (value, &most) in channel[..n].iter_mut().zip(&*most) {
                *value = *value - most;
            }
        }
    }
}

/// `1 / (1 + exp(-x))` without overflow.
fn sigmoid<T: Real>(x: T) -> T {
    let e = (-x.abs()).exp();
    let above = if x >= T::ZERO { T::ONE } else { e };
    above / (T::ONE + e)
}

/// Whether one of the first `n` values of a channel is not finite, or no probability.
#[inline(always)]
fn out_of_range<T: Real>(values: &[T], n: usize, from_logits: bool) -> u32 {
    let mut bad = 0;
    for channel in values.chunks_exact(TILE) {
        if from_logits {
            for value in &channel[..n] {
                bad |= u32::from(!value.finite());
            }
        } else {
            for &value in &channel[..n] {
                bad |= u32::from(!((value >= T::ZERO) & (value <= T::ONE)));
            }
        }
    }
    bad
}

/// Whether a sum of channels is farther than `tolerance` from 1; `sums` starts at 0.
#[inline(always)]
fn far_from_one<T: Real, A: Real>(values: &[T], sums: &mut [A], tolerance: A) -> u32 {
    for channel in values.chunks_exact(TILE) {
        for (sum, value) in sums.iter_mut().zip(channel) {
            *sum = *sum + A::from_f64(value.to_f64());
        }
    }
    sums.iter().fold(0, |bad, &sum| bad | u32::from((sum - A::ONE).abs() > tolerance))
}

/// Moves the counted values to the front; how many they are.
#[inline(always)]
fn compact<V: Copy>(values: &mut [V], keep: &[u8]) -> usize {
    let mut kept = 0;
    for i in 0..values.len() {
        values[kept] = values[i];
        kept += usize::from(keep[i]);
    }
    kept
}

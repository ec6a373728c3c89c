//! Input, target and mask of a loss: checked once, then read tile by tile.

use std::ops::Range;
use std::sync::Mutex;

use exacta_core::ndarray::{ArrayViewMut2, ArrayViewMut6, ArrayViewMutD, Axis};
use exacta_core::stages::DistanceStage;
use exacta_core::{Cpu, Error, Labels, Level, Result};

use crate::dispatch::dispatch;
use crate::logits::{Brain, Codec, Half, LogitViews, Logits, LogitsMut, Plain};
use crate::number::Number;
use crate::target::{LabelViews, Rule, Target};
use crate::tile::{BLOCK, Tile};
use crate::view;

/// What a loss is computed of.
///
/// A voxel counts where the mask is absent or true and its label is not `ignore_index`; the rest may hold anything.
#[derive(Debug, Clone)]
pub struct LossBatch<'a> {
    logits: LogitViews<'a>,
    target: LabelViews<'a>,
    mask: Option<LabelViews<'a>>,
    map: Option<Logits<'a>>,
    distances: Option<&'a dyn DistanceStage>,
    one_hot: bool,
    double: bool,
    ignore: Option<i64>,
    shape: Vec<usize>,
}

impl<'a> LossBatch<'a> {
    /// Checks shapes and borrows the arrays.
    ///
    /// The mask is one value a voxel, `(B, *spatial)` or `(B, 1, *spatial)`; what is not 0 counts.
    ///
    /// # Errors
    /// [`Error::LossShape`] where ranks or shapes do not fit; [`Error::TooLarge`] beyond 2^24 channels or four spatial axes that
    /// memory does not let merge.
    pub fn new(input: Logits<'a>, target: Target<'a>, mask: Option<Labels<'a>>) -> Result<Self> {
        let shape = input.shape().to_vec();
        let wrong = |argument, rule: &'static str, found: &[usize]| {
            Err(Error::LossShape { argument, rule, found: found.to_vec(), input: shape.clone() })
        };
        if shape.len() < 3 || shape[1] == 0 {
            return wrong("input", "have shape (B, C, *spatial) with a channel and a spatial axis", &shape);
        }
        if shape[1] > 1 << 24 {
            return Err(Error::TooLarge { what: "number of channels", value: shape[1], limit: 1 << 24 });
        }
        let one_hot = matches!(target, Target::OneHot(_));
        let channels = match &target {
            Target::OneHot(labels) if labels.shape() == shape => true,
            Target::OneHot(labels) => return wrong("target", "have the shape of input", labels.shape()),
            Target::Index(labels) => match voxels_of(labels.shape(), &shape) {
                Some(channels) => channels,
                None => return wrong("target", "have shape (B, *spatial)", labels.shape()),
            },
        };
        let mask = match mask {
            None => None,
            Some(mask) => match voxels_of(mask.shape(), &shape) {
                Some(channels) => Some(LabelViews::new(&mask, channels)?),
                None => return wrong("mask", "have shape (B, *spatial) or (B, 1, *spatial)", mask.shape()),
            },
        };
        Ok(Self {
            logits: LogitViews::new(&input)?,
            target: LabelViews::new(target.labels(), channels)?,
            mask,
            map: None,
            distances: None,
            one_hot,
            double: input.is_double(),
            ignore: None,
            shape,
        })
    }

    /// The same with voxels of one label left out.
    ///
    /// # Errors
    /// [`Error::IgnoreWithOneHot`].
    pub fn ignoring(mut self, label: Option<i64>) -> Result<Self> {
        if label.is_some() && self.one_hot {
            return Err(Error::IgnoreWithOneHot);
        }
        self.ignore = label;
        Ok(self)
    }

    /// The same with a precomputed map, for the losses that take one.
    pub fn with_map(mut self, map: Option<Logits<'a>>) -> Self {
        self.map = map;
        self
    }

    /// The same with what finds distances, for the losses that need a map which was not given.
    #[must_use]
    pub fn with_distances(mut self, stage: &'a dyn DistanceStage) -> Self {
        self.distances = Some(stage);
        self
    }

    /// The same with every voxel counted.
    pub(crate) fn unmasked(&self) -> Self {
        Self { mask: None, ignore: None, ..self.clone() }
    }

    /// What finds distances.
    pub(crate) fn distances(&self) -> Option<&'a dyn DistanceStage> {
        self.distances
    }

    /// Shape of the input.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Number of cases.
    pub fn cases(&self) -> usize {
        self.shape[0]
    }

    /// Number of channels.
    pub fn channels(&self) -> usize {
        self.shape[1]
    }

    /// Number of voxels of a case.
    pub fn voxels(&self) -> usize {
        self.shape[2..].iter().product()
    }

    /// Whether the loss is computed in double precision.
    pub fn is_double(&self) -> bool {
        self.double
    }

    /// Whether the target has a number a class.
    pub fn is_one_hot(&self) -> bool {
        self.one_hot
    }

    /// Whether a mask or an ignored label can exclude voxels.
    pub fn has_exclusions(&self) -> bool {
        self.mask.is_some() || self.ignore.is_some()
    }

    /// The precomputed map.
    pub fn map(&self) -> Option<&Logits<'a>> {
        self.map.as_ref()
    }

    /// The input.
    pub(crate) fn logits(&self) -> &LogitViews<'a> {
        &self.logits
    }

    /// Reads voxels `start..start + len` of a case.
    pub(crate) fn read<F: Number>(&self, level: Level, case: usize, start: usize, len: usize, tile: &mut Tile<F>) {
        self.read_labels(level, case, start, len, tile);
        self.read_logits(level, tile);
        if self.one_hot {
            self.read_goals(level, tile);
        }
    }

    /// Sets the place of a tile, and reads which voxels count and their labels.
    pub(crate) fn read_labels<F: Number>(
        &self,
        level: Level,
        case: usize,
        start: usize,
        len: usize,
        tile: &mut Tile<F>,
    ) {
        (tile.case, tile.start, tile.len) = (case, start, len);
        let (labels, rest) = tile.labels.split_at_mut(len);
        rest.fill(F::from_f64(-1.0));
        labels.fill(F::default());
        if let Some(mask) = &self.mask {
            mask.numbers(level, [case, 0], start, labels);
            dispatch!(level, simd => exclude(simd, labels));
        }
        tile.invalid = 0;
        if !self.one_hot {
            let rule = Rule { channels: self.channels(), ignore: self.ignore, all: !self.has_exclusions() };
            tile.invalid = self.target.classes(level, case, start, rule, labels);
        }
        tile.included = if self.has_exclusions() {
            labels.iter().map(|&label| u32::from(label >= F::default())).sum::<u32>().into()
        } else {
            len as u64
        };
    }

    /// Reads the logits of a tile whose labels were read; 0 where excluded.
    pub(crate) fn read_logits<F: Number>(&self, level: Level, tile: &mut Tile<F>) {
        let read = |channel, out: &mut [F]| self.logits.read(level, [tile.case, channel], tile.start, out);
        let excluding = tile.included < tile.len as u64;
        fill(level, &tile.labels[..tile.len], excluding, tile.row, &mut tile.logits, &read);
    }

    /// The same for its one-hot targets.
    pub(crate) fn read_goals<F: Number>(&self, level: Level, tile: &mut Tile<F>) {
        let read = |channel, out: &mut [F]| self.target.numbers(level, [tile.case, channel], tile.start, out);
        let excluding = tile.included < tile.len as u64;
        fill(level, &tile.labels[..tile.len], excluding, tile.row, &mut tile.goals, &read);
    }

    /// Calls `f` for each block of voxels of each case, on all threads; results in order of case and block.
    pub(crate) fn map_blocks<T: Send>(&self, cpu: &Cpu, f: impl Fn(usize, Range<usize>) -> T + Sync) -> Vec<T> {
        let voxels = self.voxels();
        let blocks = voxels.div_ceil(BLOCK);
        cpu.threads.map(self.cases() * blocks, |item| {
            let (case, start) = (item / blocks, item % blocks * BLOCK);
            f(case, start..voxels.min(start + BLOCK))
        })
    }

    /// Sums of `width` numbers over the tiles of each case, in a fixed order: case by case, rows of the result.
    ///
    /// `f` adds the sums of a tile to its argument.
    pub(crate) fn sum_tiles<F: Number>(
        &self,
        cpu: &Cpu,
        width: usize,
        f: impl Fn(&mut Tile<F>, &mut [f64]) + Sync,
    ) -> Vec<f64> {
        // One call a tile costs nothing, and the loop is compiled once.
        self.sum_each_tile(cpu, width, &f)
    }

    fn sum_each_tile<F: Number>(
        &self,
        cpu: &Cpu,
        width: usize,
        f: &(dyn Fn(&mut Tile<F>, &mut [f64]) + Sync),
    ) -> Vec<f64> {
        self.sum_blocks(cpu, width, &|case, voxels, sums| {
            let mut tile = Tile::new(self.channels(), self.one_hot);
            for start in voxels.clone().step_by(tile.row) {
                let len = tile.row.min(voxels.end - start);
                self.read(cpu.level, case, start, len, &mut tile);
                f(&mut tile, sums);
            }
        })
    }

    /// Sums over blocks of voxels, added up in their order.
    pub(crate) fn sum_blocks(
        &self,
        cpu: &Cpu,
        width: usize,
        f: &(dyn Fn(usize, Range<usize>, &mut [f64]) + Sync),
    ) -> Vec<f64> {
        let partials = self.map_blocks(cpu, |case, voxels| {
            let mut sums = vec![0.0; width];
            f(case, voxels, &mut sums);
            sums
        });
        let mut out = vec![0.0; self.cases() * width];
        let blocks = self.voxels().div_ceil(BLOCK);
        for (item, partial) in partials.into_iter().enumerate() {
            let case = item / blocks;
            for (out, value) in out[case * width..].iter_mut().zip(partial) {
                *out += value;
            }
        }
        out
    }

    /// Writes the gradient of every voxel: `f` turns the tile's logits into it.
    ///
    /// # Errors
    /// [`Error::LossShape`] if the output has another shape than the input.
    pub(crate) fn write_gradient<F: Number>(
        &self,
        cpu: &Cpu,
        out: LogitsMut<'_>,
        f: impl Fn(&mut Tile<F>) + Sync,
    ) -> Result<()> {
        if out.shape() != self.shape {
            return Err(Error::LossShape {
                argument: "grad_input",
                rule: "have the shape of input",
                found: out.shape().to_vec(),
                input: self.shape.clone(),
            });
        }
        // One call a tile costs nothing, and the loop is compiled once a dtype.
        let f: &(dyn Fn(&mut Tile<F>) + Sync) = &f;
        match out {
            LogitsMut::F16(array) => self.write_with(cpu, array, Half, f),
            LogitsMut::Bf16(array) => self.write_with(cpu, array, Brain, f),
            LogitsMut::F32(array) => self.write_with(cpu, array, Plain::<f32>::new(), f),
            LogitsMut::F64(array) => self.write_with(cpu, array, Plain::<f64>::new(), f),
        }
    }

    fn write_with<F: Number, C: Codec>(
        &self,
        cpu: &Cpu,
        out: ArrayViewMutD<'_, C::Word>,
        codec: C,
        f: &(dyn Fn(&mut Tile<F>) + Sync),
    ) -> Result<()> {
        let out = Sink::new(view::six_axes(out, true)?);
        let blocks = self.voxels().div_ceil(BLOCK);
        self.map_blocks(cpu, |case, voxels| {
            let mut tile = Tile::new(self.channels(), self.one_hot);
            for start in voxels.clone().step_by(tile.row) {
                let len = tile.row.min(voxels.end - start);
                self.read(cpu.level, case, start, len, &mut tile);
                f(&mut tile);
                let rows = (0..tile.channels).map(|channel| &tile.logits[tile.channel(channel)]);
                out.write(cpu.level, case * blocks + start / BLOCK, [case, start], rows, codec);
            }
        });
        Ok(())
    }

    /// The error of labels out of range, found by reading all of them.
    pub(crate) fn label_error(&self) -> Error {
        let mut range = (f64::INFINITY, f64::NEG_INFINITY);
        let voxels = self.voxels();
        let mut keep = vec![1u8; voxels.min(BLOCK)];
        for case in 0..self.cases() {
            for start in (0..voxels).step_by(BLOCK) {
                let len = BLOCK.min(voxels - start);
                if let Some(mask) = &self.mask {
                    let mut numbers = vec![0f32; len];
                    mask.numbers(Level::baseline(), [case, 0], start, &mut numbers);
                    keep.iter_mut().zip(numbers).for_each(|(keep, number)| *keep = u8::from(number != 0.0));
                }
                self.target.range(case, start, self.ignore, &keep[..len], &mut range);
            }
        }
        Error::LossLabel { channels: self.channels(), min: range.0, max: range.1 }
    }
}

/// Whether an array has one value a voxel: `Some(true)` as `(B, 1, *spatial)`, `Some(false)` as `(B, *spatial)`.
fn voxels_of(found: &[usize], input: &[usize]) -> Option<bool> {
    if found.len() == input.len() && found[0] == input[0] && found[1] == 1 && found[2..] == input[2..] {
        return Some(true);
    }
    (found.len() + 1 == input.len() && found[0] == input[0] && found[1..] == input[2..]).then_some(false)
}

/// Makes a mask labels: 0 where it is set, -1 elsewhere.
#[inline(always)]
fn exclude<S, F: Number>(_: S, mask: &mut [F]) {
    for value in mask {
        *value = if *value == F::default() { F::from_f64(-1.0) } else { F::default() };
    }
}

/// Fills the rows of a tile as `read` does, zeros where excluded and past the end.
fn fill<F: Number>(
    level: Level,
    labels: &[F],
    excluding: bool,
    row: usize,
    out: &mut [F],
    read: &dyn Fn(usize, &mut [F]),
) {
    for (channel, out) in out.chunks_exact_mut(row).enumerate() {
        let (values, rest) = out.split_at_mut(labels.len());
        read(channel, values);
        rest.fill(F::default());
        if excluding {
            dispatch!(level, simd => clear(simd, labels, values));
        }
    }
}

/// Zeros where a label is negative.
#[inline(always)]
fn clear<S, F: Number>(_: S, labels: &[F], values: &mut [F]) {
    for (value, &label) in values.iter_mut().zip(labels) {
        *value = if label >= F::default() { *value } else { F::default() };
    }
}

/// Where tiles of a gradient go.
pub(crate) enum Sink<'a, T> {
    /// One part a block, each with its channels as rows.
    Blocks(Vec<Mutex<ArrayViewMut2<'a, T>>>),
    /// Spatial axes that memory does not let merge: written by one thread at a time.
    Whole(Mutex<ArrayViewMut6<'a, T>>),
}

impl<'a, T: Copy> Sink<'a, T> {
    pub(crate) fn new(array: ArrayViewMut6<'a, T>) -> Self {
        let (_, _, n0, n1, n2, _) = array.dim();
        if n0 * n1 * n2 != 1 {
            return Self::Whole(Mutex::new(array));
        }
        let mut rows = array.index_axis_move(Axis(2), 0).index_axis_move(Axis(2), 0).index_axis_move(Axis(2), 0);
        let mut parts = Vec::new();
        while rows.len_of(Axis(0)) > 0 {
            let (first, rest) = rows.split_at(Axis(0), 1);
            rows = rest;
            let mut case = first.index_axis_move(Axis(0), 0);
            while case.len_of(Axis(1)) > 0 {
                let (block, rest) = {
                    let at = BLOCK.min(case.len_of(Axis(1)));
                    case.split_at(Axis(1), at)
                };
                parts.push(Mutex::new(block));
                case = rest;
            }
        }
        Self::Blocks(parts)
    }

    /// Writes the channels of voxels from `start` on.
    pub(crate) fn write<'v, F: Number, C: Codec<Word = T>>(
        &self,
        level: Level,
        block: usize,
        [case, start]: [usize; 2],
        channels: impl Iterator<Item = &'v [F]>,
        codec: C,
    ) {
        match self {
            Self::Blocks(parts) => {
                let mut part = parts[block].try_lock().expect("each block is written by one thread");
                let start = start % BLOCK;
                for (channel, values) in channels.enumerate() {
                    let mut row = part.row_mut(channel);
                    let mut row =
                        row.slice_axis_mut(Axis(0), exacta_core::ndarray::Slice::from(start..start + values.len()));
                    match row.as_slice_mut() {
                        Some(out) => dispatch!(level, simd => store(simd, values, codec, out)),
                        None => row.iter_mut().zip(values).for_each(|(out, &value)| *out = codec.store(value)),
                    }
                }
            }
            Self::Whole(array) => {
                let mut array = array.lock().expect("no holder of the lock panics");
                let (_, _, _, n1, n2, n3) = array.dim();
                for (channel, values) in channels.enumerate() {
                    for (i, &value) in values.iter().enumerate() {
                        let at = start + i;
                        let index = [case, channel, at / n3 / n2 / n1, at / n3 / n2 % n1, at / n3 % n2, at % n3];
                        array[index] = codec.store(value);
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn store<S, F: Number, C: Codec>(_: S, values: &[F], codec: C, out: &mut [C::Word]) {
    for (out, &value) in out.iter_mut().zip(values) {
        *out = codec.store(value);
    }
}

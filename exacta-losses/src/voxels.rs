//! Voxels read and gradients written in place where memory allows, and through a tile where it does not.

use std::sync::Mutex;

use exacta_core::{Cpu, Error, Result};

use crate::batch::{LossBatch, Sink};
use crate::logits::{Brain, Codec, Half, LogitsMut, Plain};
use crate::number::Number;
use crate::tile::{BLOCK, STRIP, Tile};
use crate::view;

/// Consecutive voxels of one case as kernels read them.
///
/// Rows are read to whole strips: what lies past the end has label -1, and so do excluded voxels.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Voxels<'a, F> {
    /// Case of the batch.
    pub(crate) case: usize,
    /// Number of voxels.
    pub(crate) len: usize,
    /// Number of channels.
    pub(crate) channels: usize,
    /// The class of each voxel; with one-hot targets 0. -1 where excluded.
    pub(crate) labels: &'a [F],
    /// Number of voxels that count.
    pub(crate) included: u64,
    /// Number of voxels that count and whose label is no class.
    pub(crate) invalid: u64,
    logits: &'a [F],
    stride: usize,
    goals: &'a [F],
    row: usize,
}

impl<'a, F: Number> Voxels<'a, F> {
    /// Logits of a channel, whole strips.
    #[inline(always)]
    pub(crate) fn logits(&self, channel: usize) -> &'a [F] {
        let from = channel * self.stride;
        &self.logits[from..from + self.whole()]
    }

    /// Targets of a channel, if there is a number a class.
    #[inline(always)]
    pub(crate) fn goals(&self, channel: usize) -> &'a [F] {
        let from = channel * self.row;
        &self.goals[from..from + self.whole()]
    }

    /// Whether there is a number a class.
    #[inline(always)]
    pub(crate) fn is_one_hot(&self) -> bool {
        !self.goals.is_empty()
    }

    /// The number of voxels, up to whole strips.
    #[inline(always)]
    pub(crate) fn whole(&self) -> usize {
        self.len.next_multiple_of(STRIP)
    }
}

/// Where the gradient of some voxels goes: a row a channel, from an element on.
pub(crate) struct Rows<'a, 'b, F> {
    rows: &'a mut [&'b mut [F]],
    from: usize,
}

impl<F: Number> Rows<'_, '_, F> {
    /// So many elements of a channel.
    #[inline(always)]
    pub(crate) fn channel(&mut self, channel: usize, len: usize) -> &mut [F] {
        &mut self.rows[channel][self.from..self.from + len]
    }
}

/// What a kernel does with voxels and their gradient.
type Write<'f, F> = &'f (dyn Fn(&Voxels<'_, F>, &mut Rows<'_, '_, F>) + Sync);

impl LossBatch<'_> {
    /// The voxels of a tile whose place has been set: labels are read, and logits if they are not usable where they lie.
    fn voxels_of<'a, F: Number>(
        &'a self,
        cpu: &Cpu,
        flat: Option<&'a [F]>,
        [case, start, len]: [usize; 3],
        tile: &'a mut Tile<F>,
    ) -> Voxels<'a, F> {
        self.read_labels(cpu.level, case, start, len, tile);
        // Excluded voxels may hold anything, so theirs are cleared in the tile.
        let flat = flat.filter(|_| len.is_multiple_of(STRIP) && tile.included == len as u64);
        if flat.is_none() {
            self.read_logits(cpu.level, tile);
        }
        if self.is_one_hot() {
            self.read_goals(cpu.level, tile);
        }
        let (logits, stride) = match flat {
            Some(flat) => (&flat[case * self.channels() * self.voxels() + start..], self.voxels()),
            None => (&tile.logits[..], tile.row),
        };
        Voxels {
            case,
            len,
            channels: tile.channels,
            labels: &tile.labels,
            included: tile.included,
            invalid: tile.invalid,
            logits,
            stride,
            goals: &tile.goals,
            row: tile.row,
        }
    }

    /// Sums of `width` numbers over the voxels of each case, in a fixed order: case by case, rows of the result.
    ///
    /// `f` adds the sums of some voxels to its argument.
    pub(crate) fn sum_voxels<F: Number>(
        &self,
        cpu: &Cpu,
        width: usize,
        f: impl Fn(&Voxels<'_, F>, &mut [f64]) + Sync,
    ) -> Vec<f64> {
        let flat = F::flat(self.logits());
        self.sum_blocks(cpu, width, &|case, voxels, sums| {
            let mut tile = Tile::new(self.channels(), self.is_one_hot());
            for start in voxels.clone().step_by(tile.row) {
                let len = tile.row.min(voxels.end - start);
                f(&self.voxels_of(cpu, flat, [case, start, len], &mut tile), sums);
            }
        })
    }

    /// Writes the gradient of every voxel as `f` finds it.
    ///
    /// # Errors
    /// [`Error::LossShape`] if the output has another shape than the input.
    pub(crate) fn write_voxels<F: Number>(
        &self,
        cpu: &Cpu,
        out: LogitsMut<'_>,
        f: impl Fn(&Voxels<'_, F>, &mut Rows<'_, '_, F>) + Sync,
    ) -> Result<()> {
        if out.shape() != self.shape() {
            return Err(Error::LossShape {
                argument: "grad_input",
                rule: "have the shape of input",
                found: out.shape().to_vec(),
                input: self.shape().to_vec(),
            });
        }
        match F::flat_mut(out) {
            Ok(flat) => self.write_flat(cpu, flat, &f),
            Err(LogitsMut::F16(array)) => self.write_codec(cpu, Sink::new(view::six_axes(array, true)?), Half, &f),
            Err(LogitsMut::Bf16(array)) => self.write_codec(cpu, Sink::new(view::six_axes(array, true)?), Brain, &f),
            Err(LogitsMut::F32(array)) => {
                self.write_codec(cpu, Sink::new(view::six_axes(array, true)?), Plain::<f32>::new(), &f);
            }
            Err(LogitsMut::F64(array)) => {
                self.write_codec(cpu, Sink::new(view::six_axes(array, true)?), Plain::<f64>::new(), &f);
            }
        }
        Ok(())
    }

    /// Each block of each case with its channels as rows.
    fn write_flat<F: Number>(&self, cpu: &Cpu, out: &mut [F], f: Write<'_, F>) {
        let (channels, voxels) = (self.channels(), self.voxels());
        let blocks = voxels.div_ceil(BLOCK);
        let mut parts: Vec<Vec<&mut [F]>> = Vec::new();
        parts.resize_with(self.cases() * blocks, || Vec::with_capacity(channels));
        for (row, values) in out.chunks_mut(voxels.max(1)).enumerate() {
            for (block, values) in values.chunks_mut(BLOCK).enumerate() {
                parts[row / channels * blocks + block].push(values);
            }
        }
        let parts: Vec<_> = parts.into_iter().map(Mutex::new).collect();
        self.each_tile(cpu, &|case, start, voxels, buffer| {
            let mut rows =
                parts[case * blocks + start / BLOCK].try_lock().expect("each block is written by one thread");
            let from = start % BLOCK;
            if voxels.len == voxels.whole() {
                return f(voxels, &mut Rows { rows: &mut rows, from });
            }
            f(voxels, &mut Rows { rows: buffer, from: 0 });
            for (row, values) in rows.iter_mut().zip(buffer) {
                row[from..from + voxels.len].copy_from_slice(&values[..voxels.len]);
            }
        });
    }

    fn write_codec<F: Number, C: Codec>(&self, cpu: &Cpu, out: Sink<'_, C::Word>, codec: C, f: Write<'_, F>) {
        let blocks = self.voxels().div_ceil(BLOCK);
        self.each_tile(cpu, &|case, start, voxels, buffer| {
            f(voxels, &mut Rows { rows: buffer, from: 0 });
            let rows = buffer.iter().map(|row| &row[..voxels.len]);
            out.write(cpu.level, case * blocks + start / BLOCK, [case, start], rows, codec);
        });
    }

    /// Calls `f` with case, start and voxels of each tile, and rows of a tile that it may use.
    fn each_tile<F: Number>(&self, cpu: &Cpu, f: &(dyn Fn(usize, usize, &Voxels<'_, F>, &mut [&mut [F]]) + Sync)) {
        let flat = F::flat(self.logits());
        self.map_blocks(cpu, |case, voxels| {
            let mut tile = Tile::new(self.channels(), self.is_one_hot());
            let row = tile.row;
            let mut buffer = vec![F::default(); self.channels() * row];
            let mut rows: Vec<_> = buffer.chunks_mut(row).collect();
            for start in voxels.clone().step_by(row) {
                let len = row.min(voxels.end - start);
                f(case, start, &self.voxels_of(cpu, flat, [case, start, len], &mut tile), &mut rows);
            }
        });
    }
}

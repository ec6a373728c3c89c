//! Steps along axis 0 to the nearest feature of each column, from bits.
//!
//! Two sweeps through all slices leave what is known at the ends of every slab; a slab then finds its own steps from there. So slabs
//! are independent, and no more than one of them a thread is held as numbers.

use std::ops::Range;

use exacta_core::{Cpu, Level};

use crate::dense::Dense;

/// No feature in the column.
pub(crate) const NONE: u16 = u16::MAX;
/// Most slices: the steps between them fit.
pub(crate) const MOST: usize = NONE as usize;

/// Slices of a slab.
const SLAB: usize = 16;
/// Rows swept together.
const ROWS: usize = 16;

/// What is known at the ends of each slab.
#[derive(Debug)]
pub(crate) struct Steps<'a> {
    features: Features<'a>,
    level: Level,
    /// By band of rows, then slab: steps back from the slice before the slab, and on from the slice after it.
    bands: Vec<[Vec<u16>; 2]>,
}

/// The bits of the features, slice by slice.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Features<'a> {
    pub(crate) plane: &'a Dense,
    /// Slices, rows and words; slices are the plane's rows where it has one slice alone.
    pub(crate) size: [usize; 3],
    pub(crate) flat: bool,
}

impl Features<'_> {
    fn row(&self, slice: usize, row: usize) -> &[u64] {
        if self.flat { self.plane.row(0, slice) } else { self.plane.row(slice, row) }
    }
}

impl<'a> Steps<'a> {
    pub(crate) fn new(cpu: &Cpu, features: Features<'a>) -> Self {
        let [slices, rows, words] = features.size;
        let slabs = slices.div_ceil(SLAB);
        let bands = cpu.threads.map(rows.div_ceil(ROWS), |band| {
            let rows = band * ROWS..rows.min((band + 1) * ROWS);
            let (width, len) = (words * 64, rows.len() * words * 64);
            let mut ends = [vec![NONE; slabs * len], vec![NONE; slabs * len]];
            let mut state = vec![NONE; len];
            let pass = |state: &mut [u16], slice: usize| {
                for (row, state) in rows.clone().zip(state.chunks_exact_mut(width)) {
                    exacta_core::dispatch!(cpu.level, simd => advance(simd, features.row(slice, row), state));
                }
            };
            for slab in 0..slabs {
                ends[0][slab * len..][..len].copy_from_slice(&state);
                (slab * SLAB..slices.min((slab + 1) * SLAB)).for_each(|slice| pass(&mut state, slice));
            }
            state.fill(NONE);
            for slab in (0..slabs).rev() {
                ends[1][slab * len..][..len].copy_from_slice(&state);
                (slab * SLAB..slices.min((slab + 1) * SLAB)).rev().for_each(|slice| pass(&mut state, slice));
            }
            ends
        });
        Self { features, level: cpu.level, bands }
    }

    /// Number of slabs.
    pub(crate) fn slabs(&self) -> usize {
        self.features.size[0].div_ceil(SLAB)
    }

    /// Slices of a slab.
    pub(crate) fn slices(&self, slab: usize) -> Range<usize> {
        slab * SLAB..self.features.size[0].min((slab + 1) * SLAB)
    }

    /// The steps of all slices of a slab, in rows of whole words.
    pub(crate) fn of_slab(&self, slab: usize) -> Vec<u16> {
        let ([_, rows, words], slices) = (self.features.size, self.slices(slab));
        let (width, len) = (words * 64, rows * words * 64);
        let mut steps = vec![NONE; slices.len() * len];
        for (band, ends) in self.bands.iter().enumerate() {
            let rows = band * ROWS..rows.min((band + 1) * ROWS);
            let of_band = rows.len() * width;
            let mut state = ends[0][slab * of_band..][..of_band].to_vec();
            for (slice, steps) in slices.clone().zip(steps.chunks_exact_mut(len)) {
                let rows_of = rows.clone().zip(state.chunks_exact_mut(width));
                for ((row, state), out) in rows_of.zip(steps[rows.start * width..].chunks_exact_mut(width)) {
                    let bits = self.features.row(slice, row);
                    exacta_core::dispatch!(self.level, simd => advance(simd, bits, state));
                    out.copy_from_slice(state);
                }
            }
            state.copy_from_slice(&ends[1][slab * of_band..][..of_band]);
            for (slice, steps) in slices.clone().zip(steps.chunks_exact_mut(len)).rev() {
                let rows_of = rows.clone().zip(state.chunks_exact_mut(width));
                for ((row, state), out) in rows_of.zip(steps[rows.start * width..].chunks_exact_mut(width)) {
                    let bits = self.features.row(slice, row);
                    exacta_core::dispatch!(self.level, simd => advance(simd, bits, state));
                    exacta_core::dispatch!(self.level, simd => nearer(simd, state, out));
                }
            }
        }
        steps
    }
}

/// One slice on: nothing where there is a feature, a step more elsewhere.
#[inline(always)]
fn advance<S>(_: S, bits: &[u64], steps: &mut [u16]) {
    for (steps, &bits) in steps.chunks_exact_mut(64).zip(bits) {
        for (steps, byte) in steps.chunks_exact_mut(8).zip(bits.to_le_bytes()) {
            for (bit, steps) in steps.iter_mut().enumerate() {
                let more = steps.saturating_add(1);
                *steps = if byte & 1 << bit == 0 { more } else { 0 };
            }
        }
    }
}

#[inline(always)]
fn nearer<S>(_: S, others: &[u16], steps: &mut [u16]) {
    for (steps, &other) in steps.iter_mut().zip(others) {
        *steps = if other < *steps { other } else { *steps };
    }
}

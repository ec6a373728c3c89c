//! Axes 1 and 2 of one slice while it is in cache.
//!
//! The minimum over the samples of a line is searched outward from each sample (Saito and Toriwaki 1994), a block of
//! columns at a time, until the way alone exceeds the largest of the block. Blocks of samples whose least value cannot help
//! are passed over together. A search that takes too many steps gives way to the lower envelope ([`Envelope`]), so a line
//! costs a time that grows with its length, whatever the mask. Rounding is monotone, so minima taken axis by axis, each of
//! them exact, are the minimum of the whole expression.

use super::envelope::Envelope;
use super::lanes::{Lane, largest, least, smallest};

/// Lines with no more features than this are answered feature by feature.
const FEW: usize = 4;
/// Rows whose least values are looked at together.
const GROUP: usize = 16;
/// Looks at other samples, a block and sample, from which on the envelope is faster.
const PATIENCE: usize = 12;
/// Slices for which a block or row that went by its envelope does so again before a search is tried.
const RETRY: u8 = 8;

/// Buffers of one task, and what is the same for all its slices.
#[derive(Debug)]
pub struct Passes<L, const B: usize> {
    rows: usize,
    columns: usize,
    /// Length of a row, in whole blocks.
    pitch: usize,
    /// Entries on each side of `line`.
    margin: usize,
    spacing: [L; 3],
    along: [Vec<L>; 2],
    /// Squares of the way from a column to that at `columns - 1`, far beyond the row.
    mirror: Vec<L>,
    envelopes: [Envelope; 2],
    /// The slice before and after the pass along axis 1.
    plane: Vec<L>,
    middle: Vec<L>,
    block: Vec<L>,
    row_least: Vec<L>,
    row_most: Vec<L>,
    group_least: Vec<L>,
    line: Vec<L>,
    line_least: Vec<L>,
    result: Vec<L>,
    doubles: Vec<f64>,
    /// For each block of columns and for each row, how many slices it still goes by its envelope at once.
    far: [Vec<u8>; 2],
}

/// What lies nearer than the features of the slice: steps to a border within it, [`u32::MAX`] where there is none.
#[derive(Debug, Default)]
pub struct Edges {
    /// Steps along axis 1 and along axis 2, a row-major slice each.
    pub steps: Option<[Vec<u32>; 2]>,
}

impl<L: Lane, const B: usize> Passes<L, B> {
    /// For slices of an image of `size`, whose squares are all exact in `L` if that is not `f64`.
    pub fn new(size: [usize; 3], spacing: [f64; 3]) -> Self {
        let [_, rows, columns] = size;
        let pitch = columns.div_ceil(B) * B;
        let margin = pitch + B;
        let spacing = spacing.map(L::narrow);
        let steps = |n: usize| u32::try_from(n).expect("an axis fits 32 bits");
        let along: [Vec<L>; 2] =
            [(1, rows), (2, columns)].map(|(axis, n)| (0..steps(n)).map(|d| L::square(spacing[axis], d)).collect());
        let mut mirror: Vec<L> = along[1].iter().rev().chain(&along[1][1.min(columns)..]).copied().collect();
        mirror.resize(mirror.len() + B, L::FAR);
        let wide = |along: &Vec<L>| along.iter().map(|v| v.wide()).collect();
        Self {
            rows,
            columns,
            pitch,
            margin,
            spacing,
            envelopes: [
                Envelope::new(spacing[1].wide(), wide(&along[0])),
                Envelope::new(spacing[2].wide(), wide(&along[1])),
            ],
            along,
            mirror,
            plane: vec![L::FAR; rows * pitch],
            middle: vec![L::FAR; rows * pitch],
            block: vec![L::FAR; rows * B],
            row_least: vec![L::FAR; rows],
            row_most: vec![L::FAR; rows],
            group_least: vec![L::FAR; rows.div_ceil(GROUP)],
            line: vec![L::FAR; pitch + 2 * margin],
            line_least: vec![L::FAR; (pitch + 2 * margin) / B],
            result: vec![L::FAR; pitch],
            doubles: vec![0.0; rows.max(columns)],
            far: [vec![0; pitch / B], vec![0; rows]],
        }
    }

    /// Puts the squares of the ways along axis 0 into the slice: of `count` steps, infinitely far where they are `none`. Rows of
    /// `steps` are equally long, no shorter than those of the image.
    #[inline(always)]
    pub fn fill<S, C: Copy + PartialEq>(&mut self, _: S, steps: &[C], none: C, count: impl Fn(C) -> u32) {
        let spacing = self.spacing[0];
        for (out, steps) in self.plane.chunks_exact_mut(self.pitch).zip(steps.chunks_exact(steps.len() / self.rows)) {
            let steps = &steps[..self.columns];
            for (out, &steps) in out.iter_mut().zip(steps) {
                let square = L::square(spacing, count(steps));
                *out = if steps == none { L::FAR } else { square };
            }
            // Beyond the row stands its last value, which changes neither the least nor the largest of a block.
            let last = out[self.columns - 1];
            out[self.columns..].fill(last);
        }
    }

    /// Runs both passes; `out` gets each row that is `wanted` in turn.
    #[inline(always)]
    pub fn run<S>(&mut self, _: S, edges: &Edges, wanted: impl Fn(usize) -> bool, mut out: impl FnMut(usize, &[L])) {
        if self.rows > 1 {
            for block in 0..self.pitch / B {
                self.block_of_rows(block, &wanted);
            }
        } else {
            std::mem::swap(&mut self.plane, &mut self.middle);
        }
        for row in (0..self.rows).filter(|&row| wanted(row)) {
            if let Some([steps, _]) = &edges.steps {
                let steps = &steps[row * self.columns..];
                nearer(&mut self.middle[row * self.pitch..][..self.columns], steps, self.spacing[1]);
            }
            self.row(row);
            if let Some([_, steps]) = &edges.steps {
                let steps = &steps[row * self.columns..];
                nearer(&mut self.result[..self.columns], steps, self.spacing[2]);
            }
            out(row, &self.result[..self.columns]);
        }
    }

    /// The pass along axis 1 for the columns of one block.
    #[inline(always)]
    fn block_of_rows(&mut self, block: usize, wanted: impl Fn(usize) -> bool) {
        let (rows, pitch, from) = (self.rows, self.pitch, block * B);
        let mut filled = 0;
        self.group_least.fill(L::FAR);
        for row in 0..rows {
            let values: [L; B] = array(&self.plane[row * pitch + from..]);
            self.block[row * B..][..B].copy_from_slice(&values);
            let low = smallest(values);
            self.row_least[row] = low;
            self.row_most[row] = largest(values);
            self.group_least[row / GROUP] = least(self.group_least[row / GROUP], low);
            filled += usize::from(low < L::FAR);
        }
        if filled <= FEW {
            self.few_rows(from, filled);
            return;
        }
        if let Some(left) = self.far[0][block].checked_sub(1) {
            self.far[0][block] = left;
            self.rows_by_envelope(from, 0);
            return;
        }
        let along = &self.along[0];
        let mut looks = 0;
        for row in (0..rows).filter(|&row| wanted(row)) {
            let mut best: [L; B] = array(&self.block[row * B..]);
            let mut worst = self.row_most[row];
            let (mut step, mut stale) = (1, false);
            while step < rows && along[step] < worst {
                looks += 1;
                let before = row.checked_sub(step);
                let after = Some(row + step).filter(|&other| other < rows);
                let (mut changed, mut skip) = (false, usize::MAX);
                for (other, forth) in [(before, false), (after, true)] {
                    let Some(other) = other else { continue };
                    let group = other / GROUP;
                    if self.group_least[group] + along[step] < worst {
                        skip = 1;
                        if self.row_least[other] + along[step] < worst {
                            let values: [L; B] = array(&self.block[other * B..]);
                            for k in 0..B {
                                best[k] = least(best[k], values[k] + along[step]);
                            }
                            changed = true;
                        }
                    } else {
                        // No row of the group can help, and less so from farther away.
                        let left = if forth { (group + 1) * GROUP - other } else { other - group * GROUP + 1 };
                        skip = skip.min(left);
                    }
                }
                stale |= changed;
                // A bound that is too large only makes the search longer.
                if stale && (step < 4 || step % 4 == 0 || !changed) {
                    worst = largest(best);
                    stale = false;
                }
                // With neither side left there is nothing more to see.
                step = step.saturating_add(skip);
            }
            self.middle[row * pitch + from..][..B].copy_from_slice(&best);
            if looks > PATIENCE * (row + GROUP) {
                self.far[0][block] = RETRY;
                self.rows_by_envelope(from, row + 1);
                return;
            }
        }
    }

    /// Rows of a block of which few hold a feature.
    #[inline(always)]
    fn few_rows(&mut self, from: usize, filled: usize) {
        let mut sites = [0; FEW];
        let mut found = 0;
        for (row, &low) in self.row_least.iter().enumerate() {
            if low < L::FAR {
                sites[found] = row;
                found += 1;
            }
        }
        for row in 0..self.rows {
            let mut best = [L::FAR; B];
            for &site in &sites[..filled] {
                let values: [L; B] = array(&self.block[site * B..]);
                let along = self.along[0][row.abs_diff(site)];
                for k in 0..B {
                    best[k] = least(best[k], values[k] + along);
                }
            }
            self.middle[row * self.pitch + from..][..B].copy_from_slice(&best);
        }
    }

    /// The rows of a block from `first` on, column by column.
    #[inline(always)]
    fn rows_by_envelope(&mut self, from: usize, first: usize) {
        for k in 0..B {
            let doubles = &mut self.doubles[..self.rows];
            for (double, values) in doubles.iter_mut().zip(self.block.chunks_exact(B)) {
                *double = values[k].wide();
            }
            let (middle, pitch) = (&mut self.middle, self.pitch);
            let any = self.envelopes[0].line(doubles, |row, value, _| {
                if row >= first {
                    middle[row * pitch + from + k] = L::narrow(value);
                }
            });
            if !any {
                (first..self.rows).for_each(|row| middle[row * pitch + from + k] = L::FAR);
            }
        }
    }

    /// The pass along axis 2 for one row, into `result`.
    #[inline(always)]
    fn row(&mut self, row: usize) {
        let (margin, blocks, columns) = (self.margin, self.pitch / B, self.columns);
        let values = &self.middle[row * self.pitch..][..self.pitch];
        let ends = margin / B;
        // Zero test and lows may see the repeated last value beyond the row; the search must not.
        let (mut features, mut zero) = (0usize, true);
        for (block, values) in values.chunks_exact(B).enumerate() {
            let values: [L; B] = array(values);
            let low = smallest(values);
            self.line_least[ends + block] = low;
            self.line[margin + block * B..][..B].copy_from_slice(&values);
            if low < L::FAR {
                let values = &values[..B.min(columns - block * B)];
                features += values.iter().map(|&value| u32::from(value < L::FAR)).sum::<u32>() as usize;
            }
            zero &= values.iter().fold(true, |zero, &value| zero & (value == L::ZERO));
        }
        self.line[margin + columns..][..self.pitch - columns].fill(L::FAR);
        if zero {
            self.result.fill(L::ZERO);
            return;
        }
        if features <= FEW {
            self.result.fill(L::FAR);
            for (site, &value) in values[..columns].iter().enumerate().filter(|&(_, &value)| value < L::FAR) {
                let along = &self.mirror[columns - 1 - site..];
                for (out, &along) in self.result.iter_mut().zip(along) {
                    *out = least(*out, value + along);
                }
            }
            return;
        }
        if let Some(left) = self.far[1][row].checked_sub(1) {
            self.far[1][row] = left;
            self.row_by_envelope();
            return;
        }
        let along = &self.along[1];
        let mut looks = 0;
        for block in 0..blocks {
            let mut best: [L; B] = array(&self.line[margin + block * B..]);
            if block * B + B > columns {
                // What lies beyond the row must not keep the search going.
                best[columns - block * B..].fill(L::ZERO);
            }
            let mut worst = largest(best);
            let (mut step, mut stale) = (1, false);
            while step < columns && along[step] < worst {
                looks += 1;
                let (back, forth) = (step.div_ceil(B), step / B);
                let low = |at: usize| least(self.line_least[at], self.line_least[at + 1]) + along[step];
                let before = low(ends + block - back) < worst;
                let after = low(ends + block + forth) < worst;
                if !before && !after {
                    if stale {
                        worst = largest(best);
                        stale = false;
                    }
                    // The same two blocks on each side are seen up to here, from ever farther away.
                    step = (back * B + 1).min((forth + 1) * B);
                    continue;
                }
                let at = margin + block * B;
                if before {
                    let values: [L; B] = array(&self.line[at - step..]);
                    for k in 0..B {
                        best[k] = least(best[k], values[k] + along[step]);
                    }
                }
                if after {
                    let values: [L; B] = array(&self.line[at + step..]);
                    for k in 0..B {
                        best[k] = least(best[k], values[k] + along[step]);
                    }
                }
                stale = true;
                if stale && (step < 4 || step % 4 == 0) {
                    worst = largest(best);
                    stale = false;
                }
                step += 1;
            }
            self.result[block * B..][..B].copy_from_slice(&best);
            if looks > PATIENCE * (block + 2) {
                self.far[1][row] = RETRY;
                self.row_by_envelope();
                return;
            }
        }
    }

    /// The whole row by its envelope.
    #[inline(always)]
    fn row_by_envelope(&mut self) {
        let doubles = &mut self.doubles[..self.columns];
        for (double, value) in doubles.iter_mut().zip(&self.line[self.margin..]) {
            *double = value.wide();
        }
        let result = &mut self.result;
        self.envelopes[1].line(doubles, |column, value, _| result[column] = L::narrow(value));
    }
}

/// The first values of a slice.
#[inline(always)]
fn array<L: Lane, const B: usize>(values: &[L]) -> [L; B] {
    let mut out = [L::ZERO; B];
    out.copy_from_slice(&values[..B]);
    out
}

/// The least of each value and the square of the way to a border.
#[inline(always)]
fn nearer<L: Lane>(values: &mut [L], steps: &[u32], spacing: L) {
    for (value, &steps) in values.iter_mut().zip(steps) {
        let square = L::square(spacing, steps);
        *value = least(*value, if steps == u32::MAX { L::FAR } else { square });
    }
}

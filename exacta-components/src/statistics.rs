//! Tables of components, from their runs.

use std::collections::HashMap;

use exacta_core::stages::{Component, ComponentTable, Contingency, Overlap};
use exacta_core::{Bits, Cpu, Error, Result};

use crate::components::Components;

/// Refuses masks of another shape, or kept in another order.
pub(crate) fn same_grid(first: &Bits, second: &Bits) -> Result<()> {
    let (first, second) = (first.grid(), second.grid());
    if first.shape() != second.shape() {
        return Err(Error::ShapeMismatch { pred: first.shape(), target: second.shape() });
    }
    if first.order() != second.order() {
        return Err(Error::GridMismatch { first: first.order(), second: second.order() });
    }
    Ok(())
}

impl Components {
    /// Size, box and index sums of every component; `within`, over the voxels of that mask alone. A component without voxels there
    /// is [`Component::EMPTY`].
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`], [`Error::GridMismatch`] for a mask of another shape or order.
    pub fn table(&self, cpu: &Cpu, within: Option<&Bits>) -> Result<ComponentTable> {
        within.map_or(Ok(()), |within| same_grid(self.mask(), within))?;
        let parts = self.parts_with(&cpu.threads, 16 * self.count() as usize);
        let rows = self.rows();
        let found = cpu.threads.map(parts, |part| {
            let rows = part * rows / parts..(part + 1) * rows / parts;
            exacta_core::dispatch!(cpu.level, simd => self.table_of_rows(simd, rows, within))
        });
        let grid = self.mask().grid();
        let mut components = found
            .into_iter()
            .reduce(|mut all, part| {
                all.iter_mut().zip(&part).for_each(|(all, part)| merge(all, part));
                all
            })
            .unwrap_or_default();
        for component in &mut components {
            component.low = grid.by_axis(component.low);
            component.high = grid.by_axis(component.high);
            component.index_sums = grid.by_axis(component.index_sums);
        }
        Ok(ComponentTable { components })
    }

    /// One row a component, along the walked axes.
    #[inline(always)]
    fn table_of_rows<S>(&self, _: S, rows: std::ops::Range<usize>, within: Option<&Bits>) -> Vec<Component> {
        let mut table = vec![Component::EMPTY; self.count() as usize];
        let mut buffer = vec![0; self.mask().grid().words()];
        for at in self.occupied(rows) {
            let [slice, row] = at.place;
            let words = masked(self.mask(), at.at, within, &mut buffer);
            self.runs_of_row(&at, words, |number, start, end| {
                let (voxels, last) = ((end - start) as u64, end - 1);
                let run = Component {
                    voxels,
                    low: [slice, row, start],
                    high: [slice, row, last],
                    index_sums: [slice as u64 * voxels, row as u64 * voxels, (start + last) as u64 * voxels / 2],
                };
                merge(&mut table[number as usize - 1], &run);
            });
        }
        table
    }

    /// Pairs of a component of this mask and one of `target` that share voxels; `within`, voxels of that mask alone.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`], [`Error::GridMismatch`] for a mask of another shape or order.
    pub fn contingency(&self, cpu: &Cpu, target: &Self, within: Option<&Bits>) -> Result<Contingency> {
        same_grid(self.mask(), target.mask())?;
        within.map_or(Ok(()), |within| same_grid(self.mask(), within))?;
        let parts = self.parts_with(&cpu.threads, 0);
        let rows = self.rows();
        let found = cpu.threads.map(parts, |part| {
            let rows = part * rows / parts..(part + 1) * rows / parts;
            self.overlaps_of_rows(target, rows, within)
        });
        let mut overlaps: Vec<Overlap> = found.into_iter().flatten().collect();
        overlaps.sort_unstable();
        overlaps.dedup_by(|next, kept| {
            let same = (next.pred, next.target) == (kept.pred, kept.target);
            if same {
                kept.voxels += next.voxels;
            }
            same
        });
        Ok(Contingency { overlaps })
    }

    fn overlaps_of_rows(&self, target: &Self, rows: std::ops::Range<usize>, within: Option<&Bits>) -> Vec<Overlap> {
        let mut overlaps: HashMap<(u32, u32), u64> = HashMap::new();
        let mut both = vec![0; self.mask().grid().words()];
        let (mut first, mut second) = (Vec::new(), Vec::new());
        let (mut pair, mut voxels) = ((0, 0), 0);
        for row in self.occupied(rows) {
            let Some(other) = target.row_of(self, &row) else { continue };
            let at = row.at;
            let (pred_row, target_row) = (self.mask().row_at(at), target.mask().row_at(at));
            let mut any = 0;
            for ((both, &pred), &target) in both.iter_mut().zip(pred_row).zip(target_row) {
                *both = pred & target;
                any |= *both;
            }
            // Most rows have nothing in common.
            if any == 0 {
                continue;
            }
            if let Some(within) = within {
                both.iter_mut().zip(within.row_at(at)).for_each(|(both, &word)| *both &= word);
            }
            // A run of voxels in both masks is part of a run of each, so the two lists go side by side.
            first.clear();
            second.clear();
            self.runs_of_row(&row, &both, |number, start, end| {
                first.push((number, (end - start) as u64));
            });
            target.runs_of_row(&other, &both, |number, _, _| second.push(number));
            for (&(pred, length), &target) in first.iter().zip(&second) {
                if (pred, target) != pair {
                    if voxels > 0 {
                        *overlaps.entry(pair).or_default() += voxels;
                    }
                    (pair, voxels) = ((pred, target), 0);
                }
                voxels += length;
            }
        }
        if voxels > 0 {
            *overlaps.entry(pair).or_default() += voxels;
        }
        let overlap = |((pred, target), voxels)| Overlap { pred, target, voxels };
        overlaps.into_iter().map(overlap).collect()
    }
}

/// The words of a row of the mask that lie `within`.
#[inline(always)]
pub(crate) fn masked<'a>(mask: &'a Bits, at: usize, within: Option<&Bits>, buffer: &'a mut [u64]) -> &'a [u64] {
    let words = mask.row_at(at);
    let Some(within) = within else {
        return words;
    };
    for ((out, &a), &b) in buffer.iter_mut().zip(words).zip(within.row_at(at)) {
        *out = a & b;
    }
    buffer
}

#[inline(always)]
fn merge(all: &mut Component, part: &Component) {
    all.voxels += part.voxels;
    for axis in 0..3 {
        all.low[axis] = all.low[axis].min(part.low[axis]);
        all.high[axis] = all.high[axis].max(part.high[axis]);
        all.index_sums[axis] += part.index_sums[axis];
    }
}

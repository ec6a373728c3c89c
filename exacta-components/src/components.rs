//! Numbered components, and what can be asked of them.

use std::ops::Range;

use exacta_core::ndarray::{ArrayD, IxDyn};
use exacta_core::parallel::Threads;
use exacta_core::{Bits, Cpu, Error, Result};

use crate::bundles::{Layout, starts};

/// Below this much work, words and sixteen times the runs, one thread is quicker than waking another: some 0.1 ms.
pub(crate) const SERIAL: usize = 1 << 17;
/// Below this many voxels, one thread writes them.
const SERIAL_WRITE: usize = 1 << 16;

/// A row of an image.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    /// Counted through the whole image.
    pub(crate) at: usize,
    /// Slice and row, as walked.
    pub(crate) place: [usize; 2],
    bundle: usize,
}

/// The components of a mask, numbered from 1 in C order of each one's first voxel: the numbers of `scipy.ndimage.label`.
///
/// Numbers are kept for runs, not for voxels; a volume of them is written only by [`write_labels`](Self::write_labels).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Components {
    bits: Bits,
    layout: Layout,
    /// The OR of each bundle; empty where a bundle is a row.
    joined: Vec<u64>,
    /// The number of nodes up to and with each bundle.
    ends: Vec<u32>,
    /// The number of the component of each node.
    numbers: Vec<u32>,
    count: u32,
}

impl Components {
    pub(crate) fn new(
        bits: Bits,
        layout: Layout,
        joined: Vec<u64>,
        ends: Vec<u32>,
        numbers: Vec<u32>,
        count: u32,
    ) -> Self {
        Self { bits, layout, joined, ends, numbers, count }
    }

    /// How many there are.
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// The mask they are components of.
    pub const fn mask(&self) -> &Bits {
        &self.bits
    }

    /// Those of some rows, counted through the whole image, that lie in a bundle with voxels.
    #[inline(always)]
    pub(crate) fn occupied(&self, rows: Range<usize>) -> impl Iterator<Item = Row> + '_ {
        let (layout, flat) = (self.layout, self.bits.grid().size()[0] == 1);
        let height = layout.rows.max(1);
        let [mut slice, mut row] = [rows.start / height, rows.start % height];
        rows.filter_map(move |at| {
            let bundle = layout.bundle_of(slice, row);
            let place = if flat { [0, at] } else { [slice, row] };
            row += 1;
            if row == height {
                [slice, row] = [slice + 1, 0];
            }
            (self.first_node(bundle) < self.ends[bundle]).then_some(Row { at, place, bundle })
        })
    }

    /// A row of other components of the same grid, where its bundle has voxels here too.
    #[inline(always)]
    pub(crate) fn row_of(&self, other: &Self, row: &Row) -> Option<Row> {
        let bundle = if self.layout == other.layout {
            row.bundle
        } else {
            self.layout.bundle_of(row.at / self.layout.rows, row.at % self.layout.rows)
        };
        (self.first_node(bundle) < self.ends[bundle]).then_some(Row { bundle, ..*row })
    }

    #[inline(always)]
    fn first_node(&self, bundle: usize) -> u32 {
        if bundle == 0 { 0 } else { self.ends[bundle - 1] }
    }

    /// Calls `f` with the number, the first column and the column after the last of each run of `words`, voxels of the mask in row
    /// `row`; a run that spans words comes in pieces.
    #[inline(always)]
    pub(crate) fn runs_of_row(&self, row: &Row, words: &[u64], mut f: impl FnMut(u32, usize, usize)) {
        let bundle = row.bundle;
        let numbers = &self.numbers[self.first_node(bundle) as usize..self.ends[bundle] as usize];
        let joined = if self.joined.is_empty() {
            self.bits.row_at(row.at)
        } else {
            &self.joined[bundle * self.layout.words..][..self.layout.words]
        };
        // Nodes that started in words before, and the last bit of the word before.
        let (mut before, mut carry) = (0, 0);
        for (i, (&word, &joined)) in words.iter().zip(joined).enumerate() {
            if joined == 0 {
                carry = 0;
                continue;
            }
            let starts = starts(joined, carry);
            let mut left = word;
            while left != 0 {
                let start = left.trailing_zeros();
                let length = (!(left >> start)).trailing_zeros();
                let node = before + (starts & !0 >> (63 - start)).count_ones() as usize - 1;
                let at = i * 64 + start as usize;
                f(numbers[node], at, at + length as usize);
                // The carry of the sum falls into a gap.
                left &= left.wrapping_add(1 << start);
            }
            before += starts.count_ones() as usize;
            carry = joined >> 63;
        }
    }

    /// Number of rows of the image.
    pub(crate) fn rows(&self) -> usize {
        self.layout.slices * self.layout.rows
    }

    /// Into how many parts to split work on the rows.
    fn parts(&self, threads: &Threads) -> usize {
        let work = self.bits.words().len() + 16 * self.numbers.len();
        if work <= SERIAL || threads.count() == 1 { 1 } else { 4 * threads.count() }
    }

    /// Parts of the rows, each with an accumulator of `per_part` entries: one where that would outgrow the mask.
    pub(crate) fn parts_with(&self, threads: &Threads, per_part: usize) -> usize {
        let parts = self.parts(threads);
        if per_part * parts > self.bits.words().len() { 1 } else { parts }
    }

    /// Writes the number of each voxel, 0 outside the mask, in the order of the mask's grid. With `zeroed`, `out` holds only zeros,
    /// so that pages of background need not be touched.
    ///
    /// # Errors
    /// [`Error::OutputLength`] unless `out` has an element for each voxel.
    pub fn write_labels(&self, cpu: &Cpu, out: &mut [i32], zeroed: bool) -> Result<()> {
        let grid = self.bits.grid();
        if out.len() != grid.voxels() {
            return Err(Error::OutputLength { expected: grid.voxels(), found: out.len() });
        }
        let columns = grid.size()[2];
        let parts = if out.len() <= SERIAL_WRITE || cpu.threads.count() == 1 { 1 } else { 4 * cpu.threads.count() };
        cpu.threads.split_rows(parts, out, columns, |rows, out| {
            exacta_core::dispatch!(cpu.level, simd => self.write_rows(simd, rows, out, zeroed));
        });
        Ok(())
    }

    #[inline(always)]
    fn write_rows<S>(&self, _: S, rows: Range<usize>, out: &mut [i32], zeroed: bool) {
        /// Bytes that are cleared at once, before the numbers are written over them in cache.
        const TILE: usize = 1 << 15;
        let columns = self.bits.grid().size()[2];
        let tile = (TILE / size_of::<i32>() / columns).max(1);
        for (first, out) in rows.step_by(tile).zip(out.chunks_mut(tile * columns)) {
            if !zeroed {
                out.fill(0);
            }
            for row in self.occupied(first..first + out.len() / columns) {
                let out = &mut out[(row.at - first) * columns..][..columns];
                self.runs_of_row(&row, self.bits.row_at(row.at), |number, start, end| {
                    out[start..end].fill(number.cast_signed());
                });
            }
        }
    }

    /// The number of each voxel, 0 outside the mask, as an array of the image's shape.
    pub fn labels(&self, cpu: &Cpu) -> ArrayD<i32> {
        let grid = self.bits.grid();
        let mut labels = vec![0; grid.voxels()];
        self.write_labels(cpu, &mut labels, true).expect("one element for each voxel");
        let walked = ArrayD::from_shape_vec(IxDyn(&grid.size()), labels).expect("one element for each voxel");
        let by_axis: Vec<usize> = grid.by_axis([0, 1, 2]).to_vec();
        let mut labels = walked.permuted_axes(IxDyn(&by_axis));
        while labels.ndim() > grid.axes() {
            labels = labels.index_axis_move(exacta_core::ndarray::Axis(0), 0);
        }
        labels
    }

    /// The number of voxels of each component.
    pub fn sizes(&self, cpu: &Cpu) -> Vec<u64> {
        let count = self.count as usize;
        let parts = self.parts_with(&cpu.threads, count);
        let rows = self.rows();
        let found = cpu.threads.map(parts, |part| {
            let rows = part * rows / parts..(part + 1) * rows / parts;
            exacta_core::dispatch!(cpu.level, simd => self.sizes_of_rows(simd, rows))
        });
        found
            .into_iter()
            .reduce(|mut all, part| {
                all.iter_mut().zip(part).for_each(|(all, size)| *all += size);
                all
            })
            .unwrap_or_default()
    }

    #[inline(always)]
    fn sizes_of_rows<S>(&self, _: S, rows: Range<usize>) -> Vec<u64> {
        let mut sizes = vec![0; self.count as usize];
        for row in self.occupied(rows) {
            self.runs_of_row(&row, self.bits.row_at(row.at), |number, start, end| {
                sizes[number as usize - 1] += (end - start) as u64;
            });
        }
        sizes
    }

    /// The component of most voxels, the first of several; no voxel if there is none.
    pub fn largest(&self, cpu: &Cpu) -> Bits {
        if self.count <= 1 {
            return self.bits.clone();
        }
        let mut best = (0, 0);
        for (number, size) in self.sizes(cpu).into_iter().enumerate() {
            if size > best.1 {
                best = (number, size);
            }
        }
        self.select(cpu, |number| number as usize == best.0 + 1)
    }

    /// The components of at least `min_size` voxels.
    pub fn remove_small(&self, cpu: &Cpu, min_size: u64) -> Bits {
        if min_size <= 1 {
            return self.bits.clone();
        }
        let sizes = self.sizes(cpu);
        self.select(cpu, |number| sizes[number as usize - 1] >= min_size)
    }

    /// The voxels of the components whose number `keep` accepts.
    pub fn select(&self, cpu: &Cpu, keep: impl Fn(u32) -> bool + Sync) -> Bits {
        let mut out = Bits::empty(*self.bits.grid());
        let per_row = self.layout.words;
        let parts = self.parts(&cpu.threads);
        cpu.threads.split_rows(parts, out.words_mut(), per_row, |rows, out| {
            exacta_core::dispatch!(cpu.level, simd => self.select_rows(simd, rows, out, &keep));
        });
        out
    }

    #[inline(always)]
    fn select_rows<S>(&self, _: S, rows: Range<usize>, out: &mut [u64], keep: &impl Fn(u32) -> bool) {
        let per_row = self.layout.words;
        let first = rows.start;
        for row in self.occupied(rows) {
            let out = &mut out[(row.at - first) * per_row..][..per_row];
            self.runs_of_row(&row, self.bits.row_at(row.at), |number, start, end| {
                if keep(number) {
                    let length = end - start;
                    out[start / 64] |= !0 >> (64 - length) << (start % 64);
                }
            });
        }
    }
}

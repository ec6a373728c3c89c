//! Boundary voxels: mask voxels with a face neighbour outside the mask or outside the image.
//!
//! A label differs from a neighbour's exactly where one of its bit planes does, so one plane of differences serves all
//! classes: two planes of four classes cost some thirty word operations for 64 voxels of every class together.
//! Memory touched: the packed slices, in cache; allocated: one plane of differences and what is found.

use std::ops::Range;

use exacta_core::scan::{PackedSlice, SliceVisitor, Window, scan_planes};
use exacta_core::stages::Counts;
use exacta_core::{Batch, Cpu, Error, Grid, InputFormat, Level, Result, Table};

use crate::words::{BoundaryVoxels, Found, Slab};

/// Finds the boundary voxels of every selected class, and counts, in one read of the labels.
pub(crate) fn boundary_voxels(cpu: &Cpu, batch: &Batch<'_>) -> Result<(Table<Counts>, BoundaryVoxels)> {
    let (grid, spec) = (*batch.grid(), *batch.spec());
    let words = grid.size()[0] * grid.size()[1] * grid.words();
    if u32::try_from(words).is_err() {
        return Err(Error::TooLarge {
            what: "the number of 64-voxel words of an image",
            value: words,
            limit: u32::MAX as usize,
        });
    }
    // A channel is a map of the labels 0 and 1, of which only 1 is a class.
    let skip_zero = spec.format == InputFormat::OneHot || !spec.include_background;
    let visited = scan_planes(cpu, batch, |slices| Boundary::new(grid, slices, skip_zero))?;
    let maps = visited.visitors.into_iter().map(|slabs| slabs.into_iter().map(|slab| slab.found).collect()).collect();
    Ok((visited.counts, BoundaryVoxels::new(grid, &spec, batch.cases(), maps)))
}

/// The boundary words of a slab, side by side, in raster order.
#[derive(Debug)]
pub(crate) struct Boundary {
    grid: Grid,
    skip_zero: bool,
    differs: Vec<u64>,
    found: [Slab; 2],
    slices: Range<usize>,
}

impl Boundary {
    /// What was found, of both sides.
    pub(crate) fn into_found(self) -> [Slab; 2] {
        self.found
    }

    pub(crate) fn new(grid: Grid, slices: Range<usize>, skip_zero: bool) -> Self {
        let found = [Slab::Sparse(Vec::new()), Slab::Sparse(Vec::new())];
        Self { grid, skip_zero, differs: vec![0; grid.size()[1] * grid.words()], found, slices }
    }
}

impl SliceVisitor for Boundary {
    fn visit(&mut self, level: Level, slice: usize, pred: &Window<'_>, target: &Window<'_>) {
        for (side, window) in [pred, target].into_iter().enumerate() {
            let differs = &mut self.differs[..];
            let volume = self.grid.axes() == 3;
            exacta_core::dispatch!(level, simd => differences(simd, window, volume, differs));
            edges(window.current, differs);
            let (packed, found) = (window.current, &mut self.found[side]);
            match found {
                Slab::Sparse(found) => extract(packed, self.skip_zero, differs, slice * packed.len(), found),
                Slab::Dense(dense) => {
                    dense.push(packed, (0..packed.len()).map(|i| marked(packed, self.skip_zero, differs, i)));
                }
            }
            found.settle(&self.slices, slice + 1, packed.len(), packed.bits());
        }
    }
}

/// Marks every voxel whose label differs from a neighbour's; the image's edges within the slice are left to [`edges`].
#[inline(always)]
fn differences<S>(_: S, window: &Window<'_>, volume: bool, differs: &mut [u64]) {
    let (slice, n) = (window.current, differs.len());
    let row = isize::try_from(slice.words()).expect("a row fits memory");
    let outside = volume && (window.previous.is_none() || window.next.is_none());
    differs.fill(if outside { !0 } else { 0 });
    for bit in 0..slice.bits() {
        if outside {
            break;
        }
        let (here, left, right) = (slice.plane(bit, 0), slice.plane(bit, -1), slice.plane(bit, 1));
        let (up, down) = (slice.plane(bit, -row), slice.plane(bit, row));
        let (here, left, right, up, down) = (&here[..n], &left[..n], &right[..n], &up[..n], &down[..n]);
        for i in 0..n {
            let v = here[i];
            differs[i] |=
                (v ^ (v << 1 | left[i] >> 63)) | (v ^ (v >> 1 | right[i] << 63)) | (v ^ up[i]) | (v ^ down[i]);
        }
        if let (Some(previous), Some(next)) = (window.previous, window.next) {
            let (previous, next) = (&previous.plane(bit, 0)[..n], &next.plane(bit, 0)[..n]);
            for i in 0..n {
                differs[i] |= (here[i] ^ previous[i]) | (here[i] ^ next[i]);
            }
        }
    }
}

/// Marks the first and last row and column.
fn edges(slice: &PackedSlice, differs: &mut [u64]) {
    let words = slice.words();
    differs[..words].fill(!0);
    let last = differs.len() - words;
    differs[last..].fill(!0);
    let column = slice.columns() - 1;
    for row in differs.chunks_exact_mut(words) {
        row[0] |= 1;
        row[column / 64] |= 1 << (column % 64);
    }
}

/// The marked voxels of word `i` that belong to a class.
fn marked(slice: &PackedSlice, skip_zero: bool, differs: &[u64], i: usize) -> u64 {
    // Most words have none, and are passed over before anything else is asked.
    match differs[i] {
        0 => 0,
        marked if skip_zero => marked & slice.valid(i) & !slice.select(i, 0),
        marked => marked & slice.valid(i),
    }
}

/// Takes the marked voxels apart by label.
fn extract(slice: &PackedSlice, skip_zero: bool, differs: &[u64], base: usize, found: &mut Vec<Found>) {
    for i in 0..differs.len() {
        let left = marked(slice, skip_zero, differs, i);
        if left != 0 {
            let word = u32::try_from(base + i).expect("checked for the whole image");
            slice.each_label(i, left, |label, bits| found.push(Found { label, word, bits }));
        }
    }
}

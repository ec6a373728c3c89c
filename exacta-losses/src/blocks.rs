//! Arrays of a number a voxel and row, split so that each task writes its blocks.

use std::sync::Mutex;

use crate::tile::BLOCK;

/// Rows of one length, in blocks of voxels that tasks take one at a time.
#[derive(Debug)]
pub(crate) struct Blocks<'a, T> {
    parts: Vec<Mutex<&'a mut [T]>>,
    per_row: usize,
}

impl<'a, T> Blocks<'a, T> {
    /// Splits rows of `voxels` elements.
    pub(crate) fn new(values: &'a mut [T], voxels: usize) -> Self {
        let rows = values.chunks_mut(voxels.max(1));
        let parts = rows.flat_map(|row| row.chunks_mut(BLOCK)).map(Mutex::new).collect();
        Self { parts, per_row: voxels.div_ceil(BLOCK) }
    }

    /// Calls `f` with elements `start..start + len` of a row, within one block.
    pub(crate) fn with<R>(&self, row: usize, start: usize, len: usize, f: impl FnOnce(&mut [T]) -> R) -> R {
        let part = &self.parts[row * self.per_row + start / BLOCK];
        let mut part = part.try_lock().expect("each block is used by one task");
        f(&mut part[start % BLOCK..start % BLOCK + len])
    }
}

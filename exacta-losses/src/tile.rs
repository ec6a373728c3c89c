//! A few hundred voxels of one case, all channels, as the kernels see them.

use std::ops::Range;

use crate::number::Number;

/// Consecutive voxels of one case in cache: rows of [`Tile::row`] elements, one a channel.
///
/// Excluded voxels and what lies past the end have label -1 and zeros everywhere else, so kernels run over whole rows of
/// vectors and nothing that an excluded voxel holds can enter a sum.
#[derive(Debug)]
pub(crate) struct Tile<F> {
    /// Case of the batch.
    pub(crate) case: usize,
    /// Number of its first voxel.
    pub(crate) start: usize,
    /// Number of voxels.
    pub(crate) len: usize,
    /// Number of channels.
    pub(crate) channels: usize,
    /// Elements a row, whole strips.
    pub(crate) row: usize,
    /// Input by channel; kernels overwrite it with predictions or with the gradient.
    pub(crate) logits: Vec<F>,
    /// The class of each voxel; with one-hot targets 0. -1 where excluded.
    pub(crate) labels: Vec<F>,
    /// One-hot or soft targets by channel; empty with index targets.
    pub(crate) goals: Vec<F>,
    /// Number of voxels that count.
    pub(crate) included: u64,
    /// Number of voxels that count and whose label is no class.
    pub(crate) invalid: u64,
}

impl<F: Number> Tile<F> {
    /// Room for tiles of a batch with so many channels.
    pub(crate) fn new(channels: usize, one_hot: bool) -> Self {
        let row = row(channels);
        Self {
            case: 0,
            start: 0,
            len: 0,
            channels,
            row,
            logits: vec![F::default(); channels * row],
            labels: vec![F::default(); row],
            goals: vec![F::default(); if one_hot { channels * row } else { 0 }],
            included: 0,
            invalid: 0,
        }
    }

    /// Elements of a channel's row.
    pub(crate) fn channel(&self, channel: usize) -> Range<usize> {
        channel * self.row..channel * self.row + self.len
    }
}

/// Voxels a tile: what a core keeps in its first cache, the same for every dtype, so that sums have one order.
pub(crate) const fn row(channels: usize) -> usize {
    match channels {
        0..=4 => 512,
        5..=8 => 256,
        9..=16 => 128,
        _ => 64,
    }
}

/// Voxels a block: the work that one thread takes at a time; a whole number of tiles.
pub(crate) const BLOCK: usize = 16_384;

/// Voxels that go through the loops of a kernel together; rows of tiles are whole numbers of them.
pub(crate) const STRIP: usize = 64;

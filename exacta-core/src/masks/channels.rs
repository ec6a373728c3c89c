//! Binary channels, packed as they lie: what [`scan_planes`](crate::scan::scan_planes) does, without looking for labels.

use std::ops::Range;

use super::{Extent, Planes, Slab, by_map, slabs_of};
use crate::batch::MapImages;
use crate::bits::pack;
use crate::image::Image;
use crate::scan::tally::{Tally, table};
use crate::stages::Counts;
use crate::{Batch, Cpu, Grid, Level, Result, Table};

/// Voxels read at once, where they are not bytes.
const TILE: usize = 1 << 14;

/// The slabs of each channel of each case.
pub(super) fn channels(cpu: &Cpu, batch: &Batch<'_>) -> Result<Vec<Vec<Slab>>> {
    let (grid, slabs) = (batch.grid(), slabs_of(cpu, batch)?);
    let found = slabs.threads.map(batch.maps() * slabs.of_map, |item| {
        slab_of(cpu.level, grid, &batch.map(item / slabs.of_map), slabs.slices(item, grid))
    });
    by_map(found, slabs.of_map, batch)
}

/// The same, and the counts.
pub(super) fn counted(cpu: &Cpu, batch: &Batch<'_>) -> Result<(Table<Counts>, Vec<Vec<Slab>>)> {
    let maps = channels(cpu, batch)?;
    let tallies: Vec<Tally> = maps
        .iter()
        .map(|slabs| {
            let mut whole = Tally::new(2);
            slabs.iter().for_each(|slab| whole.add(&tally(batch.grid(), slab)));
            whole
        })
        .collect();
    Ok((table(batch, &tallies), maps))
}

/// Some slices of a channel; nothing where a value is neither 0 nor 1.
fn slab_of(level: Level, grid: &Grid, images: &MapImages<'_>, slices: Range<usize>) -> Option<Slab> {
    let side = |image| side_of(level, grid, image, &slices);
    let sides = [side(&*images.pred)?, side(&*images.target)?];
    Some(Slab { slices, words: grid.words(), sides })
}

fn tally(grid: &Grid, slab: &Slab) -> Tally {
    let mut tally = Tally::new(2);
    let [_, rows, columns] = grid.size();
    let (pred, target) = (&slab.sides[0].planes[0], &slab.sides[1].planes[0]);
    for (p, t) in pred.iter().zip(target) {
        tally.pred[1] += u64::from(p.count_ones());
        tally.target[1] += u64::from(t.count_ones());
        tally.both[1] += u64::from((p & t).count_ones());
    }
    let voxels = (slab.slices.len() * rows * columns) as u64;
    tally.pred[0] = voxels - tally.pred[1];
    tally.target[0] = voxels - tally.target[1];
    tally.both[0] = voxels + tally.both[1] - tally.pred[1] - tally.target[1];
    tally
}

fn side_of(level: Level, grid: &Grid, image: &dyn Image, slices: &Range<usize>) -> Option<Planes> {
    let [_, height, columns] = grid.size();
    let (rows, per_row) = (slices.start * height..slices.end * height, grid.words());
    let mut plane = vec![0; rows.len() * per_row];
    let mut extent = Extent::NONE;
    if !plane.is_empty() {
        let step = (TILE / columns).max(1);
        let mut tile = Vec::new();
        for (first, words) in rows.clone().step_by(step).zip(plane.chunks_mut(step * per_row)) {
            let voxels = words.len() / per_row * columns;
            let bytes = match image.bytes(first * columns, voxels) {
                Some(bytes) => bytes,
                None => {
                    tile.resize(voxels, 0);
                    if image.read_u8(level, first * columns, None, &mut tile) > 1 {
                        return None;
                    }
                    &tile
                }
            };
            let binary = fearless_simd::dispatch!(level, simd => pack(simd, bytes, columns, words));
            binary.then_some(())?;
        }
        for (row, words) in rows.zip(plane.chunks_exact(per_row)) {
            let Some(low) = words.iter().position(|&word| word != 0) else { continue };
            let high = words.iter().rposition(|&word| word != 0).unwrap_or(low);
            let (slice, row) = (row / height, row % height);
            let [left, right] = [words[low].trailing_zeros(), 63 - words[high].leading_zeros()].map(|bit| bit as usize);
            extent.add([slice, row, low * 64 + left], [slice, row, high * 64 + right]);
        }
    }
    // The label 0 of a channel is no class.
    Some(Planes { planes: vec![plane], boxes: vec![Extent::NONE, extent] })
}

//! A label map as channels that may overlap.

use std::sync::Mutex;

use fearless_simd::{Simd, SimdBase, SimdMask, u8x64};

use crate::image::Image;
use crate::parallel::Threads;
use crate::{Cpu, Error, Grid, Labels, Result};

/// Voxels read at once: they stay in cache while each region is written.
const TILE: usize = 16 << 10;
/// Voxels handed to a thread at a time.
const SHARE: usize = 1 << 18;
/// Voxels looked at together.
const BLOCK: usize = 64;

/// One channel a region, as [`write_region_channels`] writes them, and the grid of an image.
///
/// # Errors
/// [`Error::ImageRank`].
pub fn region_channels(cpu: &Cpu, labels: &Labels<'_>, regions: &[&[u8]]) -> Result<(Vec<u8>, Grid)> {
    let mut out = vec![0; regions.len() * labels.shape().iter().product::<usize>()];
    let grid = write_region_channels(cpu, labels, regions, &mut out)?;
    Ok((out, grid))
}

/// Writes one channel a region: 1 where the label is one of the region's, 0 elsewhere, be the value what it may.
///
/// `labels` has shape `(B, *S)` with one to three spatial axes; the bytes of `out`, all 0 before, are those of `(B, regions, *S)`, the axes
/// of an image in the order of the grid that comes back. Label 0 is in no region. Each label is read once; pages of background are never
/// touched.
///
/// # Errors
/// [`Error::ImageRank`]; [`Error::OutputLength`] unless `out` has a byte for each voxel and region.
pub fn write_region_channels(cpu: &Cpu, labels: &Labels<'_>, regions: &[&[u8]], out: &mut [u8]) -> Result<Grid> {
    let shape = labels.shape();
    if !(2..=4).contains(&shape.len()) {
        return Err(Error::ImageRank { shape: shape.to_vec() });
    }
    let grid = Grid::new(&shape[1..], &labels.strides()[1..]);
    let (cases, voxels) = (shape[0], grid.voxels());
    let expected = cases * regions.len() * voxels;
    if out.len() != expected {
        return Err(Error::OutputLength { expected, found: out.len() });
    }
    if out.is_empty() {
        return Ok(grid);
    }
    let images: Vec<_> = (0..cases).map(|case| labels.image(&[case], &grid)).collect();
    let mut shares = Vec::new();
    for (case, out) in out.chunks_exact_mut(regions.len() * voxels).enumerate() {
        let mut channels: Vec<_> = out.chunks_exact_mut(voxels).map(|channel| channel.chunks_mut(SHARE)).collect();
        for start in (0..voxels).step_by(SHARE) {
            let channels: Vec<_> = channels.iter_mut().filter_map(Iterator::next).collect();
            shares.push((case, start, Mutex::new(channels)));
        }
    }
    let threads = if shares.len() == 1 { &Threads::Serial } else { &cpu.threads };
    threads.map(shares.len(), |i| {
        let (case, start, channels) = &shares[i];
        let mut channels = channels.try_lock().expect("each share is taken once");
        write_share(cpu, &*images[*case], *start, regions, &mut channels);
    });
    Ok(grid)
}

fn write_share(cpu: &Cpu, image: &dyn Image, start: usize, regions: &[&[u8]], channels: &mut [&mut [u8]]) {
    let len = channels.first().map_or(0, |channel| channel.len());
    let mut tile = vec![0; TILE.min(len)];
    for at in (0..len).step_by(TILE) {
        let piece = TILE.min(len - at);
        let values = image.bytes(start + at, piece).unwrap_or_else(|| {
            let tile = &mut tile[..piece];
            if image.read_u8(cpu.level, start + at, None, tile) > u64::from(u8::MAX) {
                image.read_saturated(cpu.level, start + at, tile);
            }
            &tile[..piece]
        });
        fearless_simd::dispatch!(cpu.level, simd => mark(simd, values, regions, at, channels));
    }
}

/// Writes the blocks that are not background, one after the other.
#[inline(always)]
fn mark<S: Simd>(simd: S, values: &[u8], regions: &[&[u8]], at: usize, channels: &mut [&mut [u8]]) {
    let zero = u8x64::splat(simd, 0);
    let (blocks, rest) = values.as_chunks::<BLOCK>();
    for (i, block) in blocks.iter().enumerate() {
        if u8x64::from_slice(simd, block).simd_eq(zero).to_bitmask() == !0 {
            continue;
        }
        let at = at + i * BLOCK;
        for (channel, region) in channels.iter_mut().zip(regions) {
            let out = channel[at..at + BLOCK].first_chunk_mut::<BLOCK>().expect("a whole block");
            for label in *region {
                for (out, value) in out.iter_mut().zip(block) {
                    *out |= u8::from(value == label);
                }
            }
        }
    }
    let at = at + blocks.len() * BLOCK;
    for (channel, region) in channels.iter_mut().zip(regions) {
        for (out, value) in channel[at..].iter_mut().zip(rest) {
            *out = u8::from(*value != 0 && region.contains(value));
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array4, ArrayD, IxDyn, array};

    use super::*;

    const REGIONS: [&[u8]; 4] = [&[1, 2, 3], &[1, 3], &[3], &[]];

    fn check(labels: &Labels<'_>, wanted: [&[u8]; 4]) {
        let (out, _) = region_channels(&Cpu::serial(), labels, &REGIONS).expect("one axis");
        assert_eq!(out, wanted.concat());
    }

    #[test]
    fn any_value_of_any_dtype() {
        let wanted: [&[u8]; 4] = [&[0, 1, 1, 1, 0], &[0, 1, 0, 1, 0], &[0, 0, 0, 1, 0], &[0; 5]];
        check(&array![[0u8, 1, 2, 3, 4]].into_dyn().view().into(), wanted);
        // What wraps to a label in a byte or in 32 bits is none.
        check(&array![[-255i64, 1, 2, 3, 257]].into_dyn().view().into(), wanted);
        check(&array![[1u64 << 32 | 1, 1, 2, 3, 1 << 63]].into_dyn().view().into(), wanted);
        check(&array![[f64::NAN, 1.0, 2.0, 3.0, 2.5]].into_dyn().view().into(), wanted);
    }

    #[test]
    fn batches_and_layouts() {
        let labels = Array4::from_shape_fn((2, 5, 70, 90), |(b, z, y, x)| (b + z * 3 + y * 5 + x * 7) as i32 % 5);
        let cpu = Cpu::new();
        let view = labels.view().into_dyn();
        let (out, grid) = region_channels(&cpu, &view.into(), &REGIONS[..3]).expect("three axes");
        assert_eq!(grid.order(), [0, 1, 2]);
        for (i, &found) in out.iter().enumerate() {
            let (case, region, voxel) = (i / (3 * 31500), i / 31500 % 3, i % 31500);
            let label = labels.as_slice().expect("contiguous")[case * 31500 + voxel];
            assert_eq!(found == 1, REGIONS[region].iter().any(|&wanted| i32::from(wanted) == label));
        }
        let reversed = labels.view().reversed_axes().into_dyn();
        let turned = region_channels(&cpu, &reversed.into(), &REGIONS[..3]).expect("three axes").0;
        let sum = |bytes: &[u8]| bytes.iter().map(|&byte| u64::from(byte)).sum::<u64>();
        assert_eq!(sum(&turned), sum(&out));
        let flat = ArrayD::<u8>::zeros(IxDyn(&[3]));
        let error = region_channels(&cpu, &flat.view().into(), &REGIONS).expect_err("no batch axis");
        assert_eq!(error, Error::ImageRank { shape: vec![3] });
    }
}

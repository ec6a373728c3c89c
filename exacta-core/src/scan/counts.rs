//! Counting without planes: tiles of labels, uniform blocks in one step.
//!
//! Memory touched: each label once, a mask byte once; allocated: two tiles a thread. Cost: about a quarter cycle a voxel
//! of an organ-like map, so memory bandwidth decides.

use fearless_simd::{Simd, SimdBase, SimdMask, u8x64};

use super::diagnose::diagnose;
use super::tally::{Tally, table};
use crate::batch::MapImages;
use crate::image::{Image, Keep};
use crate::stages::{CountStage, Counts};
use crate::{Batch, Cpu, Result, Table};

/// Voxels read at a time: long enough a run of each array for the prefetcher, short enough that two tiles of bytes stay in cache.
const TILE: usize = 64 << 10;
/// Voxels handed to a thread at a time.
const SHARE: usize = 1 << 18;
/// Below this many voxels in all, one thread is quicker than waking another.
const SERIAL: usize = 1 << 16;

impl CountStage for Cpu {
    fn counts(&self, batch: &Batch<'_>) -> Result<Table<Counts>> {
        let voxels = batch.grid().voxels();
        let labels = batch.labels_of_map();
        // Excluded voxels are counted under a label of their own.
        let codes = labels + usize::from(batch.is_masked());
        // A share costs a pass over its counters, so many labels ask for large shares.
        let share = SHARE.max(4 * codes);
        let shares = voxels.div_ceil(share).max(1);
        let work = |item: usize| {
            let (map, first) = (item / shares, item % shares * share);
            count_share(self, &batch.map(map), codes, labels, first..(first + share).min(voxels))
        };
        let items = batch.maps() * shares;
        let threads = if batch.maps() * voxels <= SERIAL { &crate::parallel::Threads::Serial } else { &self.threads };
        let parts = threads.map(items, work);
        let mut tallies = Vec::with_capacity(batch.maps());
        for parts in parts.chunks(shares) {
            let mut whole = Tally::new(codes);
            for part in parts {
                match part {
                    Some(part) => whole.add(part),
                    None => return Err(diagnose(batch)),
                }
            }
            tallies.push(whole);
        }
        Ok(table(batch, &tallies))
    }
}

/// The counters of a piece of one map, or nothing where a counted value is no label.
fn count_share(
    cpu: &Cpu,
    images: &MapImages<'_>,
    codes: usize,
    labels: usize,
    voxels: std::ops::Range<usize>,
) -> Option<Tally> {
    if codes <= 256 {
        count_bytes(cpu, images, codes, labels, voxels)
    } else {
        count_wide(cpu, images, codes, labels, voxels)
    }
}

fn count_bytes(
    cpu: &Cpu,
    images: &MapImages<'_>,
    codes: usize,
    labels: usize,
    voxels: std::ops::Range<usize>,
) -> Option<Tally> {
    let mut tally = Tally::new(256);
    let masked = codes > labels;
    let (mut pred, mut target, mut keep) = (vec![0u8; TILE], vec![0u8; TILE], vec![0u8; if masked { TILE } else { 0 }]);
    let mut start = voxels.start;
    while start < voxels.end {
        let len = TILE.min(voxels.end - start);
        let excluded = if masked {
            images.keep(cpu.level, start, &mut keep[..len]);
            Some(Keep { voxels: &keep[..len], excluded: u32::try_from(labels).expect("checked by the specification") })
        } else {
            None
        };
        // Bytes that lie in memory as they are counted are not copied.
        let mut union = 0;
        let p = direct(&*images.pred, masked, start, len).unwrap_or_else(|| {
            union |= images.pred.read_u8(cpu.level, start, excluded, &mut pred[..len]);
            &pred[..len]
        });
        let t = direct(&*images.target, masked, start, len).unwrap_or_else(|| {
            union |= images.target.read_u8(cpu.level, start, excluded, &mut target[..len]);
            &target[..len]
        });
        if union > 255 {
            return None;
        }
        fearless_simd::dispatch!(cpu.level, simd => count_tile(simd, p, t, &mut tally));
        start += len;
    }
    if !tally.is_valid(codes) {
        return None;
    }
    for counters in [&mut tally.pred, &mut tally.target, &mut tally.both] {
        counters.truncate(codes);
    }
    Some(tally)
}

/// A tile of bytes as it lies in memory, where none of it is left out.
fn direct(image: &dyn Image, masked: bool, start: usize, len: usize) -> Option<&[u8]> {
    if masked { None } else { image.bytes(start, len) }
}

/// Counts a tile, 64 voxels at a time; blocks of one label each side, most of an organ-like map, cost one step.
#[inline(always)]
fn count_tile<S: Simd>(simd: S, pred: &[u8], target: &[u8], tally: &mut Tally) {
    let (mut run_pred, mut run_target, mut run) = (0, 0, 0);
    let mut pred_blocks = pred.chunks_exact(64);
    let mut target_blocks = target.chunks_exact(64);
    for (p, t) in pred_blocks.by_ref().zip(target_blocks.by_ref()) {
        let (vp, vt) = (u8x64::from_slice(simd, p), u8x64::from_slice(simd, t));
        let uniform = vp.simd_eq(u8x64::splat(simd, p[0])) & vt.simd_eq(u8x64::splat(simd, t[0]));
        if uniform.to_bitmask() == !0 {
            let (p, t) = (u32::from(p[0]), u32::from(t[0]));
            if (p, t) != (run_pred, run_target) {
                tally.add_run(run_pred, run_target, run);
                (run_pred, run_target, run) = (p, t, 0);
            }
            run += 64;
        } else {
            count_block(simd, p, t, vp, vt, tally);
        }
    }
    tally.add_run(run_pred, run_target, run);
    for (&p, &t) in pred_blocks.remainder().iter().zip(target_blocks.remainder()) {
        tally.add_run(u32::from(p), u32::from(t), 1);
    }
}

/// Counts a block of mixed labels: by label while there are few, by voxel beyond.
#[inline(always)]
fn count_block<S: Simd>(simd: S, p: &[u8], t: &[u8], vp: u8x64<S>, vt: u8x64<S>, tally: &mut Tally) {
    const FEW: usize = 6;
    let equal = vp.simd_eq(vt).to_bitmask();
    let mut left = !0u64;
    for _ in 0..FEW {
        let label = p[left.trailing_zeros() as usize];
        let here = vp.simd_eq(u8x64::splat(simd, label)).to_bitmask();
        tally.pred[usize::from(label)] += u64::from(here.count_ones());
        tally.both[usize::from(label)] += u64::from((here & equal).count_ones());
        left &= !here;
        if left == 0 {
            break;
        }
    }
    while left != 0 {
        let i = left.trailing_zeros();
        let label = usize::from(p[i as usize]);
        tally.pred[label] += 1;
        tally.both[label] += equal >> i & 1;
        left &= left - 1;
    }
    left = !0;
    for _ in 0..FEW {
        let label = t[left.trailing_zeros() as usize];
        let here = vt.simd_eq(u8x64::splat(simd, label)).to_bitmask();
        tally.target[usize::from(label)] += u64::from(here.count_ones());
        left &= !here;
        if left == 0 {
            return;
        }
    }
    while left != 0 {
        tally.target[usize::from(t[left.trailing_zeros() as usize])] += 1;
        left &= left - 1;
    }
}

/// Counts labels of more than a byte, voxel by voxel.
fn count_wide(
    cpu: &Cpu,
    images: &MapImages<'_>,
    codes: usize,
    labels: usize,
    voxels: std::ops::Range<usize>,
) -> Option<Tally> {
    let mut tally = Tally::new(codes);
    let masked = codes > labels;
    let (mut pred, mut target, mut keep) =
        (vec![0u32; TILE], vec![0u32; TILE], vec![0u8; if masked { TILE } else { 0 }]);
    let mut start = voxels.start;
    while start < voxels.end {
        let len = TILE.min(voxels.end - start);
        let excluded = if masked {
            images.keep(cpu.level, start, &mut keep[..len]);
            Some(Keep { voxels: &keep[..len], excluded: u32::try_from(labels).expect("checked by the specification") })
        } else {
            None
        };
        let union = images.pred.read_u32(cpu.level, start, excluded, &mut pred[..len])
            | images.target.read_u32(cpu.level, start, excluded, &mut target[..len]);
        if union > u64::from(u32::MAX) {
            return None;
        }
        for (&p, &t) in pred[..len].iter().zip(&target[..len]) {
            let (p, t) = (p as usize, t as usize);
            *tally.pred.get_mut(p)? += 1;
            *tally.target.get_mut(t)? += 1;
            tally.both[p] += u64::from(p == t);
        }
        start += len;
    }
    Some(tally)
}

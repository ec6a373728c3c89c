//! Skeletons of every class of a batch.
//!
//! Labels are read once; then each class of each array is thinned within its own box, several at a time, the largest first. Memory:
//! the planes of the labels, and for each thread three bits a voxel of a box.

use exacta_core::parallel::Threads;
use exacta_core::stages::{Counts, SkeletonCounts, SkeletonStage};
use exacta_core::{Batch, Bits, Cpu, Error, Masks, Region, Result, Side, Table, Thinning};

use crate::CpuComponents;
use crate::thinning::skeleton_of;

/// Below this many voxels in all, one thread is quicker than waking another.
const SERIAL: u64 = 1 << 10;

impl SkeletonStage for CpuComponents {
    fn skeletons(&self, batch: &Batch<'_>, thinning: Thinning) -> Result<(Table<Counts>, Table<SkeletonCounts>)> {
        let (counts, masks) = self.cpu.masks(batch)?;
        let classes = masks.classes();
        let mut items: Vec<(u64, usize, Side)> = Vec::with_capacity(2 * counts.values().len());
        for (i, counts) in counts.values().iter().enumerate() {
            items.push((counts.predicted(), i, Side::Pred));
            items.push((counts.target(), i, Side::Target));
        }
        // A large one taken last would keep the others waiting.
        items.sort_by_key(|&(voxels, i, _)| (std::cmp::Reverse(voxels), i));
        // Threads are taken by the items, and what an item does is serial.
        let cpu = Cpu { level: self.cpu.level, threads: Threads::Serial };
        let small = items.iter().map(|&(voxels, ..)| voxels).sum::<u64>() <= SERIAL;
        let threads = if small { &Threads::Serial } else { &self.cpu.threads };
        let found = threads.map(items.len(), |item| {
            let (voxels, i, side) = items[item];
            let (case, class) = (i / classes, i % classes);
            count(&cpu, batch, &masks, (case, class), side, voxels, thinning)
        });
        let mut values = vec![SkeletonCounts::default(); counts.values().len()];
        for ((_, i, side), found) in items.into_iter().zip(found) {
            let (own, common) = found?;
            let value = &mut values[i];
            match side {
                Side::Pred => (value.pred, value.pred_in_target) = (own, common),
                Side::Target => (value.target, value.target_in_pred) = (own, common),
            }
        }
        Ok((counts, Table::new(masks.cases(), classes, values)))
    }
}

/// The voxels of a skeleton, and those of them in the other mask.
fn count(
    cpu: &Cpu,
    batch: &Batch<'_>,
    masks: &Masks,
    (case, class): (usize, usize),
    side: Side,
    voxels: u64,
    thinning: Thinning,
) -> Result<(u64, u64)> {
    let other = if side == Side::Pred { Side::Target } else { Side::Pred };
    if let Some(skeleton) = batch.skeleton(cpu, case, class, side)? {
        let whole = Region::whole(masks.grid());
        let outside = skeleton.count() - skeleton.count_common(&masks.bits(case, class, side, &whole));
        if outside > 0 {
            return Err(Error::SkeletonOutside { argument: side.skeleton_argument(), case, class, voxels: outside });
        }
        return Ok(common(&skeleton, masks, (case, class), other, &whole));
    }
    if voxels == 0 {
        return Ok((0, 0));
    }
    let region = masks.region(case, class, side).expect("a mask with voxels");
    let grid = masks.grid();
    let flat = grid.by_axis(grid.size())[0] == 1;
    let skeleton = skeleton_of(cpu, &masks.bits(case, class, side, &region), thinning, flat);
    Ok(common(&skeleton, masks, (case, class), other, &region))
}

fn common(skeleton: &Bits, masks: &Masks, (case, class): (usize, usize), other: Side, region: &Region) -> (u64, u64) {
    (skeleton.count(), skeleton.count_common(&masks.bits(case, class, other, region)))
}

//! Distances of many small pairs of masks, such as lesions and what found them.

use exacta_core::ndarray::ArrayD;
use exacta_core::parallel::Threads;
use exacta_core::stages::{Need, SurfaceDistances, distances_of_pair};
use exacta_core::{Cpu, Result, Spacing, SurfaceKind};

use crate::CpuSurface;

/// Distances of each pair that `masks` makes. Pairs are shared out among the threads; where there are fewer, each is measured by all.
pub(crate) fn distances_of_pairs(
    stage: &CpuSurface,
    count: usize,
    masks: &(dyn Fn(usize) -> Result<[ArrayD<u8>; 2]> + Sync),
    kind: SurfaceKind,
    spacing: &Spacing,
    need: &Need,
) -> Result<Vec<SurfaceDistances>> {
    let threads = &stage.cpu.threads;
    if count < threads.count() {
        return (0..count).map(|i| distances_of_pair(stage, masks(i)?, kind, spacing, need)).collect();
    }
    let serial = CpuSurface { cpu: Cpu { level: stage.cpu.level, threads: Threads::Serial } };
    threads.map(count, |i| distances_of_pair(&serial, masks(i)?, kind, spacing, need)).into_iter().collect()
}

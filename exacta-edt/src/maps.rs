//! Distance maps of masks to their own other side, for losses: one transform an image serves both sides.

use std::sync::Mutex;

use exacta_core::parallel::Threads;
use exacta_core::stages::{DistanceMap, DistanceStage, DistancesMut};
use exacta_core::{Border, Cpu, Error, Result};

use crate::edt::Edt;
use crate::lanes::Output;
use crate::transform::Finish;

/// The transforms of this crate as [`DistanceStage`].
///
/// An image of one side alone needs no transform. Images run side by side where there are as many as threads, else
/// each on all threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CpuMaps;

impl DistanceStage for CpuMaps {
    fn maps(
        &self,
        cpu: &Cpu,
        masks: &[u8],
        shape: &[usize],
        spacing: &[f64],
        map: DistanceMap,
        out: DistancesMut<'_>,
    ) -> Result<()> {
        match out {
            DistancesMut::F32(out) => maps(cpu, masks, shape, spacing, map, out),
            DistancesMut::F64(out) => maps(cpu, masks, shape, spacing, map, out),
        }
    }
}

fn maps<O: Output>(
    cpu: &Cpu,
    masks: &[u8],
    shape: &[usize],
    spacing: &[f64],
    map: DistanceMap,
    out: &mut [O],
) -> Result<()> {
    let border = if map == DistanceMap::Signed { Border::Background } else { Border::Open };
    let edt = Edt::new(spacing)?.border(border);
    if spacing.len() != shape.len() {
        return Err(Error::SpacingLength { expected: shape.len(), found: spacing.len() });
    }
    let voxels: usize = shape.iter().product();
    if masks.len() != out.len() || voxels == 0 || !masks.len().is_multiple_of(voxels) {
        return Err(Error::OutputLength { expected: masks.len(), found: out.len() });
    }
    let images: Vec<_> = masks.chunks_exact(voxels).zip(out.chunks_exact_mut(voxels)).map(Mutex::new).collect();
    let one = |cpu: &Cpu, image: usize| {
        let mut image = images[image].try_lock().expect("each image is taken once");
        let (mask, out) = &mut *image;
        self::image(&edt, cpu, mask, shape, spacing, map, out)
    };
    if images.len() >= cpu.threads.count() {
        let serial = Cpu { threads: Threads::Serial, ..cpu.clone() };
        cpu.threads.map(images.len(), |image| one(&serial, image)).into_iter().collect()
    } else {
        (0..images.len()).try_for_each(|image| one(cpu, image))
    }
}

fn image<O: Output>(
    edt: &Edt,
    cpu: &Cpu,
    mask: &[u8],
    shape: &[usize],
    spacing: &[f64],
    map: DistanceMap,
    out: &mut [O],
) -> Result<()> {
    let any = mask.iter().any(|&value| value != 0);
    let all = any && mask.iter().all(|&value| value != 0);
    let finish = match map {
        DistanceMap::Signed if !any => {
            #[expect(clippy::cast_precision_loss, reason = "an axis is shorter than 2^32")]
            let squared = shape.iter().zip(spacing).map(|(&n, h)| (n as f64 * h) * (n as f64 * h)).sum::<f64>();
            out.fill(O::of(squared.sqrt()));
            return Ok(());
        }
        DistanceMap::Unsigned | DistanceMap::UnsignedSquared if !any || all => {
            out.fill(O::ZERO);
            return Ok(());
        }
        DistanceMap::Signed => Finish::Signed,
        DistanceMap::Unsigned => Finish::Root,
        DistanceMap::UnsignedSquared => Finish::Squared,
    };
    edt.sides(cpu, mask, shape, finish, out)
}

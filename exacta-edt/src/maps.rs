//! Distance maps of masks to their own other side, for losses: one transform an image serves both sides.

use std::ops::Range;
use std::sync::Mutex;

use exacta_core::parallel::Threads;
use exacta_core::stages::{DistanceMap, DistanceStage, DistancesMut};
use exacta_core::{Border, Cpu, Error, Result};

use crate::compact::Compact;
use crate::edt::Edt;
use crate::output::Output;
use crate::transform::Finish;

/// The transforms of this crate as [`DistanceStage`].
///
/// An image of one side alone needs no transform. The box of a small mask is measured to and within by trying all of it. Images run side by side where there are as many as threads, else
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
    let size = lifted(shape);
    let found = bounds(mask, size);
    let finish = match map {
        DistanceMap::UnsignedSquared => Finish::Squared,
        DistanceMap::Signed | DistanceMap::Unsigned => Finish::Root,
    };
    let signed = map == DistanceMap::Signed;
    let Some(found) = found else {
        #[expect(clippy::cast_precision_loss, reason = "an axis is shorter than 2^32")]
        let squared = shape.iter().zip(spacing).map(|(&n, h)| (n as f64 * h) * (n as f64 * h)).sum::<f64>();
        out.fill(if signed { O::of(squared.sqrt()) } else { O::ZERO });
        return Ok(());
    };
    if !signed && mask.iter().all(|&value| value != 0) {
        out.fill(O::ZERO);
        return Ok(());
    }
    // Background all around the box; beyond the image only where the border is background, and never along an axis
    // that the image lacks. Coordinates of `around` count from the margin.
    let margin: [usize; 3] = std::array::from_fn(|axis| usize::from(signed && axis >= 3 - shape.len()));
    let around: [Range<usize>; 3] = std::array::from_fn(|axis| {
        let first = (found[axis].start + margin[axis]).saturating_sub(1);
        first..(found[axis].end + 1 + margin[axis]).min(size[axis] + 2 * margin[axis])
    });
    let lengths = |of: &[Range<usize>; 3]| [of[0].len(), of[1].len(), of[2].len()];
    if !Compact::is_worth(lengths(&found), size) || !Compact::is_worth(lengths(&around), lengths(&around)) {
        return edt.sides(cpu, mask, shape, if signed { Finish::Signed } else { finish }, out);
    }
    let arithmetic = edt.arithmetic(shape);
    let mut outside = Compact::new(lengths(&found), [found[0].start, found[1].start, found[2].start]);
    let row = |z: usize, y: usize| &mask[(z * size[1] + y) * size[2]..][..size[2]];
    for (z, y) in pairs(&found) {
        let to = outside.row_mut(z - found[0].start, y - found[1].start);
        for (to, &value) in to.iter_mut().zip(&row(z, y)[found[2].clone()]) {
            *to = u8::from(value != 0);
        }
    }
    outside.distances(cpu.level, size, arithmetic, finish, out);
    let mut inside = Compact::new(lengths(&around), [0; 3]);
    // Of a row of `around` those columns that the image has.
    let within = around[2].start.max(margin[2])..around[2].end.min(size[2] + margin[2]);
    for (z, y) in pairs(&around) {
        let to = inside.row_mut(z - around[0].start, y - around[1].start);
        let at = [z.wrapping_sub(margin[0]), y.wrapping_sub(margin[1])];
        to.fill(1);
        if at[0] < size[0] && at[1] < size[1] {
            let to = &mut to[within.start - around[2].start..within.end - around[2].start];
            let values = &row(at[0], at[1])[within.start - margin[2]..within.end - margin[2]];
            to.iter_mut().zip(values).for_each(|(to, &value)| *to = u8::from(value == 0));
        }
    }
    let mut depths = vec![O::ZERO; lengths(&around).iter().product()];
    inside.distances(cpu.level, lengths(&around), arithmetic, finish, &mut depths);
    for (z, y) in pairs(&found) {
        let from = (z + margin[0] - around[0].start) * around[1].len() + y + margin[1] - around[1].start;
        let depths = &depths[from * around[2].len() + found[2].start + margin[2] - around[2].start..];
        let values = &row(z, y)[found[2].clone()];
        let out = &mut out[(z * size[1] + y) * size[2] + found[2].start..];
        for ((out, &value), &depth) in out.iter_mut().zip(values).zip(depths) {
            let depth = if signed { depth.negated() } else { depth };
            *out = if value != 0 { depth } else { *out };
        }
    }
    Ok(())
}

/// An image of up to three axes as the last of three.
fn lifted(shape: &[usize]) -> [usize; 3] {
    let mut size = [1; 3];
    size[3 - shape.len()..].copy_from_slice(shape);
    size
}

/// The rows of a box.
fn pairs(of: &[Range<usize>; 3]) -> impl Iterator<Item = (usize, usize)> + use<> {
    let rows = of[1].clone();
    of[0].clone().flat_map(move |z| rows.clone().map(move |y| (z, y)))
}

/// The box of the voxels that are not 0.
fn bounds(mask: &[u8], size: [usize; 3]) -> Option<[Range<usize>; 3]> {
    let mut low = [usize::MAX; 3];
    let mut high = [0; 3];
    for (row, values) in mask.chunks_exact(size[2]).enumerate() {
        let Some(first) = values.iter().position(|&value| value != 0) else { continue };
        let last = values.iter().rposition(|&value| value != 0).unwrap_or(first);
        for (axis, [from, to]) in [[row / size[1]; 2], [row % size[1]; 2], [first, last]].into_iter().enumerate() {
            low[axis] = low[axis].min(from);
            high[axis] = high[axis].max(to + 1);
        }
    }
    (high[0] > 0).then(|| std::array::from_fn(|axis| low[axis]..high[axis]))
}

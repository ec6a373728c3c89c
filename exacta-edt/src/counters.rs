//! Steps along axis 0 to the nearest feature, one byte a voxel where the axis allows it.

use exacta_core::ndarray::{Array3, ArrayViewMut3, Axis};
use exacta_core::{Cpu, Level};

use crate::rule::Rule;
use crate::source::Source;

/// A number of steps, the largest standing for no feature.
pub(crate) trait Counter: Copy + Ord + Send + Sync + 'static {
    /// No feature.
    const NONE: Self;
    /// A feature.
    const ZERO: Self;
    /// The neighbour of a feature.
    const ONE: Self;
    /// One step more; nothing stays nothing.
    fn next(self) -> Self;
    /// The number.
    fn steps(self) -> u32;
}

macro_rules! counters {
    ($($type:ty),+) => {$(
        impl Counter for $type {
            const NONE: Self = Self::MAX;
            const ZERO: Self = 0;
            const ONE: Self = 1;

            #[inline(always)]
            fn next(self) -> Self {
                self.saturating_add(1)
            }

            #[inline(always)]
            #[allow(clippy::cast_lossless, reason = "one macro for all widths")]
            fn steps(self) -> u32 {
                self as u32
            }
        }
    )+};
}
counters!(u8, u16, u32);

/// Steps of every voxel, in the order of the kernel's axes.
pub(crate) enum Counters {
    U8(Array3<u8>),
    U16(Array3<u16>),
    U32(Array3<u32>),
}

impl Counters {
    /// Counts along axis 0: two sweeps of each plane of it while the plane is in cache.
    pub(crate) fn new(cpu: &Cpu, size: [usize; 3], source: &dyn Source, rule: Rule) -> Self {
        match size[0] {
            // The outside is one step beyond the last voxel.
            0..=253 => Self::U8(count(cpu, size, source, rule)),
            254..=65_533 => Self::U16(count(cpu, size, source, rule)),
            _ => Self::U32(count(cpu, size, source, rule)),
        }
    }
}

fn count<C: Counter>(cpu: &Cpu, size: [usize; 3], source: &dyn Source, rule: Rule) -> Array3<C> {
    let mut out = Array3::from_elem(size, C::ZERO);
    // Planes a task: at least some ten thousand voxels.
    let chunk = (16_384 / (size[0] * size[2]).max(1)).clamp(1, size[1].max(1));
    let parts: Vec<_> = out.axis_chunks_iter_mut(Axis(1), chunk).map(std::sync::Mutex::new).collect();
    cpu.threads.map(parts.len(), |i| {
        let mut part = parts[i].lock().expect("one task a part");
        planes(cpu.level, source, rule, i * chunk, part.view_mut());
    });
    drop(parts);
    out
}

fn planes<C: Counter>(level: Level, source: &dyn Source, rule: Rule, first: usize, mut out: ArrayViewMut3<'_, C>) {
    let (slices, rows, columns) = out.dim();
    let (mut feature, mut cut) = (vec![0; columns], vec![0; columns]);
    let none = vec![C::NONE; columns];
    for row in 0..rows {
        let y = first + row;
        for z in 0..slices {
            rule.features(level, source, [z, y], &mut feature);
            let cuts = match z {
                0 => rule.edge(level, source, [z, y], &mut cut),
                _ => rule.between(level, source, 0, [z, y], &mut cut),
            };
            let cuts = cuts.then_some(&cut[..]);
            let (before, mut here) = out.view_mut().split_at(Axis(0), z);
            let mut here = here.index_axis_mut(Axis(0), 0);
            let mut here = here.row_mut(row);
            let here = here.as_slice_mut().expect("rows are contiguous");
            let before = (z > 0).then(|| before.index_axis_move(Axis(0), z - 1));
            let before =
                before.as_ref().map_or(&none[..], |before| before.row(row).to_slice().expect("rows are contiguous"));
            exacta_core::dispatch!(level, simd => forward(simd, &feature, cuts, before, here));
        }
        for z in (0..slices).rev() {
            let cuts = match slices - 1 - z {
                0 => rule.edge(level, source, [z, y], &mut cut),
                _ => rule.between(level, source, 0, [z + 1, y], &mut cut),
            };
            let cuts = cuts.then_some(&cut[..]);
            let (mut here, after) = out.view_mut().split_at(Axis(0), z + 1);
            let mut here = here.index_axis_mut(Axis(0), z);
            let mut here = here.row_mut(row);
            let here = here.as_slice_mut().expect("rows are contiguous");
            let after = (z + 1 < slices).then(|| after.index_axis_move(Axis(0), 0));
            let after =
                after.as_ref().map_or(&none[..], |after| after.row(row).to_slice().expect("rows are contiguous"));
            exacta_core::dispatch!(level, simd => backward(simd, cuts, after, here));
        }
    }
}

/// Steps to the nearest feature before or at each voxel, from those of the voxels before.
#[inline(always)]
pub(crate) fn forward<S, C: Counter>(_: S, feature: &[u8], cut: Option<&[u8]>, before: &[C], out: &mut [C]) {
    match cut {
        None => {
            for ((out, &feature), &before) in out.iter_mut().zip(feature).zip(before) {
                *out = if feature != 0 { C::ZERO } else { before.next() };
            }
        }
        Some(cut) => {
            for (((out, &feature), &cut), &before) in out.iter_mut().zip(feature).zip(cut).zip(before) {
                let steps = if cut != 0 { C::ONE } else { before.next() };
                *out = if feature != 0 { C::ZERO } else { steps };
            }
        }
    }
}

/// The same with the features behind, from the final steps of the voxels behind.
#[inline(always)]
pub(crate) fn backward<S, C: Counter>(_: S, cut: Option<&[u8]>, after: &[C], out: &mut [C]) {
    match cut {
        None => {
            for (out, &after) in out.iter_mut().zip(after) {
                *out = (*out).min(after.next());
            }
        }
        Some(cut) => {
            for ((out, &cut), &after) in out.iter_mut().zip(cut).zip(after) {
                *out = (*out).min(if cut != 0 { C::ONE } else { after.next() });
            }
        }
    }
}

//! Two masks handed on slice by slice, as [`scan_planes`](super::scan_planes) hands on what it read.

use super::{PackedSlice, SliceVisitor, Window};
use crate::{Bits, Level};

/// Calls a visitor with every slice of two masks of one grid: maps of the labels 0 and 1. What is a bit a voxel already is so neither
/// made bytes nor counted.
///
/// # Panics
/// If the masks are of different grids.
///
/// # Example
/// ```
/// use exacta_core::ndarray::array;
/// use exacta_core::scan::{SliceVisitor, Window, visit_pair};
/// use exacta_core::{Bits, Cpu, Level};
///
/// struct Common(u32);
/// impl SliceVisitor for Common {
///     fn visit(&mut self, _: Level, _: usize, pred: &Window<'_>, target: &Window<'_>) {
///         self.0 += (pred.current.select(0, 1) & target.current.select(0, 1)).count_ones();
///     }
/// }
/// let cpu = Cpu::serial();
/// let pred = Bits::nonzero(&cpu, array![[1u8, 1, 0]].into_dyn().view())?;
/// let target = Bits::nonzero(&cpu, array![[0u8, 1, 1]].into_dyn().view())?;
/// let mut common = Common(0);
/// visit_pair(cpu.level, &pred, &target, &mut common);
/// assert_eq!(common.0, 1);
/// # Ok::<(), exacta_core::Error>(())
/// ```
pub fn visit_pair<V: SliceVisitor>(level: Level, pred: &Bits, target: &Bits, visitor: &mut V) {
    let grid = pred.grid();
    assert_eq!(grid, target.grid(), "masks of one grid");
    let slices = grid.size()[0];
    if grid.voxels() == 0 {
        return;
    }
    let mut sides = [pred, target].map(|mask| (mask, std::array::from_fn::<_, 3, _>(|_| PackedSlice::new(grid, 1))));
    let load = |sides: &mut [(&Bits, [PackedSlice; 3]); 2], slice: usize| {
        for (mask, ring) in sides {
            let words = grid.size()[1] * grid.words();
            ring[slice % 3].pack_mask(&mask.words()[slice * words..][..words]);
        }
    };
    load(&mut sides, 0);
    for slice in 0..slices {
        if slice + 1 < slices {
            load(&mut sides, slice + 1);
        }
        let [pred, target] = sides.each_ref().map(|(_, ring)| Window {
            previous: (slice > 0).then(|| &ring[(slice + 2) % 3]),
            current: &ring[slice % 3],
            next: (slice + 1 < slices).then(|| &ring[(slice + 1) % 3]),
        });
        visitor.visit(level, slice, &pred, &target);
    }
}

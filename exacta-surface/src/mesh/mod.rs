//! Surfaces of patches: the discrete contour of a mask (`mesh`), and the faces of its voxels (`faces`).
//!
//! A patch is a segment or a triangle. It weighs its length or area, and its distance is that of its centre to the nearest
//! *point* of the other surface. There are no arrays of vertices and no tree: a surface is its corner cells, a code each, and what
//! a code holds follows from a table (`shape`, `table`). Distances are computed in whole units of the lattice (`patch`), relative to
//! the cell that asks, so they keep their digits at any anisotropy and have the same bits wherever two surfaces lie alike. Cells
//! look around in rows of bits (`near`), and far in bricks (`far`); `directed` takes both as far as is needed.

mod bracket;
mod decide;
mod directed;
mod far;
mod field;
mod look;
#[cfg(feature = "testing")]
pub(crate) mod naive;
mod near;
mod patch;
mod round;
mod shape;
mod table;

use exacta_core::parallel::Threads;
use exacta_core::stages::{Directed, Elements, Need, SurfaceDistances};
use exacta_core::{Cpu, Spacing, Table};

use crate::cells::CornerCells;
use decide::finish;
use directed::{Direction, Memos, SERIAL, Sides, measure};
use field::{Field, Sorted};
use near::Geometry;
use patch::{Flat, Patch, Segment, Triangle};
pub use shape::Maker;
use shape::Shape;

/// Cells alive at a time, as a number of classes' cells: below this, classes are measured together.
const TOGETHER: usize = 1 << 21;

/// Distances of each case and class; `spacings` by case, `needs` by class.
pub(crate) fn distances(
    cpu: &Cpu,
    surfaces: &CornerCells,
    maker: Maker,
    spacings: &[Spacing],
    needs: &[Need],
) -> Table<SurfaceDistances> {
    let axes = surfaces.grid().axes();
    let shape = Shape::new(maker, axes);
    match maker {
        Maker::Faces => measure_all::<Flat>(cpu, surfaces, &shape, spacings, needs),
        Maker::Contour if axes == 3 => measure_all::<Triangle>(cpu, surfaces, &shape, spacings, needs),
        Maker::Contour => measure_all::<Segment>(cpu, surfaces, &shape, spacings, needs),
    }
}

fn measure_all<P: Patch>(
    cpu: &Cpu,
    surfaces: &CornerCells,
    shape: &Shape,
    spacings: &[Spacing],
    needs: &[Need],
) -> Table<SurfaceDistances> {
    let (cases, classes) = (surfaces.cases(), surfaces.classes());
    let mut out = Vec::with_capacity(cases * classes);
    let mut known: Option<([f64; 3], Geometry<'_, P>, Memos)> = None;
    for (case, spacing) in spacings.iter().enumerate() {
        let spacing = spacing.volume();
        if known.as_ref().is_none_or(|known| known.0 != spacing) {
            known = Some((spacing, Geometry::new(shape, spacing), Memos::default()));
        }
        let (_, geometry, memos) = known.as_ref().expect("made above");
        let mut class = 0;
        while class < classes {
            let (first, mut cells) = (class, 0);
            while class < classes && (class == first || cells < TOGETHER) {
                cells += [0, 1].map(|side| surfaces.cells(case, class, side).codes.len()).iter().sum::<usize>();
                class += 1;
            }
            let serial = Cpu { level: cpu.level, threads: Threads::Serial };
            let cpu = if cells < SERIAL { &serial } else { cpu };
            let of_class = |i| measure_class(cpu, surfaces, geometry, memos, [case, first + i], &needs[first + i]);
            out.extend(cpu.threads.map(class - first, of_class));
        }
    }
    Table::new(cases, classes, out)
}

fn measure_class<P: Patch>(
    cpu: &Cpu,
    surfaces: &CornerCells,
    geometry: &Geometry<'_, P>,
    memos: &Memos,
    [case, class]: [usize; 2],
    need: &Need,
) -> SurfaceDistances {
    let holds = |code: u8| geometry.lens[usize::from(code)] > 0;
    let serial = Threads::Serial;
    let threads = if surfaces.cells(case, class, 0).codes.len() < SERIAL { &serial } else { &cpu.threads };
    let sides = threads.map(2, |side| Sorted::new(surfaces.grid(), &surfaces.cells(case, class, side), holds));
    let (pred, target) = (&sides[0], &sides[1]);
    if pred.len() == 0 || target.len() == 0 {
        let lone = |cells: &Sorted| {
            let (total, weight) = measure(geometry, cells);
            Directed { elements: Elements::Patches, total, weight, ..Directed::default() }
        };
        return SurfaceDistances { pred_to_target: lone(pred), target_to_pred: lone(target) };
    }
    let fields = threads.map(2, |side| Field::new(&sides[side], geometry.offsets()));
    let [pred_to_target, target_to_pred] = finish(
        cpu,
        memos,
        need,
        [
            Direction::new(geometry, Sides { queries: pred, cells: target, field: &fields[1] }),
            Direction::new(geometry, Sides { queries: target, cells: pred, field: &fields[0] }),
        ],
    );
    SurfaceDistances { pred_to_target, target_to_pred }
}

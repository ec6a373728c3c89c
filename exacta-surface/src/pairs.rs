//! Distances of many small pairs of masks, such as lesions and what found them.
//!
//! A pair is a bit a voxel and stays so: its surface elements are taken from the words, without labels, counts or a batch. All pairs
//! then are classes of one image, each at its first corner, so that what depends on the spacing alone is made once and threads
//! share out all of them together.

use exacta_core::parallel::Threads;
use exacta_core::scan::visit_pair;
use exacta_core::stages::{Need, SurfaceDistances, SurfaceStage};
use exacta_core::{Bits, Error, Grid, LabelSpec, Level, Result, Spacing, SurfaceKind};

use crate::boundary::Boundary;
use crate::cells::CornerCells;
use crate::corners::Corners;
use crate::segments::{Segment, Sparse};
use crate::words::BoundaryVoxels;
use crate::{CpuSurface, Maker, Surfaces};

/// Pairs whose surfaces are alive at a time.
const TOGETHER: usize = 1 << 12;

type Masks<'a> = &'a (dyn Fn(usize) -> Result<[Bits; 2]> + Sync);

/// Distances of each pair that `masks` makes, all of them kept in one order.
pub(crate) fn distances_of_pairs(
    stage: &CpuSurface,
    count: usize,
    masks: Masks<'_>,
    kind: SurfaceKind,
    spacing: &Spacing,
    need: &Need,
) -> Result<Vec<SurfaceDistances>> {
    let mut out = Vec::with_capacity(count);
    for first in (0..count).step_by(TOGETHER) {
        let count = TOGETHER.min(count - first);
        let surfaces = surfaces_of_pairs(stage, count, &|i| masks(first + i), kind)?;
        out.append(&mut stage.distances(&surfaces, &[*spacing], &vec![*need; count])?.into_values());
    }
    Ok(out)
}

/// The surfaces of pairs, one a class.
fn surfaces_of_pairs(stage: &CpuSurface, count: usize, masks: Masks<'_>, kind: SurfaceKind) -> Result<Surfaces> {
    let (cpu, spec) = (&stage.cpu, LabelSpec::one_hot(count));
    if kind == SurfaceKind::Voxels {
        let (whole, found) = find(&cpu.threads, count, masks, |grid, pair| boundary(cpu.level, grid, pair))?;
        let maps = found.into_iter().map(|(grid, sides)| vec![sides.map(|side| side.moved(&grid, &whole))]);
        return Ok(Surfaces::Voxels(BoundaryVoxels::new(whole, &spec, 1, maps.collect())));
    }
    let (whole, found) = find(&cpu.threads, count, masks, |grid, pair| corners(cpu.level, grid, pair))?;
    let moved = |words: Sparse, grid: Grid| vec![Segment::Sparse(words.moved(&grid.corners(), &whole.corners()))];
    let maps = found.into_iter().map(|(grid, sides)| vec![sides.map(|words| moved(words, grid))]);
    let cells = CornerCells::new(whole, &spec, 1, maps.collect());
    Ok(match kind {
        SurfaceKind::Voxels | SurfaceKind::Surfels => Surfaces::Surfels(cells),
        SurfaceKind::Mesh => Surfaces::Patches(cells, Maker::Contour),
        SurfaceKind::Faces => Surfaces::Patches(cells, Maker::Faces),
    })
}

/// What `find` makes of each pair, with its grid, and the smallest grid that holds any of them.
fn find<T: Send>(
    threads: &Threads,
    count: usize,
    masks: Masks<'_>,
    find: impl Fn(Grid, &[Bits; 2]) -> T + Sync,
) -> Result<(Grid, Vec<(Grid, T)>)> {
    let found = threads.map(count, |i| {
        let pair = masks(i)?;
        let grid = *pair[0].grid();
        let words = words(&grid);
        if u32::try_from(words).is_err() {
            return Err(too_large(words));
        }
        Ok((grid, find(grid, &pair)))
    });
    let found = found.into_iter().collect::<Result<Vec<_>>>()?;
    let first = found[0].0;
    let mut size = [0; 3];
    for (grid, _) in &found {
        if grid.order() != first.order() {
            return Err(Error::GridMismatch { first: first.order(), second: grid.order() });
        }
        size = std::array::from_fn(|k| size[k].max(grid.size()[k]));
    }
    let whole = first.resized(size);
    let words = words(&whole);
    if u32::try_from(words).is_err() {
        return Err(too_large(words));
    }
    Ok((whole, found))
}

/// Words of a grid's corners, which are more than those of its voxels.
fn words(grid: &Grid) -> usize {
    let corners = grid.corners();
    corners.size()[0] * corners.size()[1] * corners.words()
}

fn too_large(words: usize) -> Error {
    let what = "the number of 64-corner words of the box around a pair of masks";
    Error::TooLarge { what, value: words, limit: u32::MAX as usize }
}

fn boundary(level: Level, grid: Grid, [pred, target]: &[Bits; 2]) -> [crate::words::Slab; 2] {
    let mut found = Boundary::new(grid, 0..grid.size()[0], true);
    visit_pair(level, pred, target, &mut found);
    found.into_found()
}

fn corners(level: Level, grid: Grid, [pred, target]: &[Bits; 2]) -> [Sparse; 2] {
    // Words alone, however many: planes could not be moved.
    let mut found = Corners::new(grid, 0..grid.size()[0], true, usize::MAX);
    visit_pair(level, pred, target, &mut found);
    found.into_words()
}

/// The index of a word in a grid that holds another at its first corner.
pub(crate) fn moved(word: u32, from: &Grid, to: &Grid) -> u32 {
    let words = |grid: &Grid| [grid.size()[1], grid.words()].map(|n| u32::try_from(n).expect("checked for the whole"));
    let ([rows, columns], [to_rows, to_columns]) = (words(from), words(to));
    if (rows, columns) == (to_rows, to_columns) {
        return word;
    }
    let (row, column) = (word / columns, word % columns);
    (row / rows * to_rows + row % rows) * to_columns + column
}

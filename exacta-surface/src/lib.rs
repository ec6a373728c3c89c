//! Surfaces of segmentation masks and the exact distances between them.
//!
//! [`CpuSurface`] is the host's [`SurfaceStage`]: it finds the surface elements of every class while the labels are read
//! once, and then the distance of each element of one mask to the nearest of the other, in the order of
//! [`Need`]: what a statistic does not need is not computed. Elements are boundary voxels, or surfels: voxel corners whose
//! block of 2x2x2 voxels is neither inside nor outside, weighted by the area of the marching surface in it.
//!
//! Distances are exact: the minimum over all elements `p` of
//! `sqrt(((h0 (q0 - p0))^2 + (h1 (q1 - p1))^2) + (h2 (q2 - p2))^2)` in IEEE double, every operation rounded by itself, in
//! the order of the array's axes. They are found in tiers, each exact where it answers:
//!
//! 1. bit-parallel shells: 64 elements a step, for the first few voxels of distance (`shells`);
//! 2. branch and bound over bricks of 8x8x8 places, queries of a brick together (`bricks`, `search`, `tail`);
//! 3. a separable transform evaluated at the remaining queries only, once tier 2 has spent what it costs (`transform`).
//!
//! The crate knows no metric and no full distance transform.
//!
//! # Example
//! ```
//! use exacta_core::{Batch, LabelSpec, Spacing, SurfaceKind, stages::{Need, SurfaceStage}};
//! use exacta_surface::CpuSurface;
//! use ndarray::array;
//! # use exacta_core::ndarray;
//!
//! let pred = array![[[0u8, 1, 1, 0, 0]]].into_dyn();
//! let target = array![[[0u8, 0, 1, 1, 0]]].into_dyn();
//! let batch = Batch::new(pred.view(), target.view(), LabelSpec::index(2).without_background(), None)?;
//! let stage = CpuSurface::default();
//! let (_, surfaces) = stage.surfaces(&batch, SurfaceKind::Voxels)?;
//! let distances = stage.distances(&surfaces, &[Spacing::new(&[1.0, 2.0])?], &[Need::ALL])?;
//! assert_eq!(distances.get(0, 0).pred_to_target.max, Some(2.0));
//! # Ok::<(), exacta_core::Error>(())
//! ```
#![forbid(unsafe_code)]

mod boundary;
mod bricks;
mod bulk;
mod carried;
mod cells;
mod coarse;
mod codes;
mod corners;
mod dense;
mod distances;
mod mesh;
mod minima;
#[cfg(any(test, feature = "testing"))]
mod naive;
mod normals;
mod pairs;
mod progress;
mod search;
mod segments;
mod shells;
mod steps;
mod surfels;
mod sweep;
mod tags;
mod tail;
mod tally;
mod transform;
mod words;

use exacta_core::stages::{CountStage, Counts, Need, SurfaceDistances, SurfaceStage};
use exacta_core::{Backend, Batch, Bits, Cpu, Error, Result, Spacing, SurfaceKind, Table};

pub use cells::CornerCells;
pub use mesh::Maker;
#[cfg(feature = "testing")]
pub use mesh::naive::naive_patches;
#[cfg(feature = "testing")]
pub use naive::{naive_codes, naive_distances, naive_surfel_distances};
pub use words::BoundaryVoxels;

/// The surfaces of a batch, by kind of element.
#[derive(Debug)]
pub enum Surfaces {
    /// Boundary voxels.
    Voxels(BoundaryVoxels),
    /// Corner cells, each with the area that its code has at a spacing.
    Surfels(CornerCells),
    /// Corner cells, and the patches that are made of their codes.
    Patches(CornerCells, Maker),
}

/// Surfaces on the host.
#[derive(Debug, Clone, Default)]
pub struct CpuSurface {
    /// Instruction set and threads.
    pub cpu: Cpu,
}

impl Backend for CpuSurface {
    type Error = Error;
}

impl CountStage for CpuSurface {
    fn counts(&self, batch: &Batch<'_>) -> Result<Table<Counts>> {
        self.cpu.counts(batch)
    }
}

impl SurfaceStage for CpuSurface {
    type Surfaces = Surfaces;

    fn surfaces(&self, batch: &Batch<'_>, kind: SurfaceKind) -> Result<(Table<Counts>, Surfaces)> {
        match kind {
            SurfaceKind::Voxels => {
                let (counts, voxels) = boundary::boundary_voxels(&self.cpu, batch)?;
                Ok((counts, Surfaces::Voxels(voxels)))
            }
            SurfaceKind::Surfels => {
                let (counts, cells) = corners::corner_cells(&self.cpu, batch)?;
                Ok((counts, Surfaces::Surfels(cells)))
            }
            SurfaceKind::Mesh | SurfaceKind::Faces => {
                let (counts, cells) = corners::corner_cells(&self.cpu, batch)?;
                let maker = if kind == SurfaceKind::Mesh { Maker::Contour } else { Maker::Faces };
                Ok((counts, Surfaces::Patches(cells, maker)))
            }
        }
    }

    fn distances(&self, surfaces: &Surfaces, spacings: &[Spacing], needs: &[Need]) -> Result<Table<SurfaceDistances>> {
        match surfaces {
            Surfaces::Voxels(voxels) => Ok(distances::distances(&self.cpu, voxels, spacings, needs)),
            Surfaces::Patches(cells, maker) => {
                spacings.iter().try_for_each(Spacing::for_areas)?;
                Ok(mesh::distances(&self.cpu, cells, *maker, spacings, needs))
            }
            Surfaces::Surfels(cells) => {
                spacings.iter().try_for_each(Spacing::for_areas)?;
                Ok(distances::distances(&self.cpu, cells, spacings, needs))
            }
        }
    }

    fn distances_of_pairs(
        &self,
        count: usize,
        masks: &(dyn Fn(usize) -> Result<[Bits; 2]> + Sync),
        kind: SurfaceKind,
        spacing: &Spacing,
        need: &Need,
    ) -> Result<Vec<SurfaceDistances>> {
        pairs::distances_of_pairs(self, count, masks, kind, spacing, need)
    }
}

/// Squared distance of an integer offset, in axis order: the expression that all tiers evaluate.
///
/// No operation is fused, so every tier, thread and instruction set gives the same bits.
#[inline(always)]
fn squared(spacing: [f64; 3], offset: [f64; 3]) -> f64 {
    let [a, b, c] = [spacing[0] * offset[0], spacing[1] * offset[1], spacing[2] * offset[2]];
    c * c + (b * b + a * a)
}

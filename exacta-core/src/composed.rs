//! Stages of several crates as one.

use crate::stages::{CountStage, Counts, Need, SkeletonCounts, SkeletonStage, SurfaceDistances, SurfaceStage};
use crate::{Backend, Batch, Bits, Spacing, SurfaceKind, Table, Thinning};

/// Counts and surfaces of one crate, skeletons of another: what serves every metric.
///
/// On the host: `Stages { surfaces: CpuSurface::default(), skeletons: CpuComponents::default() }`.
#[derive(Debug, Clone, Default)]
pub struct Stages<A, B> {
    /// Counts, surfaces and distances.
    pub surfaces: A,
    /// Skeletons.
    pub skeletons: B,
}

impl<A: Backend, B> Backend for Stages<A, B> {
    type Error = A::Error;
}

impl<A: CountStage, B> CountStage for Stages<A, B> {
    fn counts(&self, batch: &Batch<'_>) -> Result<Table<Counts>, A::Error> {
        self.surfaces.counts(batch)
    }
}

impl<A: SurfaceStage, B> SurfaceStage for Stages<A, B> {
    type Surfaces = A::Surfaces;

    fn surfaces(&self, batch: &Batch<'_>, kind: SurfaceKind) -> Result<(Table<Counts>, A::Surfaces), A::Error> {
        self.surfaces.surfaces(batch, kind)
    }

    fn distances(
        &self,
        surfaces: &A::Surfaces,
        spacings: &[Spacing],
        needs: &[Need],
    ) -> Result<Table<SurfaceDistances>, A::Error> {
        self.surfaces.distances(surfaces, spacings, needs)
    }

    fn distances_of_pairs(
        &self,
        count: usize,
        masks: &(dyn Fn(usize) -> Result<[Bits; 2], A::Error> + Sync),
        kind: SurfaceKind,
        spacing: &Spacing,
        need: &Need,
    ) -> Result<Vec<SurfaceDistances>, A::Error> {
        self.surfaces.distances_of_pairs(count, masks, kind, spacing, need)
    }
}

impl<A: Backend, B: SkeletonStage<Error = A::Error>> SkeletonStage for Stages<A, B> {
    fn skeletons(
        &self,
        batch: &Batch<'_>,
        thinning: Thinning,
    ) -> Result<(Table<Counts>, Table<SkeletonCounts>), A::Error> {
        self.skeletons.skeletons(batch, thinning)
    }
}

//! The 95th percentile of the Hausdorff distance.

use exacta_core::stages::SurfaceDistances;
use exacta_core::{Combine, EmptyPolicy, Percentile, Result};

use super::hausdorff_distance::{hausdorff_distance, need};
use crate::registry::{Better, Default, Family, Formula, MetricInfo};

/// The 95th percentile of the Hausdorff distance, in the unit of the spacing: [`hausdorff_distance`] at 95.
///
/// `HD95 = combine(P95 of d(P, T), P95 of d(T, P))`
///
/// # Conventions
/// As [`hausdorff_distance`].
/// # Returns
/// A distance of 0 or more. Symmetric.
/// # Errors
/// As [`hausdorff_distance`].
/// # Agreement
/// MONAI and MetricsReloaded with `Max`; MedPy and Panoptica with `Pooled`.
/// # Reference
/// Huttenlocher, Klanderman and Rucklidge, Comparing images using the Hausdorff distance, IEEE TPAMI 15 (1993).
pub fn hd95(distances: &SurfaceDistances, combine: Combine, empty_policy: EmptyPolicy) -> Result<f64> {
    hausdorff_distance(distances, Percentile::new(95.0)?, combine, empty_policy)
}

pub(crate) const INFO: MetricInfo = MetricInfo {
    name: "hd95",
    family: Family::Surface,
    unit: "mm",
    better: Better::Lower,
    range: (0.0, f64::INFINITY),
    symmetric: true,
    options: &[
        ("combine", Some(Default::Text("max"))),
        ("surface", Some(Default::Text("voxels"))),
        ("both_empty", Some(Default::Number(f64::NAN))),
        ("one_empty", Some(Default::Number(f64::INFINITY))),
    ],
    build: |options| {
        let (combine, empty) = (options.combine()?, options.empty()?);
        Ok(Formula::Surface {
            kind: options.surface()?,
            needs: vec![need(Percentile::new(95.0)?, combine)],
            value: Box::new(move |distances, _| hd95(distances, combine, empty)),
        })
    },
};

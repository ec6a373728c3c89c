//! Hausdorff distance at a percentile.

use exacta_core::quantile::{percentile as directed_percentile, pooled_percentile};
use exacta_core::stages::{Need, SurfaceDistances};
use exacta_core::{Combine, EmptyPolicy, Percentile, Result};

use super::empty;
use crate::registry::{Better, Default, Family, Formula, MetricInfo};

/// Hausdorff distance at a percentile, in the unit of the spacing.
///
/// With `d(P, T)` the distances from the surface elements of P to the surface of T: the `percentile`-th percentile of
/// `d(P, T)` and that of `d(T, P)`, their larger (`Max`) or their mean (`Mean`); or the percentile of both sets together
/// (`Pooled`).
///
/// # Conventions
/// Surfaces are those that `distances` was made from. Percentiles of voxels interpolate linearly between ranks; that of patches is the
/// first distance at which the cumulative share of the weight reaches it; 100 is the maximum. `empty_policy` where a mask is empty.
/// # Returns
/// A distance of 0 or more. Symmetric. 0 at percentile 100 exactly when the surfaces are the same.
/// # Errors
/// [`exacta_core::Error::NotResolved`] if `distances` was made for less than this percentile.
/// # Agreement
/// MONAI `compute_hausdorff_distance` (`Max`), MedPy `hd` (`Max`) and `hd95` (`Pooled`), MetricsReloaded (`Max`), Panoptica `HD95` (`Pooled`); of
/// surfels, DeepMind `compute_robust_hausdorff` (`Max`).
/// # Reference
/// Huttenlocher, Klanderman and Rucklidge, Comparing images using the Hausdorff distance, IEEE TPAMI 15 (1993).
pub fn hausdorff_distance(
    distances: &SurfaceDistances,
    percentile: Percentile,
    combine: Combine,
    empty_policy: EmptyPolicy,
) -> Result<f64> {
    if let Some(value) = empty(distances, empty_policy) {
        return Ok(value);
    }
    let (a, b) = (&distances.pred_to_target, &distances.target_to_pred);
    Ok(match combine {
        Combine::Max => directed_percentile(a, percentile)?.max(directed_percentile(b, percentile)?),
        Combine::Mean => (directed_percentile(a, percentile)? + directed_percentile(b, percentile)?) / 2.0,
        Combine::Pooled => pooled_percentile(a, b, percentile)?,
    })
}

/// What the percentile needs to be known.
pub(crate) fn need(percentile: Percentile, combine: Combine) -> Need {
    let none = Need::default();
    match combine {
        _ if percentile.is_max() => Need { max: true, ..none },
        Combine::Max | Combine::Mean => Need { directed_percentile: Some(percentile.value()), ..none },
        Combine::Pooled => Need { pooled_percentile: Some(percentile.value()), ..none },
    }
}

pub(crate) const INFO: MetricInfo = MetricInfo {
    name: "hausdorff_distance",
    family: Family::Surface,
    unit: "mm",
    better: Better::Lower,
    range: (0.0, f64::INFINITY),
    symmetric: true,
    options: &[
        ("percentile", Some(Default::Number(100.0))),
        ("combine", Some(Default::Text("max"))),
        ("surface", Some(Default::Text("voxels"))),
        ("both_empty", Some(Default::Number(f64::NAN))),
        ("one_empty", Some(Default::Number(f64::INFINITY))),
    ],
    build: |options| {
        let (percentile, combine, empty) = (options.percentile()?, options.combine()?, options.empty()?);
        Ok(Formula::Surface {
            kind: options.surface()?,
            needs: vec![need(percentile, combine)],
            value: Box::new(move |distances, _| hausdorff_distance(distances, percentile, combine, empty)),
        })
    },
};

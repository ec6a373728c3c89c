//! Normalized surface distance, or surface Dice at a tolerance.

use exacta_core::quantile::within;
use exacta_core::stages::{Need, SurfaceDistances};
use exacta_core::{EmptyPolicy, Result, Tolerance};

use super::empty;
use crate::registry::{Better, Default, Family, Formula, MetricInfo};

/// Normalized surface distance, or surface Dice: the share of both surfaces that lies within a tolerance of the other.
///
/// `NSD = (sum of w where d(P, T) <= tolerance + sum of w where d(T, P) <= tolerance) / (sum w_P + sum w_T)`, with `w` the weight of
/// an element: 1 for a voxel, its length or area for a patch.
///
/// # Conventions
/// A distance equal to the tolerance is within it; `empty_policy` where a mask is empty.
/// # Returns
/// A ratio in `[0, 1]`, of voxels one correctly rounded division. Symmetric. 1 at tolerance 0 exactly when the surfaces are the same.
/// # Errors
/// [`exacta_core::Error::NotResolved`] if not all distances up to the tolerance are known.
/// # Agreement
/// MONAI `compute_surface_dice(use_subvoxels=False)`, MetricsReloaded `nsd`; of surfels, DeepMind
/// `compute_surface_dice_at_tolerance`, MONAI `use_subvoxels=True`. Panoptica averages the two directed shares instead.
/// # Reference
/// Nikolov et al., Clinically applicable segmentation of head and neck anatomy for radiotherapy, JMIR 23 (2021), where
/// elements are surfels.
pub fn nsd(distances: &SurfaceDistances, tolerance: Tolerance, empty_policy: EmptyPolicy) -> Result<f64> {
    if let Some(value) = empty(distances, empty_policy) {
        return Ok(value);
    }
    let (a, b) = (&distances.pred_to_target, &distances.target_to_pred);
    let close = within(a, tolerance.value())? + within(b, tolerance.value())?;
    Ok(close / (a.weight + b.weight))
}

pub(crate) const INFO: MetricInfo = MetricInfo {
    name: "nsd",
    family: Family::Surface,
    unit: "",
    better: Better::Higher,
    range: (0.0, 1.0),
    symmetric: true,
    options: &[
        ("tolerance", None),
        ("surface", Some(Default::Text("voxels"))),
        ("both_empty", Some(Default::Number(f64::NAN))),
        ("one_empty", Some(Default::Number(0.0))),
    ],
    build: |options| {
        let (tolerances, empty) = (options.tolerances()?, options.empty()?);
        let needs = tolerances.iter().map(|tolerance| Need { within: Some(tolerance.value()), ..Need::default() });
        Ok(Formula::Surface {
            kind: options.surface()?,
            needs: needs.collect(),
            value: Box::new(move |distances, class| {
                let tolerance = if tolerances.len() == 1 { tolerances[0] } else { tolerances[class] };
                nsd(distances, tolerance, empty)
            }),
        })
    },
};

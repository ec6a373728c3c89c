//! Average symmetric surface distance.

use exacta_core::quantile::sum;
use exacta_core::stages::{Directed, Need, SurfaceDistances};
use exacta_core::{Combine, EmptyPolicy, Result};

use super::empty;
use crate::registry::{Better, Default, Family, Formula, MetricInfo};

/// Average symmetric surface distance, in the unit of the spacing.
///
/// `Pooled`: `ASSD = (sum w d(P, T) + sum w d(T, P)) / (sum w_P + sum w_T)`, with `w` the weight of an element: 1 for a voxel, its
/// length or area for a patch. `Mean`: the mean of the two directed means, which others call MASD. `Max`: the larger of them.
///
/// # Conventions
/// Surfaces are those that `distances` was made from; `empty_policy` where a mask is empty. Sums run over ascending distances, each
/// times its number, with their rounding errors carried along, so the value does not depend on threads.
/// # Returns
/// A distance of 0 or more. Symmetric. 0 exactly when the surfaces are the same.
/// # Errors
/// [`exacta_core::Error::NotResolved`] if not all distances are known.
/// # Agreement
/// MedPy 0.5 `assd`, MONAI `compute_average_surface_distance(symmetric=True)`, MetricsReloaded `assd` (`Pooled`); MedPy 0.4
/// `assd`, Panoptica `ASSD`, MetricsReloaded `masd` (`Mean`); of surfels, the mean of DeepMind's two averages (`Mean`).
/// # Reference
/// Heimann et al., Comparison and evaluation of methods for liver segmentation, IEEE TMI 28 (2009).
pub fn assd(distances: &SurfaceDistances, combine: Combine, empty_policy: EmptyPolicy) -> Result<f64> {
    if let Some(value) = empty(distances, empty_policy) {
        return Ok(value);
    }
    let (a, b) = (&distances.pred_to_target, &distances.target_to_pred);
    let mean = |directed: &Directed| sum(directed).map(|sum| sum / directed.weight);
    Ok(match combine {
        Combine::Max => mean(a)?.max(mean(b)?),
        Combine::Mean => (mean(a)? + mean(b)?) / 2.0,
        Combine::Pooled => (sum(a)? + sum(b)?) / (a.weight + b.weight),
    })
}

pub(crate) const INFO: MetricInfo = MetricInfo {
    name: "assd",
    family: Family::Surface,
    unit: "mm",
    better: Better::Lower,
    range: (0.0, f64::INFINITY),
    symmetric: true,
    options: &[
        ("combine", Some(Default::Text("pooled"))),
        ("surface", Some(Default::Text("voxels"))),
        ("both_empty", Some(Default::Number(f64::NAN))),
        ("one_empty", Some(Default::Number(f64::INFINITY))),
    ],
    build: |options| {
        let (combine, empty) = (options.combine()?, options.empty()?);
        Ok(Formula::Surface {
            kind: options.surface()?,
            needs: vec![Need::ALL],
            value: Box::new(move |distances, _| assd(distances, combine, empty)),
        })
    },
};

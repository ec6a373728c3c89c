//! Average symmetric surface distance.

use exacta_core::quantile::sum;
use exacta_core::stages::{Directed, Need, SurfaceDistances};
use exacta_core::{Combine, EmptyPolicy, Result};

use super::empty;
use crate::registry::{Better, Default, Family, Formula, MetricInfo};

/// Average symmetric surface distance, in the unit of the spacing.
///
/// `Pooled`: `ASSD = (sum d(P, T) + sum d(T, P)) / (n_P + n_T)`. `Mean`: the mean of the two directed means, which others
/// call MASD. `Max`: the larger of them.
///
/// # Conventions
/// Surfaces are those that `distances` was made from; `empty_policy` where a mask is empty. Sums run over ascending distances, each
/// times its number, so the value does not depend on threads.
/// # Returns
/// A distance of 0 or more. Symmetric. 0 exactly when the surfaces are the same.
/// # Errors
/// [`exacta_core::Error::NotResolved`] if not all distances are known.
/// # Agreement
/// MedPy 0.5 `assd`, MONAI `compute_average_surface_distance(symmetric=True)`, MetricsReloaded `assd` (`Pooled`); MedPy 0.4
/// `assd`, Panoptica `ASSD`, MetricsReloaded `masd` (`Mean`).
/// # Reference
/// Heimann et al., Comparison and evaluation of methods for liver segmentation, IEEE TMI 28 (2009).
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
pub fn assd(distances: &SurfaceDistances, combine: Combine, empty_policy: EmptyPolicy) -> Result<f64> {
    if let Some(value) = empty(distances, empty_policy) {
        return Ok(value);
    }
    let (a, b) = (&distances.pred_to_target, &distances.target_to_pred);
    let mean = |directed: &Directed| sum(directed).map(|sum| sum / directed.total as f64);
    Ok(match combine {
        Combine::Max => mean(a)?.max(mean(b)?),
        Combine::Mean => (mean(a)? + mean(b)?) / 2.0,
        Combine::Pooled => (sum(a)? + sum(b)?) / (a.total + b.total) as f64,
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

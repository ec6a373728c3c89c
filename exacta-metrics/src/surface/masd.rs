//! Mean average surface distance.

use exacta_core::stages::{Need, SurfaceDistances};
use exacta_core::{Combine, EmptyPolicy, Result};

use super::assd::assd;
use crate::registry::{Better, Default, Family, Formula, MetricInfo};

/// Mean average surface distance, in the unit of the spacing: the mean of the two directed means.
///
/// `MASD = (mean d(P, T) + mean d(T, P)) / 2`, which is [`assd`] with `Mean`; [`assd`] pools all distances instead.
///
/// # Conventions
/// As [`assd`].
/// # Returns
/// A distance of 0 or more. Symmetric. 0 exactly when the surfaces are the same.
/// # Errors
/// As [`assd`].
/// # Agreement
/// MetricsReloaded `masd`, MedPy 0.4 `assd`, Panoptica `ASSD`.
/// # Reference
/// Beneš and Zitová, Performance evaluation of image segmentation algorithms, IET Image Processing 9 (2015).
pub fn masd(distances: &SurfaceDistances, empty_policy: EmptyPolicy) -> Result<f64> {
    assd(distances, Combine::Mean, empty_policy)
}

pub(crate) const INFO: MetricInfo = MetricInfo {
    name: "masd",
    family: Family::Surface,
    unit: "mm",
    better: Better::Lower,
    range: (0.0, f64::INFINITY),
    symmetric: true,
    options: &[
        ("surface", Some(Default::Text("voxels"))),
        ("both_empty", Some(Default::Number(f64::NAN))),
        ("one_empty", Some(Default::Number(f64::INFINITY))),
    ],
    build: |options| {
        let empty = options.empty()?;
        Ok(Formula::Surface {
            kind: options.surface()?,
            needs: vec![Need::ALL],
            value: Box::new(move |distances, _| masd(distances, empty)),
        })
    },
};

//! Signed error of the predicted volume.

use exacta_core::Unit;
use exacta_core::stages::Counts;

use crate::registry::{Better, Default, Family, Formula, MetricInfo};

/// Signed error of the predicted volume.
///
/// `(FP - FN) * voxel`, `voxel` being the product of the spacings from the first axis to the last.
/// `absolute` takes the absolute value of the whole number of voxels first.
///
/// # Conventions
/// `voxel` in cubic millimetres; the result in `unit`: `mm3`, or `ml` (divided by 1000). An absent class has volume 0; a case without a
/// voxel that counts has none (NaN), which the caller decides.
/// # Returns
/// Positive where the prediction is the larger, 0 is best.
/// # Reference
/// The volume of a set of voxels; no paper.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
pub fn volume_error(counts: &Counts, voxel: f64, unit: Unit, absolute: bool) -> f64 {
    let difference = counts.false_positives as f64 - counts.false_negatives as f64;
    (if absolute { difference.abs() } else { difference }) * unit.from_millimetres(voxel)
}

pub(crate) const INFO: MetricInfo = MetricInfo {
    name: "volume_error",
    family: Family::Size,
    unit: "mm3",
    better: Better::NearZero,
    range: (f64::NEG_INFINITY, f64::INFINITY),
    symmetric: false,
    options: &[("unit", Some(Default::Text("mm3"))), ("absolute", Some(Default::Flag(false)))],
    build: |options| {
        let (unit, absolute) = (options.unit(3)?, options.flag("absolute")?);
        let value = move |counts: &Counts, voxel: f64| volume_error(counts, voxel, unit, absolute);
        Ok(Formula::Size { axes: 3, value: Box::new(value) })
    },
};

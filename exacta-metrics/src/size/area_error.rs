//! Signed error of the predicted area.

use exacta_core::Unit;
use exacta_core::stages::Counts;

use crate::registry::{Better, Default, Family, Formula, MetricInfo};

/// Signed error of the predicted area.
///
/// `(FP - FN) * voxel`, `voxel` being the product of the spacings from the first axis to the last.
/// `absolute` takes the absolute value of the whole number of voxels first.
///
/// # Conventions
/// `voxel` in square millimetres; the result in `unit`: `mm2`, or `cm2` (divided by 100). An absent class has area 0; a case without a
/// voxel that counts has none (NaN), which the caller decides.
/// # Returns
/// Positive where the prediction is the larger, 0 is best.
/// # Reference
/// The area of a set of voxels; no paper.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
pub fn area_error(counts: &Counts, voxel: f64, unit: Unit, absolute: bool) -> f64 {
    let difference = counts.false_positives as f64 - counts.false_negatives as f64;
    (if absolute { difference.abs() } else { difference }) * unit.from_millimetres(voxel)
}

pub(crate) const INFO: MetricInfo = MetricInfo {
    name: "area_error",
    family: Family::Size,
    unit: "mm2",
    better: Better::NearZero,
    range: (f64::NEG_INFINITY, f64::INFINITY),
    symmetric: false,
    options: &[("unit", Some(Default::Text("mm2"))), ("absolute", Some(Default::Flag(false)))],
    build: |options| {
        let (unit, absolute) = (options.unit(2)?, options.flag("absolute")?);
        let value = move |counts: &Counts, voxel: f64| area_error(counts, voxel, unit, absolute);
        Ok(Formula::Size { axes: 2, value: Box::new(value) })
    },
};

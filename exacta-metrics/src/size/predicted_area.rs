//! Area of the predicted class.

use exacta_core::Unit;
use exacta_core::stages::Counts;

use crate::registry::{Better, Default, Family, Formula, MetricInfo};

/// Area of the predicted class.
///
/// `P * voxel`, `voxel` being the product of the spacings from the first axis to the last.
///
/// # Conventions
/// `voxel` in square millimetres; the result in `unit`: `mm2`, or `cm2` (divided by 100). An absent class has area 0; a case without a
/// voxel that counts has none (NaN), which the caller decides.
/// # Returns
/// An area, 0 or more.
/// # Reference
/// The area of a set of voxels; no paper.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
pub fn predicted_area(counts: &Counts, voxel: f64, unit: Unit) -> f64 {
    counts.predicted() as f64 * unit.from_millimetres(voxel)
}

pub(crate) const INFO: MetricInfo = MetricInfo {
    name: "predicted_area",
    family: Family::Size,
    unit: "mm2",
    better: Better::None,
    range: (0.0, f64::INFINITY),
    symmetric: false,
    options: &[("unit", Some(Default::Text("mm2")))],
    build: |options| {
        let unit = options.unit(2)?;
        let value = move |counts: &Counts, voxel: f64| predicted_area(counts, voxel, unit);
        Ok(Formula::Size { axes: 2, value: Box::new(value) })
    },
};

//! Volume of the reference class.

use exacta_core::Unit;
use exacta_core::stages::Counts;

use crate::registry::{Better, Default, Family, Formula, MetricInfo};

/// Volume of the reference class.
///
/// `T * voxel`, `voxel` being the product of the spacings from the first axis to the last.
///
/// # Conventions
/// `voxel` in cubic millimetres; the result in `unit`: `mm3`, or `ml` (divided by 1000). An absent class has volume 0; a case without a
/// voxel that counts has none (NaN), which the caller decides.
/// # Returns
/// A volume, 0 or more.
/// # Reference
/// The volume of a set of voxels; no paper.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
pub fn target_volume(counts: &Counts, voxel: f64, unit: Unit) -> f64 {
    counts.target() as f64 * unit.from_millimetres(voxel)
}

pub(crate) const INFO: MetricInfo = MetricInfo {
    name: "target_volume",
    family: Family::Size,
    unit: "mm3",
    better: Better::None,
    range: (0.0, f64::INFINITY),
    symmetric: false,
    options: &[("unit", Some(Default::Text("mm3")))],
    build: |options| {
        let unit = options.unit(3)?;
        let value = move |counts: &Counts, voxel: f64| target_volume(counts, voxel, unit);
        Ok(Formula::Size { axes: 3, value: Box::new(value) })
    },
};

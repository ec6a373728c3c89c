//! Relative volume difference.

use exacta_core::ZeroDivision;
use exacta_core::stages::Counts;

use crate::registry::{Better, Default, Family, Formula, MetricInfo};

/// Relative volume difference: by how much of the reference the prediction is too large.
///
/// `RVD = (p - t) / t`, with `p` and `t` the predicted and the reference size; `absolute` takes `|p - t|`.
///
/// # Conventions
/// `zero_division` where the reference is empty, whether the prediction is or not.
/// # Returns
/// A ratio in `[-1, inf)`, 0 is best, positive where the prediction is the larger; one correctly rounded division.
/// # Agreement
/// MedPy `ravd`, Panoptica `RVD` and `RVAE` (`absolute`).
/// # Reference
/// Heimann et al., Comparison and evaluation of methods for liver segmentation, IEEE TMI 28 (2009).
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
pub fn relative_volume_difference(counts: &Counts, absolute: bool, zero_division: ZeroDivision) -> f64 {
    let difference = counts.predicted() as f64 - counts.target() as f64;
    zero_division.ratio(if absolute { difference.abs() } else { difference }, counts.target() as f64)
}

pub(crate) const INFO: MetricInfo = MetricInfo {
    name: "relative_volume_difference",
    family: Family::Overlap,
    unit: "",
    better: Better::NearZero,
    range: (-1.0, f64::INFINITY),
    symmetric: false,
    options: &[("absolute", Some(Default::Flag(false))), ("zero_division", Some(Default::Number(f64::NAN)))],
    build: |options| {
        let (absolute, zero_division) = (options.flag("absolute")?, options.zero_division("zero_division")?);
        Ok(Formula::Counts(Box::new(move |counts| relative_volume_difference(counts, absolute, zero_division))))
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overlap::counts;

    #[test]
    fn by_hand() {
        let none = ZeroDivision::default();
        assert_eq!(relative_volume_difference(&counts(3, 1, 2, 9), false, none), -0.2);
        assert_eq!(relative_volume_difference(&counts(3, 1, 2, 9), true, none), 0.2);
        assert!(relative_volume_difference(&counts(0, 3, 0, 9), false, none).is_nan());
    }
}

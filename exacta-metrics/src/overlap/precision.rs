//! Precision, also called positive predictive value.

use exacta_core::ZeroDivision;
use exacta_core::stages::Counts;

use crate::registry::{Better, Default, Family, Formula, MetricInfo};

/// Precision, also called positive predictive value.
///
/// `precision = TP / (TP + FP)`
///
/// # Conventions
/// `zero_division` where the prediction is empty. Its complement is the false discovery rate.
/// # Returns
/// A ratio in `[0, 1]`, one correctly rounded division.
/// # Agreement
/// MedPy `precision` (0 where the prediction is empty), MONAI "precision", 1 - SimpleITK `FalseDiscoveryRate`.
/// # Reference
/// Taha and Hanbury, Metrics for evaluating 3D medical image segmentation, BMC Medical Imaging 15 (2015).
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
pub fn precision(counts: &Counts, zero_division: ZeroDivision) -> f64 {
    zero_division.ratio(counts.true_positives as f64, counts.predicted() as f64)
}

pub(crate) const INFO: MetricInfo = MetricInfo {
    name: "precision",
    family: Family::Overlap,
    unit: "",
    better: Better::Higher,
    range: (0.0, 1.0),
    symmetric: false,
    options: &[("zero_division", Some(Default::Number(f64::NAN)))],
    build: |options| {
        let zero_division = options.zero_division("zero_division")?;
        Ok(Formula::Counts(Box::new(move |counts| precision(counts, zero_division))))
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overlap::counts;

    #[test]
    fn by_hand() {
        let none = ZeroDivision::default();
        assert_eq!(precision(&counts(3, 1, 2, 9), none), 0.75);
        assert!(precision(&counts(0, 0, 2, 9), none).is_nan());
    }
}

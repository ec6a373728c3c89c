//! Sensitivity, also called recall or true positive rate.

use exacta_core::ZeroDivision;
use exacta_core::stages::Counts;

use crate::registry::{Better, Default, Family, Formula, MetricInfo};

/// Sensitivity, also called recall or true positive rate.
///
/// `sensitivity = TP / (TP + FN)`
///
/// # Conventions
/// `zero_division` where the reference is empty. Its complement is the false negative rate.
/// # Returns
/// A ratio in `[0, 1]`, one correctly rounded division.
/// # Agreement
/// MedPy `sensitivity`, `recall` (0 where the reference is empty), MONAI `confusion_matrix` "sensitivity", 1 - SimpleITK `FalseNegativeError`.
/// # Reference
/// Yerushalmy, Statistical problems in assessing methods of medical diagnosis, Public Health Reports 62 (1947).
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
pub fn sensitivity(counts: &Counts, zero_division: ZeroDivision) -> f64 {
    zero_division.ratio(counts.true_positives as f64, counts.target() as f64)
}

pub(crate) const INFO: MetricInfo = MetricInfo {
    name: "sensitivity",
    family: Family::Overlap,
    unit: "",
    better: Better::Higher,
    range: (0.0, 1.0),
    symmetric: false,
    options: &[("zero_division", Some(Default::Number(f64::NAN)))],
    build: |options| {
        let zero_division = options.zero_division("zero_division")?;
        Ok(Formula::Counts(Box::new(move |counts| sensitivity(counts, zero_division))))
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overlap::counts;

    #[test]
    fn by_hand() {
        let none = ZeroDivision::default();
        assert_eq!(sensitivity(&counts(3, 1, 2, 9), none), 0.6);
        assert_eq!(sensitivity(&counts(0, 0, 2, 9), none), 0.0);
        assert!(sensitivity(&counts(0, 5, 0, 9), none).is_nan());
    }
}

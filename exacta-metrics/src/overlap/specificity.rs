//! Specificity, also called true negative rate.

use exacta_core::ZeroDivision;
use exacta_core::stages::Counts;

use crate::registry::{Better, Default, Family, Formula, MetricInfo};

/// Specificity, also called true negative rate.
///
/// `specificity = TN / (TN + FP)`
///
/// # Conventions
/// `zero_division` where the reference covers every voxel that counts. Its complement is the false positive rate.
/// # Returns
/// A ratio in `[0, 1]`, one correctly rounded division.
/// # Agreement
/// MedPy `specificity`, MONAI "specificity", 1 - SimpleITK `FalsePositiveError`.
/// # Reference
/// Yerushalmy, Statistical problems in assessing methods of medical diagnosis, Public Health Reports 62 (1947).
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
pub fn specificity(counts: &Counts, zero_division: ZeroDivision) -> f64 {
    zero_division.ratio(counts.true_negatives as f64, (counts.true_negatives + counts.false_positives) as f64)
}

pub(crate) const INFO: MetricInfo = MetricInfo {
    name: "specificity",
    family: Family::Overlap,
    unit: "",
    better: Better::Higher,
    range: (0.0, 1.0),
    symmetric: false,
    options: &[("zero_division", Some(Default::Number(f64::NAN)))],
    build: |options| {
        let zero_division = options.zero_division("zero_division")?;
        Ok(Formula::Counts(Box::new(move |counts| specificity(counts, zero_division))))
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overlap::counts;

    #[test]
    fn by_hand() {
        let none = ZeroDivision::default();
        assert_eq!(specificity(&counts(3, 1, 2, 9), none), 0.9);
        assert!(specificity(&counts(3, 0, 2, 0), none).is_nan());
    }
}

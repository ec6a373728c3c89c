//! Dice similarity coefficient.

use exacta_core::ZeroDivision;
use exacta_core::stages::Counts;

use crate::registry::{Better, Default, Family, Formula, MetricInfo};

/// Dice similarity coefficient.
///
/// `Dice = 2 TP / (2 TP + FP + FN)`
///
/// # Conventions
/// `both_empty` where neither mask has a voxel; one empty mask gives 0.
/// # Returns
/// A ratio in `[0, 1]`, one correctly rounded division. Symmetric.
/// # Agreement
/// MedPy `dc` (1 where both are empty), MONAI `compute_dice`, SimpleITK `DiceCoefficient`, Panoptica `DSC`.
/// # Reference
/// Dice, Measures of the amount of ecologic association between species, Ecology 26 (1945); Sørensen (1948).
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
pub fn dice(counts: &Counts, both_empty: ZeroDivision) -> f64 {
    both_empty.ratio(
        (2 * counts.true_positives) as f64,
        (2 * counts.true_positives + counts.false_positives + counts.false_negatives) as f64,
    )
}

pub(crate) const INFO: MetricInfo = MetricInfo {
    name: "dice",
    family: Family::Overlap,
    unit: "",
    better: Better::Higher,
    range: (0.0, 1.0),
    symmetric: true,
    options: &[("both_empty", Some(Default::Number(f64::NAN)))],
    build: |options| {
        let both_empty = options.zero_division("both_empty")?;
        Ok(Formula::Counts(Box::new(move |counts| dice(counts, both_empty))))
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overlap::counts;

    #[test]
    fn by_hand() {
        let none = ZeroDivision::default();
        assert_eq!(dice(&counts(3, 1, 2, 9), none), 6.0 / 9.0);
        assert_eq!(dice(&counts(0, 0, 4, 9), none), 0.0);
        assert!(dice(&counts(0, 0, 0, 9), none).is_nan());
        assert_eq!(dice(&counts(0, 0, 0, 9), ZeroDivision(1.0)), 1.0);
    }
}

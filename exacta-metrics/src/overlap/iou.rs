//! Intersection over union, the Jaccard index.

use exacta_core::ZeroDivision;
use exacta_core::stages::Counts;

use crate::registry::{Better, Default, Family, Formula, MetricInfo};

/// Intersection over union, the Jaccard index.
///
/// `IoU = TP / (TP + FP + FN)`
///
/// # Conventions
/// `both_empty` where neither mask has a voxel; one empty mask gives 0.
/// # Returns
/// A ratio in `[0, 1]`, one correctly rounded division. Symmetric.
/// # Agreement
/// MedPy `jc` (1 where both are empty), MONAI `compute_iou`, SimpleITK `JaccardCoefficient`, Panoptica `IOU`.
/// # Reference
/// Jaccard, The distribution of the flora in the alpine zone, New Phytologist 11 (1912).
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
pub fn iou(counts: &Counts, both_empty: ZeroDivision) -> f64 {
    both_empty.ratio(
        counts.true_positives as f64,
        (counts.true_positives + counts.false_positives + counts.false_negatives) as f64,
    )
}

pub(crate) const INFO: MetricInfo = MetricInfo {
    name: "iou",
    family: Family::Overlap,
    unit: "",
    better: Better::Higher,
    range: (0.0, 1.0),
    symmetric: true,
    options: &[("both_empty", Some(Default::Number(f64::NAN)))],
    build: |options| {
        let both_empty = options.zero_division("both_empty")?;
        Ok(Formula::Counts(Box::new(move |counts| iou(counts, both_empty))))
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overlap::counts;

    #[test]
    fn by_hand() {
        let none = ZeroDivision::default();
        assert_eq!(iou(&counts(3, 1, 2, 9), none), 0.5);
        assert!(iou(&counts(0, 0, 0, 9), none).is_nan());
    }
}

//! Volume similarity.

use exacta_core::stages::Counts;
use exacta_core::{VolumeSimilarityConvention, ZeroDivision};

use crate::registry::{Better, Default, Family, Formula, MetricInfo};

/// Volume similarity: how alike two sizes are, wherever the voxels lie.
///
/// With `p` and `t` the predicted and the reference size: `1 - |p - t| / (p + t)` (`Taha`), `2 (p - t) / (p + t)` (`Itk`).
///
/// # Conventions
/// `convention` names which of the two; `zero_division` where both masks are empty.
/// # Returns
/// `Taha`: `[0, 1]`, symmetric, 1 is best; a division and a subtraction, each correctly rounded. `Itk`: `[-2, 2]`, 0 is
/// best, positive where the prediction is the larger.
/// # Agreement
/// EvaluateSegmentation (`Taha`), SimpleITK `VolumeSimilarity` (`Itk`).
/// # Reference
/// Taha and Hanbury, Metrics for evaluating 3D medical image segmentation, BMC Medical Imaging 15 (2015), equation 13.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
pub fn volume_similarity(counts: &Counts, convention: VolumeSimilarityConvention, zero_division: ZeroDivision) -> f64 {
    let (p, t) = (counts.predicted() as f64, counts.target() as f64);
    if p + t == 0.0 {
        return zero_division.0;
    }
    match convention {
        VolumeSimilarityConvention::Taha => 1.0 - (p - t).abs() / (p + t),
        VolumeSimilarityConvention::Itk => 2.0 * (p - t) / (p + t),
    }
}

pub(crate) const INFO: MetricInfo = MetricInfo {
    name: "volume_similarity",
    family: Family::Overlap,
    unit: "",
    better: Better::Higher,
    range: (-2.0, 2.0),
    symmetric: false,
    options: &[("convention", Some(Default::Text("taha"))), ("zero_division", Some(Default::Number(f64::NAN)))],
    build: |options| {
        let (convention, zero_division) = (options.named("convention")?, options.zero_division("zero_division")?);
        Ok(Formula::Counts(Box::new(move |counts| volume_similarity(counts, convention, zero_division))))
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overlap::counts;

    #[test]
    fn by_hand() {
        let none = ZeroDivision::default();
        // p = 4, t = 5.
        let c = counts(3, 1, 2, 9);
        assert_eq!(volume_similarity(&c, VolumeSimilarityConvention::Taha, none), 1.0 - 1.0 / 9.0);
        assert_eq!(volume_similarity(&c, VolumeSimilarityConvention::Itk, none), -2.0 / 9.0);
        assert!(volume_similarity(&counts(0, 0, 0, 9), VolumeSimilarityConvention::Taha, none).is_nan());
    }
}

//! Expected calibration error.

use exacta_core::stages::Reliability;

use crate::registry::{Better, Default, Family, Formula, MetricInfo, ScoreFormula};

/// Expected calibration error: the gap between confidence and accuracy, weighted by how many voxels a bin holds.
///
/// `ECE = sum over bins |outcomes - sum of confidences| / n`
///
/// # Conventions
/// Bins of equal width; the bin of a confidence `c` is `min(floor(c bins), bins - 1)`.
/// # Returns
/// In `[0, 1]`; NaN where no voxel counts.
/// # Agreement
/// torchmetrics `CalibrationError(norm="l1")` for the top label, MONAI `CalibrationErrorMetric` for classes.
/// # Reference
/// Naeini, Cooper, Hauskrecht, Obtaining well calibrated probabilities using Bayesian binning, AAAI 2015; Guo et al., On
/// calibration of modern neural networks, ICML 2017, equation 3.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
pub fn expected_calibration_error(reliability: &Reliability) -> f64 {
    let count: u64 = reliability.bins.iter().map(|bin| bin.count).sum();
    let gaps: f64 = reliability.bins.iter().map(|bin| (bin.outcomes as f64 - bin.confidence).abs()).sum();
    gaps / count as f64
}

pub(crate) const INFO: MetricInfo = MetricInfo {
    name: "expected_calibration_error",
    family: Family::Probability,
    unit: "",
    better: Better::Lower,
    range: (0.0, 1.0),
    symmetric: false,
    options: &[
        ("bins", Some(Default::Number(15.0))),
        ("mode", Some(Default::Text("top-label"))),
        ("average", Some(Default::Text("none"))),
    ],
    build: |options| {
        let (bins, mode) = (options.bins("bins", 1)?, options.named("mode")?);
        let average = options.average("average")?;
        Ok(Formula::Scores(ScoreFormula::Reliability { bins, mode, average, value: expected_calibration_error }))
    },
};

#[cfg(test)]
mod tests {
    use exacta_core::stages::ReliabilityBin;

    use super::*;

    #[test]
    fn by_hand() {
        let bin = |count, confidence, outcomes| ReliabilityBin { count, confidence, outcomes };
        let two = Reliability { bins: vec![bin(2, 0.5, 1), bin(2, 1.5, 1)] };
        assert_eq!(expected_calibration_error(&two), 0.25);
        assert!(expected_calibration_error(&Reliability::new(3)).is_nan());
    }
}

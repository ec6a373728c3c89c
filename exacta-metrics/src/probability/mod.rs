//! How well probabilities fit outcomes: proper scores and calibration.

pub(crate) mod brier_score;
pub(crate) mod expected_calibration_error;
pub(crate) mod negative_log_likelihood;

pub use brier_score::brier_score;
pub use expected_calibration_error::expected_calibration_error;
pub use negative_log_likelihood::negative_log_likelihood;

/// The mean of the terms; NaN without voxels.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn mean(sums: &exacta_core::stages::ScoreSums) -> f64 {
    sums.sum / sums.count as f64
}

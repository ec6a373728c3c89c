//! Average precision.

use exacta_core::stages::{RankNeed, RankSums};

use crate::registry::{Better, Default, Family, Formula, MetricInfo, ScoreFormula};

/// Average precision: the mean over the positives of the precision at their own score as threshold.
///
/// `AP = sum over thresholds (R_i - R_(i-1)) P_i`, without interpolation.
///
/// # Returns
/// In `[0, 1]`; NaN without positives.
/// # Agreement
/// scikit-learn `average_precision_score`, torchmetrics `AveragePrecision(thresholds=None)`.
/// # Reference
/// Manning, Raghavan, Schütze, Introduction to information retrieval, 2008, section 8.4.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
pub fn average_precision(sums: &RankSums) -> f64 {
    sums.precision_sum / sums.positives as f64
}

pub(crate) const INFO: MetricInfo = MetricInfo {
    name: "average_precision",
    family: Family::Ranking,
    unit: "",
    better: Better::Higher,
    range: (0.0, 1.0),
    symmetric: false,
    options: &[("bins", Some(Default::Number(0.0)))],
    build: |options| {
        let bins = options.optional_bins("bins")?;
        Ok(Formula::Scores(ScoreFormula::Ranking { need: RankNeed::Precisions, bins, value: average_precision }))
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let sums = RankSums { positives: 2, negatives: 2, wins: 0, precision_sum: 1.5 };
        assert_eq!(average_precision(&sums), 0.75);
        assert!(average_precision(&RankSums::default()).is_nan());
    }
}

//! Area under the ROC curve.

use exacta_core::stages::{RankNeed, RankSums};

use crate::registry::{Better, Default, Family, Formula, MetricInfo, ScoreFormula};

/// Area under the ROC curve: the probability that a positive scores higher than a negative, a tie counting half.
///
/// `AUROC = (pairs won + pairs tied / 2) / (P Q)`, the area by trapezoids.
///
/// # Returns
/// In `[0, 1]`, one division of whole numbers; NaN without positives or without negatives.
/// # Agreement
/// scikit-learn `roc_auc_score`, torchmetrics `AUROC(thresholds=None)`.
/// # Reference
/// Hanley, McNeil, The meaning and use of the area under a ROC curve, Radiology 143 (1982); Mann, Whitney (1947).
#[expect(clippy::cast_precision_loss, reason = "rounded once each")]
pub fn auroc(sums: &RankSums) -> f64 {
    sums.wins as f64 / (2 * u128::from(sums.positives) * u128::from(sums.negatives)) as f64
}

pub(crate) const INFO: MetricInfo = MetricInfo {
    name: "auroc",
    family: Family::Ranking,
    unit: "",
    better: Better::Higher,
    range: (0.0, 1.0),
    symmetric: false,
    options: &[("bins", Some(Default::Number(0.0)))],
    build: |options| {
        let bins = options.optional_bins("bins")?;
        Ok(Formula::Scores(ScoreFormula::Ranking { need: RankNeed::Wins, bins, value: auroc }))
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let sums = RankSums { positives: 3, negatives: 2, wins: 9, precision_sum: 0.0 };
        assert_eq!(auroc(&sums), 0.75);
        assert!(auroc(&RankSums { positives: 3, ..RankSums::default() }).is_nan());
    }
}

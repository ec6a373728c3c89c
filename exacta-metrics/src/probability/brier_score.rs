//! Brier score.

use exacta_core::stages::{ScoreSums, Term};

use crate::registry::{Better, Default, Family, Formula, MetricInfo, ScoreFormula};

/// Brier score: the mean squared distance of the probabilities to the outcome.
///
/// `Brier = 1/n sum over voxels sum over classes (p_c - [c = y])^2`; of one channel `1/n sum (p - y)^2`, half of the value
/// that the two channels `1 - p, p` give.
///
/// # Conventions
/// Terms in the precision of the scores, summed in double precision.
/// # Returns
/// In `[0, 2]`, in `[0, 1]` for a single channel; NaN where no voxel counts.
/// # Agreement
/// scikit-learn `brier_score_loss` (`scale_by_half=False`).
/// # Reference
/// Brier, Verification of forecasts expressed in terms of probability, Monthly Weather Review 78 (1950).
pub fn brier_score(sums: &ScoreSums) -> f64 {
    super::mean(sums)
}

pub(crate) const INFO: MetricInfo = MetricInfo {
    name: "brier_score",
    family: Family::Probability,
    unit: "",
    better: Better::Lower,
    range: (0.0, 2.0),
    symmetric: false,
    options: &[("average", Some(Default::Text("none")))],
    build: |options| {
        let average = options.average("average")?;
        Ok(Formula::Scores(ScoreFormula::Sums { term: Term::Brier, average, value: brier_score }))
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        assert_eq!(brier_score(&ScoreSums { count: 4, sum: 1.5 }), 0.375);
        assert!(brier_score(&ScoreSums::default()).is_nan());
    }
}

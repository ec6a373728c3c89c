//! Negative log-likelihood.

use exacta_core::stages::{ScoreSums, Term};

use crate::registry::{Better, Default, Family, Formula, MetricInfo, ScoreFormula};

/// Negative log-likelihood in nats: the mean of minus the logarithm of the probability of the outcome.
///
/// `NLL = -1/n sum over voxels log p_y`; of one channel `p_1 = p`, `p_0 = 1 - p`.
///
/// # Conventions
/// Probabilities are not clipped: probability 0 of an outcome that came gives infinity. Logits take forms that do not
/// overflow.
/// # Returns
/// From 0; NaN where no voxel counts.
/// # Agreement
/// scikit-learn `log_loss`, which clips 0 to the machine epsilon; the cross-entropy of PyTorch.
/// # Reference
/// Good, Rational decisions, Journal of the Royal Statistical Society B 14 (1952).
pub fn negative_log_likelihood(sums: &ScoreSums) -> f64 {
    super::mean(sums)
}

pub(crate) const INFO: MetricInfo = MetricInfo {
    name: "negative_log_likelihood",
    family: Family::Probability,
    unit: "",
    better: Better::Lower,
    range: (0.0, f64::INFINITY),
    symmetric: false,
    options: &[("average", Some(Default::Text("none")))],
    build: |options| {
        let average = options.average("average")?;
        Ok(Formula::Scores(ScoreFormula::Sums { term: Term::LogLoss, average, value: negative_log_likelihood }))
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        assert_eq!(negative_log_likelihood(&ScoreSums { count: 2, sum: 3.0 }), 1.5);
        assert_eq!(negative_log_likelihood(&ScoreSums { count: 2, sum: f64::INFINITY }), f64::INFINITY);
        assert!(negative_log_likelihood(&ScoreSums::default()).is_nan());
    }
}

//! Precision, recall and false positives a case, for every threshold of the confidence.

use super::Candidate;

/// Operating points in falling order of the threshold. The first has the threshold infinity and accepts nothing; each different
/// confidence then is one point.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// Confidence from which predictions are accepted.
    pub thresholds: Vec<f64>,
    /// Accepted predictions that hit a lesion.
    pub true_positives: Vec<u64>,
    /// Accepted predictions that hit none.
    pub false_positives: Vec<u64>,
    /// `tp / (tp + fp)`; 1 where nothing is accepted.
    pub precision: Vec<f64>,
    /// `tp / targets`; NaN without targets.
    pub recall: Vec<f64>,
    /// `fp / cases`.
    pub false_positives_per_case: Vec<f64>,
    /// Sum of each step of the recall times the precision after it; NaN without targets, 0 with targets and no prediction.
    pub average_precision: f64,
    /// Lesions of the reference.
    pub targets: u64,
    /// Cases.
    pub cases: u64,
}

impl Curve {
    /// The curve of the predictions of `cases` cases with `targets` lesions together.
    ///
    /// # Reference
    /// Average precision as in scikit-learn's `average_precision_score`, without interpolation; FROC after Chakraborty and Winter, Radiology 174 (1990).
    #[expect(clippy::cast_precision_loss, reason = "numbers of lesions are far below 2^53")]
    pub fn new(mut candidates: Vec<Candidate>, targets: u64, cases: u64) -> Self {
        candidates.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
        let mut curve = Self {
            thresholds: vec![f64::INFINITY],
            true_positives: vec![0],
            false_positives: vec![0],
            precision: vec![1.0],
            recall: vec![],
            false_positives_per_case: vec![],
            average_precision: if targets > 0 { 0.0 } else { f64::NAN },
            targets,
            cases,
        };
        let (mut tp, mut fp) = (0u64, 0u64);
        for equal in candidates.chunk_by(|a, b| a.confidence == b.confidence) {
            let hits = equal.iter().filter(|candidate| candidate.hit).count() as u64;
            tp += hits;
            fp += equal.len() as u64 - hits;
            curve.thresholds.push(equal[0].confidence);
            curve.true_positives.push(tp);
            curve.false_positives.push(fp);
            curve.precision.push(tp as f64 / (tp + fp) as f64);
        }
        let share = |count: &u64, of: u64| if of > 0 { *count as f64 / of as f64 } else { f64::NAN };
        curve.recall = curve.true_positives.iter().map(|tp| share(tp, targets)).collect();
        curve.false_positives_per_case = curve.false_positives.iter().map(|fp| share(fp, cases)).collect();
        if targets > 0 {
            let steps = curve.recall.windows(2).zip(&curve.precision[1..]);
            curve.average_precision =
                steps.fold(0.0, |sum, (recall, precision)| sum + (recall[1] - recall[0]) * precision);
        }
        curve
    }
}

/// The largest recall among the points with at most `budget` false positives a case; NaN without targets.
pub fn sensitivity_at(recall: &[f64], false_positives_per_case: &[f64], budget: f64) -> f64 {
    // Both rise along the curve, whose first point has no false positive.
    let within = false_positives_per_case.partition_point(|&rate| rate <= budget);
    if within == 0 { f64::NAN } else { recall[within - 1] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(all: &[(f64, bool)]) -> Vec<Candidate> {
        all.iter().map(|&(confidence, hit)| Candidate { confidence, hit }).collect()
    }

    #[test]
    fn by_hand() {
        let curve = Curve::new(candidates(&[(0.9, true), (0.5, false), (0.6, true)]), 2, 1);
        assert_eq!(curve.thresholds, [f64::INFINITY, 0.9, 0.6, 0.5]);
        assert_eq!((&curve.true_positives[..], &curve.false_positives[..]), (&[0, 1, 2, 2][..], &[0, 0, 0, 1][..]));
        assert_eq!(curve.precision, [1.0, 1.0, 1.0, 2.0 / 3.0]);
        assert_eq!((curve.recall[1], curve.average_precision), (0.5, 1.0));
        let tied = Curve::new(candidates(&[(0.5, true), (0.5, false), (0.5, true)]), 2, 1);
        assert_eq!((tied.thresholds.len(), tied.average_precision), (2, 2.0 / 3.0));
    }

    #[test]
    fn without_targets_or_predictions() {
        let none = Curve::new(candidates(&[(0.9, false)]), 0, 1);
        assert!(none.average_precision.is_nan() && none.recall.iter().all(|recall| recall.is_nan()));
        assert!(sensitivity_at(&none.recall, &none.false_positives_per_case, 9.0).is_nan());
        let empty = Curve::new(vec![], 3, 1);
        assert_eq!((empty.average_precision, &empty.recall[..]), (0.0, &[0.0][..]));
    }

    #[test]
    fn budgets() {
        let curve = Curve::new(candidates(&[(0.9, true), (0.6, true), (0.5, false)]), 4, 2);
        let at = |budget| sensitivity_at(&curve.recall, &curve.false_positives_per_case, budget);
        assert_eq!([at(0.0), at(0.25), at(0.5)], [0.5, 0.5, 0.5]);
    }
}

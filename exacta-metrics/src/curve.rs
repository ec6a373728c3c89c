//! Precision-recall and ROC curves.

use exacta_core::stages::RankTable;

/// Points of both curves, one a threshold, from the highest down; the first is before any voxel counts as found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RankingCurve {
    /// Scores from which on a voxel is taken for a positive; the first is infinite.
    pub thresholds: Vec<f64>,
    /// `TP / (TP + FP)`, 1 where nothing is found.
    pub precision: Vec<f64>,
    /// `TP / P`, the true positive rate; NaN without positives.
    pub recall: Vec<f64>,
    /// `FP / Q`, the false positive rate; NaN without negatives.
    pub fpr: Vec<f64>,
}

/// The curves of a table.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
pub fn ranking_curve(table: &RankTable) -> RankingCurve {
    let positives: u64 = table.steps.iter().map(|step| step.positives).sum();
    let negatives: u64 = table.steps.iter().map(|step| step.negatives).sum();
    let points = table.steps.len() + 1;
    let mut curve = RankingCurve {
        thresholds: Vec::with_capacity(points),
        precision: Vec::with_capacity(points),
        recall: Vec::with_capacity(points),
        fpr: Vec::with_capacity(points),
    };
    let (mut tp, mut fp) = (0, 0);
    let mut push = |threshold: f64, tp: u64, fp: u64| {
        curve.thresholds.push(threshold);
        curve.precision.push(if tp + fp == 0 { 1.0 } else { tp as f64 / (tp + fp) as f64 });
        curve.recall.push(tp as f64 / positives as f64);
        curve.fpr.push(fp as f64 / negatives as f64);
    };
    push(f64::INFINITY, 0, 0);
    for step in &table.steps {
        tp += step.positives;
        fp += step.negatives;
        push(step.threshold, tp, fp);
    }
    curve
}

#[cfg(test)]
mod tests {
    use exacta_core::stages::RankStep;

    use super::*;

    #[test]
    fn by_hand() {
        let step = |threshold, positives, negatives| RankStep { threshold, positives, negatives };
        let table = RankTable { steps: vec![step(0.9, 1, 0), step(0.5, 1, 2)] };
        let curve = ranking_curve(&table);
        assert_eq!(curve.thresholds, [f64::INFINITY, 0.9, 0.5]);
        assert_eq!(curve.precision, [1.0, 1.0, 0.5]);
        assert_eq!(curve.recall, [0.0, 0.5, 1.0]);
        assert_eq!(curve.fpr, [0.0, 0.0, 1.0]);
        let empty = ranking_curve(&RankTable::default());
        assert!(empty.precision == [1.0] && empty.recall[0].is_nan() && empty.fpr[0].is_nan());
    }
}

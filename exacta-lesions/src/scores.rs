//! The scores of one case and class.

use crate::options::LesionOptions;
use crate::report::LesionReport;

/// What the lesions of one case and class score. Counts are whole numbers.
///
/// With `kept` the lesions that are large enough, NaN unless said otherwise where a denominator is 0:
///
/// | field | value |
/// |---|---|
/// | `tp`, `fn_` | kept lesions with and without a prediction |
/// | `fp` | predictions matched with no lesion, kept or not |
/// | `precision`, `recall` | `tp / (tp + fp)`, `tp / (tp + fn)` |
/// | `f1` | `tp / (tp + fp / 2 + fn / 2)`, panoptica's RQ; 0 where nothing matches |
/// | `sq_iou`, `sq_dice` | mean over matched kept lesions; 0 where there are lesions or false positives but no match |
/// | `pq_iou`, `pq_dice` | `sq * f1` |
/// | `lesion_dice` | sum of Dice over kept lesions `/ (kept + fp)` |
/// | `lesion_hd95` | (sum of HD95 of matched kept lesions + `missed_distance` for each other and each false positive) `/ (kept + fp)` |
///
/// # Agreement
/// Panoptica 2.1.7 (`rq`, `sq`, `sq_dsc`, `pq`, `pq_dsc`); BraTS 2023 (`LesionWise_Score_Dice`, `LesionWise_Score_HD95`, the counts).
/// # Reference
/// Kirillov et al., Panoptic segmentation, CVPR 2019; Kofler et al., Panoptica, arXiv:2312.02608; Saluja et al., BraTS-2023-Metrics (2023).
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(missing_docs, reason = "the table above says what each field is")]
pub struct LesionScores {
    pub tp: f64,
    pub fp: f64,
    pub fn_: f64,
    pub precision: f64,
    pub recall: f64,
    pub f1: f64,
    pub sq_iou: f64,
    pub sq_dice: f64,
    pub pq_iou: f64,
    pub pq_dice: f64,
    pub lesion_dice: f64,
    pub lesion_hd95: f64,
}

impl LesionScores {
    /// Names of the fields, in order.
    pub const NAMES: [&'static str; 12] = [
        "tp",
        "fp",
        "fn",
        "precision",
        "recall",
        "f1",
        "sq_iou",
        "sq_dice",
        "pq_iou",
        "pq_dice",
        "lesion_dice",
        "lesion_hd95",
    ];

    /// The values, in order of [`Self::NAMES`].
    pub const fn values(&self) -> [f64; 12] {
        [
            self.tp,
            self.fp,
            self.fn_,
            self.precision,
            self.recall,
            self.f1,
            self.sq_iou,
            self.sq_dice,
            self.pq_iou,
            self.pq_dice,
            self.lesion_dice,
            self.lesion_hd95,
        ]
    }

    /// The scores of a report. `measured`: whether distances were asked for; without them `lesion_hd95` is NaN.
    ///
    /// Sums run in order of the lesions' numbers.
    #[expect(clippy::cast_precision_loss, reason = "numbers of lesions are far below 2^53")]
    pub fn new(report: &LesionReport, options: &LesionOptions, measured: bool) -> Self {
        let kept = || report.lesions.iter().filter(|lesion| lesion.kept);
        let matched = || kept().filter(|lesion| lesion.is_matched());
        let (lesions, tp) = (kept().count() as f64, matched().count() as f64);
        let fp = report.predictions.iter().filter(|prediction| !prediction.matched).count() as f64;
        let missed = lesions - tp;
        let all = lesions + fp;
        // What is a share of nothing at all is undefined; with something but no match it is 0.
        let of_matches = |value: f64| {
            if tp > 0.0 {
                value
            } else if all > 0.0 {
                0.0
            } else {
                f64::NAN
            }
        };
        let f1 = of_matches(tp / (tp + 0.5 * fp + 0.5 * missed));
        let sum = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, |sum, value| sum + value);
        let sq_iou = of_matches(sum(&mut matched().map(|lesion| lesion.iou)) / tp);
        let sq_dice = of_matches(sum(&mut matched().map(|lesion| lesion.dice)) / tp);
        let lesion_dice = if all > 0.0 { sum(&mut kept().map(|lesion| lesion.dice)) / all } else { options.both_empty };
        let lesion_hd95 = if !measured {
            f64::NAN
        } else if all > 0.0 {
            // Without false positives an infinite penalty must not turn into NaN.
            let penalties = if fp > 0.0 { fp * options.missed_distance } else { 0.0 };
            kept().fold(penalties, |sum, lesion| sum + lesion.hd95.unwrap_or(options.missed_distance)) / all
        } else {
            options.both_empty_distance
        };
        Self {
            tp,
            fp,
            fn_: missed,
            precision: tp / (tp + fp),
            recall: tp / (tp + missed),
            f1,
            sq_iou,
            sq_dice,
            pq_iou: sq_iou * f1,
            pq_dice: sq_dice * f1,
            lesion_dice,
            lesion_hd95,
        }
    }
}

#[cfg(test)]
mod tests {
    use exacta_core::{MatchRule, Matching};

    use super::*;
    use crate::report::{Lesion, Prediction};

    fn lesion(number: u32, hd95: Option<f64>) -> Lesion {
        let predictions = if hd95.is_some() { vec![number] } else { vec![] };
        Lesion { number, voxels: 4, kept: true, predictions, predicted_voxels: 4, shared: 2, iou: 0.5, dice: 0.5, hd95 }
    }

    #[test]
    fn a_mean_over_lesions_states_its_rule() {
        // P18: distances 2, 4, missed.
        let mut report = LesionReport {
            lesions: vec![lesion(1, Some(2.0)), lesion(2, Some(4.0)), lesion(3, None)],
            predictions: vec![],
        };
        report.lesions[2].dice = 0.0;
        let mut options = LesionOptions::new(MatchRule::new(Matching::Greedy), 1);
        assert_eq!(LesionScores::new(&report, &options, true).lesion_hd95, f64::INFINITY);
        options.missed_distance = 374.0;
        let scores = LesionScores::new(&report, &options, true);
        assert_eq!(scores.lesion_hd95, 380.0 / 3.0);
        // The number of terms is kept lesions and false positives; the mean over matches has tp of them.
        assert_eq!((scores.tp, scores.fn_, scores.fp), (2.0, 1.0, 0.0));
        let matched: Vec<f64> = report.lesions.iter().filter_map(|lesion| lesion.hd95).collect();
        assert_eq!(matched.iter().sum::<f64>() / scores.tp, 3.0);
    }

    #[test]
    fn nothing_to_measure() {
        let options = LesionOptions::new(MatchRule::new(Matching::Overlap), 1);
        let scores = LesionScores::new(&LesionReport::default(), &options, true);
        assert_eq!((scores.tp, scores.fp, scores.fn_), (0.0, 0.0, 0.0));
        assert!(scores.values()[3..].iter().all(|value| value.is_nan()), "{scores:?}");
        let filled = LesionOptions { both_empty: 1.0, both_empty_distance: 0.0, ..options };
        let scores = LesionScores::new(&LesionReport::default(), &filled, true);
        assert_eq!((scores.lesion_dice, scores.lesion_hd95), (1.0, 0.0));
        assert!(LesionScores::new(&LesionReport::default(), &filled, false).lesion_hd95.is_nan());
    }

    #[test]
    fn a_false_positive_alone_scores_0() {
        let predictions = vec![Prediction { number: 1, voxels: 9, matched: false }];
        let report = LesionReport { lesions: vec![], predictions };
        let options = LesionOptions::new(MatchRule::new(Matching::Overlap), 1);
        let scores = LesionScores::new(&report, &options, true);
        assert_eq!(
            (scores.precision, scores.f1, scores.sq_iou, scores.pq_dice, scores.lesion_dice),
            (0.0, 0.0, 0.0, 0.0, 0.0)
        );
        assert!(scores.recall.is_nan());
        assert_eq!((scores.lesion_hd95, report.false_positive_voxels()), (f64::INFINITY, 9));
    }
}

//! Panoptic quality of matched instances, whatever they are.

/// Segmentation quality, recognition quality and their product.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PanopticQuality {
    /// `PQ = SQ * RQ`.
    pub pq: f64,
    /// Mean score of the matched pairs.
    pub sq: f64,
    /// `TP / (TP + FP / 2 + FN / 2)`.
    pub rq: f64,
}

/// Panoptic quality from the number of matches, false positives and misses, and the sum of the matches' scores.
///
/// `SQ = score_sum / TP`, `RQ = TP / (TP + FP / 2 + FN / 2)`, `PQ = SQ * RQ`; all 0 without a match, NaN where there is nothing at all.
///
/// # Reference
/// Kirillov et al., Panoptic segmentation, CVPR 2019, equations 1 and 2.
#[expect(clippy::cast_precision_loss, reason = "numbers of instances are far below 2^53")]
pub fn panoptic_quality(tp: u64, fp: u64, missed: u64, score_sum: f64) -> PanopticQuality {
    if tp == 0 {
        let value = if fp + missed > 0 { 0.0 } else { f64::NAN };
        return PanopticQuality { pq: value, sq: value, rq: value };
    }
    let found = tp as f64;
    let (sq, rq) = (score_sum / found, found / (found + 0.5 * fp as f64 + 0.5 * missed as f64));
    PanopticQuality { pq: sq * rq, sq, rq }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_under_its_name() {
        // P57.
        let quality = panoptic_quality(153, 24, 21, 139.7191);
        let close = |a: f64, b: f64| assert!((a - b).abs() < 5e-8, "{a} instead of {b}");
        close(quality.sq, 0.913_196_7);
        close(quality.rq, 0.871_794_9);
        close(quality.pq, 0.796_120_2);
        assert_eq!(panoptic_quality(0, 0, 1, 0.0).pq, 0.0);
        assert!(panoptic_quality(0, 0, 0, 0.0).rq.is_nan());
    }
}

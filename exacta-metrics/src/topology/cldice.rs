//! Centreline Dice.

use exacta_core::ZeroDivision;
use exacta_core::stages::{Counts, SkeletonCounts};

use crate::registry::{Better, Default, Family, Formula, MetricInfo};

/// Centreline Dice (clDice): do the skeletons run through each other's masks?
///
/// With skeletons `S_P` and `S_T`: precision `a / n_P = |S_P and T| / |S_P|`, sensitivity `b / n_T = |S_T and P| / |S_T|`, and
/// `clDice = 2 a b / (a n_T + b n_P)`, their harmonic mean.
///
/// # Conventions
/// `both_empty` where neither mask has a voxel; 0 where one has none, where a mask with voxels has an empty skeleton, and where
/// neither skeleton meets the other mask. [`Thinning`](exacta_core::Thinning) says by which rule masks are thinned; no spacing plays a part.
/// # Returns
/// A ratio in `[0, 1]`, one correctly rounded division. Symmetric. 1 exactly when each skeleton lies within the other mask.
/// # Agreement
/// The function of the clDice repository, Panoptica `clDSC` and MetricsReloaded in 3-D, where they call scikit-image's Lee thinning (0/0
/// is NaN there). In 2-D they thin by Zhang's rule, which gives other skeletons.
/// # Reference
/// Shit et al., clDice: a novel topology-preserving loss function for tubular structure segmentation, CVPR (2021), equations 1
/// and 2.
#[expect(clippy::cast_precision_loss, reason = "exact below 2^53, and rounded once beyond")]
pub fn cldice(counts: &Counts, skeletons: &SkeletonCounts, both_empty: ZeroDivision) -> f64 {
    if counts.predicted() == 0 && counts.target() == 0 {
        return both_empty.0;
    }
    let (a, b) = (u128::from(skeletons.pred_in_target), u128::from(skeletons.target_in_pred));
    let sum = a * u128::from(skeletons.target) + b * u128::from(skeletons.pred);
    (2 * a * b) as f64 / sum.max(1) as f64
}

pub(crate) const INFO: MetricInfo = MetricInfo {
    name: "cldice",
    family: Family::Topology,
    unit: "",
    better: Better::Higher,
    range: (0.0, 1.0),
    symmetric: true,
    options: &[("both_empty", Some(Default::Number(f64::NAN))), ("thinning", Some(Default::Text("lee")))],
    build: |options| {
        let both_empty = options.zero_division("both_empty")?;
        Ok(Formula::Skeleton {
            thinning: options.named("thinning")?,
            value: Box::new(move |counts, skeletons| cldice(counts, skeletons, both_empty)),
        })
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overlap::counts;

    fn check(skeletons: [u64; 4], wanted: f64) {
        let [pred, pred_in_target, target, target_in_pred] = skeletons;
        let skeletons = SkeletonCounts { pred, pred_in_target, target, target_in_pred };
        assert_eq!(cldice(&counts(1, 1, 1, 1), &skeletons, ZeroDivision::default()), wanted);
    }

    #[test]
    fn by_hand() {
        // A line of 7 against its first 4 pixels: precision 4/7, sensitivity 1.
        check([7, 4, 4, 4], 32.0 / 44.0);
        check([7, 7, 7, 7], 1.0);
        check([7, 0, 7, 0], 0.0);
        // A skeleton that vanished.
        check([0, 0, 5, 5], 0.0);
        check([0, 0, 0, 0], 0.0);
    }

    #[test]
    fn two_empty_masks_are_what_was_asked() {
        let none = SkeletonCounts::default();
        assert!(cldice(&counts(0, 0, 0, 9), &none, ZeroDivision::default()).is_nan());
        assert_eq!(cldice(&counts(0, 0, 0, 9), &none, ZeroDivision(1.0)), 1.0);
        assert_eq!(cldice(&counts(0, 0, 4, 9), &none, ZeroDivision(1.0)), 0.0);
    }

    #[test]
    fn counts_beyond_a_word_do_not_overflow() {
        let n = u64::MAX / 2;
        let skeletons = SkeletonCounts { pred: n, pred_in_target: n, target: n, target_in_pred: n };
        assert_eq!(cldice(&counts(n, 0, 0, 0), &skeletons, ZeroDivision::default()), 1.0);
    }
}

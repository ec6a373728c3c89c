//! Statistics of the distances between two surfaces.

use exacta_core::EmptyPolicy;
use exacta_core::stages::SurfaceDistances;

pub(crate) mod assd;
pub(crate) mod hausdorff_distance;
pub(crate) mod hd95;
pub(crate) mod masd;
pub(crate) mod nsd;

pub use assd::assd;
pub use hausdorff_distance::hausdorff_distance;
pub use hd95::hd95;
pub use masd::masd;
pub use nsd::nsd;

/// The value where a surface is missing, or nothing where both are there.
fn empty(distances: &SurfaceDistances, policy: EmptyPolicy) -> Option<f64> {
    match (distances.pred_to_target.total, distances.target_to_pred.total) {
        (0, 0) => Some(policy.both),
        (0, _) | (_, 0) => Some(policy.one),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use exacta_core::stages::{Bin, Directed};
    use exacta_core::{Combine, Percentile, Result, Tolerance};

    use super::*;

    fn directed(distances: &[(f64, u64)]) -> Directed {
        let bins: Vec<Bin> = distances.iter().map(|&(distance, count)| Bin { distance, weight: 1.0, count }).collect();
        let max = bins.last().map(|bin| bin.distance);
        let lone = Directed::lone_points(bins.iter().map(|bin| bin.count).sum());
        Directed { bins, resolved: f64::INFINITY, max, ..lone }
    }

    /// P `01100` against T `00110`, one row: each side has one voxel at 0 and one at 1.
    fn shifted() -> SurfaceDistances {
        let d = directed(&[(0.0, 1), (1.0, 1)]);
        SurfaceDistances { pred_to_target: d.clone(), target_to_pred: d }
    }

    #[test]
    fn by_hand() -> Result<()> {
        let (d, e) = (shifted(), EmptyPolicy::DISTANCE);
        assert_eq!(hausdorff_distance(&d, Percentile::MAX, Combine::Max, e)?, 1.0);
        assert_eq!(hd95(&d, Combine::Max, e)?, 0.95);
        assert_eq!(hausdorff_distance(&d, Percentile::new(50.0)?, Combine::Pooled, e)?, 0.5);
        assert_eq!(assd(&d, Combine::Pooled, e)?, 0.5);
        assert_eq!(nsd(&d, Tolerance::new(0.0)?, EmptyPolicy::AGREEMENT)?, 0.5);
        assert_eq!(nsd(&d, Tolerance::new(1.0)?, EmptyPolicy::AGREEMENT)?, 1.0);
        Ok(())
    }

    #[test]
    fn pooled_and_mean_differ() -> Result<()> {
        // Three elements at 0 one way, one element at 4 the other.
        let d = SurfaceDistances { pred_to_target: directed(&[(0.0, 3)]), target_to_pred: directed(&[(4.0, 1)]) };
        let e = EmptyPolicy::DISTANCE;
        assert_eq!((assd(&d, Combine::Pooled, e)?, masd(&d, e)?, assd(&d, Combine::Max, e)?), (1.0, 2.0, 4.0));
        Ok(())
    }

    #[test]
    fn a_missed_structure_is_never_zero() -> Result<()> {
        let lone = Directed::lone_points(5);
        let missed = SurfaceDistances { pred_to_target: Directed::default(), target_to_pred: lone };
        for q in [50.0, 95.0, 99.0, 100.0] {
            let value = hausdorff_distance(&missed, Percentile::new(q)?, Combine::Max, EmptyPolicy::DISTANCE)?;
            assert_eq!(value, f64::INFINITY);
        }
        assert_eq!(assd(&missed, Combine::Pooled, EmptyPolicy::DISTANCE)?, f64::INFINITY);
        assert_eq!(nsd(&missed, Tolerance::new(9.0)?, EmptyPolicy::AGREEMENT)?, 0.0);
        assert!(hd95(&SurfaceDistances::default(), Combine::Max, EmptyPolicy::DISTANCE)?.is_nan());
        Ok(())
    }
}

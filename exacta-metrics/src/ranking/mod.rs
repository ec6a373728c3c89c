//! How well scores order voxels, whatever the threshold.

pub(crate) mod auroc;
pub(crate) mod average_precision;
mod curve;

pub use auroc::auroc;
pub use average_precision::average_precision;
pub use curve::{RankingCurve, ranking_curve};

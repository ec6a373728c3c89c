//! How well scores order voxels, whatever the threshold.

pub(crate) mod auroc;
pub(crate) mod average_precision;

pub use crate::curve::{RankingCurve, ranking_curve};
pub use auroc::auroc;
pub use average_precision::average_precision;

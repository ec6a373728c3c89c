//! Lesions as detections: predictions ranked by confidence, and the precision-recall and FROC curves over all cases.
//!
//! [`detect`] ranks the predictions of each case and class ([`Detections`]); those of all cases together make a [`Curve`].

mod curve;
mod detect;

pub use curve::{Curve, sensitivity_at};
pub use detect::{Candidate, DetectionOptions, Detections, check_confidence, detect, match_by_confidence};

//! Lesions of a prediction matched with those of a reference, and what that is worth.
//!
//! A lesion is a connected component. [`evaluate`] counts, for each case and class, which lesions of the reference were found and which
//! predictions are false, and scores them ([`LesionScores`]); [`report`] keeps a row for each lesion ([`LesionReport`]).
//! [`brats_2023`] holds the settings of that challenge, [`match_instances`] the matching alone, [`panoptic_quality`] its score for
//! any instances, [`detection`] the ranking of predictions by confidence.
//!
//! The crate reads no voxel: components, their sizes and overlaps come from a [`ComponentStage`](exacta_core::stages::ComponentStage),
//! distances from a [`SurfaceStage`](exacta_core::stages::SurfaceStage), in the box of each matched lesion.
//!
//! # Example
//! ```
//! use exacta_components::CpuComponents;
//! use exacta_core::ndarray::array;
//! use exacta_core::{Batch, LabelSpec, MatchRule, Matching};
//! use exacta_lesions::{LesionOptions, evaluate};
//! use exacta_surface::CpuSurface;
//!
//! let target = array![[[0u8, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 0]]].into_dyn();
//! let pred = array![[[0u8, 0, 1, 1, 1, 1, 0, 0, 1, 1, 0, 1, 1, 0, 0, 0, 0, 0, 0]]].into_dyn();
//! let batch = Batch::new(pred.view(), target.view(), LabelSpec::index(2).without_background(), None)?;
//! let options = LesionOptions::new(MatchRule::new(Matching::Greedy), 1);
//! let scores = evaluate(&CpuComponents::default(), &CpuSurface::default(), &batch, None, &options)?;
//! let scores = scores.get(0, 0);
//! assert_eq!((scores.tp, scores.fp, scores.fn_), (2.0, 1.0, 1.0));
//! # Ok::<(), exacta_core::Error>(())
//! ```
#![forbid(unsafe_code)]

mod assignment;
mod brats;
pub mod detection;
mod evaluate;
mod matching;
mod options;
mod panoptic;
mod report;
mod scores;

pub use brats::{BRATS_REGIONS, Challenge, brats_2023};
pub use evaluate::{evaluate, report, report_instances};
pub use matching::{Matches, match_instances};
pub use options::LesionOptions;
pub use panoptic::{PanopticQuality, panoptic_quality};
pub use report::{Lesion, LesionReport, Prediction};
pub use scores::LesionScores;

//! Segmentation metrics, one file a formula.
//!
//! A formula is a pure function of small records ([`Counts`](exacta_core::stages::Counts),
//! [`SurfaceDistances`](exacta_core::stages::SurfaceDistances)); it sees no voxel, so it exists once whatever device made the
//! records. [`METRICS`] lists them all with their options, and [`evaluate`] runs each stage once for all that are asked
//! for. This crate depends on `exacta-core` alone: who calls it brings the stage, `exacta_surface::CpuSurface` on the host.
//!
//! ```
//! use exacta_core::{Batch, LabelSpec, Spacing};
//! use exacta_metrics::{MetricSet, evaluate};
//! use exacta_surface::CpuSurface;
//! # use exacta_core::ndarray::array;
//!
//! let pred = array![[[0u8, 1], [1, 2]]].into_dyn();
//! let target = array![[[0u8, 1], [2, 2]]].into_dyn();
//! let batch = Batch::new(pred.view(), target.view(), LabelSpec::index(3), None)?;
//! let metrics = MetricSet::named(&["dice", "hd95"])?;
//! let values = evaluate(&CpuSurface::default(), &batch, Some(&[Spacing::isotropic(1.0, 2)?]), &metrics)?;
//! assert_eq!(values[0].values(), [1.0, 2.0 / 3.0, 2.0 / 3.0]);
//! # Ok::<(), exacta_core::Error>(())
//! ```
#![forbid(unsafe_code)]

mod curve;
mod evaluate;
mod options;
pub mod overlap;
pub mod probability;
pub mod ranking;
mod registry;
mod scores;
pub mod size;
pub mod surface;

pub use evaluate::{MetricSet, evaluate};
pub use options::{OptionValue, Options};
pub use registry::{Better, Family, Formula, METRICS, MetricInfo, SCORE_METRICS, ScoreFormula, metric};
pub use scores::evaluate_scores;

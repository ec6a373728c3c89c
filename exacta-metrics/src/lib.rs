//! Segmentation metrics, one file a formula.
//!
//! A formula is a pure function of small records ([`Counts`](exacta_core::stages::Counts),
//! [`SurfaceDistances`](exacta_core::stages::SurfaceDistances), [`SkeletonCounts`](exacta_core::stages::SkeletonCounts)); it sees no voxel, so it exists once whatever device made the
//! records. [`METRICS`] lists them all with their options, and [`evaluate`] runs each stage once for all that are asked
//! for. This crate depends on `exacta-core` alone: who calls it brings the stages, on the host
//! `exacta_surface::CpuSurface` and `exacta_components::CpuComponents`.
//!
//! ```
//! use exacta_components::CpuComponents;
//! use exacta_core::{Batch, LabelSpec, Spacing, Stages};
//! use exacta_metrics::{MetricSet, evaluate};
//! use exacta_surface::CpuSurface;
//! # use exacta_core::ndarray::array;
//!
//! let pred = array![[[0u8, 1], [1, 2]]].into_dyn();
//! let target = array![[[0u8, 1], [2, 2]]].into_dyn();
//! let batch = Batch::new(pred.view(), target.view(), LabelSpec::index(3), None)?;
//! let metrics = MetricSet::named(&["dice", "hd95"])?;
//! let stages = Stages { surfaces: CpuSurface::default(), skeletons: CpuComponents::default() };
//! let values = evaluate(&stages, &batch, Some(&[Spacing::isotropic(1.0, 2)?]), &metrics)?;
//! assert_eq!(values[0].values(), [1.0, 2.0 / 3.0, 2.0 / 3.0]);
//! # Ok::<(), exacta_core::Error>(())
//! ```
#![forbid(unsafe_code)]

mod curve;
mod evaluate;
mod options;
pub mod overlap;
mod pooled;
pub mod probability;
pub mod ranking;
mod registry;
mod scores;
pub mod size;
pub mod surface;
pub mod topology;

pub use evaluate::{MetricSet, evaluate};
pub use options::{OptionValue, Options};
pub use registry::{Better, Family, Formula, METRICS, MetricInfo, SCORE_METRICS, ScoreFormula, metric};
pub use scores::evaluate_scores;

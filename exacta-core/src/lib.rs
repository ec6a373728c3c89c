//! Conventions, array views and the one pass over label maps that exact segmentation metrics start from.
//!
//! Every other exacta crate builds on this one and on nothing else of exacta. It knows no metric and no device: it
//! says what a class, a spacing or a percentile *is* ([`conventions`]), borrows arrays as they lie in memory
//! ([`Batch`]), reads each label once ([`scan`]) and defines the stages through which kernels and formulas meet
//! ([`stages`]).
//!
//! # Example
//! ```
//! use exacta_core::{Batch, Cpu, LabelSpec, stages::CountStage};
//! use ndarray::array;
//!
//! let pred = array![[[0u8, 1], [1, 2]]].into_dyn();
//! let target = array![[[0u8, 1], [2, 2]]].into_dyn();
//! let batch = Batch::new(pred.view(), target.view(), LabelSpec::index(3), None)?;
//! let counts = Cpu::new().counts(&batch)?;
//! assert_eq!(counts.get(0, 1).true_positives, 1);
//! # Ok::<(), exacta_core::Error>(())
//! ```
#![forbid(unsafe_code)]

mod backend;
mod batch;
mod bits;
mod composed;
pub mod conventions;
mod error;
mod grid;
mod image;
mod labels;
mod masks;
pub mod parallel;
pub mod quantile;
pub mod scan;
mod scores;
pub mod separable;
pub mod stages;
mod table;
#[cfg(feature = "testing")]
pub mod testing;

pub use backend::{Backend, Cpu};
pub use batch::Batch;
pub use bits::Bits;
pub use composed::Stages;
pub use conventions::*;
pub use error::{Error, Result};
pub use fearless_simd::{Level, dispatch};
pub use grid::Grid;
pub use labels::{Element, Labels};
pub use masks::{Masks, Region, Side};
pub use ndarray;
pub use scores::ScoreBatch;
pub use table::Table;

//! Exact Euclidean distance transforms of masks and label maps, in one, two or three dimensions.
//!
//! The squared distance of a voxel is the least value of `((h0 d0)^2 + (h1 d1)^2) + (h2 d2)^2` over all features, `d` the
//! whole steps to the feature along each axis of the array and `h` the spacing, every operation rounded to a double. Every
//! instruction set, thread count and memory layout gives these bits. It is the expression of SciPy's transform, whose
//! value is at times one unit in the last place larger, because it picks the nearest feature with rounded comparisons.
//!
//! Separable: steps along axis 0, a byte a voxel, then axes 1 and 2 of each slice while it is in cache, searched outward
//! or by the lower envelope of parabolas (`exacta_core::separable`). Spacings that are whole multiples of one power of
//! two make all values exact in any order, so then axes are taken as they lie in memory, in single precision where that is
//! exact. Memory: the result, one to four bytes a voxel, and two slices a thread. Time: a constant a voxel, whatever the mask.
//!
//! # Example
//! ```
//! use exacta_core::{Cpu, ndarray::array};
//! use exacta_edt::Edt;
//!
//! let mask = array![[1u8, 1], [1, 0]].into_dyn();
//! let distances = Edt::new(&[0.5, 0.5])?.distances(&Cpu::new(), &mask.view().into())?;
//! assert_eq!(distances, array![[0.5f64.sqrt(), 0.5], [0.5, 0.0]].into_dyn());
//! # Ok::<(), exacta_core::Error>(())
//! ```
#![forbid(unsafe_code)]

mod compact;
mod counters;
mod edt;
mod maps;
#[cfg(feature = "testing")]
mod naive;
mod nearest;
mod output;
mod rule;
mod source;
mod transform;

pub use edt::Edt;
pub use maps::CpuMaps;
#[cfg(feature = "testing")]
pub use naive::{naive_signed_distances, naive_squared_distances};

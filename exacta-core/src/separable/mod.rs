//! Squared distances axis by axis: what distance transforms and surfaces share.
//!
//! The minimum over features of `((h0 d0)^2 + (h1 d1)^2) + (h2 d2)^2` is taken along one axis after the other. Rounding is
//! monotone, so each exact minimum of the rounded sums keeps the whole exact. Steps along axis 0 are the caller's; [`Passes`]
//! does the other two axes of a slice, [`Envelope`] one line.

mod envelope;
mod lanes;
mod passes;
mod whole;

pub use envelope::Envelope;
pub use lanes::{Lane, largest, least, most, smallest};
pub use passes::{Edges, Passes};
pub use whole::{Whole, whole};

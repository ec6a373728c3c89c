//! Oracles and generators for tests: feature `testing`, never in a release.

mod naive;
mod phantoms;
mod strategies;

pub use naive::counts as naive_counts;
pub use phantoms::organs;
pub use strategies::{Case, cases, labels_of, levels};

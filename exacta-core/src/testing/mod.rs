//! Oracles and generators for tests: feature `testing`, never in a release.

mod naive;
mod phantoms;
mod scores;
mod strategies;

pub use naive::counts as naive_counts;
pub use phantoms::organs;
pub use scores::{
    NaiveMap, ScoreCase, naive_probabilities, naive_rank_sums, naive_ranked, naive_reliability, naive_terms,
    score_cases,
};
pub use strategies::{Case, cases, labels_of, levels};

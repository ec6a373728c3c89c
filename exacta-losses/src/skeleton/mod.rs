//! The soft skeleton: of probabilities with what its gradient needs, of binary masks on bit planes.
//!
//! `E(x)` is the least of a voxel and its face neighbours, `M(x)` the largest of the full box of three voxels an axis, the
//! outside left out, and `O = M(E(x))`. `S = relu(x - O(x))`; then, `iterations` times, `x = E(x)`, `d = relu(x - O(x))`,
//! `S = S + relu(d - S d)`.
//!
//! Shit et al.: clDice, a novel topology-preserving loss function for tubular structure segmentation, 2021, algorithm 1.

mod backward;
mod binary;
mod forward;
mod routes;
mod volume;

pub(crate) use backward::backward;
pub(crate) use binary::Mask;
pub(crate) use forward::forward;
pub(crate) use volume::{Pool, Shape};

#[cfg(test)]
mod tests;

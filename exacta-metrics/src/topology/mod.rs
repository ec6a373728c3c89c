//! Agreement of shape rather than of voxels.

pub(crate) mod cldice;

pub use cldice::cldice;

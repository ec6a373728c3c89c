//! Training losses of segmentation: the value, and its exact gradient.
//!
//! The input is read once for the value and once for the gradient; predictions are recomputed, so nothing of the size of
//! the volume is kept. Sums are taken over fixed tiles in single (or double) precision and combined in double precision
//! in a fixed order: the bits depend neither on threads nor on instruction sets nor on strides.
#![forbid(unsafe_code)]

mod activation;
mod batch;
mod blocks;
mod boundary;
mod cross_entropy;
mod dice;
mod dispatch;
mod exponential;
mod focal;
mod generalized_dice;
mod generalized_wasserstein_dice;
mod geometry;
mod half;
mod hausdorff_dt;
mod jaccard;
mod logits;
mod loss;
mod lovasz;
mod lovasz_hinge;
#[cfg(feature = "testing")]
mod naive;
mod number;
mod params;
mod predict;
mod radix;
mod real;
mod registry;
mod registry_ranked;
mod select;
mod skeleton;
mod smooth;
mod soft_cldice;
mod target;
mod terms;
mod tile;
mod topk_ce;
mod tversky;
mod view;
mod voxels;

pub use activation::Activation;
pub use batch::LossBatch;
pub use boundary::Boundary;
pub use cross_entropy::CrossEntropy;
pub use dice::Dice;
pub use focal::Focal;
pub use generalized_dice::{EmptyTarget, GeneralizedDice, WeightType};
pub use generalized_wasserstein_dice::{GeneralizedWassersteinDice, Reduction, Weighting};
pub use hausdorff_dt::HausdorffDt;
pub use logits::{Logits, LogitsMut};
pub use loss::{Forward, Kept, Loss, Pooled, Saved, Statistics};
pub use lovasz::{Classes, LovaszSoftmax};
pub use lovasz_hinge::LovaszHinge;
#[cfg(feature = "testing")]
pub use naive::{NaiveBatch, naive_gradient, naive_value};
pub use params::{Param, Params};
pub use registry::{LOSSES, loss};
pub use smooth::Smooth;
pub use soft_cldice::{Skeletons, SoftClDice, soft_skeletonize};
pub use target::Target;
pub use terms::{Overlap, Pointwise, Terms};
pub use topk_ce::TopKCe;
pub use tversky::Tversky;

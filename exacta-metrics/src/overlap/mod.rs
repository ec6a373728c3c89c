//! Ratios of counts.

pub(crate) mod dice;
pub(crate) mod iou;
pub(crate) mod precision;
pub(crate) mod relative_volume_difference;
pub(crate) mod sensitivity;
pub(crate) mod specificity;
pub(crate) mod volume_similarity;

pub use dice::dice;
pub use iou::iou;
pub use precision::precision;
pub use relative_volume_difference::relative_volume_difference;
pub use sensitivity::sensitivity;
pub use specificity::specificity;
pub use volume_similarity::volume_similarity;

/// Counts by hand, for the tests of the family.
#[cfg(test)]
pub(crate) const fn counts(tp: u64, fp: u64, fn_: u64, tn: u64) -> exacta_core::stages::Counts {
    exacta_core::stages::Counts { true_positives: tp, false_positives: fp, false_negatives: fn_, true_negatives: tn }
}

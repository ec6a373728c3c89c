//! What decides a lesion score.

use exacta_core::{Connectivity, Error, MatchRule, Matching, Result, SurfaceKind};

/// Every choice of a lesion score, one field each.
///
/// | choice | exacta | Panoptica 2.1.7 | BraTS 2023 |
/// |---|---|---|---|
/// | lesions | components, connectivity given | components: 26 neighbours in 3-D, 4 in 2-D | 26 neighbours |
/// | matching | given | `Greedy` at IoU 0.5 | `Overlap` after dilation of the reference |
/// | small lesions | `min_target_volume`, neither found nor missed | none | left out; so is what only they match |
/// | distance of a missed lesion | `missed_distance` (infinite) | left out of the mean | 374 mm |
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LesionOptions {
    /// Which pairs match.
    pub rule: MatchRule,
    /// Neighbours of a voxel in a lesion, for both masks.
    pub connectivity: usize,
    /// Steps by which the reference grows before it is taken apart ([`Matching::Overlap`] alone): lesions whose grown masks touch are
    /// one, of their own voxels.
    pub dilation: usize,
    /// Neighbourhood of a step; not read without dilation.
    pub dilation_connectivity: usize,
    /// A lesion of the reference counts only if its volume is larger than this (in units of the spacing; voxels without one).
    pub min_target_volume: f64,
    /// Surface of the lesions' Hausdorff distance.
    pub surface: SurfaceKind,
    /// Distance that a missed lesion and a false positive enter the mean with, and in place of an infinite one.
    pub missed_distance: f64,
    /// `lesion_dice` without lesion and false positive.
    pub both_empty: f64,
    /// `lesion_hd95` likewise.
    pub both_empty_distance: f64,
}

impl LesionOptions {
    /// No dilation, every size, distances between boundary voxels, an infinite distance where a lesion is missed, NaN where there is
    /// nothing to measure.
    pub const fn new(rule: MatchRule, connectivity: usize) -> Self {
        Self {
            rule,
            connectivity,
            dilation: 0,
            dilation_connectivity: 1,
            min_target_volume: 0.0,
            surface: SurfaceKind::Voxels,
            missed_distance: f64::INFINITY,
            both_empty: f64::NAN,
            both_empty_distance: f64::NAN,
        }
    }

    /// The connectivity of lesions and that of the dilation, for images of `axes` axes.
    pub(crate) fn neighbours(&self, axes: usize) -> Result<(Connectivity, Option<Connectivity>)> {
        if self.dilation > 0 && self.rule.matching != Matching::Overlap {
            return Err(Error::DilatedMatching { value: self.dilation, matching: self.rule.matching.name() });
        }
        let of_dilation = match self.dilation {
            0 => None,
            _ => Some(Connectivity::new(self.dilation_connectivity, axes)?),
        };
        Ok((Connectivity::new(self.connectivity, axes)?, of_dilation))
    }
}

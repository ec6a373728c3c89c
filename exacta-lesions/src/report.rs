//! One row a lesion, one a prediction.

/// A lesion of the reference.
#[derive(Debug, Clone, PartialEq)]
pub struct Lesion {
    /// Number, from 1: that of its component, of the dilated mask where there is a dilation.
    pub number: u32,
    /// Voxels of the reference.
    pub voxels: u64,
    /// Whether its volume is large enough to count.
    pub kept: bool,
    /// Numbers of the predictions matched with it, ascending.
    pub predictions: Vec<u32>,
    /// Voxels of all of these predictions, the whole of each.
    pub predicted_voxels: u64,
    /// Voxels shared with them.
    pub shared: u64,
    /// `shared / (voxels + predicted_voxels - shared)`; 0 if missed.
    pub iou: f64,
    /// `2 shared / (voxels + predicted_voxels)`; 0 if missed.
    pub dice: f64,
    /// 95th percentile of the Hausdorff distance to these predictions together, for kept and matched lesions where a spacing is known.
    pub hd95: Option<f64>,
}

impl Lesion {
    /// Whether some prediction is matched with it.
    pub fn is_matched(&self) -> bool {
        !self.predictions.is_empty()
    }
}

/// A component of the prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prediction {
    /// Number, from 1.
    pub number: u32,
    /// Voxels.
    pub voxels: u64,
    /// Whether it is matched with a lesion, kept or not. One that is not is a false positive.
    pub matched: bool,
}

/// All lesions and predictions of one case and class.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LesionReport {
    /// Lesions of the reference, in order of their numbers.
    pub lesions: Vec<Lesion>,
    /// Components of the prediction, in order of their numbers.
    pub predictions: Vec<Prediction>,
}

impl LesionReport {
    /// Voxels of the false positives.
    pub fn false_positive_voxels(&self) -> u64 {
        self.predictions.iter().filter(|prediction| !prediction.matched).map(|prediction| prediction.voxels).sum()
    }
}

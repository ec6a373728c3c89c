//! What a ratio is when its denominator is zero.

/// The value of 0/0 in a ratio of counts. Default NaN: left out of means, never a silent 0 or 1.
///
/// | tool | Dice of two empty masks |
/// |---|---|
/// | exacta | NaN |
/// | MONAI 1.6 | NaN (`ignore_empty=True`), else 1 |
/// | MedPy 0.5 | 1 |
/// | SimpleITK 2.5 | inf or the largest float |
/// | Panoptica 2.1 | 0 |
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ZeroDivision(pub f64);

impl Default for ZeroDivision {
    fn default() -> Self {
        Self(f64::NAN)
    }
}

impl ZeroDivision {
    /// `numerator / denominator`, or the fill value where the denominator is zero.
    ///
    /// Both are integers of at most 2^53 voxels, so this is one correctly rounded division.
    pub fn ratio(self, numerator: f64, denominator: f64) -> f64 {
        if denominator == 0.0 { self.0 } else { numerator / denominator }
    }
}

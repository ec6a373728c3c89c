//! Soft Dice.

use crate::smooth::{Entry, Smooth};

/// Soft Dice loss of a class: `1 - (2 sum p g + s_n) / (sum p + sum g + s_d)`.
///
/// With squared denominators `sum p^2 + sum g^2` stands for `sum p + sum g`.
///
/// Gradient, with `N` and `D` numerator and denominator: `dL/dp = N / D^2 - 2 g / D`, and `2 p N / D^2 - 2 g / D` squared.
///
/// # Agreement
/// MONAI's `DiceLoss(smooth_nr=s_n, smooth_dr=s_d, squared_pred=..)` without weights.
/// # Reference
/// Milletari, Navab, Ahmadi, V-Net: fully convolutional neural networks for volumetric medical image segmentation, 2016,
/// section 3 (squared denominators); Drozdzal et al., The importance of skip connections in biomedical image segmentation, 2016.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Dice {
    /// Squares in the denominator.
    pub squared_pred: bool,
}

impl Dice {
    /// From `sum p g`, `sum p` and `sum g` (or the sums of squares).
    pub(crate) fn entry(self, smooth: Smooth, [hit, pred, target]: [f64; 3]) -> Entry {
        let (n, d) = (2.0 * hit + smooth.numerator, pred + target + smooth.denominator);
        if n == 0.0 && d == 0.0 && smooth.zero_ratio_counts {
            return Entry::default();
        }
        Entry { loss: 1.0 - n / d, a: 2.0 / d, b: n / (d * d) }
    }
}

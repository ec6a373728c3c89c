//! Tversky and focal Tversky.

use exacta_core::{Error, Result};

use crate::smooth::{Entry, Smooth};

/// Tversky loss of a class: `(1 - N / D)^gamma`, `N = TP + s_n`, `D = TP + alpha FP + beta FN + s_d`.
///
/// `TP = sum p g`, `FP = sum p (1 - g)`, `FN = sum (1 - p) g`: `alpha` weighs false positives, `beta` false negatives. With
/// `alpha = beta = 1/2` it is Dice with twice the smoothing, with `alpha = beta = 1` the soft Jaccard loss.
/// `gamma` is the exponent itself; where `1 - N / D` is 0 the loss and its derivative are 0.
///
/// Gradient at `gamma = 1`: `dL/dp = alpha N / D^2 - g (D - (1 - alpha - beta) N) / D^2`.
///
/// # Reference
/// Salehi, Erdogmus, Gholipour, Tversky loss function for image segmentation using 3D fully convolutional deep networks,
/// 2017, equation 4; Abraham, Khan, A novel focal Tversky loss function with improved attention U-Net for lesion
/// segmentation, 2019, equation 4 (whose exponent is the reciprocal of `gamma` here).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tversky {
    alpha: f64,
    beta: f64,
    gamma: f64,
}

impl Tversky {
    /// A Tversky loss with weights of false positives and false negatives.
    ///
    /// # Errors
    /// [`Error::LossOption`] unless both are finite and not negative.
    pub fn new(alpha: f64, beta: f64) -> Result<Self> {
        for (argument, value) in [("alpha", alpha), ("beta", beta)] {
            if !(value.is_finite() && value >= 0.0) {
                let rule = "be finite and not negative".to_owned();
                return Err(Error::LossOption { argument, rule, value: value.to_string() });
            }
        }
        Ok(Self { alpha, beta, gamma: 1.0 })
    }

    /// The focal form.
    ///
    /// # Errors
    /// [`Error::LossOption`] unless the exponent is finite and positive.
    pub fn focal(self, gamma: f64) -> Result<Self> {
        if !(gamma.is_finite() && gamma > 0.0) {
            let rule = "be finite and positive".to_owned();
            return Err(Error::LossOption { argument: "gamma", rule, value: gamma.to_string() });
        }
        Ok(Self { gamma, ..self })
    }

    /// `alpha`, `beta` and `gamma`.
    pub const fn settings(self) -> (f64, f64, f64) {
        (self.alpha, self.beta, self.gamma)
    }

    /// From `TP`, `FP` and `FN`.
    pub(crate) fn entry(self, smooth: Smooth, [tp, fp, fn_]: [f64; 3]) -> Entry {
        let wrong = self.alpha * fp + self.beta * fn_;
        let (n, d) = (tp + smooth.numerator, tp + wrong + smooth.denominator);
        if n == 0.0 && d == 0.0 && smooth.zero_ratio_counts {
            return Entry::default();
        }
        // (D - N) / D: no digits are lost near a perfect prediction.
        let rest = (wrong + (smooth.denominator - smooth.numerator)) / d;
        let plain =
            Entry { loss: rest, a: (d - (1.0 - self.alpha - self.beta) * n) / (d * d), b: self.alpha * n / (d * d) };
        if self.gamma == 1.0 {
            return plain;
        }
        if rest == 0.0 {
            return Entry::default();
        }
        let slope = self.gamma * rest.powf(self.gamma - 1.0);
        Entry { loss: rest.powf(self.gamma), a: slope * plain.a, b: slope * plain.b }
    }
}

//! The focal loss.

use exacta_core::{Error, Result};

/// Focal loss, averaged over the voxels that count; for sigmoid over voxels and channels.
///
/// Softmax: `-sum_c a_c g_c (1 - p_c)^gamma log p_c`, `1 - p` computed without cancellation. Sigmoid:
/// `-a g (1 - p)^gamma log p - (1 - a) (1 - g) p^gamma log (1 - p)`. Soft targets blend the two linearly.
///
/// `alpha`: without, all weights are 1. One number: `a_0 = 1 - alpha`, `a_c = alpha` for the other classes (softmax); `alpha` for presence and
/// `1 - alpha` for absence (sigmoid). One a class: these, and one less these for the absence of a channel. `gamma = 0` without `alpha` is cross-entropy.
///
/// Gradient: `dL/dz_c = (q_c - p_c sum_k q_k) / n` with `q_c = a_c g_c (gamma u^(gamma - 1) p log p - u^gamma)`, `u = 1 - p_c`; 0 where `u` is.
///
/// # Agreement
/// MONAI's `FocalLoss`: its softmax form is divided by `C` too.
/// # Reference
/// Lin, Goyal, Girshick, He, Dollár, Focal loss for dense object detection, 2017, equation 5.
#[derive(Debug, Clone, PartialEq)]
pub struct Focal {
    gamma: f64,
    alpha: Option<Vec<f64>>,
}

impl Focal {
    /// A focal loss without `alpha`.
    ///
    /// # Errors
    /// [`Error::LossOption`] unless `gamma` is finite and not negative.
    pub fn new(gamma: f64) -> Result<Self> {
        if !(gamma.is_finite() && gamma >= 0.0) {
            let rule = "be finite and not negative".to_owned();
            return Err(Error::LossOption { argument: "gamma", rule, value: gamma.to_string() });
        }
        Ok(Self { gamma, alpha: None })
    }

    /// The same with `alpha`: one number, or one a class.
    ///
    /// # Errors
    /// [`Error::LossOption`] unless each lies in `[0, 1]` and there is one at least.
    pub fn with_alpha(self, alpha: Option<Vec<f64>>) -> Result<Self> {
        let wrong = |alpha: &Vec<f64>| alpha.is_empty() || !alpha.iter().all(|a| (0.0..=1.0).contains(a));
        match alpha {
            Some(alpha) if wrong(&alpha) => {
                let rule = "be a number in [0, 1], or one a class".to_owned();
                Err(Error::LossOption { argument: "alpha", rule, value: format!("{alpha:?}") })
            }
            alpha => Ok(Self { alpha, ..self }),
        }
    }

    /// The exponent.
    pub const fn gamma(&self) -> f64 {
        self.gamma
    }

    /// Weights of presence and of absence of each class.
    ///
    /// # Errors
    /// [`Error::LossOption`] for several values that are not one a class.
    pub(crate) fn weights(&self, channels: usize, sigmoid: bool) -> Result<(Vec<f64>, Vec<f64>)> {
        Ok(match self.alpha.as_deref() {
            None => (vec![1.0; channels], vec![1.0; channels]),
            Some(&[alpha]) if sigmoid => (vec![alpha; channels], vec![1.0 - alpha; channels]),
            Some(&[alpha]) => {
                let mut presence = vec![alpha; channels];
                presence[0] = 1.0 - alpha;
                (presence, vec![1.0; channels])
            }
            Some(alpha) if alpha.len() == channels => (alpha.to_vec(), alpha.iter().map(|a| 1.0 - a).collect()),
            Some(alpha) => {
                let rule = format!("be one number or {channels}, one a channel of input");
                return Err(Error::LossOption { argument: "alpha", rule, value: format!("{} numbers", alpha.len()) });
            }
        })
    }
}

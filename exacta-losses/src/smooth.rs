//! What keeps a ratio of sums away from 0/0.

use exacta_core::{Error, Result};

/// Smoothing of a ratio `(n + numerator) / (d + denominator)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Smooth {
    /// Added to the numerator.
    pub numerator: f64,
    /// Added to the denominator.
    pub denominator: f64,
    /// What 0/0 is: a loss of 0 if the two were set apart, else NaN.
    pub zero_ratio_counts: bool,
}

impl Smooth {
    /// 1e-5 in both.
    pub const DEFAULT: Self = Self { numerator: 1e-5, denominator: 1e-5, zero_ratio_counts: false };

    /// The same in both; 0/0 stays NaN.
    ///
    /// # Errors
    /// [`Error::LossOption`] unless finite and not negative; so for [`Smooth::apart`].
    pub fn both(value: f64) -> Result<Self> {
        Ok(Self { zero_ratio_counts: false, ..Self::apart(value, value)? })
    }

    /// Two settings; a class with 0/0 counts with a loss of 0.
    ///
    /// # Errors
    /// As [`Smooth::both`].
    pub fn apart(numerator: f64, denominator: f64) -> Result<Self> {
        for value in [numerator, denominator] {
            if !(value.is_finite() && value >= 0.0) {
                let rule = "be finite and not negative".to_owned();
                return Err(Error::LossOption { argument: "smooth", rule, value: value.to_string() });
            }
        }
        Ok(Self { numerator, denominator, zero_ratio_counts: true })
    }
}

/// The loss of one case and class (or one case) and the factors of its gradient.
///
/// `dL/dp = -a g + b` for a voxel of the class; `-a g + 2 b p` for squared denominators.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Entry {
    pub(crate) loss: f64,
    pub(crate) a: f64,
    pub(crate) b: f64,
}

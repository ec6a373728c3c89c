//! Distance still counted as equal.

use crate::{Error, Result};

/// A distance up to which two surfaces agree, inclusive, in the unit of the spacing.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Tolerance(f64);

impl Tolerance {
    /// # Errors
    /// [`Error::InvalidTolerance`] for a value that is negative, infinite or NaN.
    pub fn new(value: f64) -> Result<Self> {
        if value.is_finite() && value >= 0.0 { Ok(Self(value)) } else { Err(Error::InvalidTolerance { value }) }
    }

    /// The value.
    pub const fn value(self) -> f64 {
        self.0
    }
}

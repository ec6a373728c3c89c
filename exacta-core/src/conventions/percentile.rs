//! Which quantile.

use crate::{Error, Result};

/// A percentile in `[0, 100]`; 0 is a value, not "unset".
///
/// Of points, it is interpolated linearly between two ranks, `d[lo] + (d[hi] - d[lo]) * (pos - lo)` with
/// `pos = q / 100 * (n - 1)`; of weighted patches it is the first distance at which the cumulative share of the weight reaches it. 100 is
/// the plain maximum.
///
/// | tool | percentile of HD95 |
/// |---|---|
/// | MONAI, MedPy, MetricsReloaded, Panoptica | linear interpolation |
/// | DeepMind surface-distance | first surface element at which the cumulative area reaches 95 % |
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Percentile(f64);

impl Percentile {
    /// The maximum.
    pub const MAX: Self = Self(100.0);

    /// # Errors
    /// [`Error::InvalidPercentile`] outside `[0, 100]` and for NaN.
    pub fn new(value: f64) -> Result<Self> {
        if (0.0..=100.0).contains(&value) { Ok(Self(value)) } else { Err(Error::InvalidPercentile { value }) }
    }

    /// The value in `[0, 100]`.
    pub const fn value(self) -> f64 {
        self.0
    }

    /// Whether this is the plain maximum.
    pub fn is_max(self) -> bool {
        self.0 >= 100.0
    }
}

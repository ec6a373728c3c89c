//! What distances are written as.

/// What results are written as.
pub(crate) trait Output: Copy + Send + Sync + 'static {
    /// Nothing yet.
    const ZERO: Self;
    /// The nearest number of this type.
    fn of(value: f64) -> Self;
    /// Minus the number.
    fn negated(self) -> Self;
}

macro_rules! outputs {
    ($($type:ty),+) => {$(
        impl Output for $type {
            const ZERO: Self = 0.0;

            #[inline(always)]
            #[allow(clippy::cast_possible_truncation, reason = "rounding is meant")]
            fn of(value: f64) -> Self {
                value as Self
            }

            #[inline(always)]
            fn negated(self) -> Self {
                -self
            }
        }
    )+};
}
outputs!(f32, f64);

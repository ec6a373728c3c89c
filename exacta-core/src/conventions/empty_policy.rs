//! What a distance metric is when a surface is missing.

/// The values for "both masks empty" and "exactly one mask empty": two different questions.
///
/// | tool | both empty | one empty |
/// |---|---|---|
/// | exacta | NaN: nothing to measure | infinite distance, surface Dice 0 |
/// | MONAI 1.6 | NaN | hd inf, percentiles NaN |
/// | MedPy 0.5 | error | error |
/// | DeepMind | NaN | inf |
/// | BraTS 2023 | – | 374 mm |
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EmptyPolicy {
    /// Value when both masks are empty.
    pub both: f64,
    /// Value when exactly one mask is empty: a structure missed or made up.
    pub one: f64,
}

impl EmptyPolicy {
    /// NaN when there is nothing to measure, infinitely far when a structure is missed.
    pub const DISTANCE: Self = Self { both: f64::NAN, one: f64::INFINITY };
    /// NaN when there is nothing to measure, no agreement when a structure is missed.
    pub const AGREEMENT: Self = Self { both: f64::NAN, one: 0.0 };
}

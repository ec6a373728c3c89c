//! What the kernels must know of a combination of terms, in the number type of the computation.

use crate::number::Number;

/// Which sums over voxels an overlap term asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sums {
    /// None.
    Nothing,
    /// `sum p g`, `sum p`, `sum g`.
    Plain,
    /// `sum p g`, `sum p^2`, `sum g^2`.
    Squared,
    /// `sum p g`, `sum p (1 - g)`, `sum (1 - p) g`: no difference of large sums.
    Rates,
}

/// What is added up voxel by voxel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Pointwise<F> {
    /// Nothing.
    Nothing,
    /// Cross-entropy.
    Entropy,
    /// Cross-entropy, each term times a power of the probability that is missing.
    Focal(Power<F>),
}

/// The exponent of the focal loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Power<F> {
    /// 0.
    Zero,
    /// 1.
    One,
    /// 2.
    Two,
    /// Any other, above 0.
    Other(F),
}

impl<F: Number> Power<F> {
    pub(crate) fn new(gamma: f64) -> Self {
        if gamma == 0.0 {
            Self::Zero
        } else if gamma == 1.0 {
            Self::One
        } else if gamma == 2.0 {
            Self::Two
        } else {
            Self::Other(F::from_f64(gamma))
        }
    }
}

/// A combination of terms as the kernels see it.
#[derive(Debug)]
pub(crate) struct Plan<F> {
    /// Overlap sums.
    pub(crate) sums: Sums,
    /// Pointwise term.
    pub(crate) pointwise: Pointwise<F>,
    /// Weight of a class in the pointwise term: of its presence.
    pub(crate) positive: Vec<F>,
    /// Weight of a channel's absence, for sigmoid.
    pub(crate) negative: Vec<F>,
    /// Whether weights of classes differ from 1.
    pub(crate) weighted: bool,
}

/// Factors of the gradient of one case.
#[derive(Debug)]
pub(crate) struct Factors<F> {
    /// `A` of each class: `dL/dp = -A g + B`, or `-A g + 2 B p`.
    pub(crate) target: Vec<F>,
    /// `B` of each class, doubled for the squared form.
    pub(crate) constant: Vec<F>,
    /// Weight of a voxel in the pointwise term.
    pub(crate) scale: F,
}

/// Sums of a tile: three rows of classes, then what is added up voxel by voxel and the weight of the target.
pub(crate) struct Layout {
    pub(crate) channels: usize,
}

impl Layout {
    pub(crate) const fn width(&self) -> usize {
        3 * self.channels + 4
    }

    /// Pointwise sum.
    pub(crate) const fn pointwise(&self) -> usize {
        3 * self.channels
    }

    /// Weight of the target labels, if classes are weighted.
    pub(crate) const fn weight(&self) -> usize {
        3 * self.channels + 1
    }

    /// Voxels that count.
    pub(crate) const fn included(&self) -> usize {
        3 * self.channels + 2
    }

    /// Voxels that count and have no class.
    pub(crate) const fn invalid(&self) -> usize {
        3 * self.channels + 3
    }
}

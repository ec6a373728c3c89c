//! What scores mean, and how they become one number.

use crate::{Error, Result};

/// What the scores of a batch are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ScoreSpec {
    /// Independent channels, each with a reference of zeros and ones, instead of one distribution over classes.
    pub multilabel: bool,
    /// Logits instead of probabilities.
    pub from_logits: bool,
    /// Label of the reference whose voxels are left out.
    pub ignore_index: Option<i64>,
}

super::named! {
    /// Which confidences a reliability diagram judges.
    ///
    /// | tool | mode |
    /// |---|---|
    /// | torchmetrics `MulticlassCalibrationError` | `TopLabel` |
    /// | torchmetrics `BinaryCalibrationError` | `Classwise` of the positive class |
    /// | MONAI `CalibrationErrorMetric` | `Classwise` |
    CalibrationMode, "mode", {
        /// The largest probability of a voxel; the outcome is whether its class is right.
        TopLabel = "top-label",
        /// The probability of each class; the outcome is whether the voxel is of it.
        Classwise = "classwise",
    }
}

super::named! {
    /// How the labels of a multilabel batch become one value.
    Average, "average", {
        /// They do not: one value a label.
        None = "none",
        /// The mean of the labels' values that are not NaN.
        Macro = "macro",
        /// The value of all pairs of label and voxel together.
        Micro = "micro",
    }
}

/// A number of bins of `[0, 1]`, of equal width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bins(usize);

impl Bins {
    const HIGH: usize = 1 << 24;

    /// At least `low` bins.
    ///
    /// # Errors
    /// [`Error::Bins`].
    pub fn new(value: usize, low: usize) -> Result<Self> {
        if (low..=Self::HIGH).contains(&value) {
            Ok(Self(value))
        } else {
            Err(Error::Bins { value, low, high: Self::HIGH })
        }
    }

    /// The number.
    pub const fn count(self) -> usize {
        self.0
    }

    /// The bin of a value in `[0, 1]`: `min(floor(value * bins), bins - 1)`, so 1 is in the last.
    ///
    /// A product and not a comparison with edges: 0.29 of 100 bins is in bin 28, although edge 29 is 0.29.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "at most 2^24 bins")]
    #[expect(clippy::cast_precision_loss, reason = "at most 2^24 bins")]
    pub fn of(self, value: f64) -> u32 {
        // Through i32, the one conversion that every instruction set has for several values at once.
        ((value * self.0 as f64) as i32).min(self.0 as i32 - 1).cast_unsigned()
    }
}

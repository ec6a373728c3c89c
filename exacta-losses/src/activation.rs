//! What turns logits into predictions.

use exacta_core::{Error, Result};

/// What turns logits into predictions. Recomputed in the backward pass, never stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Activation {
    /// `p_c = e^(z_c - max z) / sum_k e^(z_k - max z)` over the channels of a voxel: classes exclude each other.
    Softmax,
    /// `p_c = 1 / (1 + e^(-z_c))`: channels are independent.
    Sigmoid,
    /// `p_c = z_c`: the input holds predictions.
    None,
}

impl Activation {
    /// The spellings, in order of the variants.
    pub const NAMES: &'static [&'static str] = &["softmax", "sigmoid", "none"];
}

impl std::str::FromStr for Activation {
    type Err = Error;

    fn from_str(value: &str) -> Result<Self> {
        match value {
            "softmax" => Ok(Self::Softmax),
            "sigmoid" => Ok(Self::Sigmoid),
            "none" => Ok(Self::None),
            _ => Err(Error::UnknownName { argument: "activation", value: value.to_owned(), names: Self::NAMES }),
        }
    }
}

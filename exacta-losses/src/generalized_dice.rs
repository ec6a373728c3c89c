//! Generalized Dice.

use std::str::FromStr;

use exacta_core::{Error, Result};

use crate::smooth::{Entry, Smooth};

/// How a class is weighted by the size `T` of its reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WeightType {
    /// `1 / T^2`.
    #[default]
    Square,
    /// `1 / T`.
    Simple,
    /// 1.
    Uniform,
}

/// What a case is whose selected classes are all absent from the reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EmptyTarget {
    /// A loss of 0, counted in the mean.
    #[default]
    Zero,
    /// The loss with all weights 1.
    Uniform,
}

impl FromStr for WeightType {
    type Err = Error;

    fn from_str(value: &str) -> Result<Self> {
        match value {
            "square" => Ok(Self::Square),
            "simple" => Ok(Self::Simple),
            "uniform" => Ok(Self::Uniform),
            _ => Err(Error::UnknownName {
                argument: "weight_type",
                value: value.to_owned(),
                names: &["square", "simple", "uniform"],
            }),
        }
    }
}

impl FromStr for EmptyTarget {
    type Err = Error;

    fn from_str(value: &str) -> Result<Self> {
        match value {
            "zero" => Ok(Self::Zero),
            "uniform" => Ok(Self::Uniform),
            _ => Err(Error::UnknownName {
                argument: "empty_target",
                value: value.to_owned(),
                names: &["zero", "uniform"],
            }),
        }
    }
}

/// Generalized Dice loss of a case: `1 - (2 sum_c w_c I_c + s_n) / (sum_c w_c (P_c + T_c) + s_d)`.
///
/// Classes are summed before the ratio. `I = sum p g`, `P = sum p`, `T = sum g`; a class that is absent (`T = 0`) takes
/// the largest weight of those present, so that neither value nor gradient is ever infinite. Smoothing is added after weighting
/// and is therefore not small: `w T` is `1 / T` for [`WeightType::Square`].
///
/// Weights of classes, if given, multiply `w`; a case whose products are all 0 has a loss of 0.
///
/// Gradient: `dL/dp_c = w_c N / D^2 - 2 w_c g / D`.
///
/// # Agreement
/// MONAI's `GeneralizedDiceLoss(w_type=..)`.
/// # Reference
/// Sudre, Li, Vercauteren, Ourselin, Cardoso, Generalised Dice overlap as a deep learning loss function for highly unbalanced
/// segmentations, 2017, section 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GeneralizedDice {
    /// Weights of classes.
    pub weight_type: WeightType,
    /// Absent references.
    pub empty_target: EmptyTarget,
}

impl GeneralizedDice {
    /// Weight of each class, from the sizes of their references.
    fn weights(self, targets: &[f64]) -> Vec<f64> {
        let weight = |t: f64| match self.weight_type {
            WeightType::Square => 1.0 / (t * t),
            WeightType::Simple => 1.0 / t,
            WeightType::Uniform => 1.0,
        };
        if self.weight_type == WeightType::Uniform {
            return vec![1.0; targets.len()];
        }
        let largest = targets.iter().filter(|&&t| t != 0.0).map(|&t| weight(t)).reduce(f64::max);
        let absent = largest.unwrap_or(match self.empty_target {
            EmptyTarget::Zero => 0.0,
            EmptyTarget::Uniform => 1.0,
        });
        targets.iter().map(|&t| if t == 0.0 { absent } else { weight(t) }).collect()
    }

    /// Loss of a case and factors of each class, from `sum p g`, `sum p`, `sum g` of the selected classes and what their weights
    /// are multiplied by.
    pub(crate) fn entries(
        self,
        smooth: Smooth,
        [hit, pred, target]: [&[f64]; 3],
        class_weight: Option<&[f64]>,
    ) -> (f64, Vec<Entry>) {
        let mut weights = self.weights(target);
        for (weight, factor) in weights.iter_mut().zip(class_weight.into_iter().flatten()) {
            *weight *= factor;
        }
        let none = vec![Entry::default(); hit.len()];
        if weights.iter().all(|&w| w == 0.0) {
            return (0.0, none);
        }
        let (mut n, mut d) = (0.0, 0.0);
        for (c, &w) in weights.iter().enumerate() {
            n += w * hit[c];
            d += w * (pred[c] + target[c]);
        }
        let (n, d) = (2.0 * n + smooth.numerator, d + smooth.denominator);
        if n == 0.0 && d == 0.0 && smooth.zero_ratio_counts {
            return (0.0, none);
        }
        let entries = weights.iter().map(|&w| Entry { loss: 0.0, a: 2.0 * w / d, b: w * n / (d * d) }).collect();
        (1.0 - n / d, entries)
    }
}

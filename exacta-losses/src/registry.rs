//! Losses by name.

use exacta_core::{Error, Result};

use crate::activation::Activation;
use crate::cross_entropy::CrossEntropy;
use crate::dice::Dice;
use crate::focal::Focal;
use crate::generalized_dice::{EmptyTarget, GeneralizedDice, WeightType};
use crate::loss::Loss;
use crate::params::Params;
use crate::smooth::Smooth;
use crate::terms::{Overlap, Pointwise, Terms};
use crate::tversky::Tversky;

/// The names of [`loss`].
pub const LOSSES: &[&str] = &[
    "dice",
    "tversky",
    "focal_tversky",
    "generalized_dice",
    "cross_entropy",
    "focal",
    "dice_ce",
    "generalized_dice_ce",
    "dice_focal",
    "topk_ce",
    "dice_topk_ce",
    "lovasz_softmax",
    "lovasz_hinge",
    "boundary",
    "hausdorff_dt",
    "soft_cldice",
    "generalized_wasserstein_dice",
];

const SHARED: &[&str] = &["activation"];
pub(crate) const OVERLAP: &[&str] = &["include_background", "batch_dice", "smooth"];

/// A loss by its name, with settings by theirs.
///
/// # Errors
/// [`Error::UnknownName`]; [`Error::LossOption`] for a setting that the loss does not have, or a value that it cannot have.
pub fn loss(name: &str, params: &Params) -> Result<Box<dyn Loss>> {
    let terms = Terms::new(params.named("activation", Activation::Softmax)?);
    Ok(Box::new(match name {
        "dice" => {
            params.only("dice", &[SHARED, OVERLAP, &["squared_pred", "class_weight"]])?;
            weighted(overlap(terms, params)?, params)?.with_overlap(1.0, dice(params)?)
        }
        "tversky" => {
            params.only("tversky", &[SHARED, OVERLAP, &["alpha", "beta", "class_weight"]])?;
            let term = Tversky::new(params.number("alpha", 0.5)?, params.number("beta", 0.5)?)?;
            weighted(overlap(terms, params)?, params)?.with_overlap(1.0, Overlap::Tversky(term))
        }
        "focal_tversky" => {
            params.only("focal_tversky", &[SHARED, OVERLAP, &["alpha", "beta", "gamma", "class_weight"]])?;
            let term = Tversky::new(params.number("alpha", 0.3)?, params.number("beta", 0.7)?)?
                .focal(params.number("gamma", 0.75)?)?;
            weighted(overlap(terms, params)?, params)?.with_overlap(1.0, Overlap::Tversky(term))
        }
        "generalized_dice" => {
            params.only("generalized_dice", &[SHARED, OVERLAP, &["weight_type", "empty_target", "class_weight"]])?;
            weighted(overlap(terms, params)?, params)?.with_overlap(1.0, generalized_dice(params)?)
        }
        "cross_entropy" => {
            params.only("cross_entropy", &[SHARED, &["class_weight"]])?;
            let terms = terms.with_pointwise(1.0, Pointwise::CrossEntropy(CrossEntropy));
            Terms { pointwise_weight: params.numbers("class_weight")?, ..terms }
        }
        "focal" => {
            params.only("focal", &[SHARED, &["gamma", "alpha", "class_weight"]])?;
            let terms = terms.with_pointwise(1.0, focal(params)?);
            Terms { pointwise_weight: params.numbers("class_weight")?, ..terms }
        }
        "dice_ce" => {
            let own: &[&str] = &["squared_pred", "lambda_dice", "lambda_ce", "class_weight"];
            params.only("dice_ce", &[SHARED, OVERLAP, own])?;
            entropy(overlap(terms, params)?, dice(params)?, params)?
        }
        "generalized_dice_ce" => {
            let own: &[&str] = &["weight_type", "empty_target", "lambda_dice", "lambda_ce", "class_weight"];
            params.only("generalized_dice_ce", &[SHARED, OVERLAP, own])?;
            entropy(overlap(terms, params)?, generalized_dice(params)?, params)?
        }
        "dice_focal" => {
            let own: &[&str] = &["squared_pred", "lambda_dice", "lambda_focal", "gamma", "alpha", "class_weight"];
            params.only("dice_focal", &[SHARED, OVERLAP, own])?;
            let [first, second] = coefficients(params, "lambda_focal")?;
            let terms =
                overlap(terms, params)?.with_overlap(first, dice(params)?).with_pointwise(second, focal(params)?);
            Terms { pointwise_weight: params.numbers("class_weight")?, ..terms }
        }
        _ => return crate::registry_ranked::loss(name, params),
    }))
}

/// Settings of every overlap term.
pub(crate) fn overlap(terms: Terms, params: &Params) -> Result<Terms> {
    let smooth = match params.numbers("smooth")?.as_deref() {
        None => Smooth::DEFAULT,
        Some(&[both]) => Smooth::both(both)?,
        Some(&[numerator, denominator]) => Smooth::apart(numerator, denominator)?,
        Some(values) => {
            let rule = "be one number, or one for the numerator and one for the denominator".to_owned();
            return Err(Error::LossOption { argument: "smooth", rule, value: format!("{} numbers", values.len()) });
        }
    };
    Ok(Terms {
        include_background: params.flag("include_background", true)?,
        batch_dice: params.flag("batch_dice", false)?,
        smooth,
        ..terms
    })
}

fn weighted(terms: Terms, params: &Params) -> Result<Terms> {
    Ok(Terms { overlap_weight: params.numbers("class_weight")?, ..terms })
}

pub(crate) fn dice(params: &Params) -> Result<Overlap> {
    Ok(Overlap::Dice(Dice { squared_pred: params.flag("squared_pred", false)? }))
}

fn generalized_dice(params: &Params) -> Result<Overlap> {
    Ok(Overlap::GeneralizedDice(GeneralizedDice {
        weight_type: params.named("weight_type", WeightType::Square)?,
        empty_target: params.named("empty_target", EmptyTarget::Zero)?,
    }))
}

fn focal(params: &Params) -> Result<Pointwise> {
    let focal = Focal::new(params.number("gamma", 2.0)?)?.with_alpha(params.numbers("alpha")?)?;
    Ok(Pointwise::Focal(focal))
}

/// Coefficients of the overlap term and of the other.
pub(crate) fn coefficients(params: &Params, second: &'static str) -> Result<[f64; 2]> {
    let values = [params.number("lambda_dice", 1.0)?, params.number(second, 1.0)?];
    for (argument, value) in ["lambda_dice", second].into_iter().zip(values) {
        if !(value.is_finite() && value >= 0.0) {
            let rule = "be finite and not negative".to_owned();
            return Err(Error::LossOption { argument, rule, value: value.to_string() });
        }
    }
    if values == [0.0, 0.0] {
        let rule = format!("be positive if {second} is 0: no term would be left");
        return Err(Error::LossOption { argument: "lambda_dice", rule, value: "0".to_owned() });
    }
    Ok(values)
}

/// An overlap term and cross-entropy; class weights reach cross-entropy alone.
fn entropy(terms: Terms, overlap: Overlap, params: &Params) -> Result<Terms> {
    let [first, second] = coefficients(params, "lambda_ce")?;
    let terms = terms.with_overlap(first, overlap);
    let terms = terms.with_pointwise(second, Pointwise::CrossEntropy(CrossEntropy));
    Ok(Terms { pointwise_weight: params.numbers("class_weight")?, ..terms })
}

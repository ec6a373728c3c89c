//! Losses of rankings, distances and skeletons by name.

use exacta_core::{Error, Result};

use crate::activation::Activation;
use crate::boundary::Boundary;
use crate::generalized_wasserstein_dice::{GeneralizedWassersteinDice, Reduction, Weighting};
use crate::hausdorff_dt::HausdorffDt;
use crate::loss::Loss;
use crate::lovasz::{Classes, LovaszSoftmax};
use crate::lovasz_hinge::LovaszHinge;
use crate::params::Params;
use crate::registry::{LOSSES, OVERLAP, coefficients, dice, overlap};
use crate::soft_cldice::{SoftClDice, iterations};
use crate::terms::Terms;
use crate::topk_ce::TopKCe;

const GEOMETRY: &[&str] = &["activation", "include_background"];

/// See [`crate::loss`].
pub(crate) fn loss(name: &str, params: &Params) -> Result<Box<dyn Loss>> {
    let activation = || params.named("activation", Activation::Softmax);
    Ok(match name {
        "topk_ce" => {
            params.only("topk_ce", &[&["fraction", "class_weight"]])?;
            let weights = params.numbers("class_weight")?;
            Box::new(TopKCe::new(params.number("fraction", 0.1)?)?.with_class_weight(weights))
        }
        "dice_topk_ce" => {
            let own: &[&str] = &["fraction", "lambda_dice", "lambda_ce", "squared_pred", "class_weight"];
            params.only("dice_topk_ce", &[OVERLAP, own])?;
            let [first, second] = coefficients(params, "lambda_ce")?;
            let terms = overlap(Terms::new(Activation::Softmax), params)?.with_overlap(first, dice(params)?);
            // As in the other sums with cross-entropy, weights reach that term alone.
            let weights = params.numbers("class_weight")?;
            Box::new(TopKCe::new(params.number("fraction", 0.1)?)?.with_dice(second, terms).with_class_weight(weights))
        }
        "lovasz_softmax" => {
            let own: &[&str] = &["from_logits", "classes", "per_image", "include_background", "class_weight"];
            params.only("lovasz_softmax", &[own])?;
            Box::new(LovaszSoftmax {
                from_logits: params.flag("from_logits", true)?,
                classes: params.named("classes", Classes::Present)?,
                per_image: params.flag("per_image", false)?,
                include_background: params.flag("include_background", true)?,
                class_weight: params.numbers("class_weight")?,
            })
        }
        "lovasz_hinge" => {
            params.only("lovasz_hinge", &[&["multilabel", "per_image"]])?;
            let (multilabel, per_image) = (params.flag("multilabel", false)?, params.flag("per_image", true)?);
            Box::new(LovaszHinge { multilabel, per_image })
        }
        "boundary" => {
            params.only("boundary", &[GEOMETRY, &["spacing"]])?;
            let spacing = params.numbers("spacing")?;
            let include_background = params.flag("include_background", false)?;
            Box::new(Boundary { activation: activation()?, include_background, spacing })
        }
        "hausdorff_dt" => {
            params.only("hausdorff_dt", &[GEOMETRY, &["spacing", "alpha", "threshold"]])?;
            let loss = HausdorffDt::new(params.number("alpha", 2.0)?, params.number("threshold", 0.5)?)?;
            let spacing = params.numbers("spacing")?;
            let include_background = params.flag("include_background", false)?;
            Box::new(loss.of(activation()?, include_background).with_spacing(spacing))
        }
        "soft_cldice" => {
            params.only("soft_cldice", &[GEOMETRY, &["iterations", "smooth"]])?;
            let loss = SoftClDice::new(iterations(params.whole("iterations")?)?, params.number("smooth", 1.0)?)?;
            let include_background = params.flag("include_background", false)?;
            Box::new(loss.of(activation()?, include_background))
        }
        "generalized_wasserstein_dice" => {
            let names: &[&str] = &["dist_matrix", "weighting_mode", "smooth", "reduction"];
            params.only("generalized_wasserstein_dice", &[names])?;
            let matrix = params.numbers("dist_matrix")?.ok_or_else(|| {
                let rule = "be given: the distance between each two classes, row by row".to_owned();
                Error::LossOption { argument: "dist_matrix", rule, value: "none".to_owned() }
            })?;
            let loss = GeneralizedWassersteinDice::new(&matrix)?
                .with_weighting(params.named("weighting_mode", Weighting::Default)?)?
                .with_smooth(params.number("smooth", 1e-5)?)?
                .with_reduction(params.named("reduction", Reduction::Mean)?);
            Box::new(loss)
        }
        _ => return Err(Error::UnknownName { argument: "loss", value: name.to_owned(), names: LOSSES }),
    })
}

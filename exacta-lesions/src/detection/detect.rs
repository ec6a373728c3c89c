//! Predictions with their confidence, and which of them hit a lesion.

use exacta_core::ndarray::{ArrayViewD, Axis, Slice};
use exacta_core::stages::{ComponentStage, Contingency};
use exacta_core::{Batch, Connectivity, Error, InputFormat, MatchScore, Reduction, Result, Side, Table};

/// A prediction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// How sure it is.
    pub confidence: f64,
    /// Whether it hits a lesion that no prediction before it hit.
    pub hit: bool,
}

/// The predictions of one case and class, in order of their numbers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Detections {
    /// Components of the prediction.
    pub candidates: Vec<Candidate>,
    /// Number of lesions of the reference.
    pub targets: u64,
}

/// What decides a hit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DetectionOptions {
    /// Neighbours of a voxel in a component.
    pub connectivity: usize,
    /// IoU from which a prediction hits a lesion.
    pub iou_threshold: f64,
    /// The confidence of a component.
    pub reduction: Reduction,
}

/// Detections of each case and selected class. `confidence` has the shape of the arrays: `(B, *S)`, or `(B, C, *S)` of channels.
///
/// Predictions are taken in falling order of confidence, equal ones in order of their numbers; each hits the free lesion with the
/// largest IoU of at least the threshold, of equal ones the first.
///
/// # Errors
/// [`Error::ConfidenceShape`], [`Error::InvalidConfidence`]; as [`crate::report`].
pub fn detect<C: ComponentStage, T: Copy + Into<f64> + Sync>(
    stage: &C,
    batch: &Batch<'_>,
    confidence: &ArrayViewD<'_, T>,
    options: &DetectionOptions,
) -> Result<Table<Detections>, C::Error>
where
    C::Masks: Sync,
    C::Error: Send,
{
    check_confidence(batch, confidence)?;
    let connectivity = Connectivity::new(options.connectivity, batch.grid().axes())?;
    let masks = stage.masks(batch)?;
    let (cases, classes) = (batch.cases(), batch.spec().selected());
    let found = stage.each(cases * classes, |stage, i| {
        let (case, class) = (i / classes, i % classes);
        let side = |side| stage.mask_of(&masks, case, class, side, 0);
        let (Some((pred, low)), Some((target, _))) = (side(Side::Pred)?, side(Side::Target)?) else {
            return Ok(Detections::default());
        };
        let (pred, target) = (stage.components(pred, connectivity)?, stage.components(target, connectivity)?);
        let sizes = |components| -> Result<Vec<u64>, C::Error> {
            Ok(stage.table(components, None)?.components.iter().map(|row| row.voxels).collect())
        };
        let (pred_sizes, target_sizes) = (sizes(&pred)?, sizes(&target)?);
        let values = values_of(batch, confidence, (case, class), low, &stage.shape(&pred));
        let confidences = stage.reduce(&pred, &values, options.reduction)?;
        let meeting = stage.contingency(&pred, &target, None)?;
        let hits = match_by_confidence(&confidences, &pred_sizes, &target_sizes, &meeting, options.iou_threshold);
        let candidate = |(confidence, hit)| Candidate { confidence, hit };
        let candidates = confidences.into_iter().zip(hits).map(candidate).collect();
        Ok(Detections { candidates, targets: target_sizes.len() as u64 })
    });
    Ok(Table::new(cases, classes, found.into_iter().collect::<Result<_, C::Error>>()?))
}

/// The confidences of one case and class, in a box of the image.
fn values_of<'a, T>(
    batch: &Batch<'_>,
    confidence: &'a ArrayViewD<'_, T>,
    (case, class): (usize, usize),
    low: [usize; 3],
    shape: &[usize],
) -> ArrayViewD<'a, T> {
    let mut values = confidence.view().index_axis_move(Axis(0), case);
    if batch.spec().format == InputFormat::OneHot {
        values = values.index_axis_move(Axis(0), class + batch.spec().first_class());
    }
    values.slice_each_axis_inplace(|axis| {
        let k = axis.axis.index();
        let start = low[3 - shape.len() + k];
        Slice::from(start..start + shape[k])
    });
    values
}

/// Which predictions hit a lesion; sizes and confidences in order of the numbers.
pub fn match_by_confidence(
    confidences: &[f64],
    pred_sizes: &[u64],
    target_sizes: &[u64],
    contingency: &Contingency,
    iou_threshold: f64,
) -> Vec<bool> {
    let mut order: Vec<usize> = (0..confidences.len()).collect();
    order.sort_by(|&a, &b| confidences[b].total_cmp(&confidences[a]));
    let mut taken = vec![false; target_sizes.len()];
    let mut hits = vec![false; confidences.len()];
    for pred in order {
        let first = contingency.overlaps.partition_point(|overlap| (overlap.pred as usize) <= pred);
        let mut best: Option<(f64, usize)> = None;
        for overlap in contingency.overlaps[first..].iter().take_while(|overlap| overlap.pred as usize == pred + 1) {
            let target = overlap.target as usize - 1;
            let iou = MatchScore::Iou.of(overlap.voxels, pred_sizes[pred], target_sizes[target]);
            if iou >= iou_threshold && !taken[target] && best.is_none_or(|(known, _)| iou > known) {
                best = Some((iou, target));
            }
        }
        if let Some((_, target)) = best {
            taken[target] = true;
            hits[pred] = true;
        }
    }
    hits
}

/// Checks shape and values of a confidence map: as the arrays of the batch, all within `[0, 1]`.
///
/// # Errors
/// [`Error::ConfidenceShape`], [`Error::InvalidConfidence`].
pub fn check_confidence<T: Copy + Into<f64>>(batch: &Batch<'_>, confidence: &ArrayViewD<'_, T>) -> Result<()> {
    if batch.shape() != confidence.shape() {
        return Err(Error::ConfidenceShape { expected: batch.shape().to_vec(), found: confidence.shape().to_vec() });
    }
    match confidence.iter().find(|&&value| !(0.0..=1.0).contains(&value.into())) {
        Some(&value) => Err(Error::InvalidConfidence { value: value.into() }),
        None => Ok(()),
    }
}

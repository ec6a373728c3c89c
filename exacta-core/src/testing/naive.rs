//! The definition of the counts, voxel by voxel.

use ndarray::ArrayD;

use crate::stages::Counts;
use crate::{InputFormat, LabelSpec};

/// Counts of each case and selected class, by the definition. Values at excluded voxels may be anything.
pub fn counts(pred: &ArrayD<i64>, target: &ArrayD<i64>, spec: &LabelSpec, mask: Option<&ArrayD<bool>>) -> Vec<Counts> {
    let shape = pred.shape();
    let leading = if spec.format == InputFormat::OneHot { 2 } else { 1 };
    let voxels: usize = shape[leading..].iter().product();
    let (pred, target): (Vec<i64>, Vec<i64>) = (pred.iter().copied().collect(), target.iter().copied().collect());
    let mask: Option<Vec<bool>> = mask.map(|mask| mask.iter().copied().collect());
    let mut out = Vec::new();
    for case in 0..shape[0] {
        for class in spec.first_class()..spec.num_classes {
            let mut counts = Counts::default();
            for voxel in 0..voxels {
                let at = match spec.format {
                    InputFormat::Index => case * voxels + voxel,
                    InputFormat::OneHot => (case * spec.num_classes + class) * voxels + voxel,
                };
                if mask.as_ref().is_some_and(|mask| !mask[case * voxels + voxel])
                    || spec.ignore_index == Some(target[at])
                {
                    continue;
                }
                let wanted = if spec.format == InputFormat::Index { i64::try_from(class).expect("small") } else { 1 };
                *match (pred[at] == wanted, target[at] == wanted) {
                    (true, true) => &mut counts.true_positives,
                    (true, false) => &mut counts.false_positives,
                    (false, true) => &mut counts.false_negatives,
                    (false, false) => &mut counts.true_negatives,
                } += 1;
            }
            out.push(counts);
        }
    }
    out
}

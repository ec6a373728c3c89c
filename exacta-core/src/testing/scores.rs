//! Random scores, and the definitions of what is made from them, voxel by voxel.

use ndarray::{ArrayD, IxDyn};
use proptest::prelude::*;

use crate::stages::RankSums;
use crate::{Bins, CalibrationMode, ScoreSpec};

/// A random batch of scores.
#[derive(Debug, Clone)]
pub struct ScoreCase {
    /// What the scores are.
    pub spec: ScoreSpec,
    /// The scores, `(B, C, *S)`, each exact in single precision.
    pub pred: ArrayD<f64>,
    /// The reference, `(B, *S)` or `(B, C, *S)`.
    pub target: ArrayD<i64>,
    /// Which voxels count, of the shape of `target`.
    pub mask: Option<ArrayD<bool>>,
}

/// The counted voxels of one map: scores by channel, and labels.
#[derive(Debug, Clone, Default)]
pub struct NaiveMap {
    /// One list a channel.
    pub channels: Vec<Vec<f64>>,
    /// Labels.
    pub labels: Vec<i64>,
}

impl ScoreCase {
    /// Number of channels.
    pub fn channels(&self) -> usize {
        self.pred.shape()[1]
    }

    /// Maps, case by case: one a channel where they are independent.
    pub fn maps(&self) -> Vec<NaiveMap> {
        let shape = self.pred.shape();
        let (cases, channels) = (shape[0], shape[1]);
        let voxels: usize = shape[2..].iter().product();
        let pred: Vec<f64> = self.pred.iter().copied().collect();
        let target: Vec<i64> = self.target.iter().copied().collect();
        let mask: Vec<bool> =
            self.mask.as_ref().map_or_else(|| vec![true; target.len()], |mask| mask.iter().copied().collect());
        let mut out = Vec::new();
        for case in 0..cases {
            let groups: Vec<Vec<usize>> = if self.spec.multilabel {
                (0..channels).map(|channel| vec![channel]).collect()
            } else {
                vec![(0..channels).collect()]
            };
            for group in groups {
                let first = if self.spec.multilabel { (case * channels + group[0]) * voxels } else { case * voxels };
                let kept: Vec<usize> = (0..voxels)
                    .filter(|v| mask[first + v] && self.spec.ignore_index != Some(target[first + v]))
                    .collect();
                out.push(NaiveMap {
                    channels: group
                        .iter()
                        .map(|channel| kept.iter().map(|v| pred[(case * channels + channel) * voxels + v]).collect())
                        .collect(),
                    labels: kept.iter().map(|v| target[first + v]).collect(),
                });
            }
        }
        out
    }
}

/// Batches with ties, zeros of both signs, masks, ignored labels and garbage where voxels do not count.
pub fn score_cases(longest: usize) -> impl Strategy<Value = ScoreCase> {
    let axis = 1..=longest;
    let shape = prop_oneof![
        2 => (axis.clone(), axis.clone(), axis.clone()).prop_map(|(d, h, w)| vec![d, h, w]),
        1 => (axis.clone(), axis).prop_map(|(h, w)| vec![h, w]),
    ];
    (shape, 1..=2usize, 1..=4usize, any::<u64>(), any::<(bool, bool, bool, bool)>(), 1..=20u64).prop_map(
        |(shape, batch, channels, seed, (multilabel, from_logits, masked, ignored), rarity)| {
            let mut state = seed | 1;
            let ignore_index = (ignored && !multilabel).then_some(-1);
            let spec = ScoreSpec { multilabel, from_logits, ignore_index };
            let full = [&[batch, channels], &shape[..]].concat();
            let labels = if multilabel { full.clone() } else { [&[batch], &shape[..]].concat() };
            let classes = if multilabel || channels == 1 { 2 } else { channels as u64 };
            let mut target = ArrayD::from_shape_simple_fn(IxDyn(&labels), || {
                if next(&mut state).is_multiple_of(rarity) {
                    i64::try_from(next(&mut state) % classes).expect("small")
                } else {
                    0
                }
            });
            if ignore_index.is_some() {
                target.iter_mut().for_each(|label| {
                    if next(&mut state).is_multiple_of(5) {
                        *label = -1;
                    }
                });
            }
            let mask =
                masked.then(|| ArrayD::from_shape_simple_fn(IxDyn(&labels), || !next(&mut state).is_multiple_of(3)));
            // Steps of 1/16 tie often and are exact in every precision.
            let mut pred = ArrayD::from_shape_simple_fn(IxDyn(&full), || sixteenths(next(&mut state) % 17));
            if from_logits {
                pred.iter_mut().for_each(|value| {
                    *value = if next(&mut state).is_multiple_of(7) { -0.0 } else { (*value - 0.5) * 8.0 };
                });
            } else if !multilabel && channels > 1 {
                distribute(&mut pred, &mut state);
            }
            let mut case = ScoreCase { spec, pred, target, mask };
            spoil(&mut case);
            case
        },
    )
}

#[expect(clippy::cast_precision_loss, reason = "small")]
fn sixteenths(count: u64) -> f64 {
    count as f64 / 16.0
}

/// Makes each voxel's channels sum to 1, in steps of 1/16.
fn distribute(pred: &mut ArrayD<f64>, state: &mut u64) {
    for mut case in pred.outer_iter_mut() {
        let channels = case.shape()[0];
        let voxels: usize = case.shape()[1..].iter().product();
        let mut flat = vec![0.0; channels * voxels];
        for voxel in 0..voxels {
            let mut left = 16;
            for channel in 0..channels {
                let part = if channel + 1 == channels { left } else { next(state) % (left + 1) };
                left -= part;
                flat[channel * voxels + voxel] = sixteenths(part);
            }
        }
        case.iter_mut().zip(flat).for_each(|(value, new)| *value = new);
    }
}

/// Puts garbage where voxels do not count.
fn spoil(case: &mut ScoreCase) {
    let Some(mask) = &case.mask else { return };
    let shape = case.pred.shape().to_vec();
    let (channels, voxels) = (shape[1], shape[2..].iter().product::<usize>());
    let mask: Vec<bool> = mask.iter().copied().collect();
    for (i, value) in case.pred.iter_mut().enumerate() {
        let at = if case.spec.multilabel { i } else { i / (channels * voxels) * voxels + i % voxels };
        if !mask[at] {
            *value = if i % 2 == 0 { f64::NAN } else { 77.0 };
        }
    }
    for (label, keep) in case.target.iter_mut().zip(mask) {
        if !keep {
            *label = 99;
        }
    }
}

/// xorshift64*: enough for test volumes.
fn next(state: &mut u64) -> u64 {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 20
}

/// Probabilities of a map, in double precision.
pub fn naive_probabilities(map: &NaiveMap, spec: &ScoreSpec) -> Vec<Vec<f64>> {
    if !spec.from_logits {
        return map.channels.clone();
    }
    if let [channel] = &map.channels[..] {
        return vec![channel.iter().map(|x| 1.0 / (1.0 + (-x).exp())).collect()];
    }
    naive_log_softmax(map).into_iter().map(|channel| channel.into_iter().map(f64::exp).collect()).collect()
}

fn naive_log_softmax(map: &NaiveMap) -> Vec<Vec<f64>> {
    let mut out = map.channels.clone();
    for voxel in 0..map.labels.len() {
        let most = map.channels.iter().map(|channel| channel[voxel]).fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = map.channels.iter().map(|channel| (channel[voxel] - most).exp()).fold(0.0, |sum, e| sum + e);
        for (out, channel) in out.iter_mut().zip(&map.channels) {
            out[voxel] = (channel[voxel] - most) - sum.ln();
        }
    }
    out
}

/// Brier terms and logarithmic terms of each voxel, by the definition.
pub fn naive_terms(map: &NaiveMap, spec: &ScoreSpec) -> (Vec<f64>, Vec<f64>) {
    let mut probabilities = naive_probabilities(map, spec);
    let brier = |voxel: usize, probabilities: &[Vec<f64>]| -> f64 {
        let gap = |class: usize, p: f64| (p - if map.labels[voxel] == class as i64 { 1.0 } else { 0.0 }).powi(2);
        match probabilities {
            [positive] => gap(1, positive[voxel]),
            all => all.iter().enumerate().map(|(class, channel)| gap(class, channel[voxel])).sum(),
        }
    };
    let briers = (0..map.labels.len()).map(|voxel| brier(voxel, &probabilities)).collect();
    if let [positive] = &probabilities[..] {
        probabilities = vec![positive.iter().map(|p| 1.0 - p).collect(), positive.clone()];
    }
    let class = |label: &i64| usize::try_from(*label).expect("a class");
    let losses = map.labels.iter().enumerate().map(|(voxel, label)| -probabilities[class(label)][voxel].ln());
    (briers, losses.collect())
}

/// Count, confidence and outcomes of each bin of one column, by the definition.
pub fn naive_reliability(
    map: &NaiveMap,
    spec: &ScoreSpec,
    bins: Bins,
    mode: CalibrationMode,
    column: usize,
) -> Vec<(u64, f64, u64)> {
    let probabilities = naive_probabilities(map, spec);
    let mut out = vec![(0, 0.0, 0); bins.count()];
    for (voxel, &label) in map.labels.iter().enumerate() {
        let row: Vec<f64> = probabilities.iter().map(|channel| channel[voxel]).collect();
        let top = mode == CalibrationMode::TopLabel && !spec.multilabel;
        let (confidence, outcome) = match (&row[..], top) {
            ([p], false) => (*p, label == 1),
            ([p], true) => (p.max(1.0 - p), (label == 1) == (*p > 0.5)),
            (row, false) => (row[column], label == column as i64),
            (row, true) => {
                let best = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                (best, row.iter().position(|&p| p == best) == usize::try_from(label).ok())
            }
        };
        let bin = &mut out[bins.of(confidence) as usize];
        *bin = (bin.0 + 1, bin.1 + confidence, bin.2 + u64::from(outcome));
    }
    out
}

/// Scores that a column ranks, and whether each is a positive.
pub fn naive_ranked(map: &NaiveMap, spec: &ScoreSpec, class: usize) -> Vec<(f64, bool)> {
    let scores = match (&map.channels[..], spec.from_logits) {
        ([channel], _) => channel.clone(),
        (channels, false) => channels[class].clone(),
        (_, true) => naive_log_softmax(map).swap_remove(class),
    };
    let wanted = if map.channels.len() == 1 { 1 } else { class as i64 };
    scores.into_iter().zip(&map.labels).map(|(score, &label)| (score + 0.0, label == wanted)).collect()
}

/// The sums of a ranking, pair by pair.
#[expect(clippy::cast_precision_loss, reason = "small")]
pub fn naive_rank_sums(ranked: &[(f64, bool)]) -> RankSums {
    let side = |wanted: bool| ranked.iter().filter(move |(_, positive)| *positive == wanted).map(|(score, _)| *score);
    let mut sums =
        RankSums { positives: side(true).count() as u64, negatives: side(false).count() as u64, ..RankSums::default() };
    let mut positives: Vec<f64> = side(true).collect();
    positives.sort_by(|a, b| b.total_cmp(a));
    for &score in &positives {
        for negative in side(false) {
            sums.wins += if score > negative { 2 } else { u128::from(score == negative) };
        }
    }
    positives.dedup();
    for score in positives {
        let found = |wanted: bool| side(wanted).filter(|other| *other >= score).count() as f64;
        let here = side(true).filter(|other| *other == score).count() as f64;
        sums.precision_sum += here * (found(true) / (found(true) + found(false)));
    }
    sums
}

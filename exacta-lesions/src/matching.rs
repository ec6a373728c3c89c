//! Which predictions serve which instances of the reference.

use exacta_core::stages::{Contingency, Overlap};
use exacta_core::{MatchRule, MatchScore, Matching};

use crate::assignment::{Edge, best_assignment};

/// What an assigned pair is worth beyond its score: of two assignments of one sum, the one of more pairs is taken.
pub(crate) const WORTH: f64 = 1e-6;

/// The predictions matched with each instance.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Matches {
    /// Entry `i` is about instance `i + 1`: the numbers of its predictions, from 1, in the order in which they were taken.
    pub of_target: Vec<Vec<u32>>,
}

impl Matches {
    /// Number of instances that have a prediction.
    pub fn matched(&self) -> usize {
        self.of_target.iter().filter(|preds| !preds.is_empty()).count()
    }

    /// Whether each of `count` predictions serves some instance.
    ///
    /// # Panics
    /// If a match names a prediction beyond `count`.
    pub fn serving(&self, count: usize) -> Vec<bool> {
        let mut serves = vec![false; count];
        for &pred in self.of_target.iter().flatten() {
            serves[pred as usize - 1] = true;
        }
        serves
    }
}

/// Matches predictions with instances of the reference; only pairs that share a voxel are candidates.
///
/// `pred_sizes` and `target_sizes` hold the voxels of number 1, 2, ..; `contingency` the voxels that pairs share.
///
/// | matching | rule |
/// |---|---|
/// | greedy | candidates in falling order of score; a pair is taken if its score passes and neither side is taken |
/// | hungarian | the one-to-one set of passing pairs with the largest sum of `score + 1e-6` |
/// | merge | as greedy, and a free prediction joins a matched instance if the score of all its predictions together is then strictly larger; such a pair need not pass |
/// | overlap | every pair that shares a voxel; score and threshold are not read |
///
/// # Ties
/// Of equal scores the pair with the smaller prediction comes first, then the one with the smaller instance. Of several assignments
/// with the same largest sum, the one that [`Matching::Hungarian`] takes depends on the table alone.
/// # Agreement
/// Panoptica 2.1.7: `NaiveThresholdMatching`, `MaxBipartiteMatching` (`scipy.optimize.linear_sum_assignment` on the matrix of `1 - score`),
/// `MaximizeMergeMatching`. BraTS 2023: overlap.
/// # Panics
/// If the table names a number beyond the sizes.
pub fn match_instances(
    pred_sizes: &[u64],
    target_sizes: &[u64],
    contingency: &Contingency,
    rule: &MatchRule,
) -> Matches {
    let mut of_target = vec![Vec::new(); target_sizes.len()];
    let candidates = || ranked(pred_sizes, target_sizes, contingency, rule.score);
    match rule.matching {
        Matching::Overlap => {
            for overlap in &contingency.overlaps {
                of_target[overlap.target as usize - 1].push(overlap.pred);
            }
        }
        Matching::Hungarian => {
            let passing = contingency.overlaps.iter().filter_map(|overlap| {
                let score = score_of(pred_sizes, target_sizes, overlap, rule.score);
                let edge = Edge { row: overlap.target - 1, column: overlap.pred - 1, worth: score + WORTH };
                rule.passes(score).then_some(edge)
            });
            for (target, pred) in best_assignment(target_sizes.len(), pred_sizes.len(), passing.collect()) {
                of_target[target as usize].push(pred + 1);
            }
        }
        Matching::Greedy | Matching::Merge => {
            let merge = rule.matching == Matching::Merge;
            let mut used = vec![false; pred_sizes.len()];
            // Voxels of the predictions of each instance, shared and in all.
            let mut joined = vec![(0, 0); if merge { target_sizes.len() } else { 0 }];
            for (score, overlap) in candidates() {
                let (pred, target) = (overlap.pred as usize - 1, overlap.target as usize - 1);
                let taken = !of_target[target].is_empty();
                if used[pred] || taken && !merge {
                    continue;
                }
                if taken {
                    let (shared, voxels) = joined[target];
                    let now = rule.score.of(shared, voxels, target_sizes[target]);
                    let (shared, voxels) = (shared + overlap.voxels, voxels + pred_sizes[pred]);
                    if rule.score.of(shared, voxels, target_sizes[target]) <= now {
                        continue;
                    }
                } else if !rule.passes(score) {
                    continue;
                }
                used[pred] = true;
                of_target[target].push(overlap.pred);
                if merge {
                    joined[target].0 += overlap.voxels;
                    joined[target].1 += pred_sizes[pred];
                }
            }
        }
    }
    Matches { of_target }
}

fn score_of(pred_sizes: &[u64], target_sizes: &[u64], overlap: &Overlap, score: MatchScore) -> f64 {
    score.of(overlap.voxels, pred_sizes[overlap.pred as usize - 1], target_sizes[overlap.target as usize - 1])
}

/// The pairs that share a voxel, best first; equal ones in order of prediction and instance, as the table lists them.
fn ranked<'a>(
    pred_sizes: &[u64],
    target_sizes: &[u64],
    contingency: &'a Contingency,
    score: MatchScore,
) -> Vec<(f64, &'a Overlap)> {
    let scored = |overlap| (score_of(pred_sizes, target_sizes, overlap, score), overlap);
    let mut ranked: Vec<_> = contingency.overlaps.iter().map(scored).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    ranked
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(overlaps: &[(u32, u32, u64)]) -> Contingency {
        let overlap = |&(pred, target, voxels)| Overlap { pred, target, voxels };
        Contingency { overlaps: overlaps.iter().map(overlap).collect() }
    }

    fn check(pred: &[u64], target: &[u64], overlaps: &[(u32, u32, u64)], rule: MatchRule, wanted: &[&[u32]]) {
        let found = match_instances(pred, target, &table(overlaps), &rule);
        assert_eq!(found.of_target, wanted, "{rule:?}");
    }

    #[test]
    fn ties_go_to_the_lower_number_and_the_threshold_is_inclusive_unless_strict() {
        // P29: ref 1122, pred 1111.
        let rule = MatchRule::new(Matching::Greedy);
        let (pred, target, shared): (_, _, &[_]) = (&[4], &[2, 2], &[(1, 1, 2), (1, 2, 2)]);
        check(pred, target, shared, rule, &[&[1], &[]]);
        check(pred, target, shared, MatchRule { strict: true, ..rule }, &[&[], &[]]);
    }

    #[test]
    fn the_matcher_decides() {
        // P58: references 0:10 and 10:20, predictions 3:14 and 0:3.
        let overlaps: &[_] = &[(1, 1, 7), (1, 2, 4), (2, 1, 3)];
        let rule = |matching| MatchRule { threshold: 0.2, ..MatchRule::new(matching) };
        check(&[11, 3], &[10, 10], overlaps, rule(Matching::Greedy), &[&[1], &[]]);
        check(&[11, 3], &[10, 10], overlaps, rule(Matching::Hungarian), &[&[2], &[1]]);
        check(&[11, 3], &[10, 10], overlaps, rule(Matching::Merge), &[&[1, 2], &[]]);
        check(&[11, 3], &[10, 10], overlaps, rule(Matching::Overlap), &[&[1, 2], &[1]]);
        // A pair of IoU 0.8 at two thresholds.
        for (threshold, wanted) in [(0.75, &[1u32][..]), (0.9, &[])] {
            for matching in [Matching::Greedy, Matching::Hungarian, Matching::Merge] {
                let rule = MatchRule { threshold, ..MatchRule::new(matching) };
                check(&[8], &[10], &[(1, 1, 8)], rule, &[wanted]);
            }
        }
    }

    #[test]
    fn odd_thresholds() {
        for matching in [Matching::Greedy, Matching::Hungarian, Matching::Merge] {
            for (threshold, found) in [(f64::NAN, false), (-1.0, true), (0.0, true), (1.5, false)] {
                let rule = MatchRule { threshold, ..MatchRule::new(matching) };
                check(&[100], &[100], &[(1, 1, 1)], rule, &[if found { &[1] } else { &[] }]);
            }
        }
    }
}

//! Percentiles of weighted distances, as DeepMind's surface-distance takes them.

use super::compensated;
use crate::Percentile;
use crate::stages::{Bin, Nearer};

/// The nearest elements of a surface whose elements have weights, all of them or some.
#[derive(Debug, Clone)]
pub struct WeightedPrefix {
    /// Elements of each direction of which the distance is not known. Those of one are nearer than its bins; where another's bins are
    /// nearer than they may be, no percentile is found that hangs on their order.
    pub nearer: Vec<Nearer>,
    /// Bins in any order; every element that is neither among them nor nearer is farther than all of these.
    pub bins: Vec<Bin>,
    /// Weight of all elements, in any order of the sum, right to a relative 1e-13.
    pub weight: f64,
    /// Whether there are no elements farther than those known.
    pub complete: bool,
}

/// By how much, relatively, two orders of one sum of positive terms may differ here. A pairwise sum of less than 2^40 terms is
/// right to 64 roundings, and [`WeightedPrefix::weight`] to 1e-13.
const SLACK: f64 = 1e-12;

/// By how much, relatively, the sum of `n` weights one after the other may differ from their sum in another order.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
pub fn order_slack(n: u64) -> f64 {
    SLACK + n as f64 * f64::EPSILON
}

/// The weighted percentile: the distance of the first element, in ascending order of (distance, weight), at which the
/// cumulative weight divided by the total weight reaches `q / 100`; of the last element if none does.
///
/// Both sums are those of NumPy to the last bit, since with equal weights the share can hit the percentile exactly:
/// `cumsum` adds one element after the other, `sum` adds pairwise. Where farther elements are not known, their pairwise sum is not
/// either; the answer is then given if every total within rounding of [`WeightedPrefix::weight`] gives the same.
///
/// `None` where the elements known do not decide.
pub fn crossing(mut known: WeightedPrefix, q: Percentile) -> Option<f64> {
    known.bins.sort_unstable_by(|a, b| a.distance.total_cmp(&b.distance).then(a.weight.total_cmp(&b.weight)));
    let (mut bins, share) = (&known.bins[..], q.value() / 100.0);
    known.nearer.retain(|nearer| nearer.total() > 0);
    if known.complete && known.nearer.is_empty() {
        let total = pairwise(bins);
        return first(bins, 0.0, total, share).or_else(|| bins.last().map(|bin| bin.distance));
    }
    let mut passed = [0.0; 2];
    if !known.nearer.is_empty() {
        let within = known.nearer.iter().map(|nearer| nearer.within).fold(0.0, f64::max);
        let (near, far) = bins.split_at(bins.partition_point(|bin| bin.distance <= within));
        let counts = known.nearer.iter().flat_map(|nearer| nearer.counts.iter().copied());
        let weight = weigh(counts.chain(near.iter().map(|bin| (bin.weight, bin.count))));
        let near_total: u64 = near.iter().map(|bin| bin.count).sum();
        let slack = order_slack(known.nearer.iter().map(Nearer::total).sum::<u64>() + near_total);
        (bins, passed) = (far, [weight * (1.0 - slack), weight * (1.0 + slack)]);
        if passed[1] >= share * known.weight * (1.0 - SLACK) {
            return None;
        }
    }
    let (low, high) = (known.weight * (1.0 - SLACK), known.weight * (1.0 + SLACK));
    let farthest = first(bins, passed[0], high, share)?;
    (first(bins, passed[1], low, share) == Some(farthest)).then_some(farthest)
}

/// Sum of weights, in any order.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn weigh(counts: impl Iterator<Item = (f64, u64)>) -> f64 {
    compensated(counts.map(|(weight, count)| weight * count as f64))
}

/// The first distance at which the share is reached, after the weight that was passed before the bins.
fn first(bins: &[Bin], mut passed: f64, total: f64, share: f64) -> Option<f64> {
    // Below this, no division is needed to see that the share is not reached.
    let near = share * total * (1.0 - SLACK);
    for bin in bins {
        for _ in 0..bin.count {
            passed += bin.weight;
            if passed >= near && passed / total >= share {
                return Some(bin.distance);
            }
        }
    }
    None
}

/// Sum of the weights of all elements in order, as `numpy.sum` adds a vector.
fn pairwise(bins: &[Bin]) -> f64 {
    let mut weights = bins.iter().flat_map(|bin| (0..bin.count).map(|_| bin.weight));
    pairwise_of(&mut weights, bins.iter().map(|bin| bin.count).sum())
}

/// Sum of the next `n` weights.
fn pairwise_of(weights: &mut impl Iterator<Item = f64>, n: u64) -> f64 {
    if n > 128 {
        let half = n / 2 / 8 * 8;
        let left = pairwise_of(weights, half);
        return left + pairwise_of(weights, n - half);
    }
    let mut next = || weights.next().unwrap_or(0.0);
    if n < 8 {
        return (0..n).fold(0.0, |sum, _| sum + next());
    }
    let mut lanes = [0.0; 8];
    for _ in 0..n / 8 {
        for lane in &mut lanes {
            *lane += next();
        }
    }
    let [a, b, c, d, e, f, g, h] = lanes;
    (0..n % 8).fold(((a + b) + (c + d)) + ((e + f) + (g + h)), |sum, _| sum + next())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bins(elements: &[(f64, f64)]) -> Vec<Bin> {
        elements.iter().map(|&(distance, weight)| Bin { distance, weight, count: 1 }).collect()
    }

    fn complete(elements: &[(f64, f64)], q: f64) -> Option<f64> {
        let weight = elements.iter().map(|e| e.1).sum();
        let q = Percentile::new(q).expect("in range");
        crossing(WeightedPrefix { nearer: Vec::new(), bins: bins(elements), weight, complete: true }, q)
    }

    #[test]
    fn the_first_element_that_reaches_the_share() {
        let equal = [(0.0, 1.0), (1.0, 1.0), (2.0, 1.0), (3.0, 1.0)];
        for (q, wanted) in
            [(0.0, 0.0), (25.0, 0.0), (25.0001, 1.0), (50.0, 1.0), (75.0, 2.0), (95.0, 3.0), (100.0, 3.0)]
        {
            assert_eq!(complete(&equal, q), Some(wanted), "{q}");
        }
        let unequal = [(2.0, 0.7), (0.0, 0.1), (1.0, 0.2)];
        for (q, wanted) in [(10.0, 0.0), (30.0, 1.0), (30.000_001, 2.0)] {
            assert_eq!(complete(&unequal, q), Some(wanted), "{q}");
        }
    }

    #[test]
    fn sums_are_those_of_numpy() {
        // numpy 2.2: `w = 1 / np.arange(1, n + 1); w.sum()` and `w.cumsum()[-1]`.
        for (n, sum, last) in SUMS {
            let elements: Vec<Bin> =
                (1..=n).map(|i| Bin { distance: 0.0, weight: 1.0 / f64::from(i), count: 1 }).collect();
            assert_eq!(pairwise(&elements), sum, "{n}");
            assert_eq!(elements.iter().fold(0.0, |sum, bin| sum + bin.weight), last, "{n}");
        }
        let counted = [Bin { distance: 0.0, weight: 0.1, count: 1000 }, Bin { distance: 1.0, weight: 0.3, count: 77 }];
        let apart: Vec<Bin> = counted.iter().flat_map(|bin| (0..bin.count).map(|_| Bin { count: 1, ..*bin })).collect();
        assert_eq!(pairwise(&counted), pairwise(&apart));
    }

    const SUMS: [(u32, f64, f64); 7] = [
        (5, 2.283333333333333, 2.283333333333333),
        (8, 2.7178571428571425, 2.7178571428571425),
        (19, 3.547739657143682, 3.547739657143682),
        (128, 5.433147092589173, 5.433147092589174),
        (129, 5.440899030573669, 5.44089903057367),
        (1000, 7.485470860550345, 7.485470860550343),
        (5003, 9.095108613096379, 9.095108613096347),
    ];

    #[test]
    fn an_unknown_rest_is_waited_for_only_where_it_matters() {
        let known = |q: f64| {
            let bins = bins(&[(0.0, 1.0), (1.0, 1.0), (2.0, 1.0)]);
            let q = Percentile::new(q).expect("in range");
            crossing(WeightedPrefix { nearer: Vec::new(), bins, weight: 4.0, complete: false }, q)
        };
        assert_eq!((known(20.0), known(60.0)), (Some(0.0), Some(2.0)));
        // The share of one element is a quarter, give or take a rounding of the rest.
        assert_eq!((known(25.0), known(75.0), known(80.0)), (None, None, None));
    }
}

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
        let mut left = bin.count;
        while left > 0 {
            if left > FEW {
                let steps;
                (passed, steps) = leap(passed, bin.weight, left, near);
                left -= steps;
            }
            if left > 0 {
                passed += bin.weight;
                left -= 1;
            }
            if passed >= near && passed / total >= share {
                return Some(bin.distance);
            }
        }
    }
    None
}

/// Fewest equal weights worth a leap.
const FEW: u64 = 8;

/// The sum after some further steps that each add `weight` and round, and how many: at most `steps`, and not as far as `near`.
///
/// Between two powers of two, numbers are whole multiples of one unit, so each step adds the multiple that the weight rounds to. Where
/// it lies midway, rounding goes to the even multiple, and each step from an even one adds the same again. So a step that follows one
/// within the same powers is that of all to come, and their sum is exact.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "whole numbers that are not negative; too large ones are cut"
)]
fn leap(from: f64, weight: f64, steps: u64, near: f64) -> (f64, u64) {
    let first = from + weight;
    let step = (first + weight) - first;
    if first >= near {
        return (from, 0);
    }
    if step == 0.0 {
        return (first, steps);
    }
    // The power of two above the first sum.
    let exponent = first.to_bits() & 0x7ff0_0000_0000_0000;
    let above = 2.0 * f64::from_bits(exponent);
    if from.to_bits() & 0x7ff0_0000_0000_0000 != exponent || exponent == 0 || above == f64::INFINITY {
        return (from, 0);
    }
    let room = if above < near { above } else { near } - first;
    // Two steps fewer than there is room for, whatever the rounding of the quotient.
    let more = (room / step * (1.0 - 1e-15)) as u64;
    let more = more.saturating_sub(2).min(steps - 1);
    if more == 0 { (from, 0) } else { (first + more as f64 * step, more + 1) }
}

/// Sum of the weights of all elements in order, as `numpy.sum` adds a vector.
fn pairwise(bins: &[Bin]) -> f64 {
    let mut rest = Rest { bins: bins.iter(), weight: 0.0, left: 0, equal: Vec::new() };
    rest.pairwise(bins.iter().map(|bin| bin.count).sum())
}

/// Weights that are still to be added.
struct Rest<'a> {
    bins: std::slice::Iter<'a, Bin>,
    weight: f64,
    /// How many more of this weight come first.
    left: u64,
    /// Sums of so many equal weights, as far as they were needed.
    equal: Vec<(u64, f64)>,
}

impl Rest<'_> {
    fn next(&mut self) -> f64 {
        self.begin();
        self.left = self.left.saturating_sub(1);
        self.weight
    }

    /// Goes on to the next bin if this one is used up.
    fn begin(&mut self) {
        while self.left == 0 {
            let Some(bin) = self.bins.next() else {
                self.weight = 0.0;
                return;
            };
            if bin.weight != self.weight {
                self.equal.clear();
            }
            (self.weight, self.left) = (bin.weight, bin.count);
        }
    }

    /// Sum of the next `n` weights.
    fn pairwise(&mut self, n: u64) -> f64 {
        self.begin();
        if n <= self.left {
            self.left -= n;
            return self.of_equal(n);
        }
        if n > 128 {
            let half = n / 2 / 8 * 8;
            let left = self.pairwise(half);
            return left + self.pairwise(n - half);
        }
        block(n, || self.next())
    }

    /// The same where all are equal: sums of as many are equal too, and at each level there are but two.
    fn of_equal(&mut self, n: u64) -> f64 {
        if let Some(&(_, sum)) = self.equal.iter().find(|(of, _)| *of == n) {
            return sum;
        }
        let sum = if n > 128 {
            let half = n / 2 / 8 * 8;
            self.of_equal(half) + self.of_equal(n - half)
        } else {
            block(n, || self.weight)
        };
        self.equal.push((n, sum));
        sum
    }
}

/// Sum of up to 128 weights.
fn block(n: u64, mut next: impl FnMut() -> f64) -> f64 {
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

    /// Sums one weight after the other, and block by block, of many equal ones.
    #[test]
    fn equal_weights_at_once() {
        let mut state = 7u64;
        let mut next = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        for round in 0..60 {
            // Halves and whole multiples of units make ties.
            let weights = [0.1, 0.25, 1.0 / 3.0, 1.0, 1.5, 3.0 * f64::powi(2.0, -40), 1e-9, 0.216_506_350_946_109_66];
            let tiny = 1.0 + f64::EPSILON * next(4) as f64;
            let bins: Vec<Bin> = (0..1 + next(6))
                .map(|i| Bin {
                    distance: i as f64,
                    weight: weights[next(8) as usize] * if round % 2 == 0 { 1.0 } else { tiny },
                    count: next(if i % 2 == 0 { 40_000 } else { 90 }),
                })
                .collect();
            let one_each = || bins.iter().flat_map(|bin| (0..bin.count).map(|_| Bin { count: 1, ..*bin }));
            let apart: Vec<Bin> = one_each().collect();
            assert_eq!(pairwise(&bins), pairwise(&apart));
            let mut weights = apart.iter().map(|bin| bin.weight);
            let plain = plain(&mut weights, apart.len() as u64);
            assert_eq!(pairwise(&bins), plain);
            for share in [0.0, 0.1, 0.5, 0.75, 0.95, 0.999_999, 1.0] {
                for total in [plain, plain * (1.0 - SLACK), plain * (1.0 + SLACK)] {
                    let mut passed = 0.0;
                    let wanted = apart.iter().find(|bin| {
                        passed += bin.weight;
                        passed / total >= share
                    });
                    assert_eq!(first(&bins, 0.0, total, share), wanted.map(|bin| bin.distance), "{share} of {bins:?}");
                }
            }
        }
    }

    /// `numpy.sum` as it is written.
    fn plain(weights: &mut impl Iterator<Item = f64>, n: u64) -> f64 {
        if n > 128 {
            let half = n / 2 / 8 * 8;
            let left = plain(weights, half);
            return left + plain(weights, n - half);
        }
        block(n, || weights.next().expect("as many as counted"))
    }

    /// Every step on the way is that of a plain sum.
    #[test]
    fn leaps_are_steps() {
        for weight in [0.1, 1.0 / 3.0, 0.75, 1e-16, 1.0 + f64::EPSILON, 1.5 * f64::EPSILON, 0.5 * f64::EPSILON] {
            for from in [0.0, 0.3, 1.0, 1.0 + f64::EPSILON, 1.999, 1e6, 1e15] {
                let (sum, steps) = leap(from, weight, 1_000_000, f64::INFINITY);
                let plain = (0..steps).fold(from, |sum, _| sum + weight);
                assert_eq!(sum, plain, "{steps} times {weight} from {from}");
            }
        }
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

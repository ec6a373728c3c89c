//! Statistics of distance histograms, in a fixed order of sums.

use crate::stages::{Bin, Directed, Elements};
use crate::{Error, Percentile, Result};

mod weighted;

pub use weighted::{WeightedPrefix, crossing, order_slack};

/// Percentile of the distances of one direction.
///
/// Of points, with `n` distances sorted ascending, `pos = q / 100 * (n - 1)`, `lo = floor(pos)`, `hi = min(lo + 1, n - 1)`:
/// `d[lo] + (d[hi] - d[lo]) * (pos - lo)`. Of patches, the [`crossing`]: the first distance at which the cumulative
/// share of the weight reaches `q / 100`. `q = 100` is the maximum.
///
/// # Errors
/// [`Error::NotResolved`] where the histogram ends before rank `hi`.
///
/// # Panics
/// If there is no element: what an empty surface means is the caller's policy.
pub fn percentile(directed: &Directed, q: Percentile) -> Result<f64> {
    percentile_of(&[directed], q)
}

/// Percentile of the distances of both directions together.
///
/// # Errors
/// As [`percentile`].
///
/// # Panics
/// As [`percentile`].
pub fn pooled_percentile(a: &Directed, b: &Directed, q: Percentile) -> Result<f64> {
    percentile_of(&[a, b], q)
}

/// The two ranks that a percentile of `n` values lies between, and where between them.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts are far below 2^53 and the position is not negative"
)]
pub fn ranks(n: u64, q: f64) -> (u64, u64, f64) {
    let position = q / 100.0 * (n - 1) as f64;
    let low = position.floor();
    let rank = low as u64;
    (rank, (rank + 1).min(n - 1), position - low)
}

fn percentile_of(directions: &[&Directed], q: Percentile) -> Result<f64> {
    let n: u64 = directions.iter().map(|d| d.total).sum();
    assert!(n > 0, "a percentile of no distances");
    let resolved = directions.iter().map(|d| d.resolved).fold(f64::INFINITY, f64::min);
    if q.is_max() {
        let max =
            directions.iter().filter(|d| d.total > 0).map(|d| d.max).try_fold(0.0, |a: f64, b| b.map(|b| a.max(b)));
        return max.ok_or(Error::NotResolved { resolved });
    }
    if directions[0].elements == Elements::Patches {
        let bins: Vec<Bin> =
            directions.iter().flat_map(|d| d.bins.iter().copied()).filter(|b| b.distance < resolved).collect();
        let weight = directions.iter().map(|d| d.weight).sum();
        let nearer = directions.iter().map(|d| d.nearer.clone()).collect();
        let known = WeightedPrefix { nearer, bins, weight, complete: resolved == f64::INFINITY };
        let crossing = crossing(known, q).ok_or(Error::NotResolved { resolved })?;
        directions.iter().try_for_each(|d| told_apart(d, crossing))?;
        return Ok(crossing);
    }
    let (low, high, fraction) = ranks(n, q.value());
    let mut bins: Vec<Bin> =
        directions.iter().flat_map(|d| d.bins.iter().copied()).filter(|b| b.distance <= resolved).collect();
    if directions.len() > 1 {
        bins.sort_by(|a, b| a.distance.total_cmp(&b.distance));
    }
    let at = |rank: u64| {
        let mut before = 0;
        bins.iter().find_map(|bin| {
            before += bin.count;
            (rank < before).then_some(bin.distance)
        })
    };
    let (Some(low), Some(high)) = (at(low), at(high)) else {
        return Err(Error::NotResolved { resolved });
    };
    directions.iter().try_for_each(|d| told_apart(d, low).and_then(|()| told_apart(d, high)))?;
    Ok(low + (high - low) * fraction)
}

/// Whether elements at a distance are counted each at its own.
fn told_apart(directed: &Directed, distance: f64) -> Result<()> {
    match directed.coarse {
        Some([from, to]) if from <= distance && distance < to => Err(Error::NotResolved { resolved: from }),
        _ => Ok(()),
    }
}

/// Sum of all distances of one direction, each times its weight, in ascending order.
///
/// # Errors
/// [`Error::NotResolved`] unless every distance is known.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
pub fn sum(directed: &Directed) -> Result<f64> {
    if directed.nearer.total() > 0 {
        return Err(Error::NotResolved { resolved: 0.0 });
    }
    if directed.resolved < f64::INFINITY || directed.coarse.is_some() {
        return Err(Error::NotResolved { resolved: directed.resolved });
    }
    Ok(compensated(directed.bins.iter().map(|bin| bin.count as f64 * bin.weight * bin.distance)))
}

/// Weight of the elements at most `tolerance` away, their number for points; equal counts as within. All of them weigh
/// [`Directed::weight`], to the last bit.
///
/// # Errors
/// [`Error::NotResolved`] where the histogram ends before the tolerance.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
pub fn within(directed: &Directed, tolerance: f64) -> Result<f64> {
    if directed.resolved <= tolerance {
        return Err(Error::NotResolved { resolved: directed.resolved });
    }
    told_apart(directed, tolerance)?;
    let nearer = &directed.nearer;
    if tolerance < nearer.within && nearer.total() > 0 {
        return Err(Error::NotResolved { resolved: 0.0 });
    }
    let close = &directed.bins[..directed.bins.partition_point(|bin| bin.distance <= tolerance)];
    let close = close.iter().map(|bin| (bin.weight, bin.count)).chain(nearer.counts.iter().copied());
    // By weight: then the sum does not depend on how much of the distances is known.
    let mut counts: Vec<(f64, u64)> = Vec::new();
    for (weight, count) in close {
        match counts.binary_search_by(|known| known.0.total_cmp(&weight)) {
            Ok(at) => counts[at].1 += count,
            Err(at) => counts.insert(at, (weight, count)),
        }
    }
    if counts.iter().map(|counts| counts.1).sum::<u64>() == directed.total {
        return Ok(directed.weight);
    }
    Ok(compensated(counts.iter().map(|&(weight, count)| count as f64 * weight)).min(directed.weight))
}

/// Sum with the rounding errors carried along (Neumaier 1974): its error does not grow with the number of terms.
pub fn compensated(terms: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut lost) = (0.0f64, 0.0);
    for term in terms {
        let next = sum + term;
        lost += if sum.abs() >= term.abs() { (sum - next) + term } else { (term - next) + sum };
        sum = next;
    }
    sum + lost
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stages::Nearer;

    fn directed(distances: &[(f64, u64)]) -> Directed {
        let bins: Vec<Bin> = distances.iter().map(|&(distance, count)| Bin { distance, weight: 1.0, count }).collect();
        let max = bins.last().map(|bin| bin.distance);
        let lone = Directed::lone_points(bins.iter().map(|bin| bin.count).sum());
        Directed { bins, resolved: f64::INFINITY, max, ..lone }
    }

    fn q(value: f64) -> Percentile {
        Percentile::new(value).expect("inside [0, 100]")
    }

    #[test]
    fn interpolates_between_ranks() {
        let d = directed(&[(0.0, 3), (1.0, 1)]);
        assert_eq!(percentile(&d, q(0.0)), Ok(0.0));
        assert_eq!(percentile(&d, q(50.0)), Ok(0.0));
        // pos = 0.95 * 3 = 2.85, between rank 2 (0) and rank 3 (1).
        assert_eq!(percentile(&d, q(95.0)), Ok(0.95 * 3.0 - 2.0));
        assert_eq!(percentile(&d, q(100.0)), Ok(1.0));
    }

    #[test]
    fn more_than_2_to_the_24_distances() {
        // P21: the values 0, 1, .., 2^24.
        let values: Vec<(f64, u64)> = (0..=1u32 << 24).map(|i| (f64::from(i), 1)).collect();
        let value = percentile(&directed(&values), q(95.0)).expect("all resolved");
        assert!((value - 15_938_355.2).abs() < 1e-6, "{value}");
    }

    #[test]
    fn pooled_is_the_percentile_of_the_union() {
        let (a, b) = (directed(&[(0.0, 1), (2.0, 1)]), directed(&[(1.0, 3)]));
        assert_eq!(pooled_percentile(&a, &b, q(50.0)), Ok(1.0));
        assert_eq!(pooled_percentile(&a, &b, q(100.0)), Ok(2.0));
    }

    #[test]
    fn unresolved_ranks_are_an_error_and_never_a_number() {
        let bins = vec![Bin { distance: 1.0, weight: 1.0, count: 9 }];
        let d = Directed { bins, resolved: 1.0, ..Directed::lone_points(10) };
        assert_eq!(percentile(&d, q(50.0)), Ok(1.0));
        assert_eq!(percentile(&d, q(95.0)), Err(Error::NotResolved { resolved: 1.0 }));
        assert_eq!(percentile(&d, q(100.0)), Err(Error::NotResolved { resolved: 1.0 }));
        assert_eq!(sum(&d), Err(Error::NotResolved { resolved: 1.0 }));
        assert_eq!(within(&d, 0.5), Ok(0.0));
        // An element exactly as far as the resolved distance may be missing.
        assert_eq!(within(&d, 1.0), Err(Error::NotResolved { resolved: 1.0 }));
    }

    #[test]
    fn what_is_nearer_counts_where_it_need_not_be_known() {
        let bins = vec![Bin { distance: 2.0, weight: 2.0, count: 1 }, Bin { distance: 3.0, weight: 1.0, count: 1 }];
        let nearer = Nearer { within: 1.0, counts: vec![(0.5, 4), (2.0, 1)] };
        let elements = Elements::Patches;
        let lone = Directed { elements, total: 7, weight: 7.0, ..Directed::default() };
        let d = Directed { bins, nearer, resolved: f64::INFINITY, max: Some(3.0), ..lone };
        assert_eq!(percentile(&d, q(80.0)), Ok(2.0));
        assert_eq!(percentile(&d, q(90.0)), Ok(3.0));
        assert_eq!(percentile(&d, q(50.0)), Err(Error::NotResolved { resolved: f64::INFINITY }));
        // Four sevenths are passed with what is nearer, give or take a rounding.
        assert_eq!(percentile(&d, q(400.0 / 7.0)), Err(Error::NotResolved { resolved: f64::INFINITY }));
        let other = Directed { bins: d.bins.clone(), total: 2, weight: 3.0, resolved: 4.0, ..Directed::default() };
        assert_eq!(pooled_percentile(&d, &other, q(70.0)), Ok(2.0));
        assert_eq!(sum(&d), Err(Error::NotResolved { resolved: 0.0 }));
        assert_eq!(within(&d, 0.5), Err(Error::NotResolved { resolved: 0.0 }));
        assert_eq!((within(&d, 1.0), within(&d, 2.5), within(&d, 3.0)), (Ok(4.0), Ok(6.0), Ok(7.0)));
    }
}

//! A percentile, or the largest distance, of queries whose distances nearly all differ: without a list of them.
//!
//! One sweep counts queries by weight in buckets of distances, 512 to a power of two. That tells the bucket that a percentile lies
//! in, and another sweep takes the distances in it one by one; closer ones stay counted by bucket.

use std::sync::Mutex;

use exacta_core::Cpu;
use exacta_core::quantile::ranks;
use exacta_core::stages::Elements;

use crate::squared;
use crate::sweep::{Queries, Sink, sweep};
use crate::tags::{Tag, Weights};
use crate::tally::{Known, Tally};

/// Low bits of a double that do not tell buckets apart.
const BITS: u32 = 52 - 9;
/// Most counters.
const MOST: usize = 1 << 21;

/// What is known of a direction after two sweeps.
#[derive(Debug)]
pub(crate) struct Coarse<T> {
    /// Squared distances with their number: at the least of each bucket below `exact`, one by one from there on.
    pub(crate) found: Vec<Known<T>>,
    /// From this squared distance on, up to the next, distances are exact.
    pub(crate) exact: f64,
    /// Everything closer than this (squared) is known.
    pub(crate) reached: f64,
    /// The largest squared distance.
    pub(crate) max: f64,
}

/// Counters of buckets.
struct Buckets {
    first: u64,
    kinds: usize,
    counts: Vec<u64>,
    max: f64,
}

impl Buckets {
    fn of(squared: f64) -> u64 {
        squared.to_bits() >> BITS
    }
}

impl<T: Tag> Sink<T> for Buckets {
    #[inline(always)]
    fn add(&mut self, squared: f64, tag: T) {
        self.max = if squared > self.max { squared } else { self.max };
        let bucket = usize::try_from(Self::of(squared) - self.first).expect("within the table");
        self.counts[bucket * self.kinds + tag.place()] += 1;
    }
}

/// Distances in a range alone.
struct Window<T> {
    low: f64,
    high: f64,
    tally: Tally<T>,
}

impl<T: Tag> Sink<T> for Window<T> {
    #[inline(always)]
    fn add(&mut self, squared: f64, tag: T) {
        if self.low <= squared && squared < self.high {
            self.tally.add(squared, tag);
        }
    }
}

/// The largest alone.
struct Largest(f64);

impl<T: Tag> Sink<T> for Largest {
    #[inline(always)]
    fn add(&mut self, squared: f64, _: T) {
        self.0 = if squared > self.0 { squared } else { self.0 };
    }
}

/// The largest squared distance of the queries.
pub(crate) fn largest<T: Tag>(cpu: &Cpu, spacing: [f64; 3], queries: &Queries<'_, T>) -> f64 {
    let parts = sweep(cpu, spacing, queries, || Largest(0.0), |sink| sink.0);
    parts.expect("never full").into_iter().fold(0.0, f64::max)
}

/// The percentile `q` of a direction of which `known` is known, and the squared distance `beyond` is reached by all queries.
/// `None` where buckets would be too many.
pub(crate) fn percentile<T: Tag>(
    cpu: &Cpu,
    spacing: [f64; 3],
    queries: &Queries<'_, T>,
    weights: &Weights,
    (known, total, weight): (&[Known<T>], u64, f64),
    beyond: f64,
    q: f64,
) -> Option<Coarse<T>> {
    let first = Buckets::of(beyond);
    let last = Buckets::of(squared(spacing, queries.size.map(|n| n as f64)));
    let kinds = weights.values.len();
    let buckets = usize::try_from(last.checked_sub(first)? + 1).ok()?;
    if beyond == 0.0 || buckets.checked_mul(kinds)? > MOST {
        return None;
    }
    let whole = Mutex::new((vec![0u64; buckets * kinds], 0.0f64));
    let make = || Buckets { first, kinds, counts: vec![0; buckets * kinds], max: 0.0 };
    sweep(cpu, spacing, queries, make, |part| {
        let mut whole = whole.lock().expect("no holder panics");
        whole.0.iter_mut().zip(part.counts).for_each(|(a, b)| *a += b);
        whole.1 = whole.1.max(part.max);
    })?;
    let (counts, max) = whole.into_inner().expect("no holder panics");
    let (low, high) = window(T::ELEMENTS, &counts, weights, known, total, weight, q)?;
    let edge = |bucket: usize| f64::from_bits((first + bucket as u64) << BITS);
    let (exact, reached) = (if low == 0 { beyond } else { edge(low) }, edge(high + 1));
    let make = || Window { low: exact, high: reached, tally: Tally::new() };
    let parts = sweep(cpu, spacing, queries, make, |window| window.tally.finish())?;
    let below = counts[..low * kinds].iter().enumerate().filter(|(_, count)| **count > 0);
    let below = below.map(|(i, &count)| {
        let at = if i < kinds { beyond } else { edge(i / kinds) };
        (at, T::from_place(i % kinds), count)
    });
    Some(Coarse { found: below.chain(parts.into_iter().flatten()).collect(), exact, reached, max })
}

/// The first and the last bucket that a percentile may lie in.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn window<T: Tag>(
    elements: Elements,
    counts: &[u64],
    weights: &Weights,
    known: &[Known<T>],
    total: u64,
    weight: f64,
    q: f64,
) -> Option<(usize, usize)> {
    let kinds = weights.values.len();
    let weigh = |place: usize, count: u64| match elements {
        Elements::Points => count as f64,
        Elements::Patches => weights.values[place] * count as f64,
    };
    // More than `low` or `high` must have been passed.
    let (low, high) = match elements {
        Elements::Points => {
            let (low, high, _) = ranks(total, q);
            (low as f64 + 0.5, high as f64 + 0.5)
        }
        Elements::Patches => (weight * (q / 100.0) * (1.0 - 1e-9), weight * (q / 100.0) * (1.0 + 1e-9)),
    };
    let mut passed: f64 = known.iter().map(|known| weigh(known.1.place(), known.2)).sum();
    let mut first = None;
    for (bucket, counts) in counts.chunks_exact(kinds).enumerate() {
        passed += counts.iter().enumerate().map(|(place, &count)| weigh(place, count)).sum::<f64>();
        if passed > low && first.is_none() {
            first = Some(bucket);
        }
        if passed > high {
            return first.map(|first| (first, bucket));
        }
    }
    // The last element itself.
    first.map(|first| (first, counts.len() / kinds - 1))
}

//! Groups of equal scores, from the highest down, and what a ranking sums over them.

use super::sort::Key;
use crate::stages::RankSums;

/// The running sums of a ranking.
#[derive(Debug)]
pub(super) struct Fold {
    sums: RankSums,
    above: (u64, u64),
}

impl Fold {
    pub(super) fn new(positives: u64, negatives: u64) -> Self {
        Self { sums: RankSums { positives, negatives, ..RankSums::default() }, above: (0, 0) }
    }

    /// The next lower group. Groups without positives may be taken together, and so may those without negatives where
    /// precisions do not matter.
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    pub(super) fn add(&mut self, positives: u64, negatives: u64) {
        self.above.0 += positives;
        self.above.1 += negatives;
        if positives == 0 {
            return;
        }
        let below = self.sums.negatives - self.above.1;
        self.sums.wins += u128::from(positives) * (2 * u128::from(below) + u128::from(negatives));
        let precision = self.above.0 as f64 / (self.above.0 + self.above.1) as f64;
        self.sums.precision_sum += positives as f64 * precision;
    }

    pub(super) fn sums(self) -> RankSums {
        self.sums
    }
}

/// Calls `f(key, positives, negatives)` for each distinct key of two ascending lists, from the highest down.
pub(super) fn merge<K: Key>(positives: &[K], negatives: &[K], mut f: impl FnMut(K, u64, u64)) {
    let (mut p, mut n) = (positives.len(), negatives.len());
    while p > 0 || n > 0 {
        let key = match (p, n) {
            (0, n) => negatives[n - 1],
            (p, 0) => positives[p - 1],
            (p, n) => positives[p - 1].max(negatives[n - 1]),
        };
        let mut counts = (0, 0);
        while p > 0 && positives[p - 1] == key {
            (p, counts.0) = (p - 1, counts.0 + 1);
        }
        while n > 0 && negatives[n - 1] == key {
            (n, counts.1) = (n - 1, counts.1 + 1);
        }
        f(key, counts.0, counts.1);
    }
}

//! Where a key lies among a few sorted ones: a table on its highest bits, then a short search.

use super::sort::Key;

/// Keys compared at once from the first of a piece on, whatever their number: no branch to predict.
const NEAR: usize = 8;

/// Distinct sorted keys with how often each came, and a table over their range.
pub(super) struct Index<K> {
    /// The keys, and the last [`NEAR`] times more, so that so many can be read from any of them on.
    keys: Vec<K>,
    len: usize,
    counts: Vec<u32>,
    /// First key of each piece of the range, of width `2^shift`; one more at the end.
    starts: Vec<u32>,
    shift: u32,
}

impl<K: Key> Index<K> {
    /// Of sorted keys.
    #[expect(clippy::cast_possible_truncation, reason = "far fewer than 2^32 keys, checked by the caller")]
    pub(super) fn new(mut keys: Vec<K>) -> Self {
        let mut counts: Vec<u32> = Vec::new();
        let mut kept = 0;
        for i in 0..keys.len() {
            if i > 0 && keys[i] == keys[kept - 1] {
                counts[kept - 1] += 1;
            } else {
                keys[kept] = keys[i];
                counts.push(1);
                kept += 1;
            }
        }
        keys.truncate(kept);
        let (mut starts, mut shift) = (vec![0], 0);
        if let (Some(&low), Some(&high)) = (keys.first(), keys.last()) {
            let range = high.minus(low);
            // One piece a key or less, within what the second-level cache holds.
            let pieces = kept.next_power_of_two().clamp(16, 1 << 16) as u64;
            while range >> shift >= pieces {
                shift += 1;
            }
            starts = vec![0; (range >> shift) as usize + 2];
            for key in &keys {
                starts[(key.minus(low) >> shift) as usize + 1] += 1;
            }
            for i in 1..starts.len() {
                starts[i] += starts[i - 1];
            }
        }
        if let Some(&high) = keys.last() {
            keys.resize(kept + NEAR, high);
        }
        Self { keys, len: kept, counts, starts, shift }
    }

    /// Number of distinct keys.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Twice the number of keys below, and one more where `key` is among them: below `2 len + 1`.
    #[inline(always)]
    pub(super) fn place(&self, key: K) -> usize {
        let (Some(&low), Some(&high)) = (self.keys.first(), self.keys.last()) else {
            return 0;
        };
        if key < low {
            return 0;
        }
        if key > high {
            return 2 * self.len;
        }
        #[expect(clippy::cast_possible_truncation, reason = "within the table")]
        let piece = (key.minus(low) >> self.shift) as usize;
        let start = self.starts[piece] as usize;
        // What lies beyond the piece is above the key.
        let near = self.keys[start..].first_chunk::<NEAR>().expect("there are so many more");
        let mut below = near.iter().map(|&other| usize::from(other < key)).sum::<usize>();
        if below == NEAR {
            let end = (self.starts[piece + 1] as usize).max(start + NEAR);
            below += self.keys[start + NEAR..end].partition_point(|&other| other < key);
        }
        2 * (start + below) + usize::from(self.keys[start + below] == key)
    }

    /// How often the `i`-th key came.
    pub(super) fn count(&self, i: usize) -> u64 {
        u64::from(self.counts[i])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_as_counted() {
        for keys in [vec![], vec![5], vec![3, 3, 3, 9, 10], (0..100).map(|i| i * i * 7919 % 65_521 + 40).collect()] {
            let mut keys: Vec<u32> = keys;
            keys.sort_unstable();
            let index = Index::new(keys.clone());
            keys.dedup();
            for key in (0..200).chain(60_000..66_000).chain(keys.clone()).chain([u32::MAX]) {
                let below = keys.iter().filter(|&&other| other < key).count();
                assert_eq!(index.place(key), 2 * below + usize::from(keys.contains(&key)), "{key}");
            }
        }
    }
}

//! Counting equal distances as they are found, so that millions of queries need no list of their own.

use crate::tags::Tag;

/// A squared distance, what queries at it carry, and their number.
pub(crate) type Known<T> = (f64, T, u64);

/// Counters of recent values, each in the slot of its hash; what another value drives out is listed.
#[derive(Debug)]
pub(crate) struct Tally<T> {
    slots: Vec<Known<T>>,
    listed: Vec<Known<T>>,
}

/// Number of slots, as a power of two: they stay in the first caches.
const SLOTS: u32 = 11;

impl<T: Tag> Tally<T> {
    pub(crate) fn new() -> Self {
        Self { slots: vec![(0.0, T::from_place(0), 0); 1 << SLOTS], listed: Vec::new() }
    }

    /// Counts a query.
    #[inline(always)]
    pub(crate) fn add(&mut self, squared: f64, tag: T) {
        let key = squared.to_bits() ^ (tag.place() as u64) << 40;
        // Fibonacci hashing: the high bits of the product depend on all of the key.
        let slot = &mut self.slots[(key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - SLOTS)) as usize];
        if slot.2 > 0 && slot.0 == squared && slot.1 == tag {
            slot.2 += 1;
            return;
        }
        if slot.2 > 0 {
            self.listed.push(*slot);
        }
        *slot = (squared, tag, 1);
    }

    /// What was counted, in no particular order; a value may come several times.
    pub(crate) fn finish(mut self) -> Vec<Known<T>> {
        self.listed.extend(self.slots.into_iter().filter(|slot| slot.2 > 0));
        self.listed
    }
}

/// Everything counted, one entry a query, in ascending order.
#[cfg(test)]
pub(crate) fn expanded<T: Tag>(known: &[Known<T>]) -> Vec<(f64, T)> {
    let one_each = known.iter().flat_map(|&(squared, tag, count)| (0..count).map(move |_| (squared, tag)));
    let mut all: Vec<(f64, T)> = one_each.collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_where_slots_are_few() {
        let values: Vec<(f64, u8)> = (0..9000u32).map(|i| (f64::from(i * 31 % 4001) / 7.0, (i % 3) as u8)).collect();
        let mut tally = Tally::new();
        values.iter().for_each(|&(squared, tag)| tally.add(squared, tag));
        let once: Vec<_> = values.iter().map(|&(squared, tag)| (squared, tag, 1)).collect();
        assert_eq!(expanded(&tally.finish()), expanded(&once));
    }
}

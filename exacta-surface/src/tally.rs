//! Counting equal distances as they are found, so that millions of queries need no list of their own.

use crate::sweep::Sink;
use crate::tags::Tag;

/// A squared distance, what queries at it carry, and their number.
pub(crate) type Known<T> = (f64, T, u64);

/// Counters of values in a table of hashes that grows with the number of different values.
#[derive(Debug)]
pub(crate) struct Tally<T> {
    slots: Vec<Slot<T>>,
    used: usize,
    /// More values than this are too many.
    most: usize,
}

#[derive(Debug, Clone, Copy)]
struct Slot<T> {
    squared: f64,
    count: u32,
    tag: T,
}

/// Number of slots at first: they stay in the first caches.
const SLOTS: usize = 1 << 11;

impl<T: Tag> Slot<T> {
    const FREE: Self = Self { squared: 0.0, count: 0, tag: T::FIRST };

    /// Where among so many slots its search begins. Fibonacci hashing: the high bits of the product depend on all of the key.
    #[inline(always)]
    fn home(squared: f64, tag: T, slots: usize) -> usize {
        let key = squared.to_bits() ^ (tag.place() as u64) << 40;
        (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - slots.trailing_zeros())) as usize
    }
}

impl<T: Tag> Tally<T> {
    pub(crate) fn new() -> Self {
        Self::with_most(usize::MAX)
    }

    /// For at most so many different values: then it is full.
    pub(crate) fn with_most(most: usize) -> Self {
        Self { slots: vec![Slot::FREE; SLOTS], used: 0, most }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let slots = 4 * self.slots.len();
        let old = std::mem::replace(&mut self.slots, vec![Slot::FREE; slots]);
        for slot in old.into_iter().filter(|slot| slot.count > 0) {
            let mut at = Slot::home(slot.squared, slot.tag, slots);
            while self.slots[at & (slots - 1)].count > 0 {
                at += 1;
            }
            self.slots[at & (slots - 1)] = slot;
        }
    }

    /// What was counted, in no particular order; a value may come several times.
    pub(crate) fn finish(self) -> Vec<Known<T>> {
        let mut known = Vec::with_capacity(self.used);
        let used = self.slots.into_iter().filter(|slot| slot.count > 0);
        known.extend(used.map(|slot| (slot.squared, slot.tag, u64::from(slot.count))));
        known
    }
}

impl<T: Tag> Sink<T> for Tally<T> {
    /// Counts a query.
    #[inline(always)]
    fn add(&mut self, squared: f64, tag: T) {
        let slots = self.slots.len();
        let mut at = Slot::home(squared, tag, slots);
        loop {
            let slot = &mut self.slots[at & (slots - 1)];
            // A counter that is full is left, and another one begun.
            if slot.count > 0 && slot.squared == squared && slot.tag == tag && slot.count < u32::MAX {
                slot.count += 1;
                return;
            }
            if slot.count == 0 {
                *slot = Slot { squared, count: 1, tag };
                self.used += 1;
                if 2 * self.used > slots {
                    self.grow();
                }
                return;
            }
            at += 1;
        }
    }

    fn is_full(&self) -> bool {
        self.used > self.most
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

//! Sorting of bare keys.

/// An unsigned number whose order is that of the scores.
pub(crate) trait Key: Copy + Ord + Send + Sync + 'static {
    const BITS: u32;
    /// The lowest bits after a shift.
    fn digit(self, shift: u32) -> usize;
    /// `self - other`, which is not larger.
    fn minus(self, other: Self) -> u64;
}

macro_rules! key {
    ($($key:ty),+) => {$(
        impl Key for $key {
            const BITS: u32 = <$key>::BITS;

            #[inline(always)]
            #[allow(clippy::cast_possible_truncation, reason = "the lowest bits are meant")]
            #[allow(clippy::unnecessary_cast, reason = "one of the two types is the target")]
            fn digit(self, shift: u32) -> usize {
                ((self >> shift) as usize) & (DIGITS - 1)
            }

            #[inline(always)]
            fn minus(self, other: Self) -> u64 {
                u64::from(self - other)
            }
        }
    )+};
}
key!(u32, u64);

/// Values of a digit of 11 bits: three digits make 32 bits, and their counters fit the first-level cache.
const DIGITS: usize = 1 << DIGIT;
const DIGIT: u32 = 11;

/// Sorts keys by their digits, the lowest first; `scratch` becomes as long. A digit that is the same everywhere is skipped.
pub(super) fn radix_sort<K: Key>(keys: &mut Vec<K>, scratch: &mut Vec<K>) {
    if keys.len() < 4 * DIGITS {
        keys.sort_unstable();
        return;
    }
    let shifts: Vec<u32> = (0..K::BITS).step_by(DIGIT as usize).collect();
    let mut counters = vec![[0usize; DIGITS]; shifts.len()];
    for &key in &*keys {
        for (counter, &shift) in counters.iter_mut().zip(&shifts) {
            counter[key.digit(shift)] += 1;
        }
    }
    if scratch.len() < keys.len() {
        scratch.resize(keys.len(), keys[0]);
    }
    scratch.truncate(keys.len());
    for (counter, shift) in counters.iter_mut().zip(shifts) {
        if counter[keys[0].digit(shift)] == keys.len() {
            continue;
        }
        let mut next = 0;
        for count in counter.iter_mut() {
            (*count, next) = (next, next + *count);
        }
        for &key in &*keys {
            let place = &mut counter[key.digit(shift)];
            scratch[*place] = key;
            *place += 1;
        }
        std::mem::swap(keys, scratch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_as_std() {
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state
        };
        for (len, mask) in [(0, !0), (7, !0), (9000, !0), (20_000, 0xffff), (20_000, 0xff00_0000_0000_00ff)] {
            let wide: Vec<u64> = (0..len).map(|_| random() & mask).collect();
            let narrow: Vec<u32> = wide.iter().map(|key| (key >> 32) as u32).collect();
            check(wide);
            check(narrow);
        }
        fn check<K: Key + std::fmt::Debug>(keys: Vec<K>) {
            let (mut sorted, mut wanted, mut scratch) = (keys.clone(), keys, Vec::new());
            wanted.sort_unstable();
            radix_sort(&mut sorted, &mut scratch);
            assert_eq!(sorted, wanted);
        }
    }
}

//! Order-preserving keys of errors, their stable radix sort, and the selection of the largest.

use std::fmt::Debug;

/// A float of a ranking: its magnitude as an integer that orders as it does.
///
/// Errors are not negative, so their bits without the sign are ordered as they are, NaN above all, which is what a
/// descending sort of floats does. The freed bit holds which side of the mask the voxel is on.
pub(crate) trait Ranked: Copy + PartialOrd + Send + Sync + Debug + 'static {
    /// An unsigned integer of the same size.
    type Code: Copy + Ord + Send + Sync + Debug + Default + 'static;
    /// What is sorted: a key, then the index of the voxel.
    type Entry: Copy + Send + Sync + Default + Debug + 'static;
    /// The code of what is left out.
    const NONE: Self::Code;
    /// Bits of the key that order, from the lowest on.
    const DIGITS: &'static [(u32, u32)];

    /// `magnitude << 1 | foreground` of an error that is not negative, or NaN.
    fn code(self, foreground: bool) -> Self::Code;
    /// Whether a code is of the foreground.
    fn foreground(code: Self::Code) -> bool;
    /// The error of a code.
    fn value(code: Self::Code) -> f64;
    /// The code without its side, so that codes compare as their errors do.
    fn magnitude(code: Self::Code) -> Self::Code;
    /// Bits of a number, to be kept where codes were.
    fn keep(value: f64) -> Self::Code;
    /// The number kept.
    fn kept(code: Self::Code) -> Self;
    /// An entry whose order is descending in the error.
    fn entry(code: Self::Code, index: u32) -> Self::Entry;
    /// What an entry was made of.
    fn parts(entry: Self::Entry) -> (Self::Code, u32);
    /// A digit of an entry's key.
    fn digit(entry: Self::Entry, digit: (u32, u32)) -> usize;
    /// A digit of a code's magnitude, ascending in the error.
    fn code_digit(code: Self::Code, digit: (u32, u32)) -> usize;
    /// The magnitude without its lowest bits.
    fn above(code: Self::Code, bits: u32) -> u64;
}

macro_rules! ranked {
    ($float:ty, $code:ty, $entry:ty, $digits:expr) => {
        impl Ranked for $float {
            type Code = $code;
            type Entry = $entry;
            const NONE: $code = <$code>::MAX;
            const DIGITS: &'static [(u32, u32)] = $digits;

            #[inline(always)]
            fn code(self, foreground: bool) -> $code {
                // The largest code is that of a NaN with all bits set, which is taken for the usual one.
                let value = if self.is_nan() { <$float>::NAN } else { self };
                value.to_bits() << 1 | <$code>::from(foreground)
            }

            #[inline(always)]
            fn foreground(code: $code) -> bool {
                code & 1 == 1
            }

            #[inline(always)]
            fn value(code: $code) -> f64 {
                f64::from(<$float>::from_bits(code >> 1))
            }

            #[inline(always)]
            fn magnitude(code: $code) -> $code {
                code >> 1
            }

            #[inline(always)]
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_lossless,
                reason = "rounded to the float's precision"
            )]
            fn keep(value: f64) -> $code {
                (value as $float).to_bits()
            }

            #[inline(always)]
            fn kept(code: $code) -> Self {
                Self::from_bits(code)
            }

            #[inline(always)]
            fn entry(code: $code, index: u32) -> $entry {
                <$entry>::from(code ^ (<$code>::MAX << 1)) << 32 | <$entry>::from(index)
            }

            #[inline(always)]
            #[allow(clippy::cast_possible_truncation, reason = "the halves of an entry")]
            fn parts(entry: $entry) -> ($code, u32) {
                ((entry >> 32) as $code ^ (<$code>::MAX << 1), entry as u32)
            }

            #[inline(always)]
            #[allow(clippy::cast_possible_truncation, reason = "masked")]
            fn digit(entry: $entry, (shift, bits): (u32, u32)) -> usize {
                (entry >> (33 + shift)) as usize & ((1 << bits) - 1)
            }

            #[inline(always)]
            #[allow(clippy::cast_possible_truncation, reason = "masked")]
            fn code_digit(code: $code, (shift, bits): (u32, u32)) -> usize {
                (code >> (1 + shift)) as usize & ((1 << bits) - 1)
            }

            #[inline(always)]
            fn above(code: $code, bits: u32) -> u64 {
                (code >> (1 + bits)).into()
            }
        }
    };
}
ranked!(f32, u32, u64, &[(0, 10), (10, 10), (20, 11)]);
ranked!(f64, u64, u128, &[(0, 10), (10, 10), (20, 10), (30, 11), (41, 11), (52, 11)]);

/// Sorts entries by descending error, equal errors by index if they come in its order. `spare` is overwritten.
///
/// Least digit first, stable; a digit that all entries share is passed over. Each pass reads and writes every entry once.
pub(crate) fn sort<F: Ranked>(entries: &mut Vec<F::Entry>, spare: &mut Vec<F::Entry>) {
    let n = entries.len();
    spare.clear();
    spare.resize(n, F::Entry::default());
    let mut counts: Vec<Vec<u32>> = F::DIGITS.iter().map(|&(_, bits)| vec![0; 1 << bits]).collect();
    for &entry in entries.iter() {
        for (counts, &digit) in counts.iter_mut().zip(F::DIGITS) {
            counts[F::digit(entry, digit)] += 1;
        }
    }
    for (counts, &digit) in counts.iter_mut().zip(F::DIGITS) {
        if n == 0 || counts[F::digit(entries[0], digit)] as usize == n {
            continue;
        }
        let mut start = 0;
        for count in counts.iter_mut() {
            start += std::mem::replace(count, start);
        }
        for &entry in entries.iter() {
            let place = &mut counts[F::digit(entry, digit)];
            spare[*place as usize] = entry;
            *place += 1;
        }
        std::mem::swap(entries, spare);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<F: Ranked>(values: &[(F, bool)]) {
        let index = |i: usize| u32::try_from(i).expect("few");
        let mut entries: Vec<_> =
            values.iter().enumerate().map(|(i, &(value, side))| F::entry(value.code(side), index(i))).collect();
        let mut spare = Vec::new();
        sort::<F>(&mut entries, &mut spare);
        let mut expected: Vec<usize> = (0..values.len()).collect();
        expected.sort_by(|&a, &b| values[b].0.partial_cmp(&values[a].0).expect("no NaN"));
        let found: Vec<usize> = entries.iter().map(|&entry| F::parts(entry).1 as usize).collect();
        assert_eq!(found, expected);
        for &entry in &entries {
            let (code, i) = F::parts(entry);
            assert_eq!(F::foreground(code), values[i as usize].1);
            assert_eq!(code, values[i as usize].0.code(values[i as usize].1));
        }
    }

    #[test]
    fn descending_and_stable() {
        let singles = [0.5f32, 1.0, 0.0, 0.5, 3e38, 1e-45, 0.25, 1.0, 0.0, f32::INFINITY];
        check(&singles.iter().enumerate().map(|(i, &v)| (v, i % 3 == 0)).collect::<Vec<_>>());
        let doubles = [0.5f64, 1.0, 0.0, 0.5, 1e308, 5e-324, 0.25, 1.0 - f64::EPSILON, 1.0, 0.0];
        check(&doubles.iter().enumerate().map(|(i, &v)| (v, i % 2 == 0)).collect::<Vec<_>>());
        check::<f32>(&[]);
        check(&[(0.5f64, true)]);
    }

    #[test]
    fn nothing_is_as_large_as_what_is_left_out() {
        assert!(f32::from_bits(u32::MAX).code(true) < f32::NONE);
        assert!(f64::from_bits(u64::MAX).code(true) < f64::NONE);
        assert!(f32::NAN.code(false) > f32::INFINITY.code(true));
    }
}

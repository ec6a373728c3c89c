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
    /// The same for few codes: small tables, more passes.
    const SHORT: &'static [(u32, u32)];

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
    ($float:ty, $code:ty, $entry:ty, $digits:expr, $short:expr) => {
        impl Ranked for $float {
            type Code = $code;
            type Entry = $entry;
            const NONE: $code = <$code>::MAX;
            const DIGITS: &'static [(u32, u32)] = $digits;
            const SHORT: &'static [(u32, u32)] = $short;

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
// Errors are spread over few exponents, so a wide highest digit still has few values: each pass writes to some 500 places.
ranked!(f32, u32, u64, &[(0, 9), (9, 9), (18, 13)], &[(0, 8), (8, 8), (16, 8), (24, 7)]);
ranked!(
    f64,
    u64,
    u128,
    &[(0, 10), (10, 10), (20, 10), (30, 11), (41, 11), (52, 11)],
    &[(0, 8), (8, 8), (16, 8), (24, 8), (32, 8), (40, 8), (48, 8), (56, 7)]
);

/// The digits by which so many codes are told apart.
pub(crate) const fn digits<F: Ranked>(codes: usize) -> &'static [(u32, u32)] {
    if codes < 1 << 14 { F::SHORT } else { F::DIGITS }
}

/// Sorts the codes that are not left out and not below a magnitude by descending error, equal errors by index; every code gives way
/// to a kept 0. `spare` is overwritten.
///
/// Least digit first, stable; a digit that all share is passed over. One read counts all digits, the first pass takes the codes
/// themselves, and each other pass reads and writes every entry once. There are fewer than 2^32 codes.
pub(crate) fn sort<F: Ranked>(
    codes: &mut [F::Code],
    least: F::Code,
    entries: &mut Vec<F::Entry>,
    spare: &mut Vec<F::Entry>,
) {
    let digits = digits::<F>(codes.len());
    let mut counts: Vec<Vec<u32>> = digits.iter().map(|&(_, bits)| vec![0; 1 << bits]).collect();
    let takes = |code: F::Code| code != F::NONE && F::magnitude(code) >= least;
    // A digit of an entry is what its code's lacks to the largest.
    let digit_of = |code, digit: (u32, u32)| ((1 << digit.1) - 1) ^ F::code_digit(code, digit);
    let (mut n, mut some) = (0, None);
    for &code in codes.iter().filter(|&&code| takes(code)) {
        for (counts, &digit) in counts.iter_mut().zip(digits) {
            counts[digit_of(code, digit)] += 1;
        }
        n += 1;
        some = Some(code);
    }
    let mut passes = Vec::new();
    for (mut counts, &digit) in counts.into_iter().zip(digits) {
        if some.is_none_or(|code| counts[digit_of(code, digit)] as usize == n) {
            continue;
        }
        let mut start = 0;
        for count in &mut counts {
            start += std::mem::replace(count, start);
        }
        passes.push((counts, digit));
    }
    let mut passes = passes.into_iter();
    let mut pass = passes.next();
    let mut next = 0;
    entries.resize(n, F::Entry::default());
    for (i, code) in (0..).zip(codes.iter_mut()) {
        if takes(*code) {
            let place = match &mut pass {
                Some((counts, digit)) => &mut counts[digit_of(*code, *digit)],
                None => &mut next,
            };
            entries[*place as usize] = F::entry(*code, i);
            *place += 1;
        }
        *code = F::keep(0.0);
    }
    for (mut counts, digit) in passes {
        spare.resize(n, F::Entry::default());
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
        let mut codes: Vec<_> = values.iter().map(|&(value, side)| value.code(side)).collect();
        let (mut entries, mut spare) = (Vec::new(), Vec::new());
        sort::<F>(&mut codes, F::Code::default(), &mut entries, &mut spare);
        assert!(codes.iter().all(|&code| code == F::keep(0.0)));
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
    fn many_are_sorted_by_wider_digits() {
        let values = |i: u64| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as f32 / 2f32.powi((i % 30) as i32);
        check(&(0..20_000).map(|i| (values(i), i % 5 == 0)).collect::<Vec<_>>());
        check(&(0..20_000).map(|i| (f64::from(values(i)) / 3.0, i % 5 == 0)).collect::<Vec<_>>());
    }

    #[test]
    fn nothing_is_as_large_as_what_is_left_out() {
        assert!(f32::from_bits(u32::MAX).code(true) < f32::NONE);
        assert!(f64::from_bits(u64::MAX).code(true) < f64::NONE);
        assert!(f32::NAN.code(false) > f32::INFINITY.code(true));
    }
}

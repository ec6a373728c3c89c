//! The largest of a list of values by a radix selection, ties to the lowest index.

use exacta_core::parallel::Threads;

use crate::radix::Ranked;

/// Values looked at by one task.
const TASK: usize = 1 << 16;

/// Which values are the k largest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cut<C> {
    /// The least code among them.
    pub(crate) threshold: C,
    /// Values with the code of the threshold are among them if their index is less than this.
    pub(crate) ties_before: usize,
}

impl<C: Ord + Copy> Cut<C> {
    /// Whether a value is among the largest. [`Ranked::NONE`] is for the caller to leave out.
    #[inline(always)]
    pub(crate) fn takes(&self, code: C, index: usize) -> bool {
        (code > self.threshold) | ((code == self.threshold) & (index < self.ties_before))
    }
}

/// The k largest codes, those left out aside. `k` is positive and not above their number.
///
/// One read of the codes for each digit, the highest first, counting what agrees with the digits found; then one for ties.
pub(crate) fn largest<F: Ranked>(threads: &Threads, codes: &[F::Code], k: u64) -> Cut<F::Code> {
    let tasks = codes.len().div_ceil(TASK);
    let part = |task: usize| &codes[task * TASK..codes.len().min((task + 1) * TASK)];
    let mut wanted = k;
    // What is known: the magnitude above some bits.
    let (mut bits, mut known) = (0, None::<u64>);
    for &digit in F::DIGITS.iter().rev() {
        let counts = threads.map(tasks, |task| {
            let mut counts = vec![0u32; 1 << digit.1];
            match known {
                None => {
                    for &code in part(task) {
                        counts[F::code_digit(code, digit)] += u32::from(code != F::NONE);
                    }
                }
                Some(known) => {
                    for &code in part(task) {
                        if F::above(code, bits) == known && code != F::NONE {
                            counts[F::code_digit(code, digit)] += 1;
                        }
                    }
                }
            }
            counts
        });
        let mut value = 1 << digit.1;
        loop {
            value -= 1;
            let count: u64 = counts.iter().map(|counts| u64::from(counts[value])).sum();
            if count >= wanted || value == 0 {
                break;
            }
            wanted -= count;
        }
        known = Some(known.unwrap_or(0) << digit.1 | value as u64);
        bits = digit.0;
    }
    let is = |code: F::Code| Some(F::above(code, 0)) == known && code != F::NONE;
    let ties = threads.map(tasks, |task| part(task).iter().filter(|&&code| is(code)).count() as u64);
    for (task, count) in ties.into_iter().enumerate() {
        if count < wanted {
            wanted -= count;
            continue;
        }
        for (i, &code) in part(task).iter().enumerate() {
            if is(code) {
                wanted -= 1;
                if wanted == 0 {
                    return Cut { threshold: code, ties_before: task * TASK + i + 1 };
                }
            }
        }
    }
    unreachable!("there are k values")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<F: Ranked>(values: &[Option<F>], k: u64) {
        let codes: Vec<_> = values.iter().map(|value| value.map_or(F::NONE, |value| value.code(false))).collect();
        let mut order: Vec<usize> = (0..values.len()).filter(|&i| values[i].is_some()).collect();
        order.sort_by(|&a, &b| values[b].partial_cmp(&values[a]).expect("no NaN"));
        let mut expected = order[..usize::try_from(k).expect("few")].to_vec();
        expected.sort_unstable();
        let cut = largest::<F>(&Threads::Serial, &codes, k);
        let found: Vec<usize> = (0..codes.len()).filter(|&i| codes[i] != F::NONE && cut.takes(codes[i], i)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn ties_go_to_the_lowest_index() {
        let values = [Some(0.5f32), None, Some(0.25), Some(0.5), Some(2.0), Some(0.5), None, Some(0.0)];
        for k in 1..=6 {
            check(&values, k);
            check(&values.map(|value| value.map(f64::from)), k);
        }
        check(&[Some(1e-300f64), Some(1e-301), Some(1e-300)], 2);
    }

    #[test]
    fn many_tasks_agree_with_a_sort() {
        let values: Vec<_> = (0..3 * TASK + 7).map(|i| Some((i * 7919 % 1009) as f32)).collect();
        for k in [1, 70, 1009, 100_000, values.len() as u64] {
            check(&values, k);
        }
    }
}

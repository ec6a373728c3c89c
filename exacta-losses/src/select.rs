//! The largest of a list of values by a radix selection, ties to the lowest index.

use exacta_core::parallel::Threads;

use crate::radix::{Ranked, digits};

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
/// One read of the codes counts the highest digit, one keeps those that agree with it; the other digits are found among these.
pub(crate) fn largest<F: Ranked>(threads: &Threads, codes: &[F::Code], k: u64) -> Cut<F::Code> {
    let tasks = codes.len().div_ceil(TASK);
    let part = |task: usize| &codes[task * TASK..codes.len().min((task + 1) * TASK)];
    let (&top, lower) = digits::<F>(codes.len()).split_last().expect("codes have digits");
    let mut wanted = k;
    let counts = threads.map(tasks, |task| tally::<F>(part(task).iter(), top));
    // The magnitude above some bits.
    let mut known = find(&counts, &mut wanted);
    let agree = |code: &F::Code| F::above(*code, top.0) == known && *code != F::NONE;
    let kept = threads.map(tasks, |task| part(task).iter().copied().filter(agree).collect::<Vec<_>>());
    let few = kept.iter().map(Vec::len).sum::<usize>() < TASK;
    let threads = if few { &Threads::Serial } else { threads };
    let mut bits = top.0;
    for &digit in lower.iter().rev() {
        let counts = threads
            .map(tasks, |task| tally::<F>(kept[task].iter().filter(|&&code| F::above(code, bits) == known), digit));
        known = known << digit.1 | find(&counts, &mut wanted);
        bits = digit.0;
    }
    let is = |code: F::Code| F::above(code, 0) == known && code != F::NONE;
    for (task, kept) in kept.iter().enumerate() {
        let count = kept.iter().filter(|&&code| is(code)).count() as u64;
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
    Cut { threshold: F::Code::default(), ties_before: codes.len() }
}

/// How many codes have each value of a digit.
#[inline(always)]
fn tally<'a, F: Ranked>(codes: impl Iterator<Item = &'a F::Code>, digit: (u32, u32)) -> Vec<u32> {
    // Two tables, since neighbours often have the same digit and would wait for each other.
    let size = 1 << digit.1;
    let mut counts = vec![0u32; 2 * size];
    let mut table = 0;
    for &code in codes {
        counts[table + F::code_digit(code, digit)] += u32::from(code != F::NONE);
        table ^= size;
    }
    let (first, second) = counts.split_at_mut(size);
    first.iter_mut().zip(second).for_each(|(first, second)| *first += *second);
    counts.truncate(size);
    counts
}

/// The digit of the `wanted`-th largest, which becomes its rank among those of this digit.
fn find(counts: &[Vec<u32>], wanted: &mut u64) -> u64 {
    let mut value = counts.first().map_or(1, Vec::len);
    loop {
        value -= 1;
        let count: u64 = counts.iter().map(|counts| u64::from(counts[value])).sum();
        if count >= *wanted || value == 0 {
            return value as u64;
        }
        *wanted -= count;
    }
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

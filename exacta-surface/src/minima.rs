//! A tree of minima over a line, searched outward from a place.

/// Children of a node.
const FAN: usize = 32;
/// Nodes that a search can have waiting: every level leaves at most its other children.
const WAITING: usize = FAN * 8;

/// Minima of a line of values: of each value, of 32, of 1024, ..
#[derive(Debug, Default)]
pub(crate) struct Minima {
    levels: Vec<Vec<f64>>,
}

impl Minima {
    /// Takes the values of a line.
    #[inline(always)]
    pub(crate) fn build(&mut self, values: impl Iterator<Item = f64>) {
        let mut levels = std::mem::take(&mut self.levels).into_iter();
        let mut next = |values: &mut dyn Iterator<Item = f64>| {
            let mut level = levels.next().unwrap_or_default();
            level.clear();
            level.extend(values);
            level
        };
        let mut built = vec![next(&mut { values })];
        while built[built.len() - 1].len() > 1 {
            let below = &built[built.len() - 1];
            let mut minima = below.chunks(FAN).map(|nodes| nodes.iter().copied().fold(f64::INFINITY, f64::min));
            let level = next(&mut minima);
            built.push(level);
        }
        self.levels = built;
    }

    /// Calls `visit` with every place `i` where `along[|i - from|] + value[i]` may be less than `bound`, near ones first.
    /// `visit` lowers the bound as it finds better.
    #[inline(always)]
    pub(crate) fn search(&self, from: usize, along: &[f64], bound: &mut f64, mut visit: impl FnMut(usize, &mut f64)) {
        let mut waiting = [(0u8, 0u32); WAITING];
        let top = self.levels.len() - 1;
        waiting[0] = (u8::try_from(top).expect("a line has few levels"), 0);
        let mut count = 1;
        while count > 0 {
            count -= 1;
            let (level, node) = (usize::from(waiting[count].0), waiting[count].1 as usize);
            let width = FAN.pow(u32::from(waiting[count].0));
            let start = node * width;
            let last = ((node + 1) * width).min(along.len()) - 1;
            let gap = if from < start { start - from } else { from.saturating_sub(last) };
            if along[gap] + self.levels[level][node] >= *bound {
                continue;
            }
            if level == 0 {
                visit(node, bound);
                continue;
            }
            // The nearest child is pushed last, so that it is looked at first.
            let (first, end) = (node * FAN, ((node + 1) * FAN).min(self.levels[level - 1].len()));
            let home = (from / (width / FAN)).clamp(first, end - 1);
            for step in (1..FAN).rev() {
                for child in [home + step, home.wrapping_sub(step)] {
                    if (first..end).contains(&child) {
                        waiting[count] = (u8::try_from(level - 1).expect("a line has few levels"), child_index(child));
                        count += 1;
                    }
                }
            }
            waiting[count] = (u8::try_from(level - 1).expect("a line has few levels"), child_index(home));
            count += 1;
        }
    }
}

#[inline(always)]
fn child_index(child: usize) -> u32 {
    u32::try_from(child).expect("an axis fits 32 bits")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_least_and_looks_at_little() {
        let n = 5000;
        let along: Vec<f64> = (0..n).map(|d| (d * d) as f64).collect();
        // Mostly nothing, a few values far apart.
        let value = |i: usize| if i % 997 == 3 { (i % 13) as f64 } else { f64::INFINITY };
        let mut minima = Minima::default();
        for _ in 0..2 {
            minima.build((0..n).map(value));
        }
        for from in [0, 1, 500, 996, 2503, 4999] {
            let (mut best, mut looked) = (f64::INFINITY, 0);
            minima.search(from, &along, &mut best, |i, best| {
                looked += 1;
                *best = best.min(along[i.abs_diff(from)] + value(i));
            });
            let wanted = (0..n).map(|i| along[i.abs_diff(from)] + value(i)).fold(f64::INFINITY, f64::min);
            assert_eq!(best, wanted, "from {from}");
            assert!(looked <= 4, "{looked} places from {from}");
        }
    }
}

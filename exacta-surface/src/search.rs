//! Tier 2: queries and features in bricks.
//!
//! The bound of a query brick to all feature bricks is shared by its queries. Work is counted; once it exceeds an estimate of the
//! transform (tier 3), that takes over.

use std::sync::atomic::{AtomicU64, Ordering};

use exacta_core::parallel::Threads;
use exacta_core::{Cpu, Level};

use crate::bricks::{Bounds, Points};
use crate::tags::Tag;
use crate::tail::Place;
use crate::transform;

/// A query brick and what is known of its distances.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Group {
    pub(crate) brick: usize,
    pub(crate) bounds: Bounds,
}

/// Queries and features of a direction in bricks, and the query bricks to come, farthest first.
#[derive(Debug)]
pub(crate) struct Search<T> {
    queries: Points,
    tags: Vec<T>,
    features: Points,
    pub(crate) groups: Vec<Group>,
    spent: AtomicU64,
    budget: u64,
}

impl<T: Tag> Search<T> {
    /// Puts queries with their tags, and features, into bricks, and bounds every query brick.
    pub(crate) fn new(cpu: &Cpu, place: Place<'_>, queries: &[[u32; 3]], tags: &[T], features: &[[u32; 3]]) -> Self {
        let (queries, order) = Points::ordered(queries, place.size());
        let mut search = Self {
            budget: transform::cost(place.size(), &queries),
            spent: AtomicU64::new(0),
            groups: Vec::new(),
            tags: order.into_iter().map(|i| tags[i]).collect(),
            queries,
            features: Points::new(features, place.size()),
        };
        search.open(cpu, place);
        search
    }

    /// Bounds every query brick; the list is in falling order of the lower bound.
    fn open(&mut self, cpu: &Cpu, place: Place<'_>) {
        let bricks = self.queries.bricks();
        let pairs = (bricks * self.features.bricks()) as u64;
        self.spent.fetch_add(pairs, Ordering::Relaxed);
        if pairs > self.budget {
            // Bounding alone would cost more than the transform: one group of everything, bounded by nothing.
            let bounds = Bounds { lower: 0.0, upper: f64::INFINITY };
            self.groups = (0..bricks).map(|brick| Group { brick, bounds }).collect();
            return;
        }
        let share = (4096 / self.features.bricks().max(1)).max(1);
        let threads = if pairs < 1 << 14 { &Threads::Serial } else { &cpu.threads };
        let parts = threads.map(bricks.div_ceil(share), |part| {
            let range = part * share..((part + 1) * share).min(bricks);
            exacta_core::dispatch!(cpu.level, simd => bound(simd, place.spacing, &self.queries, &self.features, range))
        });
        self.groups = parts.into_iter().flatten().collect();
        self.groups.sort_unstable_by(|a, b| b.bounds.lower.total_cmp(&a.bounds.lower).then(b.brick.cmp(&a.brick)));
    }

    /// Appends the squared distances of the queries of `groups`. With `above`, a query that is known to be at most that far,
    /// or at most as far as another, may be left out.
    pub(crate) fn resolve(
        &self,
        cpu: &Cpu,
        place: Place<'_>,
        groups: &[Group],
        above: Option<f64>,
        found: &mut Vec<(f64, T)>,
    ) {
        if self.spent.load(Ordering::Relaxed) > self.budget {
            return self.transform(cpu, place, groups, found);
        }
        let above = above.map(|above| AtomicU64::new(above.to_bits()));
        let small = groups.len() * self.features.bricks() < 1 << 12;
        let threads = if small { &Threads::Serial } else { &cpu.threads };
        let parts = threads.map(groups.len(), |i| {
            if self.spent.load(Ordering::Relaxed) > self.budget {
                return None;
            }
            let part = self.resolve_group(cpu.level, place, groups[i], above.as_ref());
            if let Some(above) = &above {
                // Bits of doubles that are not negative are ordered as the doubles are.
                let max = part.iter().copied().fold(0.0, f64::max);
                above.fetch_max(max.to_bits(), Ordering::Relaxed);
            }
            Some(part)
        });
        let mut late = Vec::new();
        for (group, part) in groups.iter().zip(parts) {
            match part {
                Some(part) => {
                    let tags = &self.tags[self.queries.starts[group.brick]..];
                    found.extend(part.into_iter().zip(tags.iter().copied()));
                }
                None => late.push(*group),
            }
        }
        if !late.is_empty() {
            self.transform(cpu, place, &late, found);
        }
    }

    fn resolve_group(&self, level: Level, place: Place<'_>, group: Group, above: Option<&AtomicU64>) -> Vec<f64> {
        let (found, spent) = exacta_core::dispatch!(level, simd => nearest(simd, place.spacing, self, group, above));
        self.spent.fetch_add(spent, Ordering::Relaxed);
        found
    }

    /// Tier 3 for the queries of `groups`.
    fn transform(&self, cpu: &Cpu, place: Place<'_>, groups: &[Group], found: &mut Vec<(f64, T)>) {
        let queries = groups.iter().flat_map(|group| {
            let range = self.queries.starts[group.brick]..self.queries.starts[group.brick + 1];
            range.map(|i| (self.queries.whole(i), self.tags[i]))
        });
        let features = (0..self.features.len()).map(|i| self.features.whole(i));
        let (queries, features) = (queries.collect(), features.collect());
        found.extend(transform::squared_distances(cpu, place.size(), place.spacing, features, queries));
    }
}

#[inline(always)]
fn bound<S>(_: S, spacing: [f64; 3], queries: &Points, features: &Points, range: std::ops::Range<usize>) -> Vec<Group> {
    range.map(|brick| Group { brick, bounds: features.bounds(spacing, queries.corners(brick)) }).collect()
}

/// Squared distances of the queries of a brick, and the work that took: bounds and points looked at.
#[inline(always)]
fn nearest<S, T>(
    _: S,
    spacing: [f64; 3],
    search: &Search<T>,
    group: Group,
    above: Option<&AtomicU64>,
) -> (Vec<f64>, u64) {
    let (queries, features) = (&search.queries, &search.features);
    let corners = queries.corners(group.brick);
    let mut candidates: Vec<(f64, usize)> = (0..features.bricks())
        .map(|brick| (features.lower(spacing, brick, corners), brick))
        .filter(|(lower, _)| *lower <= group.bounds.upper)
        .collect();
    candidates.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let mut spent = features.bricks() as u64;
    let mut found = Vec::new();
    for i in queries.starts[group.brick]..queries.starts[group.brick + 1] {
        let query = queries.point(i);
        let enough = above.map_or(-1.0, |above| f64::from_bits(above.load(Ordering::Relaxed)));
        // Some feature is at most this far, so the least distance found below it is the least of all.
        let mut best = group.bounds.upper;
        for &(lower, brick) in &candidates {
            if lower >= best || best <= enough {
                break;
            }
            spent += 1;
            if features.lower(spacing, brick, (query, query)) < best {
                best = features.nearest_in(spacing, brick, query, best);
                spent += (features.starts[brick + 1] - features.starts[brick]) as u64;
            }
        }
        found.push(best);
    }
    (found, spent)
}

#[cfg(test)]
mod tests {
    use exacta_core::Grid;

    use super::*;
    use crate::dense::WordBox;
    use crate::squared;
    use crate::words::Words;

    /// Points on a lattice of pseudo-random coordinates, in bricks of their own.
    fn points(seed: u64, count: usize, size: [usize; 3]) -> Points {
        let mut state = seed;
        let mut next = |n: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 40) as usize % n
        };
        let mut words: Vec<(u32, u64)> = (0..count)
            .map(|_| ((next(size[0]) * size[1] + next(size[1])) as u32, 1u64 << next(size[2].min(64))))
            .collect();
        words.sort_unstable_by_key(|word| word.0);
        words.dedup_by_key(|word| word.0);
        let grid = grid(size);
        let (places, bits): (Vec<u32>, Vec<u64>) = words.iter().copied().unzip();
        let surface = Words { words: places.into(), bits: bits.into() };
        // A word at each end makes the box the image.
        let ends = [0, (size[0] * size[1] - 1) as u32];
        let ends = Words { words: ends.to_vec().into(), bits: vec![1, 1].into() };
        let bounds = WordBox::around(&grid, [&surface, &ends]);
        {
            let place = Place { grid: &grid, bounds: &bounds, spacing: [1.0; 3] };
            Points::new(&place.points(words.into_iter()), place.size())
        }
    }

    fn grid(size: [usize; 3]) -> Grid {
        let image =
            exacta_core::ndarray::ArrayD::<u8>::zeros(exacta_core::ndarray::IxDyn(&[1, size[0], size[1], size[2]]));
        *exacta_core::Batch::new(image.view(), image.view(), exacta_core::LabelSpec::index(1), None)
            .expect("valid")
            .grid()
    }

    #[test]
    fn bricks_and_transform_agree_whatever_the_budget() {
        let size = [30, 40, 60];
        let grid = grid(size);
        for spacing in [[1.0, 1.0, 1.0], [0.7, 3.0, 0.31]] {
            for budget in [0, 500, 3_000, u64::MAX] {
                let (queries, features) = (points(3, 150, size), points(8, 90, size));
                let ends = [0, (size[0] * size[1] - 1) as u32];
                let words = Words { words: ends.to_vec().into(), bits: vec![1, 1].into() };
                let bounds = WordBox::around(&grid, [&words, &words]);
                let place = Place { grid: &grid, bounds: &bounds, spacing };
                let tags = (0..queries.len()).map(|i| (i % 5) as u8).collect();
                let mut search =
                    Search { queries, tags, features, groups: Vec::new(), spent: AtomicU64::new(0), budget };
                let cpu = Cpu::new();
                search.open(&cpu, place);
                let groups = std::mem::take(&mut search.groups);
                let mut found = Vec::new();
                for wave in groups.chunks(7) {
                    search.resolve(&cpu, place, wave, None, &mut found);
                }
                let mut wanted: Vec<(f64, u8)> = (0..search.queries.len())
                    .map(|i| {
                        let query = search.queries.point(i);
                        let nearest = (0..search.features.len())
                            .map(|j| {
                                let feature = search.features.point(j);
                                squared(spacing, std::array::from_fn(|k| query[k] - feature[k]))
                            })
                            .fold(f64::INFINITY, f64::min);
                        (nearest, search.tags[i])
                    })
                    .collect();
                for list in [&mut found, &mut wanted] {
                    list.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                }
                assert_eq!(found, wanted, "budget {budget}");
            }
        }
    }
}

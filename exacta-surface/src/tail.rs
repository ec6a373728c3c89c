//! Tier 2: the queries that the shells left, nearest first, until the need is met.
//!
//! Queries and features lie in bricks. The bound of a query brick to all feature bricks is shared by its queries; query
//! bricks are taken in order of their lower bound, so a percentile is known once enough distances lie below the next
//! bound, and HD95 never resolves its farthest 5 %. The maximum goes the other way, farthest first, and drops a query
//! as soon as it cannot exceed the largest distance seen. Work is counted, and once it exceeds an estimate of the
//! transform (tier 3), that takes over: the whole is never much worse than the transform alone.

use std::sync::atomic::{AtomicU64, Ordering};

use exacta_core::parallel::Threads;
use exacta_core::quantile::ranks;
use exacta_core::stages::{Bin, Directed, Need};
use exacta_core::{Cpu, Grid, Level};

use crate::bricks::{Bounds, Points};
use crate::dense::WordBox;
use crate::transform;
use crate::words::Words;

/// With more than one query or feature in so many voxels of the box, the transform is quicker than any search.
const BULK: u64 = 48;

/// What the shells found for one direction, and what they left.
#[derive(Debug)]
pub(crate) struct Start<'a> {
    /// Number of queries in all.
    pub(crate) total: u64,
    /// Squared distances with their number, ascending.
    pub(crate) known: Vec<(f64, u64)>,
    /// Queries that are left.
    pub(crate) left: Vec<(u32, u64)>,
    /// Squared distance that all of them reach.
    pub(crate) beyond: f64,
    /// The other surface.
    pub(crate) features: &'a Words<'a>,
}

/// Where the surfaces lie.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) grid: &'a Grid,
    pub(crate) bounds: &'a WordBox,
    pub(crate) spacing: [f64; 3],
}

impl Place<'_> {
    /// Voxels of the box along each axis of the image.
    fn size(&self) -> [usize; 3] {
        let [slices, rows, words] = self.bounds.size;
        self.grid.by_axis([slices, rows, words * 64])
    }

    fn voxels(&self) -> usize {
        self.size().into_iter().product()
    }

    /// Coordinates along the image's axes, relative to the box.
    fn points(&self, words: impl Iterator<Item = (u32, u64)>) -> Vec<[u32; 3]> {
        let mut points = Vec::new();
        for (word, mut bits) in words {
            let [slice, row, word] = self.bounds.at(word).map(|n| u32::try_from(n).expect("an axis fits 32 bits"));
            while bits != 0 {
                points.push(self.grid.by_axis([slice, row, word * 64 + bits.trailing_zeros()]));
                bits &= bits - 1;
            }
        }
        points
    }
}

/// Resolves both directions as far as `need` asks.
pub(crate) fn finish(cpu: &Cpu, place: Place<'_>, need: &Need, starts: [Start<'_>; 2]) -> [Directed; 2] {
    let mut directions = starts.map(Direction::new);
    while let Some(side) = unmet(need, &directions) {
        directions[side].advance(cpu, place, need.all);
    }
    if need.max {
        for direction in &mut directions {
            direction.find_max(cpu, place);
        }
    }
    directions.map(Direction::into_record)
}

/// The direction to resolve further for `need`, if any.
fn unmet(need: &Need, directions: &[Direction<'_>; 2]) -> Option<usize> {
    let nearest = usize::from(directions[1].reached < directions[0].reached);
    if directions[nearest].is_done() {
        return None;
    }
    if let Some(q) = need.pooled_percentile {
        let total = directions[0].total + directions[1].total;
        let reached = directions[nearest].reached;
        let (_, high, _) = ranks(total, q);
        if directions.iter().map(|d| d.known_within(reached)).sum::<u64>() <= high {
            return Some(nearest);
        }
    }
    (0..2).find(|&side| {
        let direction = &directions[side];
        let percentile = |q: f64| direction.known_within(direction.reached) <= ranks(direction.total, q).1;
        !direction.is_done()
            && (need.all
                || need.within.is_some_and(|within| direction.reached.sqrt() <= within)
                || need.directed_percentile.is_some_and(percentile))
    })
}

/// A query brick and what is known of its distances.
#[derive(Debug, Clone, Copy)]
struct Group {
    brick: usize,
    bounds: Bounds,
}

/// One direction in progress.
#[derive(Debug)]
struct Direction<'a> {
    total: u64,
    known: Vec<(f64, u64)>,
    found: Vec<f64>,
    max: Option<f64>,
    /// Every query closer than this (squared) is known.
    reached: f64,
    left: Vec<(u32, u64)>,
    features: &'a Words<'a>,
    search: Option<Search>,
}

/// Queries and features of a direction in bricks, and the query bricks to come, farthest first.
#[derive(Debug)]
struct Search {
    queries: Points,
    features: Points,
    groups: Vec<Group>,
    spent: AtomicU64,
    budget: u64,
}

impl<'a> Direction<'a> {
    fn new(start: Start<'a>) -> Self {
        let reached = if start.left.is_empty() { f64::INFINITY } else { start.beyond };
        Self {
            total: start.total,
            known: start.known,
            found: Vec::new(),
            max: None,
            reached,
            left: start.left,
            features: start.features,
            search: None,
        }
    }

    fn is_done(&self) -> bool {
        self.reached == f64::INFINITY
    }

    /// Number of known distances of at most `squared`.
    fn known_within(&self, squared: f64) -> u64 {
        let shells: u64 = self.known.iter().take_while(|(d, _)| *d <= squared).map(|(_, count)| count).sum();
        shells + self.found.iter().filter(|d| **d <= squared).count() as u64
    }

    /// Whether queries and features are so many that they should not even be put into bricks.
    fn is_bulk(&self, place: Place<'_>) -> bool {
        let left: u64 = self.left.iter().map(|(_, bits)| u64::from(bits.count_ones())).sum();
        self.search.is_none() && (left + self.features.voxels()) * BULK > place.voxels() as u64
    }

    /// Resolves everything that is left by tier 3.
    fn transform(&mut self, cpu: &Cpu, place: Place<'_>) {
        let (queries, features) = (place.points(self.left.drain(..)), place.points(self.features.iter()));
        self.left = Vec::new();
        self.found = transform::squared_distances(cpu, place.size(), place.spacing, features, queries);
        self.reached = f64::INFINITY;
    }

    /// Puts queries and features into bricks, once.
    fn search(&mut self, cpu: &Cpu, place: Place<'_>) -> &mut Search {
        if self.search.is_none() {
            let queries = Points::new(&place.points(std::mem::take(&mut self.left).into_iter()), place.size());
            let features = Points::new(&place.points(self.features.iter()), place.size());
            let mut search = Search {
                budget: transform::cost(place.size(), &queries),
                spent: AtomicU64::new(0),
                groups: Vec::new(),
                queries,
                features,
            };
            search.open(cpu, place);
            self.search = Some(search);
        }
        self.search.as_mut().expect("made above")
    }

    /// Resolves the next query bricks, or everything.
    fn advance(&mut self, cpu: &Cpu, place: Place<'_>, all: bool) {
        if self.is_bulk(place) {
            return self.transform(cpu, place);
        }
        let mut found = std::mem::take(&mut self.found);
        let search = self.search(cpu, place);
        let wave = if all { search.groups.len() } else { 64.max(search.groups.len() / 8) };
        let wave = wave.min(search.groups.len());
        let groups = search.groups.split_off(search.groups.len() - wave);
        search.resolve(cpu, place, &groups, None, &mut found);
        self.reached = search.groups.last().map_or(f64::INFINITY, |group| group.bounds.lower);
        self.found = found;
    }

    /// The largest distance of what is left and of what is known.
    fn find_max(&mut self, cpu: &Cpu, place: Place<'_>) {
        if !self.is_done() && self.is_bulk(place) {
            self.transform(cpu, place);
        }
        let known = self.known.iter().rev().find(|(_, count)| *count > 0).map_or(0.0, |(d, _)| *d);
        let mut max = self.found.iter().copied().fold(known, f64::max);
        if !self.is_done() {
            let search = self.search(cpu, place);
            let mut groups = std::mem::take(&mut search.groups);
            while !groups.is_empty() {
                groups.retain(|group| group.bounds.upper > max);
                let wave = 64.min(groups.len());
                let rest = groups.split_off(wave);
                let mut found = Vec::new();
                search.resolve(cpu, place, &groups, Some(max), &mut found);
                max = found.into_iter().fold(max, f64::max);
                groups = rest;
            }
        }
        self.max = Some(max.sqrt());
    }

    fn into_record(mut self) -> Directed {
        self.found.sort_unstable_by(f64::total_cmp);
        let mut bins: Vec<Bin> = Vec::with_capacity(self.known.len());
        // Both lists ascend, and shells lie below what was found after them, but for the last shell's equals.
        let shells = self.known.iter().filter(|(_, count)| *count > 0).copied();
        let found = self.found.iter().map(|&d| (d, 1));
        for (squared, count) in shells.chain(found) {
            let distance = squared.sqrt();
            match bins.last_mut() {
                Some(bin) if bin.distance == distance => bin.count += count,
                _ => bins.push(Bin { distance, weight: 1.0, count }),
            }
        }
        let resolved = self.reached.sqrt();
        let max =
            self.max.or_else(|| if resolved == f64::INFINITY { bins.last().map(|bin| bin.distance) } else { None });
        Directed { bins, resolved, max, ..Directed::lone_points(self.total) }
    }
}

impl Search {
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
    fn resolve(&self, cpu: &Cpu, place: Place<'_>, groups: &[Group], above: Option<f64>, found: &mut Vec<f64>) {
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
                Some(part) => found.extend(part),
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
    fn transform(&self, cpu: &Cpu, place: Place<'_>, groups: &[Group], found: &mut Vec<f64>) {
        let queries = groups.iter().flat_map(|group| {
            let range = self.queries.starts[group.brick]..self.queries.starts[group.brick + 1];
            range.map(|i| self.queries.whole(i))
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
fn nearest<S>(_: S, spacing: [f64; 3], search: &Search, group: Group, above: Option<&AtomicU64>) -> (Vec<f64>, u64) {
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
    use super::*;
    use crate::squared;

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
                let mut search = Search { queries, features, groups: Vec::new(), spent: AtomicU64::new(0), budget };
                let cpu = Cpu::new();
                search.open(&cpu, place);
                let groups = std::mem::take(&mut search.groups);
                let mut found = Vec::new();
                for wave in groups.chunks(7) {
                    search.resolve(&cpu, place, wave, None, &mut found);
                }
                let mut wanted: Vec<f64> = (0..search.queries.len())
                    .map(|i| {
                        let query = search.queries.point(i);
                        (0..search.features.len())
                            .map(|j| {
                                let feature = search.features.point(j);
                                squared(spacing, std::array::from_fn(|k| query[k] - feature[k]))
                            })
                            .fold(f64::INFINITY, f64::min)
                    })
                    .collect();
                found.sort_by(f64::total_cmp);
                wanted.sort_by(f64::total_cmp);
                assert_eq!(found, wanted, "budget {budget}");
            }
        }
    }
}

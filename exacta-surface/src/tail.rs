//! Tier 2: the queries that the shells left, nearest first, until the need is met.
//!
//! Queries and features lie in bricks. The bound of a query brick to all feature bricks is shared by its queries; query
//! bricks are taken in order of their lower bound, so a percentile is known once enough distances lie below the next
//! bound, and HD95 never resolves its farthest 5 %. The maximum goes the other way, farthest first, and drops a query
//! as soon as it cannot exceed the largest distance seen. Work is counted, and once it exceeds an estimate of the
//! transform (tier 3), that takes over: the whole is never much worse than the transform alone.

use exacta_core::stages::{Bin, Directed, Need};
use exacta_core::{Cpu, Grid};

use crate::carried::Carried;
use crate::coarse;
use crate::dense::{AxisBox, WordBox};
use crate::progress::unmet;
use crate::search::Search;
use crate::sweep::{self, Queries};
use crate::tags::{Tag, Weights};
use crate::tally::Known;
use crate::transform;
use crate::words::{Words, ones};

/// With more than one query or feature in so many voxels of the box, the transform is quicker than any search.
const BULK: u64 = 48;

/// Rows of the box there may be for one with a query.
const SPREAD: usize = 3;

/// Queries that the transform takes at once.
const CHUNK: usize = 1 << 19;

/// What the shells found for one direction, and what they left.
#[derive(Debug)]
pub(crate) struct Start<'a, T> {
    /// Number of queries of each weight in all.
    pub(crate) totals: Vec<u64>,
    /// What queries may weigh.
    pub(crate) weights: &'a Weights,
    /// Squared distances with their number, ascending; at one distance, weights ascending.
    pub(crate) known: Vec<Known<T>>,
    /// Queries that are left.
    pub(crate) left: Left<'a, T>,
    /// Squared distance that all of them reach.
    pub(crate) beyond: f64,
}

/// Queries that the shells left, and the other surface.
#[derive(Debug)]
pub(crate) enum Left<'a, T> {
    /// Words of the image, and what their elements carry.
    Words { left: Vec<(u32, u64)>, tags: Vec<T>, features: &'a Words<'a> },
    /// Planes of the box.
    Planes(Queries<'a, T>),
    /// All are resolved, or about to be.
    None,
}

impl<T> Left<'_, T> {
    fn is_empty(&self) -> bool {
        match self {
            Self::Words { left, .. } => left.is_empty(),
            Self::Planes(queries) => queries.left.iter().all(|&bits| bits == 0),
            Self::None => true,
        }
    }
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
    pub(crate) fn size(&self) -> [usize; 3] {
        let [slices, rows, words] = self.bounds.size;
        self.grid.by_axis([slices, rows, words * 64])
    }

    fn voxels(&self) -> usize {
        self.size().into_iter().product()
    }

    /// How many of the words the transform takes at once, and how many queries these hold: whole slices, for some [`CHUNK`] queries. Where
    /// slices are not those of axis 0, its first pass would be made for each, so all words are.
    fn chunk(&self, words: &[(u32, u64)]) -> (usize, usize) {
        let mut queries = 0;
        for (i, &(word, bits)) in words.iter().enumerate() {
            let fresh = i == 0 || self.bounds.at(word)[0] != self.bounds.at(words[i - 1].0)[0];
            if fresh && queries >= CHUNK && self.grid.order()[0] == 0 {
                return (i, queries);
            }
            queries += bits.count_ones() as usize;
        }
        (words.len(), queries)
    }

    /// Whether most rows of the box, along the last axis, have a query: then all rows together are the quickest.
    fn is_spread(&self, words: &[(u32, u64)]) -> bool {
        let size = self.size();
        let rows = if self.grid.order()[2] == 2 {
            words.chunk_by(|a, b| self.bounds.at(a.0)[..2] == self.bounds.at(b.0)[..2]).count()
        } else {
            words.len()
        };
        sweep::fits(size) && SPREAD * rows > size[0] * size[1]
    }

    /// Coordinates along the image's axes, relative to the box.
    pub(crate) fn points(&self, words: impl Iterator<Item = (u32, u64)>) -> Vec<[u32; 3]> {
        let mut points = Vec::new();
        for (word, bits) in words {
            let [slice, row, word] = self.bounds.at(word).map(|n| u32::try_from(n).expect("an axis fits 32 bits"));
            points.extend(ones(bits).map(|bit| self.grid.by_axis([slice, row, word * 64 + bit])));
        }
        points
    }
}

/// Resolves both directions as far as `need` asks.
pub(crate) fn finish<T: Tag>(cpu: &Cpu, place: Place<'_>, need: &Need, starts: [Start<'_, T>; 2]) -> [Directed; 2] {
    let mut directions = starts.map(Direction::new);
    while let Some((side, all)) = unmet(need, &directions) {
        let percentile = need.sole_percentile().filter(|_| !all);
        directions[side].advance(cpu, place, all, percentile);
    }
    if need.max {
        for direction in &mut directions {
            direction.find_max(cpu, place);
        }
    }
    directions.map(Direction::into_record)
}

/// One direction in progress.
#[derive(Debug)]
pub(crate) struct Direction<'a, T> {
    pub(crate) total: u64,
    /// Weight of all queries.
    pub(crate) weight: f64,
    pub(crate) weights: &'a Weights,
    pub(crate) known: Vec<Known<T>>,
    pub(crate) found: Vec<Known<T>>,
    max: Option<f64>,
    /// Every query closer than this (squared) is known.
    pub(crate) reached: f64,
    left: Left<'a, T>,
    search: Option<Search<T>>,
    /// Squared distances from which and up to which elements are counted by bucket.
    coarse: Option<[f64; 2]>,
}

impl<'a, T: Tag> Direction<'a, T> {
    fn new(start: Start<'a, T>) -> Self {
        let reached = if start.left.is_empty() { f64::INFINITY } else { start.beyond };
        Self {
            total: start.totals.iter().sum(),
            weight: start.weights.sum(&start.totals),
            weights: start.weights,
            known: start.known,
            found: Vec::new(),
            max: None,
            reached,
            left: start.left,
            search: None,
            coarse: None,
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.reached == f64::INFINITY
    }

    /// Whether queries and features are so many that they should not even be put into bricks.
    fn is_bulk(&self, place: Place<'_>) -> bool {
        match &self.left {
            Left::Words { tags, features, .. } if self.search.is_none() => {
                (tags.len() as u64 + features.voxels()) * BULK > place.voxels() as u64
            }
            Left::Planes(_) => true,
            _ => false,
        }
    }

    /// Resolves everything that is left by tier 3.
    fn transform(&mut self, cpu: &Cpu, place: Place<'_>) {
        // What was counted by bucket alone.
        if self.coarse.take().is_some() {
            self.found.clear();
        }
        match std::mem::replace(&mut self.left, Left::None) {
            Left::Words { left, tags, features } if place.is_spread(&left) => {
                let space = AxisBox::new(place.grid, place.bounds);
                let plane = space.plane(left.iter().copied(), [0; 2]);
                let carried = Carried::listed(&space, &plane, &left, &tags);
                let features = space.plane(features.iter(), [0; 2]);
                let [slices, rows, _] = space.words();
                let left = (0..slices * rows).flat_map(|i| plane.row(i / rows, i % rows)).copied().collect();
                let queries = Queries { size: space.size, left, plane: &plane, carried: &carried, features: &features };
                self.found.extend(sweep::squared_distances(cpu, place.spacing, &queries, true).unwrap_or_default());
            }
            Left::Words { left, tags, features } => {
                let (mut left, mut tags) = (&left[..], &tags[..]);
                let mut features = place.points(features.iter());
                features.sort_unstable();
                while !left.is_empty() {
                    let (words, count) = place.chunk(left);
                    let points = place.points(left[..words].iter().copied());
                    let queries = points.into_iter().zip(tags[..count].iter().copied()).collect();
                    (left, tags) = (&left[words..], &tags[count..]);
                    let (size, spacing) = (place.size(), place.spacing);
                    self.found.extend(transform::squared_distances(cpu, size, spacing, &features, queries));
                }
            }
            Left::Planes(queries) => {
                self.found.extend(sweep::squared_distances(cpu, place.spacing, &queries, true).unwrap_or_default());
            }
            Left::None => {}
        }
        self.reached = f64::INFINITY;
    }

    /// Resolves planes of queries: all of them, or the percentile `q` alone where nearly all distances differ.
    fn sweep(&mut self, cpu: &Cpu, place: Place<'_>, q: f64) {
        let Left::Planes(queries) = &self.left else { return self.transform(cpu, place) };
        if self.coarse.is_none() {
            if let Some(found) = sweep::squared_distances(cpu, place.spacing, queries, false) {
                self.found.extend(found);
                (self.left, self.reached) = (Left::None, f64::INFINITY);
                return;
            }
            let known = (&self.known[..], self.total, self.weight);
            let (weights, beyond) = (self.weights, self.reached);
            if let Some(coarse) = coarse::percentile(cpu, place.spacing, queries, weights, known, beyond, q) {
                self.coarse = Some([beyond, coarse.exact]);
                self.found = coarse.found;
                self.reached = coarse.reached;
                self.max = Some(coarse.max.sqrt());
                return;
            }
        }
        self.transform(cpu, place);
    }

    /// Puts queries and features into bricks, once.
    fn search(&mut self, cpu: &Cpu, place: Place<'_>) -> &mut Search<T> {
        self.search.get_or_insert_with(|| match std::mem::replace(&mut self.left, Left::None) {
            Left::Words { left, tags, features } => {
                let queries = place.points(left.into_iter());
                Search::new(cpu, place, &queries, &tags, &place.points(features.iter()))
            }
            Left::Planes(_) | Left::None => unreachable!("planes are many, and are not asked twice"),
        })
    }

    /// Resolves the next query bricks, or everything.
    fn advance(&mut self, cpu: &Cpu, place: Place<'_>, all: bool, percentile: Option<f64>) {
        if self.is_bulk(place) {
            return match percentile {
                Some(q) => self.sweep(cpu, place, q),
                None => self.transform(cpu, place),
            };
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
        if let (false, Left::Planes(queries)) = (self.is_done(), &self.left) {
            // Shells find nearer ones alone, so the largest is among these.
            self.max = self.max.or_else(|| Some(coarse::largest(cpu, place.spacing, queries).sqrt()));
            return;
        }
        if !self.is_done() && self.is_bulk(place) {
            self.transform(cpu, place);
        }
        let known = self.known.iter().rev().find(|known| known.2 > 0).map_or(0.0, |known| known.0);
        let mut max = self.found.iter().map(|found| found.0).fold(known, f64::max);
        if !self.is_done() {
            let search = self.search(cpu, place);
            let mut groups = std::mem::take(&mut search.groups);
            while !groups.is_empty() {
                groups.retain(|group| group.bounds.upper > max);
                let wave = 64.min(groups.len());
                let rest = groups.split_off(wave);
                let mut found = Vec::new();
                search.resolve(cpu, place, &groups, Some(max), &mut found);
                max = found.into_iter().map(|found| found.0).fold(max, f64::max);
                groups = rest;
            }
        }
        self.max = Some(max.sqrt());
    }

    fn into_record(self) -> Directed {
        let bins = self.bins(f64::INFINITY);
        let resolved = self.reached.sqrt();
        let max =
            self.max.or_else(|| if resolved == f64::INFINITY { bins.last().map(|bin| bin.distance) } else { None });
        let coarse = self.coarse.map(|range| range.map(f64::sqrt));
        let lone = Directed { elements: T::ELEMENTS, total: self.total, weight: self.weight, ..Directed::default() };
        Directed { bins, resolved, max, coarse, ..lone }
    }

    /// What is known closer than a distance, ascending; at one distance, weights ascending.
    pub(crate) fn bins(&self, below: f64) -> Vec<Bin> {
        let known = self.known.iter().copied().filter(|known| known.2 > 0);
        let rooted = known.chain(self.found.iter().copied()).map(|(squared, tag, count)| (squared.sqrt(), tag, count));
        let mut all: Vec<Known<T>> = rooted.filter(|known| known.0 < below).collect();
        // Places of weights are in order of the weights.
        all.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut bins: Vec<Bin> = Vec::new();
        for (distance, tag, count) in all {
            let weight = self.weights.values[tag.place()];
            match bins.last_mut() {
                Some(bin) if bin.distance == distance && bin.weight == weight => bin.count += count,
                _ => bins.push(Bin { distance, weight, count }),
            }
        }
        bins
    }
}

//! One direction of one class: what is known, what is pending, and how far both need to be taken.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use exacta_core::Cpu;
use exacta_core::parallel::Threads;
use exacta_core::quantile::compensated;
use exacta_core::stages::{Bin, Directed, Elements, Need};
use nalgebra::Vector3;

use super::far::{self, Bounds, Bricks};
use super::field::{Field, Sorted};
use super::near::{Geometry, Memo, Query};
use super::patch::Patch;
use super::shape::MOST;

/// Cells handed to a thread at a time.
const SHARE: usize = 512;
/// Below this many cells in all, one thread is quicker than waking another.
pub(crate) const SERIAL: usize = 1024;

/// A cell of which not all centres know their distance.
#[derive(Debug, Clone)]
pub(crate) struct Pending {
    /// Index among the cells of the surface.
    pub(crate) cell: u32,
    /// Which elements are open.
    open: u8,
    /// Squared distance of the nearest element found, for each centre.
    pub(crate) best: [f64; MOST],
}

impl Pending {
    fn new(cell: usize, elements: usize) -> Self {
        let cell = u32::try_from(cell).expect("fewer cells than corners");
        Self { cell, open: (1u16.wrapping_shl(elements as u32) - 1) as u8, best: [f64::INFINITY; MOST] }
    }

    /// Elements whose distance is not known.
    pub(crate) fn open(&self) -> impl Iterator<Item = usize> + use<> {
        let open = self.open;
        (0..MOST).filter(move |i| open >> i & 1 == 1)
    }

    /// The largest squared distance found for an open element.
    pub(crate) fn widest(&self) -> f64 {
        self.open().fold(0.0, |widest: f64, i| widest.max(self.best[i]))
    }
}

/// A distance, and which of the shape's sizes the element has.
type Known = (f64, u8);

/// Both surfaces of a direction.
#[derive(Debug)]
pub(crate) struct Sides<'a> {
    pub(crate) queries: &'a Sorted,
    pub(crate) cells: &'a Sorted,
    pub(crate) field: &'a Field<'a>,
}

/// One direction in progress.
#[derive(Debug)]
pub(crate) struct Direction<'a, P> {
    geometry: &'a Geometry<'a, P>,
    sides: Sides<'a>,
    total: u64,
    weight: f64,
    known: Vec<Known>,
    /// Whether nothing was looked for yet; then all cells are pending.
    fresh: bool,
    pending: Vec<Pending>,
    /// Whether elements were left aside that are not known.
    left: bool,
    /// Every element closer than this (squared) is known.
    reached: f64,
    round: usize,
    far: Option<Far>,
    max: Option<f64>,
}

/// Pending cells in groups, and the bricks of the other surface.
#[derive(Debug)]
struct Far {
    bricks: Bricks,
    /// Groups to come, farthest first.
    groups: Vec<(Bounds, [Vector3<f64>; 2], Vec<Pending>)>,
}

/// What a round of some cells found.
#[derive(Debug, Default)]
struct Part {
    known: Vec<Known>,
    pending: Vec<Pending>,
}

impl<'a, P: Patch> Direction<'a, P> {
    pub(crate) fn new(geometry: &'a Geometry<'a, P>, sides: Sides<'a>) -> Self {
        let (total, weight) = measure(geometry, sides.queries);
        Self {
            geometry,
            sides,
            total,
            weight,
            known: Vec::new(),
            fresh: true,
            pending: Vec::new(),
            left: false,
            reached: 0.0,
            round: 0,
            far: None,
            max: None,
        }
    }

    fn is_done(&self) -> bool {
        !self.fresh
            && !self.left
            && self.pending.is_empty()
            && self.far.as_ref().is_none_or(|far| far.groups.is_empty())
    }

    /// Every element closer than this is known.
    fn resolved(&self) -> f64 {
        if self.is_done() { f64::INFINITY } else { self.reached.sqrt() }
    }

    /// Puts what is known in order: by distance, then by weight.
    fn sort(&mut self) {
        self.known.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    }

    /// Takes one more round of the rows around, or the nearest groups of bricks.
    fn advance(&mut self, cpu: &Cpu, memos: &Memos, all: bool) {
        if let Some(&round) = self.geometry.rounds.get(self.round) {
            // Where all are asked for, there is no point in coming back.
            let last = if all { self.geometry.rounds.len() - 1 } else { self.round };
            let start = if self.round == 0 { 0 } else { self.geometry.rounds[self.round - 1].rows };
            let end = if all { self.geometry.rounds[last] } else { round };
            self.look(cpu, memos, start..end.rows, end.reach, None);
            (self.round, self.reached) = (last + 1, end.reach);
            return;
        }
        let mut far = self.open(cpu);
        let wave = if all { far.groups.len() } else { 64.max(far.groups.len() / 8) };
        let groups = far.groups.split_off(far.groups.len() - wave.min(far.groups.len()));
        for pending in self.resolve(cpu, &far.bricks, groups, None) {
            self.settle(pending, f64::INFINITY);
        }
        self.reached = far.groups.last().map_or(f64::INFINITY, |group| group.0.lower.max(self.reached));
        self.far = Some(far);
    }

    /// Notes what is known of a cell if nothing nearer than `reach` can come; the rest stays pending.
    fn settle(&mut self, pending: Pending, reach: f64) {
        let mut part = Part::default();
        settle(self.geometry, self.sides.queries, pending, reach, &mut part);
        self.known.append(&mut part.known);
        self.pending.append(&mut part.pending);
    }

    /// Looks around pending cells; with `above`, only for what may be the largest distance.
    fn look(&mut self, cpu: &Cpu, memos: &Memos, rows: std::ops::Range<usize>, reach: f64, above: Option<&AtomicU64>) {
        let pending = std::mem::take(&mut self.pending);
        let cells = if self.fresh { self.sides.queries.len() } else { pending.len() };
        let threads = if cells <= SERIAL { &Threads::Serial } else { &cpu.threads };
        let (geometry, sides, fresh) = (self.geometry, &self.sides, self.fresh);
        let parts = threads.map(cells.div_ceil(SHARE), |share| {
            let range = share * SHARE..cells.min((share + 1) * SHARE);
            let cells = range.map(|i| {
                if fresh {
                    Pending::new(i, geometry.shape.of(sides.queries.codes[i]).len())
                } else {
                    pending[i].clone()
                }
            });
            let task = Task { rows: rows.clone(), reach, above };
            memos.with(
                geometry,
                |memo| exacta_core::dispatch!(cpu.level, simd => look(simd, geometry, sides, memo, cells, &task)),
            )
        });
        self.fresh = false;
        let (known, pending): (usize, usize) = parts
            .iter()
            .fold((0, 0), |(known, pending), part| (known + part.known.len(), pending + part.pending.len()));
        self.known.reserve(known);
        self.pending.reserve(pending);
        for mut part in parts {
            self.known.append(&mut part.known);
            self.pending.append(&mut part.pending);
        }
    }

    /// The groups of what is pending, made once.
    fn open(&mut self, cpu: &Cpu) -> Far {
        if let Some(far) = self.far.take() {
            return far;
        }
        let (geometry, pending) = (self.geometry, std::mem::take(&mut self.pending));
        let bricks = Bricks::new(self.sides.cells.at.iter().copied());
        let groups = Bricks::new(pending.iter().map(|pending| self.sides.queries.at[pending.cell as usize]));
        let threads = if groups.len() * bricks.len() < 1 << 12 { &Threads::Serial } else { &cpu.threads };
        let mut groups = threads.map(groups.len(), |group| {
            let corners = groups.corners(group);
            let bounds = exacta_core::dispatch!(cpu.level, simd => bound(simd, geometry, corners, &bricks));
            (bounds, corners, groups.members(group).iter().map(|&i| pending[i as usize].clone()).collect::<Vec<_>>())
        });
        // A stable sort of groups in the order of their places.
        groups.sort_by(|a, b| b.0.lower.total_cmp(&a.0.lower));
        Far { bricks, groups }
    }

    /// Resolves groups of pending cells.
    fn resolve(
        &self,
        cpu: &Cpu,
        bricks: &Bricks,
        groups: Vec<(Bounds, [Vector3<f64>; 2], Vec<Pending>)>,
        above: Option<&AtomicU64>,
    ) -> Vec<Pending> {
        let groups: Vec<_> =
            groups.into_iter().map(|(b, corners, pending)| (b, corners, Mutex::new(pending))).collect();
        let threads = if groups.len() * bricks.len() < 1 << 10 { &Threads::Serial } else { &cpu.threads };
        let parts = threads.map(groups.len(), |i| {
            let (bounds, corners, pending) = &groups[i];
            let mut pending = std::mem::take(&mut *pending.lock().expect("no holder panics"));
            let (geometry, sides) = (self.geometry, &self.sides);
            exacta_core::dispatch!(cpu.level, simd => resolve(simd, geometry, sides, (*corners, bounds.upper), bricks, &mut pending, above));
            if let Some(above) = above {
                let max = pending.iter().map(Pending::widest).fold(0.0, f64::max);
                above.fetch_max(max.to_bits(), Ordering::Relaxed);
            }
            pending
        });
        parts.into_iter().flatten().collect()
    }

    /// The largest distance of what is known and of what is pending. Bits of doubles that are not negative are ordered as
    /// the doubles are, so threads share the largest seen so far; a query that is known to be no farther is left.
    fn find_max(&mut self, cpu: &Cpu, memos: &Memos) {
        let above = AtomicU64::new(0);
        let largest = || f64::from_bits(above.load(Ordering::Relaxed));
        if let (Some(last), true) = (self.geometry.rounds.last().copied(), self.round < self.geometry.rounds.len()) {
            let start = if self.round == 0 { 0 } else { self.geometry.rounds[self.round - 1].rows };
            self.look(cpu, memos, start..last.rows, last.reach, Some(&above));
            self.round = self.geometry.rounds.len();
        }
        if !self.is_done() {
            let mut far = self.open(cpu);
            far.groups.sort_by(|a, b| a.0.upper.total_cmp(&b.0.upper));
            while !far.groups.is_empty() {
                far.groups.retain(|group| group.0.upper > largest());
                let wave = far.groups.split_off(far.groups.len().saturating_sub(64));
                self.resolve(cpu, &far.bricks, wave, Some(&above));
            }
        }
        let known = self.known.iter().map(|known| known.0).fold(0.0, f64::max);
        self.max = Some(known.max(largest().sqrt()));
        // What was looked at for the maximum alone is not known.
        (self.left, self.far, self.pending) = (true, None, Vec::new());
    }

    /// The record of a direction.
    fn into_record(mut self) -> Directed {
        let resolved = self.resolved();
        self.sort();
        let mut bins: Vec<Bin> = Vec::new();
        let mut last = None;
        for known in self.known {
            if last == Some(known) {
                bins.last_mut().expect("one was pushed").count += 1;
            } else {
                bins.push(Bin { distance: known.0, weight: self.geometry.sizes[usize::from(known.1)], count: 1 });
                last = Some(known);
            }
        }
        let max = self.max.or_else(|| bins.last().filter(|_| resolved == f64::INFINITY).map(|bin| bin.distance));
        Directed {
            elements: Elements::Patches,
            total: self.total,
            weight: self.weight,
            bins,
            resolved,
            max,
            coarse: None,
        }
    }
}

/// Resolves both directions as far as `need` asks.
pub(crate) fn finish<P: Patch>(
    cpu: &Cpu,
    memos: &Memos,
    need: &Need,
    mut directions: [Direction<'_, P>; 2],
) -> [Directed; 2] {
    while let Some(side) = unmet(need, &mut directions) {
        directions[side].advance(cpu, memos, need.all | need.lesser);
    }
    if need.max {
        for direction in &mut directions {
            if !direction.is_done() {
                direction.find_max(cpu, memos);
            }
        }
    }
    directions.map(Direction::into_record)
}

/// The direction to resolve further for `need`, if any.
fn unmet<P: Patch>(need: &Need, directions: &mut [Direction<'_, P>; 2]) -> Option<usize> {
    let resolved = [0, 1].map(|side| directions[side].resolved());
    let nearest = usize::from(resolved[1] < resolved[0]);
    if directions[nearest].is_done() {
        return None;
    }
    // Lesser percentiles than those named can hang on the weight of all.
    let every = need.all || (need.lesser && (need.directed_percentile.is_some() || need.pooled_percentile.is_some()));
    if let (Some(q), false) = (need.pooled_percentile, every) {
        let [a, b] = &mut *directions;
        if !decided(&mut [a, b], resolved[nearest], q) {
            return Some(nearest);
        }
    }
    (0..2).find(|&side| {
        let direction = &mut directions[side];
        !direction.is_done()
            && (every
                || need.within.is_some_and(|within| resolved[side] <= within)
                || need.directed_percentile.is_some_and(|q| !decided(&mut [direction], resolved[side], q)))
    })
}

/// Whether the elements closer than `resolved` decide a percentile, whatever the others are: it lies on one distance, by more than sums
/// of weights differ with their order.
fn decided<P: Patch>(directions: &mut [&mut Direction<'_, P>], resolved: f64, q: f64) -> bool {
    const SLACK: f64 = 1e-9;
    let wanted = q / 100.0 * directions.iter().map(|d| d.weight).sum::<f64>();
    let (mut known, mut counts) = (0.0, [0u32; 256]);
    for direction in directions.iter() {
        direction.known.iter().filter(|known| known.0 < resolved).for_each(|known| counts[usize::from(known.1)] += 1);
        let weights = direction.geometry.sizes.iter().zip(&mut counts);
        known += weights.map(|(size, count)| size * f64::from(std::mem::take(count))).sum::<f64>();
    }
    if known <= wanted * (1.0 + SLACK) {
        return false;
    }
    directions.iter_mut().for_each(|direction| direction.sort());
    let mut next: Vec<_> = directions.iter().map(|direction| direction.known.iter().peekable()).collect();
    let mut passed = 0.0;
    loop {
        let nearest = next.iter_mut().filter_map(|next| next.peek().map(|known| known.0)).fold(f64::INFINITY, f64::min);
        if nearest >= resolved {
            return false;
        }
        let before: f64 = passed;
        for (next, direction) in next.iter_mut().zip(directions.iter()) {
            while let Some(known) = next.next_if(|known| known.0 == nearest) {
                passed += direction.geometry.sizes[usize::from(known.1)];
            }
        }
        if passed >= wanted * (1.0 - SLACK) {
            // The first distance is the answer however little is asked for.
            return passed >= wanted * (1.0 + SLACK) && (before == 0.0 || before <= wanted * (1.0 - SLACK));
        }
    }
}

/// Number of elements of a surface, and the sum of their sizes: of each size, ascending, their number times it.
pub(crate) fn measure<P: Patch>(geometry: &Geometry<'_, P>, cells: &Sorted) -> (u64, f64) {
    let mut codes = [0u64; 256];
    cells.codes.iter().for_each(|&code| codes[usize::from(code)] += 1);
    let mut counts = vec![0u64; geometry.sizes.len()];
    for (code, &number) in codes[..geometry.shape.codes()].iter().enumerate() {
        for &size in &geometry.size_of[geometry.shape.range(code as u8)] {
            counts[usize::from(size)] += number;
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    let weight = compensated(geometry.sizes.iter().zip(&counts).map(|(size, &count)| size * count as f64));
    (counts.iter().sum(), weight)
}

/// What a round looks for.
#[derive(Debug)]
struct Task<'a> {
    rows: std::ops::Range<usize>,
    reach: f64,
    above: Option<&'a AtomicU64>,
}

fn settle<P: Patch>(geometry: &Geometry<'_, P>, queries: &Sorted, mut pending: Pending, reach: f64, part: &mut Part) {
    let range = geometry.shape.range(queries.codes[pending.cell as usize]);
    for i in pending.open() {
        if pending.best[i] <= reach {
            pending.open &= !(1 << i);
            part.known.push((pending.best[i].sqrt(), geometry.size_of[range.start + i]));
        }
    }
    if pending.open != 0 {
        part.pending.push(pending);
    }
}

#[inline(always)]
fn look<S, P: Patch>(
    _: S,
    geometry: &Geometry<'_, P>,
    sides: &Sides<'_>,
    memo: &mut Memo,
    cells: impl ExactSizeIterator<Item = Pending>,
    task: &Task<'_>,
) -> Part {
    let mut part = Part::default();
    part.known.reserve(3 * cells.len());
    let mut max = task.above.map_or(-1.0, |above| f64::from_bits(above.load(Ordering::Relaxed)));
    let mut guess = None;
    for mut pending in cells {
        let (at, code) = (sides.queries.at[pending.cell as usize], sides.queries.codes[pending.cell as usize]);
        let known = &geometry.queries[usize::from(code)];
        let (mut some, mut best, mut open) = (*known, [f64::INFINITY; MOST], 0);
        for i in pending.open() {
            some[open] = known[i];
            best[open] = pending.best[i];
            open += 1;
        }
        let query = Query { at, centres: &some[..open] };
        let more = geometry.look(sides.field, memo, task.rows.clone(), query, &mut best, &mut guess, max);
        for (i, best) in pending.open().zip(best) {
            pending.best[i] = best;
        }
        let reach = if more { task.reach } else { f64::INFINITY };
        let Some(above) = task.above else {
            settle(geometry, sides.queries, pending, reach, &mut part);
            continue;
        };
        let widest = pending.widest();
        if widest > reach {
            part.pending.push(pending);
        } else if widest > max {
            max = f64::from_bits(above.fetch_max(widest.to_bits(), Ordering::Relaxed)).max(widest);
        }
    }
    part
}

#[inline(always)]
fn bound<S, P: Patch>(_: S, geometry: &Geometry<'_, P>, corners: [Vector3<f64>; 2], bricks: &Bricks) -> Bounds {
    far::bounds(geometry, corners, bricks)
}

#[inline(always)]
fn resolve<S, P: Patch>(
    _: S,
    geometry: &Geometry<'_, P>,
    sides: &Sides<'_>,
    place: ([Vector3<f64>; 2], f64),
    bricks: &Bricks,
    pending: &mut [Pending],
    above: Option<&AtomicU64>,
) {
    let enough = || above.map_or(-1.0, |above| f64::from_bits(above.load(Ordering::Relaxed)));
    far::resolve(geometry, sides.queries, place, (sides.cells, bricks), pending, enough);
}

/// Memos that no thread uses at the moment. What they hold does not depend on who filled them.
#[derive(Debug, Default)]
pub(crate) struct Memos(Mutex<Vec<Memo>>);

impl Memos {
    fn with<P: Patch, T>(&self, geometry: &Geometry<'_, P>, f: impl FnOnce(&mut Memo) -> T) -> T {
        let free = self.0.lock().expect("no holder panics").pop();
        let mut memo = free.unwrap_or_else(|| geometry.memo());
        let out = f(&mut memo);
        self.0.lock().expect("no holder panics").push(memo);
        out
    }
}

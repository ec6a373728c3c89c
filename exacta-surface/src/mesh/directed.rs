//! One direction of one class: what is known, what is pending, and how far both need to be taken.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use exacta_core::Cpu;
use exacta_core::parallel::Threads;
use exacta_core::quantile::compensated;
use exacta_core::stages::{Bin, Directed, Elements, Nearer};
use nalgebra::Vector3;

use super::bracket::Window;
use super::far::{self, Bounds, Bricks};
use super::field::{Field, Sorted};
use super::look::Memo;
use super::near::Geometry;
use super::patch::Patch;
use super::round::{Part, Task, look, settle};
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
    pub(crate) open: u8,
    /// Squared distance of the nearest element found, for each centre.
    pub(crate) best: [f64; MOST],
}

impl Pending {
    pub(crate) fn new(cell: usize, elements: usize) -> Self {
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
pub(crate) type Known = (f64, u8);

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
    pub(crate) geometry: &'a Geometry<'a, P>,
    pub(crate) sides: Sides<'a>,
    total: u64,
    pub(crate) weight: f64,
    /// What need not be told apart.
    pub(crate) window: Window,
    pub(crate) known: Vec<Known>,
    /// Numbers of elements that are at most `window.floor` away, by size.
    pub(crate) nearer: Vec<u64>,
    /// Whether nothing was looked for yet; then all cells are pending.
    fresh: bool,
    pending: Vec<Pending>,
    /// Whether elements were left aside that are not known.
    left: bool,
    /// Every element closer than this (squared) is known.
    reached: f64,
    /// The round to come, and the rows that were looked through.
    round: usize,
    rows: usize,
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

impl<'a, P: Patch> Direction<'a, P> {
    pub(crate) fn new(geometry: &'a Geometry<'a, P>, sides: Sides<'a>) -> Self {
        let (total, weight) = measure(geometry, sides.queries);
        Self {
            geometry,
            sides,
            total,
            weight,
            window: Window::NONE,
            known: Vec::new(),
            nearer: vec![0; geometry.sizes.len()],
            fresh: true,
            pending: Vec::new(),
            left: false,
            reached: 0.0,
            round: 0,
            rows: 0,
            far: None,
            max: None,
        }
    }

    /// Begins anew, without a window.
    pub(crate) fn reopen(&mut self) {
        self.window = Window::NONE;
        self.known.clear();
        self.nearer.fill(0);
        self.pending.clear();
        (self.fresh, self.left, self.far) = (true, false, None);
        (self.reached, self.round, self.rows) = (0.0, 0, 0);
    }

    /// Whether every element is known, or known to be nearer than what is.
    pub(crate) fn is_done(&self) -> bool {
        !self.fresh
            && !self.left
            && self.pending.is_empty()
            && self.far.as_ref().is_none_or(|far| far.groups.is_empty())
    }

    /// Whether there are elements of which it is only known that they are near.
    pub(crate) fn hides(&self) -> bool {
        self.nearer.iter().any(|&count| count > 0)
    }

    /// Every element closer than this is known.
    pub(crate) fn resolved(&self) -> f64 {
        if self.is_done() { f64::INFINITY } else { self.reached.sqrt() }
    }

    /// Puts what is known in order: by distance, then by weight.
    pub(crate) fn sort(&mut self) {
        self.known.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    }

    /// Takes one more round of the rows around, or the nearest groups of bricks.
    pub(crate) fn advance(&mut self, cpu: &Cpu, memos: &Memos, all: bool) {
        let rounds = &self.geometry.rounds;
        if let (true, true, Some(last)) = (self.fresh, self.window.is_some(), rounds.last()) {
            let cutoff = self.window.cutoff;
            self.look(cpu, memos, 0..last.rows, last.reach, cutoff, None);
            self.reached = last.reach.min(cutoff);
            return;
        }
        while self.round < rounds.len() {
            // Where all are asked for, there is no point in coming back.
            self.round = if all { rounds.len() } else { self.round + 1 };
            let end = rounds[self.round - 1];
            if end.reach > self.reached {
                self.look(cpu, memos, self.rows..end.rows, end.reach, f64::INFINITY, None);
                (self.rows, self.reached) = (end.rows, end.reach);
                return;
            }
        }
        let mut far = self.open(cpu);
        let wave = if all { far.groups.len() } else { 64.max(far.groups.len() / 8) };
        let groups = far.groups.split_off(far.groups.len() - wave.min(far.groups.len()));
        let mut part = Part::new(self.geometry);
        for pending in self.resolve(cpu, &far.bricks, groups, None) {
            settle(self.geometry, self.sides.queries, pending, f64::INFINITY, self.window.floor, &mut part);
        }
        self.take(part);
        self.reached = far.groups.last().map_or(f64::INFINITY, |group| group.0.lower.max(self.reached));
        self.far = Some(far);
    }

    fn take(&mut self, mut part: Part) {
        self.known.append(&mut part.known);
        self.pending.append(&mut part.pending);
        self.nearer.iter_mut().zip(part.nearer).for_each(|(sum, count)| *sum += count);
    }

    /// Looks around pending cells for what is nearer than `cutoff`; with `above`, only for what may be the largest distance.
    fn look(
        &mut self,
        cpu: &Cpu,
        memos: &Memos,
        rows: std::ops::Range<usize>,
        reach: f64,
        cutoff: f64,
        above: Option<&AtomicU64>,
    ) {
        let pending = std::mem::take(&mut self.pending);
        let cells = if self.fresh { self.sides.queries.len() } else { pending.len() };
        let threads = if cells <= SERIAL { &Threads::Serial } else { &cpu.threads };
        let (geometry, sides, fresh) = (self.geometry, &self.sides, self.fresh);
        let task = Task { rows, reach, cutoff, floor: self.window.floor, above };
        let parts = threads.map(cells.div_ceil(SHARE), |share| {
            let range = share * SHARE..cells.min((share + 1) * SHARE);
            let cells = range.map(|i| {
                if fresh {
                    Pending::new(i, geometry.shape.of(sides.queries.codes[i]).len())
                } else {
                    pending[i].clone()
                }
            });
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
        parts.into_iter().for_each(|part| self.take(part));
    }

    /// Distances of the elements of every `stride`-th cell, as far as the first round sees, infinite beyond; and their sizes.
    pub(crate) fn sample(&self, cpu: &Cpu, memos: &Memos, stride: usize) -> Vec<(f64, f64)> {
        const SHARE: usize = 64;
        let (geometry, sides) = (self.geometry, &self.sides);
        let count = sides.queries.len() / stride;
        let round = geometry.rounds[0];
        let task = Task { rows: 0..round.rows, reach: round.reach, cutoff: f64::INFINITY, floor: -1.0, above: None };
        let parts = cpu.threads.map(count.div_ceil(SHARE), |share| {
            let cells = (share * SHARE..count.min((share + 1) * SHARE)).map(|i| {
                let cell = i * stride + stride / 2;
                Pending::new(cell, geometry.shape.of(sides.queries.codes[cell]).len())
            });
            memos.with(
                geometry,
                |memo| exacta_core::dispatch!(cpu.level, simd => look(simd, geometry, sides, memo, cells, &task)),
            )
        });
        let mut found = Vec::with_capacity(4 * count);
        for part in parts {
            found.extend(part.known.iter().map(|known| (known.0, geometry.sizes[usize::from(known.1)])));
            for pending in &part.pending {
                let first = geometry.shape.range(sides.queries.codes[pending.cell as usize]).start;
                let sizes = pending.open().map(|i| geometry.sizes[usize::from(geometry.size_of[first + i])]);
                found.extend(sizes.map(|size| (f64::INFINITY, size)));
            }
        }
        found
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
            let (geometry, sides, floor) = (self.geometry, &self.sides, self.window.floor);
            exacta_core::dispatch!(cpu.level, simd => resolve(simd, geometry, sides, (*corners, bounds.upper), bricks, &mut pending, (above, floor)));
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
    pub(crate) fn find_max(&mut self, cpu: &Cpu, memos: &Memos) {
        let above = AtomicU64::new(0);
        let largest = || f64::from_bits(above.load(Ordering::Relaxed));
        if let Some(last) = self.geometry.rounds.last().filter(|last| last.reach > self.reached) {
            self.look(cpu, memos, self.rows..last.rows, last.reach, f64::INFINITY, Some(&above));
            (self.round, self.rows) = (self.geometry.rounds.len(), last.rows);
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
    pub(crate) fn into_record(mut self) -> Directed {
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
        let counts = self.geometry.sizes.iter().copied().zip(self.nearer).filter(|counts| counts.1 > 0);
        let counts: Vec<_> = counts.collect();
        let within = if counts.is_empty() { 0.0 } else { self.window.floor.sqrt() };
        let nearer = Nearer { within, counts };
        let lone =
            Directed { elements: Elements::Patches, total: self.total, weight: self.weight, ..Directed::default() };
        Directed { bins, nearer, resolved, max, ..lone }
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
    (above, floor): (Option<&AtomicU64>, f64),
) {
    let enough = || above.map_or(floor, |above| f64::from_bits(above.load(Ordering::Relaxed)));
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

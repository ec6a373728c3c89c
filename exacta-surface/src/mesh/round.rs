//! A round: cells of a surface look around, with what they know from before.

use std::sync::atomic::{AtomicU64, Ordering};

use super::directed::{Known, Pending, Sides};
use super::field::Sorted;
use super::look::{Guesses, Memo, Query};
use super::near::Geometry;
use super::patch::Patch;

/// What a round of some cells found.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) known: Vec<Known>,
    pub(crate) nearer: Vec<u64>,
    pub(crate) pending: Vec<Pending>,
}

/// What a round looks for: squared distances.
#[derive(Debug)]
pub(crate) struct Task<'a> {
    pub(crate) rows: std::ops::Range<usize>,
    /// Nothing closer lies outside the rows.
    pub(crate) reach: f64,
    /// Only what is nearer is looked for.
    pub(crate) cutoff: f64,
    /// Of an element at most so far away no more is to be known.
    pub(crate) floor: f64,
    /// The largest distance seen so far, where no more is to be known of any that are nearer.
    pub(crate) above: Option<&'a AtomicU64>,
}

impl Part {
    pub(crate) fn new<P: Patch>(geometry: &Geometry<'_, P>) -> Self {
        Self { known: Vec::new(), nearer: vec![0; geometry.sizes.len()], pending: Vec::new() }
    }
}

/// Notes what is known of a cell if nothing nearer than `reach` can come; the rest stays pending.
#[inline(always)]
pub(crate) fn settle<P: Patch>(
    geometry: &Geometry<'_, P>,
    queries: &Sorted,
    mut pending: Pending,
    reach: f64,
    floor: f64,
    part: &mut Part,
) {
    let range = geometry.shape.range(queries.codes[pending.cell as usize]);
    for i in pending.open() {
        let (best, size) = (pending.best[i], geometry.size_of[range.start + i]);
        if best <= floor {
            part.nearer[usize::from(size)] += 1;
        } else if best <= reach && best < f64::INFINITY {
            part.known.push((best.sqrt(), size));
        } else {
            continue;
        }
        pending.open &= !(1 << i);
    }
    if pending.open != 0 {
        part.pending.push(pending);
    }
}

#[inline(always)]
pub(crate) fn look<S, P: Patch>(
    _: S,
    geometry: &Geometry<'_, P>,
    sides: &Sides<'_>,
    memo: &mut Memo,
    cells: impl ExactSizeIterator<Item = Pending>,
    task: &Task<'_>,
) -> Part {
    let mut part = Part::new(geometry);
    let largest = || task.above.map_or(task.floor, |above| f64::from_bits(above.load(Ordering::Relaxed)));
    let mut enough = largest();
    let (mut guesses, mut query) = (Guesses::new(), Query::new());
    // Cells of which all elements were near enough, by code.
    let mut whole = [0u32; 256];
    for mut pending in cells {
        let (at, code) = (sides.queries.at[pending.cell as usize], sides.queries.codes[pending.cell as usize]);
        let known = &geometry.queries[usize::from(code)];
        query.begin(at, code);
        let len = geometry.lens[usize::from(code)];
        let fresh = pending.open.count_ones() == u32::from(len);
        for i in (0..usize::from(len)).filter(|i| pending.open >> i & 1 == 1) {
            let best = pending.best[i];
            query.push(i, known[i], if best < task.cutoff { best } else { task.cutoff });
        }
        let more = geometry.look(sides.field, memo, task.rows.clone(), &mut query, &mut guesses, enough);
        let reach = if more { task.reach } else { f64::INFINITY };
        if fresh && query.near == pending.open {
            whole[usize::from(code)] += 1;
            continue;
        }
        if query.near != 0 {
            let first = geometry.shape.range(code).start;
            for i in pending.open().filter(|i| query.near >> i & 1 == 1) {
                part.nearer[usize::from(geometry.size_of[first + i])] += 1;
            }
            pending.open &= !query.near;
        }
        if pending.open == 0 {
            continue;
        }
        for (i, best) in query.found() {
            pending.best[i] = if best < task.cutoff { best } else { f64::INFINITY };
        }
        let Some(above) = task.above else {
            settle(geometry, sides.queries, pending, reach, -1.0, &mut part);
            continue;
        };
        let widest = pending.widest();
        if widest > reach || widest == f64::INFINITY {
            part.pending.push(pending);
        } else if widest > enough {
            enough = f64::from_bits(above.fetch_max(widest.to_bits(), Ordering::Relaxed)).max(widest);
        }
    }
    for (code, &count) in whole[..geometry.shape.codes()].iter().enumerate().filter(|whole| *whole.1 > 0) {
        for &size in &geometry.size_of[geometry.shape.range(code as u8)] {
            part.nearer[usize::from(size)] += u64::from(count);
        }
    }
    if task.above.is_some() {
        // What was left for the maximum may be anywhere below it.
        part.nearer.fill(0);
    }
    part
}

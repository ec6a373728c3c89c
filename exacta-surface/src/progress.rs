//! Whether what is known of the distances meets a need.

use exacta_core::Percentile;
use exacta_core::quantile::{WeightedPrefix, crossing, ranks};
use exacta_core::stages::{Bin, Elements, Need};

use crate::tags::Tag;
use crate::tail::Direction;

/// The direction to resolve further for `need`, if any, and whether to resolve all of it.
pub(crate) fn unmet<T: Tag>(need: &Need, directions: &[Direction<'_, T>; 2]) -> Option<(usize, bool)> {
    let nearest = usize::from(directions[1].reached < directions[0].reached);
    if directions[nearest].is_done() {
        return None;
    }
    if let Some(q) = need.pooled_percentile {
        let state = state(&[&directions[0], &directions[1]], q, need.lesser);
        if state != State::Met {
            return Some((nearest, need.all || state == State::Tied));
        }
    }
    (0..2).find_map(|side| {
        let direction = &directions[side];
        if direction.is_done() {
            return None;
        }
        let state = need.directed_percentile.map_or(State::Met, |q| state(&[direction], q, need.lesser));
        let near = need.within.is_some_and(|within| direction.reached.sqrt() <= within);
        (need.all || near || state != State::Met).then_some((side, need.all || state == State::Tied))
    })
}

/// How a percentile stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It is known.
    Met,
    /// It may lie beyond what is known.
    Unmet,
    /// It lies so close to a share that only all distances decide.
    Tied,
}

/// How the percentile `q` of directions together stands; with `lesser`, those below it too.
fn state<T: Tag>(directions: &[&Direction<'_, T>], q: f64, lesser: bool) -> State {
    let reached = directions.iter().map(|d| d.reached).fold(f64::INFINITY, f64::min);
    match T::ELEMENTS {
        Elements::Points => {
            let total = directions.iter().map(|d| d.total).sum();
            let known: u64 = directions.iter().map(|d| d.known_within(reached)).sum();
            if known > ranks(total, q).1 { State::Met } else { State::Unmet }
        }
        Elements::Patches if lesser => State::Tied,
        Elements::Patches => {
            let weight = directions.iter().map(|d| d.weight).sum::<f64>();
            let known = directions.iter().map(|d| d.weight_below(reached)).sum::<f64>();
            // Well beyond rounding, so that the bins are gathered once.
            if known < weight * (q / 100.0) * (1.0 + 1e-9) {
                return State::Unmet;
            }
            let bins: Vec<Bin> = directions.iter().flat_map(|d| d.bins(reached.sqrt())).collect();
            let known = WeightedPrefix { nearer: Vec::new(), bins, weight, complete: false };
            let decided = Percentile::new(q).ok().and_then(|q| crossing(known, q)).is_some();
            if decided { State::Met } else { State::Tied }
        }
    }
}

impl<T: Tag> Direction<'_, T> {
    /// Number of known distances of at most `squared`.
    fn known_within(&self, squared: f64) -> u64 {
        let shells: u64 = self.known.iter().take_while(|known| known.0 <= squared).map(|known| known.2).sum();
        shells + self.found.iter().filter(|found| found.0 <= squared).map(|found| found.2).sum::<u64>()
    }

    /// Weight of the queries known to be closer than `squared`, in any order of the sum.
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    fn weight_below(&self, squared: f64) -> f64 {
        let weight = |tag: T| self.weights.values[tag.place()];
        let near = self.known.iter().chain(&self.found).filter(|known| known.0 < squared);
        near.map(|known| weight(known.1) * known.2 as f64).sum()
    }
}

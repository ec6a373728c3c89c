//! What need not be told apart: whether an element is nearer than a tolerance takes no distance, and a percentile hangs on the
//! elements around it alone. Where those lie is guessed from a sample; a wrong guess costs time and is found out.

use exacta_core::Cpu;
use exacta_core::stages::Need;

use super::directed::{Direction, Memos};
use super::patch::Patch;

/// Cells of a surface that are sampled at least and at most, and the share of all in between.
const SAMPLE: [usize; 2] = [192, 1024];
const SHARE: usize = 32;
/// Surfaces of fewer cells are not worth a guess.
const WORTH: usize = 1024;
/// How far beside the percentile of the sample the percentile may be, in standard deviations of the share of its cells.
const DEVIATIONS: f64 = 2.5;

/// Squared distances: elements at most `floor` away need not be told apart, nor those at least `cutoff` away in the first round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Window {
    pub(crate) floor: f64,
    pub(crate) cutoff: f64,
}

impl Window {
    /// All are told apart.
    pub(crate) const NONE: Self = Self { floor: -1.0, cutoff: f64::INFINITY };

    pub(crate) fn is_some(&self) -> bool {
        *self != Self::NONE
    }

    /// What serves both needs.
    fn join(self, other: Self) -> Self {
        Self { floor: self.floor.min(other.floor), cutoff: self.cutoff.max(other.cutoff) }
    }
}

/// The windows of both directions.
pub(crate) fn windows<P: Patch>(
    cpu: &Cpu,
    memos: &Memos,
    need: &Need,
    directions: &[Direction<'_, P>; 2],
) -> [Window; 2] {
    let percentile = need.directed_percentile.is_some() || need.pooled_percentile.is_some();
    if need.all || need.lesser || (need.max && !percentile) {
        return [Window::NONE; 2];
    }
    let mut windows: [Option<Window>; 2] = [None; 2];
    if let (Some(least), Some(most)) = (need.least(), need.within) {
        windows = [Some(Window { floor: up_to(least), cutoff: up_to(most).next_up() }); 2];
    }
    if percentile {
        let sizes = [0, 1].map(|side| directions[side].sides.queries.len());
        if sizes.iter().any(|&cells| cells < WORTH) {
            return [Window::NONE; 2];
        }
        let samples = [0, 1].map(|side| {
            let stride = sizes[side] / (sizes[side] / SHARE).clamp(SAMPLE[0], SAMPLE[1]);
            let weigh = |(distance, size): (f64, f64)| (distance, size * stride as f64);
            let mut found: Vec<_> = directions[side].sample(cpu, memos, stride).into_iter().map(weigh).collect();
            found.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
            (found, sizes[side] / stride)
        });
        let mut add = |side: usize, window: Window| {
            windows[side] = Some(windows[side].map_or(window, |known| known.join(window)));
        };
        let sees = directions[0].geometry.rounds[0].reach.sqrt();
        if let Some(q) = need.directed_percentile {
            samples.iter().enumerate().for_each(|(side, (found, cells))| add(side, around(found, *cells, q, sees)));
        }
        if let Some(q) = need.pooled_percentile {
            let [(a, m), (b, n)] = &samples;
            let mut both = [&a[..], b].concat();
            both.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
            let window = around(&both, m + n, q, sees);
            (0..2).for_each(|side| add(side, window));
        }
    }
    windows.map(|window| window.unwrap_or(Window::NONE))
}

/// Where a percentile will be, by a sample of distances and weights in ascending order, of which those beyond `sees` are not known.
fn around(found: &[(f64, f64)], cells: usize, q: f64, sees: f64) -> Window {
    let share = q / 100.0;
    #[expect(clippy::cast_precision_loss, reason = "a small number")]
    let aside = DEVIATIONS * (share * (1.0 - share) / cells as f64).sqrt();
    let total: f64 = found.iter().map(|found| found.1).sum();
    let (mut passed, mut floor, mut cutoff) = (0.0, -1.0, up_to(sees).next_up());
    for same in found.chunk_by(|a, b| a.0 == b.0).take_while(|same| same[0].0 <= sees) {
        passed += same.iter().map(|found| found.1).sum::<f64>();
        if passed <= (share - aside) * total {
            floor = up_to(same[0].0);
        }
        if passed >= (share + aside) * total {
            cutoff = up_to(same[0].0).next_up();
            break;
        }
    }
    Window { floor, cutoff }
}

/// The largest number whose root is at most a distance.
fn up_to(distance: f64) -> f64 {
    let mut squared = distance * distance;
    while squared.sqrt() > distance {
        squared = squared.next_down();
    }
    while squared < f64::INFINITY && squared.next_up().sqrt() <= distance {
        squared = squared.next_up();
    }
    squared
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squares_up_to_a_distance() {
        for distance in [0.0, 1e-200, 0.1, 0.7, 1.0, 3.3, 1e200, f64::MAX, f64::INFINITY] {
            let squared = up_to(distance);
            assert!(squared.sqrt() <= distance && (squared == f64::INFINITY || squared.next_up().sqrt() > distance));
        }
    }

    #[test]
    fn the_window_around_a_percentile() {
        // A hundred distances 1, 2, .., 100, all of one weight: 95 give or take 2.5 * 2.2, 50 give or take 12.5.
        let found: Vec<_> = (1..=100).map(|d| (f64::from(d), 3.0)).collect();
        let of = |q, sees| {
            let window = around(&found, 100, q, sees);
            (window.floor.sqrt(), window.cutoff.next_down().sqrt())
        };
        assert_eq!((of(95.0, 98.0), of(50.0, 98.0)), ((89.0, 98.0), (37.0, 63.0)));
        assert_eq!(of(95.0, 50.0), (50.0, 50.0));
        // Equal distances are on one side together.
        assert_eq!(around(&[(4.0, 1.0), (4.0, 9.0)], 2, 95.0, 100.0).floor, -1.0);
    }
}

//! How far both directions of a class have to be taken.

use exacta_core::Cpu;
use exacta_core::quantile::order_slack;
use exacta_core::stages::{Directed, Need};

use super::bracket::windows;
use super::directed::{Direction, Memos};
use super::patch::Patch;

/// Resolves both directions as far as `need` asks.
pub(crate) fn finish<P: Patch>(
    cpu: &Cpu,
    memos: &Memos,
    need: &Need,
    mut directions: [Direction<'_, P>; 2],
) -> [Directed; 2] {
    let found = windows(cpu, memos, need, &directions);
    directions.iter_mut().zip(found).for_each(|(direction, window)| direction.window = window);
    loop {
        match unmet(need, &mut directions) {
            Step::Done => break,
            Step::Advance(side) => directions[side].advance(cpu, memos, need.all | need.lesser),
            Step::Reopen => directions.iter_mut().filter(|d| d.hides()).for_each(Direction::reopen),
        }
    }
    if need.max {
        for direction in &mut directions {
            if direction.known.is_empty() && direction.is_done() && direction.hides() {
                // All are near: only the percentile of both directions hangs on others.
                direction.reopen();
                while !direction.is_done() {
                    direction.advance(cpu, memos, true);
                }
            } else if !direction.is_done() {
                direction.find_max(cpu, memos);
            }
        }
    }
    directions.map(Direction::into_record)
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Done,
    Advance(usize),
    /// What is hidden decides.
    Reopen,
}

fn unmet<P: Patch>(need: &Need, directions: &mut [Direction<'_, P>; 2]) -> Step {
    let resolved = [0, 1].map(|side| directions[side].resolved());
    let nearest = usize::from(resolved[1] < resolved[0]);
    // Lesser percentiles than those named can hang on the weight of all.
    let every = need.all || (need.lesser && (need.directed_percentile.is_some() || need.pooled_percentile.is_some()));
    if let (Some(q), false) = (need.pooled_percentile, every) {
        let [a, b] = &mut *directions;
        match decided(&mut [a, b], resolved[nearest], q) {
            Verdict::Decided => {}
            Verdict::Open => return Step::Advance(nearest),
            Verdict::Hidden => return Step::Reopen,
        }
    }
    for side in 0..2 {
        let direction = &mut directions[side];
        if !direction.is_done() && (every || need.within.is_some_and(|within| resolved[side] <= within)) {
            return Step::Advance(side);
        }
        if let (Some(q), false) = (need.directed_percentile, every) {
            match decided(&mut [direction], resolved[side], q) {
                Verdict::Decided => {}
                Verdict::Open => return Step::Advance(side),
                Verdict::Hidden => return Step::Reopen,
            }
        }
    }
    Step::Done
}

/// What is known of a percentile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Decided,
    /// Elements farther than those known may decide.
    Open,
    /// Elements that are only known to be near decide.
    Hidden,
}

/// Whether the elements closer than `resolved` decide a percentile, whatever the others are: it lies on one distance, by more than sums
/// of weights differ with their order. All elements decide.
fn decided<P: Patch>(directions: &mut [&mut Direction<'_, P>], resolved: f64, q: f64) -> Verdict {
    let hides = directions.iter().any(|direction| direction.hides());
    if resolved == f64::INFINITY && !hides {
        return Verdict::Decided;
    }
    let (mut total, mut near, mut known) = (0, 0.0, 0.0);
    let floor = directions.iter().filter(|d| d.hides()).map(|d| d.window.floor.sqrt()).fold(-1.0, f64::max);
    for direction in directions.iter() {
        let mut counts = [[0u64; 256]; 2];
        direction.nearer.iter().zip(&mut counts[0]).for_each(|(&nearer, count)| *count = nearer);
        for known in direction.known.iter().filter(|known| known.0 < resolved) {
            counts[usize::from(known.0 > floor)][usize::from(known.1)] += 1;
        }
        total += counts.iter().flatten().sum::<u64>();
        #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
        let weigh = |counts: &[u64; 256]| -> f64 {
            direction.geometry.sizes.iter().zip(counts).map(|(size, &count)| size * count as f64).sum()
        };
        (near, known) = (near + weigh(&counts[0]), known + weigh(&counts[1]));
    }
    let slack = 3.0 * order_slack(total);
    let wanted = q / 100.0 * directions.iter().map(|d| d.weight).sum::<f64>();
    if hides && near >= wanted * (1.0 - slack) {
        return Verdict::Hidden;
    }
    let unclear = if resolved == f64::INFINITY { Verdict::Hidden } else { Verdict::Open };
    if near + known <= wanted * (1.0 + slack) {
        return unclear;
    }
    directions.iter_mut().for_each(|direction| direction.sort());
    let mut next: Vec<_> = directions
        .iter()
        .map(|direction| direction.known[direction.known.partition_point(|known| known.0 <= floor)..].iter().peekable())
        .collect();
    let mut passed = near;
    loop {
        let nearest = next.iter_mut().filter_map(|next| next.peek().map(|known| known.0)).fold(f64::INFINITY, f64::min);
        if nearest >= resolved {
            return unclear;
        }
        let before: f64 = passed;
        for (next, direction) in next.iter_mut().zip(directions.iter()) {
            while let Some(known) = next.next_if(|known| known.0 == nearest) {
                passed += direction.geometry.sizes[usize::from(known.1)];
            }
        }
        if passed >= wanted * (1.0 - slack) {
            // The first distance is the answer however little is asked for.
            let clear = passed >= wanted * (1.0 + slack) && (before == 0.0 || before <= wanted * (1.0 - slack));
            return match (clear, hides) {
                (true, _) => Verdict::Decided,
                (false, true) => Verdict::Hidden,
                (false, false) => unclear,
            };
        }
    }
}

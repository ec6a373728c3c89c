//! Scores of voxels, probabilities or logits, against a reference: what calibration and rankings are made from.
//!
//! Each pass walks the voxels in C order, whatever the memory order, in shares of fixed size; a share's sums are of
//! fixed shape and are added in order. So no result depends on threads, instruction set or layout.

mod batch;
mod diagnose;
mod groups;
mod ranks;
mod real;
mod reliability;
mod search;
mod select;
mod sort;
pub(crate) mod stage;
mod sums;
mod tile;

pub use batch::ScoreBatch;

/// Voxels handed to a thread at a time: the unit of every floating sum, so a change moves last bits.
const SHARE: usize = 1 << 16;
/// Below this many voxels in all, one thread is quicker than waking another.
const SERIAL: usize = 1 << 14;
/// Lanes of a floating sum.
const LANES: usize = 8;

/// Adds terms lane by lane: term `i` to lane `i % LANES`.
#[inline(always)]
fn add_lanes<T: real::Real>(lanes: &mut [f64; LANES], terms: &[T]) {
    let mut blocks = terms.chunks_exact(LANES);
    for block in blocks.by_ref() {
        for (lane, term) in lanes.iter_mut().zip(block) {
            *lane += term.to_f64();
        }
    }
    for (lane, term) in lanes.iter_mut().zip(blocks.remainder()) {
        *lane += term.to_f64();
    }
}

/// The sum of the lanes, in a fixed order.
fn sum_lanes(lanes: [f64; LANES]) -> f64 {
    let [a, b, c, d, e, f, g, h] = lanes;
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

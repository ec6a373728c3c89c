//! Predictions of a tile, in its place, and the way back: from slopes of predictions to the gradient of logits.

use exacta_core::Level;
use fearless_simd::{Select, Simd, SimdBase};

use crate::activation::Activation;
use crate::real::Float;
use crate::tile::Tile;

/// Turns the logits of a tile into predictions; 0 where excluded.
pub(crate) fn predict<F: Float>(level: Level, activation: Activation, tile: &mut Tile<F>) {
    match activation {
        Activation::Softmax => exacta_core::dispatch!(level, simd => softmax(simd, tile, None)),
        Activation::Sigmoid => exacta_core::dispatch!(level, simd => sigmoid(simd, tile)),
        Activation::None => {}
    }
}

/// Turns the logits of a tile into softmax predictions, and writes the cross-entropy `-log p_y` of each voxel.
pub(crate) fn predict_with_entropy<F: Float>(level: Level, tile: &mut Tile<F>, entropy: &mut [F]) {
    exacta_core::dispatch!(level, simd => softmax(simd, tile, Some(entropy)));
}

/// With `m` the largest logit and `r` the sum of the others' `exp(z_c - m)`, `log(1 + r)` loses no digits where a prediction is sure.
#[inline(always)]
fn softmax<S: Simd, F: Float>(simd: S, tile: &mut Tile<F>, mut entropy: Option<&mut [F]>) {
    let zero = F::Wide::<S>::splat(simd, F::default());
    let one = F::Wide::<S>::splat(simd, F::from_f64(1.0));
    let (row, channels) = (tile.row, tile.channels);
    for at in (0..tile.len).step_by(F::LANES) {
        let label = F::Wide::<S>::from_slice(simd, &tile.labels[at..at + F::LANES]);
        let keep = label.simd_ge(zero);
        let place = |c: usize| c * row + at..c * row + at + F::LANES;
        let mut most = F::Wide::<S>::from_slice(simd, &tile.logits[place(0)]);
        for c in 1..channels {
            most = most.max(F::Wide::<S>::from_slice(simd, &tile.logits[place(c)]));
        }
        let (mut rest, mut ties, mut own) = (zero, zero - one, zero);
        for c in 0..channels {
            let less = F::Wide::<S>::from_slice(simd, &tile.logits[place(c)]) - most;
            let exp = F::exp(simd, less);
            let top = less.simd_eq(zero);
            rest += top.select(zero, exp);
            ties += top.select(one, zero);
            if entropy.is_some() {
                own = label.simd_eq(F::Wide::<S>::splat(simd, class(c))).select(less, own);
            }
            exp.store_slice(&mut tile.logits[place(c)]);
        }
        let rest = rest + ties;
        let sum = rest + one;
        let full = one / sum;
        let inverse = keep.select(full, zero);
        for c in 0..channels {
            let p = F::Wide::<S>::from_slice(simd, &tile.logits[place(c)]) * inverse;
            p.store_slice(&mut tile.logits[place(c)]);
        }
        if let Some(entropy) = &mut entropy {
            // What rounding lost of 1 + r is put back.
            let log = F::log(simd, sum) + (rest - (sum - one)) * full;
            (log - own).store_slice(&mut entropy[at..at + F::LANES]);
        }
    }
}

#[inline(always)]
fn sigmoid<S: Simd, F: Float>(simd: S, tile: &mut Tile<F>) {
    let zero = F::Wide::<S>::splat(simd, F::default());
    let one = F::Wide::<S>::splat(simd, F::from_f64(1.0));
    for c in 0..tile.channels {
        for at in (0..tile.len).step_by(F::LANES) {
            let keep = F::Wide::<S>::from_slice(simd, &tile.labels[at..at + F::LANES]).simd_ge(zero);
            let logits = &mut tile.logits[c * tile.row + at..c * tile.row + at + F::LANES];
            let z = F::Wide::<S>::from_slice(simd, logits);
            let small = F::exp(simd, zero - z.abs());
            let large = one / (small + one);
            // A NaN is neither, and stays one.
            let p = z.simd_ge(zero).select(large, small * large);
            keep.select(p, zero).store_slice(logits);
        }
    }
}

/// A channel as a label.
#[expect(clippy::cast_precision_loss, reason = "channels are below 2^24")]
pub(crate) fn class<F: Float>(c: usize) -> F {
    F::from_f64(c as f64)
}

/// Turns the predictions of a tile into the gradient of logits; `slopes` are the derivatives of the loss by the predictions, rows as
/// the tile's. 0 where excluded.
///
/// Softmax `p_c (s_c - sum_k p_k s_k)`, sigmoid `p_c (1 - p_c) s_c`, none `s_c`. Slopes of a softmax are taken relative to that of its
/// likeliest channel, of which the difference is free: where a prediction is sure, that slope and the sum would cancel.
pub(crate) fn chain<F: Float>(level: Level, activation: Activation, tile: &mut Tile<F>, slopes: &[F]) {
    exacta_core::dispatch!(level, simd => chain_with(simd, activation, tile, slopes));
}

#[inline(always)]
fn chain_with<S: Simd, F: Float>(simd: S, activation: Activation, tile: &mut Tile<F>, slopes: &[F]) {
    let zero = F::Wide::<S>::splat(simd, F::default());
    let one = F::Wide::<S>::splat(simd, F::from_f64(1.0));
    let (row, channels) = (tile.row, tile.channels);
    for at in (0..tile.len).step_by(F::LANES) {
        let keep = F::Wide::<S>::from_slice(simd, &tile.labels[at..at + F::LANES]).simd_ge(zero);
        let place = |c: usize| c * row + at..c * row + at + F::LANES;
        let (mut base, mut common) = (zero, zero);
        if activation == Activation::Softmax {
            let mut most = zero;
            for c in 0..channels {
                let p = F::Wide::<S>::from_slice(simd, &tile.logits[place(c)]);
                base = p.simd_gt(most).select(F::Wide::<S>::from_slice(simd, &slopes[place(c)]), base);
                most = p.max(most);
            }
            for c in 0..channels {
                let p = F::Wide::<S>::from_slice(simd, &tile.logits[place(c)]);
                common += p * (F::Wide::<S>::from_slice(simd, &slopes[place(c)]) - base);
            }
        }
        for c in 0..channels {
            let p = F::Wide::<S>::from_slice(simd, &tile.logits[place(c)]);
            let slope = F::Wide::<S>::from_slice(simd, &slopes[place(c)]);
            let dz = match activation {
                Activation::Softmax => p * ((slope - base) - common),
                Activation::Sigmoid => p * (one - p) * slope,
                Activation::None => slope,
            };
            keep.select(dz, zero).store_slice(&mut tile.logits[place(c)]);
        }
    }
}

/// The sum of a function of the voxels of some rows, in lanes of fixed length: `f` gets where to read.
#[inline(always)]
pub(crate) fn lane_sum<S: Simd, F: Float>(
    simd: S,
    len: usize,
    mut f: impl FnMut(std::ops::Range<usize>) -> F::Wide<S>,
) -> f64 {
    let mut sum = F::Wide::<S>::splat(simd, F::default());
    for at in (0..len).step_by(F::LANES) {
        sum += f(at..at + F::LANES);
    }
    sum.as_slice().iter().map(|x| x.to_f64()).fold(0.0, |a, b| a + b)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gradient of one voxel from its logits and slopes.
    fn gradient<F: Float>(level: Level, logits: &[f64], slopes: &[f64]) -> Vec<f64> {
        let mut tile = Tile::<F>::new(logits.len(), false);
        let row = tile.row;
        let mut rows = vec![F::default(); tile.channels * row];
        tile.len = 1;
        tile.labels.fill(F::from_f64(-1.0));
        tile.labels[0] = F::default();
        for (c, (&logit, &slope)) in logits.iter().zip(slopes).enumerate() {
            tile.logits[c * row] = F::from_f64(logit);
            rows[c * row] = F::from_f64(slope);
        }
        predict(level, Activation::Softmax, &mut tile);
        chain(level, Activation::Softmax, &mut tile, &rows);
        (0..logits.len()).map(|c| tile.logits[c * row].to_f64()).collect()
    }

    #[test]
    fn single_precision_keeps_its_digits_where_a_prediction_is_sure() {
        for logits in [[0.0, 12.5, -2.0], [14.0, 0.25, 1.0], [-3.0, -1.5, 9.0], [0.5, 0.25, 0.0]] {
            for slopes in [[1234.5, 1000.25, -250.0], [0.0, 100.0, 1.0], [2.5e4, 3.5e4, 3.0e4]] {
                let exact = gradient::<f64>(Level::baseline(), &logits, &slopes);
                for level in exacta_core::testing::levels() {
                    let found = gradient::<f32>(level, &logits, &slopes);
                    // Some ulps for predictions, differences, products and their sum, of the terms that the sum has.
                    let largest = exact.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
                    for (found, exact) in found.iter().zip(&exact) {
                        assert!(
                            (found - exact).abs() < 3e-6 * largest,
                            "{level:?} {logits:?} {slopes:?}: {found} {exact}"
                        );
                    }
                }
            }
        }
    }
}

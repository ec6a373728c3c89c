//! Predictions of a tile, in its place, and the way back: from slopes of predictions to the gradient of logits.

use exacta_core::Level;
use fearless_simd::{Select, Simd, SimdBase};

use crate::activation::Activation;
use crate::dispatch::dispatch;
use crate::real::Float;
use crate::tile::{STRIP, Tile};

/// Turns the logits of a tile into predictions; 0 where excluded.
pub(crate) fn predict<F: Float>(level: Level, activation: Activation, tile: &mut Tile<F>) {
    match activation {
        Activation::Softmax => dispatch!(level, simd => softmax(simd, tile, None)),
        Activation::Sigmoid => dispatch!(level, simd => sigmoid(simd, tile)),
        Activation::None => {}
    }
}

/// Turns the logits of a tile into softmax predictions, and writes the cross-entropy `-log p_y` of each voxel.
pub(crate) fn predict_with_entropy<F: Float>(level: Level, tile: &mut Tile<F>, entropy: &mut [F]) {
    dispatch!(level, simd => softmax(simd, tile, Some(entropy)));
}

/// With `m` the largest logit and `r` the sum of the others' `exp(z_c - m)`, `log(1 + r)` loses no digits where a prediction is sure.
#[inline(always)]
fn softmax<S: Simd, F: Float>(simd: S, tile: &mut Tile<F>, mut entropy: Option<&mut [F]>) {
    let zero = F::Wide::<S>::splat(simd, F::default());
    let one = F::Wide::<S>::splat(simd, F::from_f64(1.0));
    let (row, channels) = (tile.row, tile.channels);
    let whole = tile.len.next_multiple_of(STRIP);
    // The largest logit, later what predictions are multiplied by; `r` without those that equal the largest, and their number.
    let (mut most, mut rest, mut ties, mut own) =
        ([F::default(); STRIP], [F::default(); STRIP], [F::default(); STRIP], [F::default(); STRIP]);
    let mut scales = [F::default(); STRIP];
    macro_rules! each {
        ($at:ident => $body:block) => {
            for $at in (0..STRIP).step_by(F::LANES) $body
        };
    }
    macro_rules! at {
        ($row:expr, $at:expr) => {
            F::Wide::<S>::from_slice(simd, &$row[$at..$at + F::LANES])
        };
    }
    macro_rules! put {
        ($value:expr => $row:expr, $at:expr) => {
            ($value).store_slice(&mut $row[$at..$at + F::LANES])
        };
    }
    for from in (0..whole).step_by(STRIP) {
        let labels = &tile.labels[from..from + STRIP];
        let place = |c: usize| c * row + from..c * row + from + STRIP;
        most.copy_from_slice(&tile.logits[place(0)]);
        for c in 1..channels {
            let z = &tile.logits[place(c)];
            each!(at => { put!(at!(most, at).max(at!(z, at)) => most, at); });
        }
        rest.fill(F::default());
        ties.fill(F::from_f64(-1.0));
        for c in 0..channels {
            let z = &mut tile.logits[place(c)];
            let class = F::Wide::<S>::splat(simd, class(c));
            each!(at => {
                let less = at!(z, at) - at!(most, at);
                if entropy.is_some() {
                    put!(at!(labels, at).simd_eq(class).select(less, at!(own, at)) => own, at);
                }
                let [r, scale] = F::reduce_exp(simd, F::clamp_exp(simd, less));
                put!(r => z, at);
                put!(scale => scales, at);
            });
            each!(at => {
                let exp = F::raise_exp(simd, [at!(z, at), at!(scales, at)]);
                put!(exp => z, at);
                let top = exp.simd_eq(one);
                put!(at!(rest, at) + top.select(zero, exp) => rest, at);
                put!(at!(ties, at) + top.select(one, zero) => ties, at);
            });
        }
        each!(at => {
            let all = at!(rest, at) + at!(ties, at);
            let full = one / (all + one);
            put!(all => rest, at);
            put!(at!(labels, at).simd_ge(zero).select(full, zero) => most, at);
            put!(full => ties, at);
        });
        for c in 0..channels {
            let e = &mut tile.logits[place(c)];
            each!(at => { put!(at!(e, at) * at!(most, at) => e, at); });
        }
        if let Some(entropy) = &mut entropy {
            let entropy = &mut entropy[from..from + STRIP];
            each!(at => {
                let rest = at!(rest, at);
                let sum = rest + one;
                // What rounding lost of 1 + r is put back.
                let log = F::log(simd, sum) + (rest - (sum - one)) * at!(ties, at);
                put!(log - at!(own, at) => entropy, at);
            });
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
    dispatch!(level, simd => chain_with(simd, activation, tile, slopes));
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

//! The definitions as plain loops in double precision: what every kernel must agree with.

use crate::activation::Activation;
use crate::terms::{Overlap, Pointwise, Terms};

/// A batch in plain vectors: `logits[b][c][v]`, `goals[b][c][v]`, `labels[b][v]` unless one-hot, `keep[b][v]`.
#[derive(Debug, Clone)]
pub struct NaiveBatch {
    /// Input.
    pub logits: Vec<Vec<Vec<f64>>>,
    /// Target as numbers.
    pub goals: Vec<Vec<Vec<f64>>>,
    /// Whether the target came as indices.
    pub index: bool,
    /// Which voxels count.
    pub keep: Vec<Vec<bool>>,
    /// Whether a mask or an ignored label was given.
    pub excluding: bool,
}

/// Probabilities, their logarithms, and those of what lacks to 1.
fn predict(activation: Activation, z: &[f64]) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    match activation {
        Activation::None => (z.to_vec(), vec![0.0; z.len()], vec![0.0; z.len()]),
        Activation::Sigmoid => {
            let log = |x: f64| -(-x.abs()).exp().ln_1p() + x.min(0.0);
            let p = z.iter().map(|&x| 1.0 / (1.0 + (-x).exp())).collect();
            (p, z.iter().map(|&x| log(x)).collect(), z.iter().map(|&x| log(-x)).collect())
        }
        Activation::Softmax => {
            let most = z.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let e: Vec<f64> = z.iter().map(|x| (x - most).exp()).collect();
            let s: f64 = e.iter().sum();
            let p: Vec<f64> = e.iter().map(|e| e / s).collect();
            let log = z.iter().map(|x| x - most - s.ln()).collect();
            let lack = (0..z.len()).map(|c| (0..z.len()).filter(|&k| k != c).map(|k| p[k]).sum::<f64>().ln()).collect();
            (p, log, lack)
        }
    }
}

/// The value of a combination of terms.
pub fn naive_value(terms: &Terms, batch: &NaiveBatch) -> f64 {
    let (cases, channels) = (batch.logits.len(), batch.logits[0].len());
    let selected: Vec<usize> = (usize::from(!terms.include_background)..channels).collect();
    let mut rows = vec![vec![[0.0; 6]; channels]; cases];
    let mut included = vec![0usize; cases];
    let (mut numerator, mut weight) = (0.0, 0.0);
    for b in 0..cases {
        for v in 0..batch.keep[b].len() {
            if !batch.keep[b][v] {
                continue;
            }
            included[b] += 1;
            let z: Vec<f64> = (0..channels).map(|c| batch.logits[b][c][v]).collect();
            let (p, log_p, log_q) = predict(terms.activation, &z);
            for c in 0..channels {
                let (p, g) = (p[c], batch.goals[b][c][v]);
                let row = &mut rows[b][c];
                for (sum, term) in row.iter_mut().zip([p * g, p, g, p * p, g * g, p * (1.0 - g)]) {
                    *sum += term;
                }
                let w = terms.pointwise_weight.as_ref().map_or(1.0, |w| w[c]);
                if let Some((_, term)) = &terms.pointwise {
                    let (up, down) = match term {
                        Pointwise::CrossEntropy(_) => (w * log_p[c], w * log_q[c]),
                        Pointwise::Focal(focal) => {
                            let sigmoid = terms.activation == Activation::Sigmoid;
                            let (presence, absence) = focal.weights(channels, sigmoid).expect("weights fit");
                            let lack = if focal.gamma() == 0.0 { 1.0 } else { (focal.gamma() * log_q[c]).exp() };
                            let have = if focal.gamma() == 0.0 { 1.0 } else { (focal.gamma() * log_p[c]).exp() };
                            (w * presence[c] * lack * log_p[c], w * absence[c] * have * log_q[c])
                        }
                    };
                    numerator -= if g == 0.0 { 0.0 } else { g * up };
                    if terms.activation == Activation::Sigmoid {
                        numerator -= if g == 1.0 { 0.0 } else { (1.0 - g) * down };
                    }
                    let by_weight = matches!(term, Pointwise::CrossEntropy(_)) && terms.pointwise_weight.is_some();
                    weight += match terms.activation {
                        Activation::Sigmoid => 1.0,
                        _ if by_weight && batch.index => w * g,
                        _ => 1.0 / channels as f64,
                    };
                }
            }
        }
    }
    let mut value = 0.0;
    if let Some((coefficient, overlap)) = terms.overlap {
        if terms.batch_dice {
            let mut all = vec![[0.0; 6]; channels];
            for row in &rows {
                for (all, row) in all.iter_mut().zip(row) {
                    all.iter_mut().zip(row).for_each(|(all, x)| *all += x);
                }
            }
            rows = vec![all];
            included = vec![included.iter().sum()];
        }
        let active: Vec<usize> = (0..rows.len()).filter(|&b| !batch.excluding || included[b] > 0).collect();
        let sum: f64 = active.iter().map(|&b| ratio(terms, overlap, &rows[b], &selected)).sum();
        value += coefficient * sum / active.len().max(usize::from(batch.excluding)) as f64;
    }
    if let Some((coefficient, _)) = terms.pointwise {
        value += if weight == 0.0 && batch.excluding { 0.0 } else { coefficient * numerator / weight };
    }
    value
}

/// The overlap loss of one case from its sums.
fn ratio(terms: &Terms, overlap: Overlap, sums: &[[f64; 6]], selected: &[usize]) -> f64 {
    let (s, t) = (terms.smooth.numerator, terms.smooth.denominator);
    if let Overlap::GeneralizedDice(loss) = overlap {
        use crate::generalized_dice::{EmptyTarget, WeightType};
        let of = |t: f64| match loss.weight_type {
            WeightType::Square => t.powi(-2),
            WeightType::Simple => t.recip(),
            WeightType::Uniform => 1.0,
        };
        let present = selected.iter().map(|&c| sums[c][2]).filter(|&t| t != 0.0).map(of).fold(0.0, f64::max);
        let absent = match (loss.weight_type, loss.empty_target) {
            (WeightType::Uniform, _) => 1.0,
            (_, EmptyTarget::Uniform) if present == 0.0 => 1.0,
            _ => present,
        };
        let factor = |c: usize| terms.overlap_weight.as_ref().map_or(1.0, |w| w[c]);
        let weights: Vec<f64> =
            selected.iter().map(|&c| factor(c) * if sums[c][2] == 0.0 { absent } else { of(sums[c][2]) }).collect();
        if weights.iter().all(|&w| w == 0.0) {
            return 0.0;
        }
        let n: f64 = selected.iter().zip(&weights).map(|(&c, w)| 2.0 * w * sums[c][0]).sum();
        let d: f64 = selected.iter().zip(&weights).map(|(&c, w)| w * (sums[c][1] + sums[c][2])).sum();
        return 1.0 - (n + s) / (d + t);
    }
    let each = |c: usize| {
        let [hit, p, g, pp, gg, wrong] = sums[c];
        match overlap {
            Overlap::Dice(dice) if dice.squared_pred => 1.0 - (2.0 * hit + s) / (pp + gg + t),
            Overlap::Dice(_) => 1.0 - (2.0 * hit + s) / (p + g + t),
            Overlap::Tversky(loss) => {
                let (alpha, beta, gamma) = loss.settings();
                let e = 1.0 - (hit + s) / (hit + alpha * wrong + beta * (g - hit) + t);
                if gamma == 1.0 { e } else { e.powf(gamma) }
            }
            Overlap::GeneralizedDice(_) => f64::NAN,
        }
    };
    let weight = |c: usize| terms.overlap_weight.as_ref().map_or(1.0, |w| w[c]);
    selected.iter().map(|&c| weight(c) * each(c)).sum::<f64>() / selected.iter().map(|&c| weight(c)).sum::<f64>()
}

/// The gradient by central differences of fourth order with steps of `h`, of the voxels that count.
pub fn naive_gradient(terms: &Terms, batch: &NaiveBatch, h: f64) -> Vec<Vec<Vec<f64>>> {
    let mut out = batch.logits.clone();
    let mut moved = batch.clone();
    for b in 0..out.len() {
        for c in 0..out[b].len() {
            for v in 0..out[b][c].len() {
                if !batch.keep[b][v] {
                    out[b][c][v] = 0.0;
                    continue;
                }
                let mut at = |step: f64| {
                    moved.logits[b][c][v] = batch.logits[b][c][v] + step * h;
                    naive_value(terms, &moved)
                };
                let (near, far) = (at(1.0) - at(-1.0), at(2.0) - at(-2.0));
                moved.logits[b][c][v] = batch.logits[b][c][v];
                out[b][c][v] = (8.0 * near - far) / (12.0 * h);
            }
        }
    }
    out
}

//! Random batches that look like segmentations, and every instruction set to run them on.

use ndarray::{ArrayD, IxDyn};
use proptest::prelude::*;

use crate::{LabelSpec, Level};

/// A random batch of label maps.
#[derive(Debug, Clone)]
pub struct Case {
    /// Shape of an image, two or three axes.
    pub shape: Vec<usize>,
    /// Number of classes.
    pub classes: usize,
    /// The prediction, `(B, *S)`.
    pub pred: ArrayD<i64>,
    /// The reference, `(B, *S)`.
    pub target: ArrayD<i64>,
}

impl Case {
    /// The specification of the whole batch, background included.
    pub fn spec(&self) -> LabelSpec {
        LabelSpec::index(self.classes)
    }
}

/// Batches of one or two cases with axes up to `longest`; rows are at times around the length of a word.
pub fn cases(longest: usize) -> impl Strategy<Value = Case> {
    let axis = 1..=longest;
    let row = prop_oneof![3 => 1..=longest, 1 => prop::sample::select(vec![63usize, 64, 65, 127, 130])];
    let shape = prop_oneof![
        2 => (axis.clone(), axis.clone(), row.clone()).prop_map(|(d, h, w)| vec![d, h, w]),
        1 => (axis, row).prop_map(|(h, w)| vec![h, w]),
    ];
    (shape, 1..=2usize, prop::sample::select(vec![1usize, 2, 3, 4, 9, 200, 256, 300]), any::<u64>(), 0..3u8).prop_map(
        |(shape, batch, classes, seed, kind)| {
            let target = labels_of(&shape, batch, classes, seed, kind);
            // A prediction is mostly the reference with noise, at times something else.
            let other = labels_of(&shape, batch, classes, seed ^ 0x9e37, (kind + 1) % 3);
            let mut state = seed;
            let keep = if seed.is_multiple_of(4) { 0 } else { 90 };
            let mut pred = target.clone();
            for (p, &o) in pred.iter_mut().zip(&other) {
                if next(&mut state) % 100 >= keep {
                    *p = o;
                }
            }
            Case { shape, classes, pred, target }
        },
    )
}

/// Label maps of `kind`: 0 noise, 1 blocks, 2 a few voxels.
pub fn labels_of(shape: &[usize], batch: usize, classes: usize, seed: u64, kind: u8) -> ArrayD<i64> {
    let mut state = seed | 1;
    let full: Vec<usize> = std::iter::once(batch).chain(shape.iter().copied()).collect();
    let mut out = ArrayD::zeros(IxDyn(&full));
    let class = |state: &mut u64| i64::try_from(next(state) % classes as u64).expect("small");
    match kind {
        0 => out.iter_mut().for_each(|label| *label = class(&mut state)),
        1 => {
            for mut image in out.outer_iter_mut() {
                for _ in 0..3 {
                    let label = class(&mut state);
                    let ranges: Vec<(usize, usize)> = shape
                        .iter()
                        .map(|&n| {
                            let a = below(&mut state, n);
                            (a, a + 1 + below(&mut state, n - a))
                        })
                        .collect();
                    for (at, value) in image.indexed_iter_mut() {
                        if (0..shape.len()).all(|k| (ranges[k].0..ranges[k].1).contains(&at[k])) {
                            *value = label;
                        }
                    }
                }
            }
        }
        _ => {
            for mut image in out.outer_iter_mut() {
                for _ in 0..3 {
                    let at: Vec<usize> = shape.iter().map(|&n| below(&mut state, n)).collect();
                    image[IxDyn(&at)] = class(&mut state);
                }
            }
        }
    }
    out
}

fn below(state: &mut u64, n: usize) -> usize {
    usize::try_from(next(state) % n as u64).expect("small")
}

/// xorshift64*: enough for test volumes.
fn next(state: &mut u64) -> u64 {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 20
}

/// Every instruction set of this machine, the scalar one among them.
pub fn levels() -> Vec<Level> {
    let best = Level::new();
    let mut out = vec![Level::Fallback(fearless_simd::Fallback::new())];
    #[cfg(target_arch = "x86_64")]
    {
        out.extend(best.as_sse2().map(Level::Sse2));
        out.extend(best.as_sse4_2().map(Level::Sse4_2));
        out.extend(best.as_avx2().map(Level::Avx2));
        out.extend(best.as_avx512().map(Level::Avx512));
    }
    #[cfg(target_arch = "aarch64")]
    out.extend(best.as_neon().map(Level::Neon));
    out
}

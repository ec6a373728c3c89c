//! Volumes that look like segmentations, for benches: large smooth organs, the prediction a little off.

use ndarray::{ArrayD, IxDyn};

/// Label maps `(pred, target)` of shape `(1, n, n, n)` with three organs; the prediction is shifted, bumpy, and has far false positives.
pub fn organs(n: usize) -> (ArrayD<i64>, ArrayD<i64>) {
    const ORGANS: [([f64; 3], [f64; 3]); 3] = [
        ([-0.2, 0.1, -0.3], [0.35, 0.25, 0.3]),
        ([0.3, -0.3, 0.2], [0.2, 0.36, 0.25]),
        ([0.1, 0.4, 0.35], [0.3, 0.2, 0.2]),
    ];
    let paint = |shift: f64, bump: f64| {
        ArrayD::from_shape_fn(IxDyn(&[1, n, n, n]), |at| {
            let scaled = |k: usize| at[k] as f64 / n as f64 * 2.0 - 1.0;
            let at = [scaled(1), scaled(2), scaled(3)];
            let wave = bump * ((7.0 * at[0]).sin() + (9.0 * at[1] + 5.0 * at[2]).sin());
            let mut label = 0;
            for (i, (centre, radius)) in ORGANS.iter().enumerate() {
                let field: f64 = (0..3).map(|k| ((at[k] - centre[k] - shift / n as f64) / radius[k]).powi(2)).sum();
                if field + wave < 1.0 {
                    label = i64::try_from(i).expect("small") + 1;
                }
            }
            label
        })
    };
    let target = paint(0.0, 0.08);
    let mut pred = paint(3.0, 0.12);
    for (corner, label) in [([2, 3, 5], 1), ([11, 12, 2], 2), ([13, 2, 12], 3)] {
        let from = corner.map(|c| c * n / 16);
        for z in 0..n / 32 {
            for y in 0..n / 32 {
                for x in 0..n / 32 {
                    pred[[0, from[0] + z, from[1] + y, from[2] + x]] = label;
                }
            }
        }
    }
    (pred, target)
}

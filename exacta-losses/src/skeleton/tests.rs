//! The definition, voxel by voxel, and its gradient on a tape of choices.

use exacta_core::Level;
use exacta_core::parallel::Threads;

use super::volume::Volume;
use super::{Mask, Pool, Shape, backward, forward};

fn voxels(shape: Shape) -> usize {
    shape.slices * shape.rows * shape.columns
}

/// Offsets of a neighbourhood in raster order, at most `axes` of them not 0.
fn offsets(axes: usize) -> Vec<[isize; 3]> {
    let mut out = Vec::new();
    for z in -1..=1isize {
        for y in -1..=1isize {
            for x in -1..=1isize {
                if [z, y, x].iter().filter(|&&d| d != 0).count() <= axes {
                    out.push([z, y, x]);
                }
            }
        }
    }
    out
}

/// The first neighbour in raster order that no other beats, for each voxel.
fn choose(shape: Shape, values: &[f64], axes: usize, better: impl Fn(f64, f64) -> bool) -> Vec<usize> {
    let size = [shape.slices, shape.rows, shape.columns];
    let mut out = Vec::new();
    for i in 0..voxels(shape) {
        let at = [i / (size[1] * size[2]), i / size[2] % size[1], i % size[2]];
        let mut best: Option<usize> = None;
        for offset in offsets(axes) {
            let near: Vec<Option<usize>> =
                (0..3).map(|a| at[a].checked_add_signed(offset[a]).filter(|&p| p < size[a])).collect();
            if let [Some(z), Some(y), Some(x)] = near[..] {
                let other = (z * size[1] + y) * size[2] + x;
                if best.is_none_or(|best| better(values[other], values[best])) {
                    best = Some(other);
                }
            }
        }
        out.push(best.expect("the voxel itself"));
    }
    out
}

/// The skeleton and the gradient of `Σ w S`.
pub(super) fn naive(shape: Shape, values: &[f64], iterations: usize, weights: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let n = values.len();
    let mut xs = vec![values.to_vec()];
    let (mut least, mut most, mut deltas, mut skeletons) = (vec![], vec![], vec![], vec![vec![0.0; n]]);
    for k in 0..=iterations {
        let x = xs[k].clone();
        least.push(choose(shape, &x, 1, |a, b| a < b));
        let eroded: Vec<f64> = least[k].iter().map(|&j| x[j]).collect();
        most.push(choose(shape, &eroded, 3, |a, b| a > b));
        let delta: Vec<f64> = (0..n).map(|i| f64::max(x[i] - eroded[most[k][i]], 0.0)).collect();
        let before = skeletons[k].clone();
        skeletons.push((0..n).map(|i| before[i] + f64::max(delta[i] - before[i] * delta[i], 0.0)).collect());
        deltas.push(delta);
        xs.push(eroded);
    }
    let mut skeleton = weights.to_vec();
    let mut gradient = vec![0.0; n];
    for k in (0..=iterations).rev() {
        let mut before = vec![0.0; n];
        for i in 0..n {
            let (delta, kept) = (deltas[k][i], skeletons[k][i]);
            let mut g = 0.0;
            if delta - kept * delta > 0.0 {
                g = skeleton[i] * (1.0 - kept);
                skeleton[i] *= 1.0 - delta;
            }
            if delta > 0.0 {
                before[i] += g;
                gradient[most[k][i]] -= g;
            }
        }
        for i in 0..n {
            before[least[k][i]] += gradient[i];
        }
        gradient = before;
    }
    (skeletons.pop().expect("there is one"), gradient)
}

/// Values with ties, a few levels of them.
pub(super) fn noise(n: usize, seed: u64, levels: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..n)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 % levels as f64 / levels as f64
        })
        .collect()
}

fn skeleton<F: crate::real::Real>(
    level: Level,
    threads: &Threads,
    volume: &Volume<F>,
    iterations: usize,
    traced: bool,
    pool: &mut Pool<F>,
) -> Vec<F> {
    let mut out = vec![F::ZERO; voxels(volume.shape)];
    forward(level, threads, volume, iterations, traced, pool).skeletons.last().expect("there is one").read(&mut out);
    out
}

fn check(spatial: &[usize], values: &[f64], iterations: usize) {
    let shape = Shape::new(spatial);
    let weights = noise(values.len(), 77, 1000);
    let (expected, slope) = naive(shape, values, iterations, &weights);
    let pool =
        Threads::Pool(std::sync::Arc::new(rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("a pool")));
    for threads in [&Threads::Serial, &pool] {
        for level in [Level::new(), Level::baseline()] {
            let mut volume = Volume::new(shape);
            // Written in pieces that end anywhere.
            for (i, piece) in values.chunks(7).enumerate() {
                volume.write(i * 7, piece);
            }
            // What a pool gives holds anything.
            let mut pool = Pool::new();
            pool.give((0..5).map(|_| {
                let mut volume = Volume::new(shape);
                volume.values.fill(f64::NAN);
                volume
            }));
            assert_eq!(skeleton(level, threads, &volume, iterations, false, &mut pool), expected, "{spatial:?}");
            let steps = forward(level, threads, &volume, iterations, true, &mut pool);
            let mut found = vec![0.0; values.len()];
            steps.skeletons.last().expect("there is one").read(&mut found);
            assert_eq!(found, expected, "{spatial:?} {iterations}");
            let mut incoming = pool.take(shape);
            incoming.write(0, &weights);
            let mut gradient = vec![0.0; values.len()];
            backward(level, &volume, &steps, &mut incoming, &mut gradient, &mut pool);
            for (found, expected) in gradient.iter().zip(&slope) {
                // A gradient is a sum of at most 27 numbers below 1 an iteration, in another order.
                assert!((found - expected).abs() < 1e-13, "{spatial:?} {iterations}: {found} {expected}");
            }
        }
    }
}

#[test]
fn equals_the_definition() {
    let mut seed = 0;
    for spatial in [&[1, 1][..], &[3, 5], &[1, 17], &[20, 33], &[1, 4, 5], &[5, 1, 16], &[7, 6, 18], &[35, 3, 4]] {
        let n = spatial.iter().product();
        for (iterations, levels) in [(0, 1000), (1, 4), (3, 3), (10, 1 << 20), (10, 2)] {
            seed += 1;
            check(spatial, &noise(n, seed, levels), iterations);
        }
    }
}

#[test]
fn a_binary_mask_on_planes() {
    for (seed, spatial) in
        (1..).zip([&[1, 1][..], &[3, 5], &[4, 64], &[5, 65], &[9, 130], &[4, 5, 6], &[6, 7, 64], &[3, 3, 70]])
    {
        let shape = Shape::new(spatial);
        for levels in [2, 3, 9] {
            let values: Vec<f64> = noise(voxels(shape), seed, levels)
                .iter()
                .map(|&v| f64::from(u8::from(levels < 9 && v > 0.0 || v > 0.2)))
                .collect();
            for iterations in [0, 1, 4] {
                let (expected, _) = naive(shape, &values, iterations, &vec![0.0; values.len()]);
                let mut mask = Mask::new(shape);
                for (i, piece) in values.chunks(11).enumerate() {
                    mask.write(i * 11, piece, |value| value != 0.0);
                }
                let skeleton = mask.skeleton(iterations);
                for (i, &expected) in expected.iter().enumerate() {
                    assert_eq!(f64::from(u8::from(skeleton.get(i / shape.columns, i % shape.columns))), expected);
                }
                assert_eq!(skeleton.count() as f64, expected.iter().sum::<f64>());
            }
        }
    }
}

/// Worked example of the specification: `P5` with 0, 1 and 2 iterations.
#[test]
fn three_by_five() {
    let values = [0.1f64, 0.2, 0.3, 0.2, 0.1, 0.4, 0.8, 0.9, 0.7, 0.5, 0.2, 0.3, 0.1, 0.25, 0.15];
    let none = [0.0, 0.0, 0.1, 0.0, 0.0, 0.2, 0.6, 0.7, 0.5, 0.3, 0.0, 0.1, 0.0, 0.05, 0.0];
    let once = [0.0, 0.0, 0.19, 0.0, 0.0, 0.2, 0.64, 0.7, 0.55, 0.3, 0.1, 0.1, 0.0, 0.05, 0.05];
    let mut volume = Volume::new(Shape::new(&[3, 5]));
    volume.write(0, &values);
    for (iterations, expected) in [(0, none), (1, once), (2, once)] {
        let found = skeleton(Level::new(), &Threads::Serial, &volume, iterations, false, &mut Pool::new());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-15, "{found} {expected}");
        }
    }
}

#[test]
fn a_value_that_is_none_spreads() {
    let mut values = vec![0.5f32; 7 * 7];
    values[24] = f32::NAN;
    let mut volume = Volume::new(Shape::new(&[7, 7]));
    volume.write(0, &values);
    let found = skeleton(Level::new(), &Threads::Serial, &volume, 0, false, &mut Pool::new());
    let none = |y: usize, x: usize| found[y * 7 + x].is_nan();
    assert!(none(3, 3) && none(1, 3) && none(2, 2) && none(3, 5) && !none(0, 0) && !none(3, 6));
}

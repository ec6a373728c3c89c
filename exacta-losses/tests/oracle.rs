//! Every combination of terms against plain loops, in both precisions, on every instruction set, thread count and layout.

use std::sync::Arc;

use exacta_core::ndarray::{Array, ArrayD, Axis, IxDyn};
use exacta_core::parallel::Threads;
use exacta_core::testing::levels;
use exacta_core::{Cpu, Labels, Level};
use exacta_losses::{
    Activation, CrossEntropy, Dice, EmptyTarget, Focal, GeneralizedDice, Logits, Loss, LossBatch, NaiveBatch, Overlap,
    Pointwise, Smooth, Target, Terms, Tversky, WeightType, naive_gradient, naive_value,
};
use proptest::prelude::*;

/// A batch in one array a role, and the terms.
#[derive(Debug, Clone)]
struct Case {
    terms: Terms,
    logits: ArrayD<f64>,
    labels: ArrayD<u8>,
    goals: Option<ArrayD<f64>>,
    mask: Option<ArrayD<bool>>,
    ignore: Option<i64>,
}

fn overlaps() -> impl Strategy<Value = Option<(f64, Overlap)>> {
    let weight = prop_oneof![Just(WeightType::Square), Just(WeightType::Simple), Just(WeightType::Uniform)];
    let empty = prop_oneof![Just(EmptyTarget::Zero), Just(EmptyTarget::Uniform)];
    let overlap = prop_oneof![
        any::<bool>().prop_map(|squared_pred| Overlap::Dice(Dice { squared_pred })),
        (0.0..1.0, 0.0..1.0, prop_oneof![Just(1.0), Just(0.75), Just(1.5)]).prop_map(|(a, b, gamma)| {
            Overlap::Tversky(Tversky::new(a, b).and_then(|loss| loss.focal(gamma)).expect("valid"))
        }),
        (weight, empty).prop_map(|(weight_type, empty_target)| {
            Overlap::GeneralizedDice(GeneralizedDice { weight_type, empty_target })
        }),
    ];
    proptest::option::weighted(0.8, (0.1..2.0, overlap))
}

fn pointwises(channels: usize) -> impl Strategy<Value = Option<(f64, Pointwise)>> {
    let gamma = prop_oneof![Just(0.0), Just(0.5), Just(1.0), Just(2.0), Just(3.3)];
    let alpha =
        prop_oneof![Just(None), Just(Some(vec![0.25])), proptest::collection::vec(0.0..=1.0, channels).prop_map(Some)];
    let pointwise = prop_oneof![
        Just(Pointwise::CrossEntropy(CrossEntropy)),
        (gamma, alpha).prop_map(|(gamma, alpha)| {
            Pointwise::Focal(Focal::new(gamma).and_then(|loss| loss.with_alpha(alpha)).expect("valid"))
        }),
    ];
    proptest::option::weighted(0.8, (0.1..2.0, pointwise))
}

fn terms(channels: usize) -> impl Strategy<Value = Terms> {
    let activation = prop_oneof![
        4 => Just(Activation::Softmax),
        2 => Just(Activation::Sigmoid),
        1 => Just(Activation::None)
    ];
    let weights = || proptest::option::weighted(0.3, proptest::collection::vec(0.1..2.0, channels));
    let smooth = (0.001..1.0, 0.001..1.0).prop_map(|(n, d)| Smooth::apart(n, d).expect("valid"));
    (activation, overlaps(), pointwises(channels), any::<(bool, bool)>(), smooth, weights(), weights()).prop_map(
        move |(activation, overlap, pointwise, (background, batch_dice), smooth, first, second)| Terms {
            overlap,
            pointwise: pointwise.filter(|_| activation != Activation::None),
            include_background: background || channels == 1,
            batch_dice,
            smooth,
            overlap_weight: first,
            pointwise_weight: second,
            ..Terms::new(activation)
        },
    )
}

fn cases() -> impl Strategy<Value = Case> {
    (1usize..=5, 1usize..=3, proptest::collection::vec(1usize..=4, 1..=3), any::<u64>()).prop_flat_map(
        |(channels, batch, space, seed)| {
            (terms(channels), any::<(bool, bool)>(), 0u8..4).prop_map(move |(terms, (one_hot, soft), exclusion)| {
                case(terms, (batch, channels, &space), one_hot, soft, exclusion, seed)
            })
        },
    )
}

/// xorshift64*.
fn next(state: &mut u64) -> f64 {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1u64 << 53) as f64
}

fn case(
    terms: Terms,
    (b, c, space): (usize, usize, &[usize]),
    one_hot: bool,
    soft: bool,
    exclusion: u8,
    seed: u64,
) -> Case {
    let mut state = seed | 1;
    let shape = |channels: Option<usize>| IxDyn(&[&[b], channels.as_slice(), space].concat());
    let unit = terms.activation == Activation::None;
    let logits = Array::from_shape_simple_fn(shape(Some(c)), || {
        let x = next(&mut state);
        if unit { x } else { 6.0 * x - 3.0 }
    });
    let mut labels = Array::from_shape_simple_fn(shape(None), || (next(&mut state) * c as f64) as u8);
    let goals = one_hot.then(|| {
        Array::from_shape_simple_fn(shape(Some(c)), || {
            let x = next(&mut state);
            if soft { x } else { x.round() }
        })
    });
    let mask = (exclusion & 1 == 1).then(|| Array::from_shape_simple_fn(shape(None), || next(&mut state) < 0.7));
    let ignore = (exclusion & 2 == 2 && !one_hot).then_some(255);
    if ignore.is_some() {
        labels.map_inplace(|label| *label = if next(&mut state) < 0.2 { 255 } else { *label });
    }
    Case { terms, logits, labels, goals, mask, ignore }
}

impl Case {
    fn batch<'a>(&'a self, logits: Logits<'a>) -> LossBatch<'a> {
        let target = match &self.goals {
            Some(goals) => Target::OneHot(Labels::F64(goals.view())),
            None => Target::Index(self.labels.view().into()),
        };
        let mask = self.mask.as_ref().map(|mask| Labels::Bool(mask.view()));
        LossBatch::new(logits, target, mask).and_then(|batch| batch.ignoring(self.ignore)).expect("shapes fit")
    }

    fn naive(&self) -> NaiveBatch {
        let channels = self.logits.len_of(Axis(1));
        let flat = |array: &ArrayD<f64>| -> Vec<Vec<Vec<f64>>> {
            let rows = |case: exacta_core::ndarray::ArrayViewD<'_, f64>| {
                case.outer_iter().map(|row| row.iter().copied().collect()).collect()
            };
            array.outer_iter().map(rows).collect()
        };
        let labels: Vec<Vec<u8>> = self.labels.outer_iter().map(|case| case.iter().copied().collect()).collect();
        let keep = labels
            .iter()
            .enumerate()
            .map(|(b, row)| {
                let mask: Option<Vec<bool>> =
                    self.mask.as_ref().map(|mask| mask.index_axis(Axis(0), b).iter().copied().collect());
                row.iter()
                    .enumerate()
                    .map(|(v, &label)| mask.as_ref().is_none_or(|m| m[v]) && self.ignore != Some(i64::from(label)))
                    .collect()
            })
            .collect();
        let goals = match &self.goals {
            Some(goals) => flat(goals),
            None => labels
                .iter()
                .map(|row| (0..channels).map(|c| row.iter().map(|&y| f64::from(y == c as u8)).collect()).collect())
                .collect(),
        };
        NaiveBatch {
            logits: flat(&self.logits),
            goals,
            index: self.goals.is_none(),
            keep,
            excluding: self.mask.is_some() || self.ignore.is_some(),
        }
    }

    fn run(&self, cpu: &Cpu, logits: &ArrayD<f64>) -> (f64, ArrayD<f64>) {
        let batch = self.batch(logits.view().into());
        let forward = self.terms.forward(cpu, &batch).expect("valid");
        let mut gradient = ArrayD::from_elem(logits.raw_dim(), f64::NAN);
        let out = gradient.view_mut().into();
        self.terms.backward(cpu, &batch, &forward.saved, &[1.5], out).expect("valid");
        (forward.values[0], gradient)
    }
}

fn close(found: f64, exact: f64, bound: f64) -> bool {
    found == exact || (found - exact).abs() <= bound || found.is_nan() && exact.is_nan()
}

fn check(case: &Case) {
    let naive = case.naive();
    let (value, gradient) = case.run(&Cpu::serial(), &case.logits);
    let want = naive_value(&case.terms, &naive);
    assert!(close(value, want, 1e-12 * want.abs().max(1.0)), "value {value} against {want}");
    if value.is_nan() {
        // With two smoothings a ratio can pass 1, and a power of what is negative is no number; nor is its gradient.
        return;
    }
    let [differences, finer] = [1e-3, 5e-4].map(|h| naive_gradient(&case.terms, &naive, h));
    for (index, &found) in gradient.indexed_iter() {
        let voxel: usize = (2..gradient.ndim()).fold(0, |at, axis| at * gradient.shape()[axis] + index[axis]);
        let [coarse, want] = [&differences, &finer].map(|of| 1.5 * of[index[0]][index[1]][voxel]);
        if coarse.is_nan() && value.is_finite() {
            // A step left the domain of a power: with two smoothings a ratio can pass 1.
            continue;
        }
        // Rounding of the value by the step, 1e-16 / 5e-4, and the fourth power of the step by a fifth derivative, a fifteenth of what
        // halving the step changes; twice that change where powers below 1 are steep.
        let bound = 4e-9 * value.abs().max(1.0) + 2.0 * (coarse - want).abs();
        assert!(close(found, want, bound), "gradient at {index:?}: {found} against {want}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn equals_plain_loops_and_finite_differences(case in cases()) {
        check(&case);
    }

    #[test]
    fn single_precision_follows_double(case in cases()) {
        let (value, gradient) = case.run(&Cpu::serial(), &case.logits.mapv(|x| f64::from(x as f32)));
        let logits = case.logits.mapv(|x| x as f32);
        let batch = case.batch(logits.view().into());
        let forward = case.terms.forward(&Cpu::serial(), &batch).expect("valid");
        let mut out = Array::from_elem(logits.raw_dim(), f32::NAN);
        case.terms.backward(&Cpu::serial(), &batch, &forward.saved, &[1.5], out.view_mut().into()).expect("valid");
        // Some ten roundings of 6e-8 a probability, and logits up to 3, on ratios that smoothing keeps from small denominators.
        prop_assert!(close(forward.values[0], value, 2e-5 * value.abs().max(1.0)), "{} {value}", forward.values[0]);
        let top = gradient.iter().fold(0.0, |top: f64, x| top.max(x.abs()));
        for (&found, &want) in out.iter().zip(&gradient) {
            // Terms of about 1 may cancel to nothing.
            prop_assert!(close(f64::from(found), want, 2e-5 * top + 1e-6), "{found} {want}");
        }
    }
}

/// Three tiles and more than one block, so that every partial sum is used.
fn large(activation: Activation, channels: usize, one_hot: bool) -> Case {
    let focal = Focal::new(1.7).expect("valid");
    let terms = Terms::new(activation)
        .with_overlap(1.0, Overlap::Dice(Dice { squared_pred: true }))
        .with_pointwise(1.0, Pointwise::Focal(focal));
    case(terms, (2, channels, &[2, 97, 97]), one_hot, true, 1, 7)
}

#[test]
fn the_same_bits_for_any_thread_count_and_instruction_set() {
    let pool = Arc::new(rayon::ThreadPoolBuilder::new().num_threads(3).build().expect("a pool"));
    for (activation, channels, one_hot) in [
        (Activation::Softmax, 3, false),
        (Activation::Softmax, 4, true),
        (Activation::Softmax, 7, false),
        (Activation::Sigmoid, 2, true),
    ] {
        let case = large(activation, channels, one_hot);
        let want = case.run(&Cpu::serial(), &case.logits);
        let single = case.logits.mapv(|x| x as f32);
        let run = |cpu: &Cpu| {
            let batch = case.batch(single.view().into());
            let forward = case.terms.forward(cpu, &batch).expect("valid");
            let mut out = Array::from_elem(single.raw_dim(), f32::NAN);
            case.terms.backward(cpu, &batch, &forward.saved, &[1.5], out.view_mut().into()).expect("valid");
            (forward.values[0], out)
        };
        let want_single = run(&Cpu::serial());
        for level in levels() {
            for threads in [Threads::Serial, Threads::Pool(pool.clone())] {
                let cpu = Cpu { level, threads };
                assert!(case.run(&cpu, &case.logits) == want, "{level:?} double");
                assert!(run(&cpu) == want_single, "{level:?} single");
            }
        }
    }
}

#[test]
fn the_same_bits_in_any_layout() {
    let case = large(Activation::Softmax, 3, false);
    let cpu = Cpu { level: Level::new(), threads: Threads::Current };
    let (value, gradient) = case.run(&cpu, &case.logits);
    // Channels last, and the axes of space reversed in memory: the second does not merge into one axis.
    for order in [[0usize, 2, 3, 4, 1], [0, 1, 4, 3, 2]] {
        let mut back = [0; 5];
        order.iter().enumerate().for_each(|(at, &axis)| back[axis] = at);
        let stored = case.logits.view().permuted_axes(IxDyn(&order)).as_standard_layout().into_owned();
        let logits = stored.view().permuted_axes(IxDyn(&back));
        let batch = case.batch(logits.into());
        let forward = case.terms.forward(&cpu, &batch).expect("valid");
        assert_eq!(forward.values[0], value);
        let mut out = ArrayD::from_elem(stored.raw_dim(), f64::NAN);
        let view = out.view_mut().permuted_axes(IxDyn(&back));
        case.terms.backward(&cpu, &batch, &forward.saved, &[1.5], view.into()).expect("valid");
        assert!(out.view().permuted_axes(IxDyn(&back)) == gradient, "{order:?}");
    }
}

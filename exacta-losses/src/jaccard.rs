//! The Lovász extension of the Jaccard loss, of one row of errors.

use exacta_core::Level;

use crate::radix::{Ranked, sort};

/// What is used again for the next row.
#[derive(Debug)]
pub(crate) struct Buffers<F: Ranked> {
    entries: Vec<F::Entry>,
    spare: Vec<F::Entry>,
}

impl<F: Ranked> Buffers<F> {
    pub(crate) const fn new() -> Self {
        Self { entries: Vec::new(), spare: Vec::new() }
    }
}

/// A row after [`extend`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Row {
    /// `Σ e_(k) (J_k - J_(k-1))` over the errors in descending order.
    pub(crate) loss: f64,
    /// Voxels of the foreground.
    pub(crate) foreground: u64,
    /// Voxels not left out.
    pub(crate) included: u64,
}

/// The Lovász extension of a row of codes ([`Ranked::code`], [`Ranked::NONE`] for what is left out); each code gives way to
/// the weight `J_k - J_(k-1)` of its voxel ([`Ranked::kept`]). `hidden` counts voxels of the foreground that have no code since
/// their error is not positive, `passed` all such voxels. A row without foreground gets no weight unless `all` asks for it.
///
/// With G voxels of the foreground and, before rank k, I of them still to come and B of the background behind, the weight is
/// `1 / (G + B)` of a foreground voxel and `I / ((G + B) (G + B + 1))` of the background: the differences of
/// `J = 1 - I / U` in closed form, from integers, so that nothing cancels. What ranks below the last foreground voxel weighs
/// nothing, so background with an error below the smallest of the foreground is not sorted.
///
/// Berman, Triki, Blaschko: The Lovász-softmax loss, 2018, algorithm 1.
pub(crate) fn extend<F: Ranked>(
    level: Level,
    codes: &mut [F::Code],
    [hidden, passed]: [u64; 2],
    all: bool,
    buffers: &mut Buffers<F>,
) -> Row {
    let (foreground, included, mut least) = exacta_core::dispatch!(level, simd => survey::<_, F>(simd, codes));
    let row = Row { loss: 0.0, foreground: foreground + hidden, included: included + passed };
    if hidden > 0 {
        least = F::Code::default();
    }
    if row.foreground == 0 && !all {
        codes.fill(F::keep(0.0));
        return row;
    }
    if row.foreground == 0 {
        return Row { loss: largest::<F>(codes), ..row };
    }
    let Buffers { entries, spare } = buffers;
    // A voxel of the foreground never lies below the least of them.
    sort::<F>(codes, least, entries, spare);
    let (mut left, mut union, mut loss) = (real(row.foreground), real(row.foreground), 0.0);
    for &entry in entries.iter() {
        if left == 0.0 {
            break;
        }
        let (code, i) = F::parts(entry);
        // Chosen without a branch, since none could foresee it.
        let side = F::foreground(code);
        let (above, beside) = if side { (1.0, 1.0) } else { (left, union + 1.0) };
        let (own, other) = if side { (1.0, 0.0) } else { (0.0, 1.0) };
        let weight = above / (union * beside);
        (left, union) = (left - own, union + other);
        loss += F::value(code) * weight;
        codes[i as usize] = F::keep(weight);
    }
    Row { loss, ..row }
}

/// Voxels of the foreground, voxels not left out, and the least magnitude of the foreground.
#[inline(always)]
fn survey<S: Copy, F: Ranked>(_: S, codes: &[F::Code]) -> (u64, u64, F::Code) {
    let (mut foreground, mut included) = (0, 0);
    let mut least = F::magnitude(F::NONE);
    for codes in codes.chunks(1 << 16) {
        let (mut of_chunk, mut counted) = (0u32, 0u32);
        for &code in codes {
            let counts = code != F::NONE;
            let side = counts & F::foreground(code);
            counted += u32::from(counts);
            of_chunk += u32::from(side);
            least = least.min(if side { F::magnitude(code) } else { F::magnitude(F::NONE) });
        }
        (foreground, included) = (foreground + u64::from(of_chunk), included + u64::from(counted));
    }
    (foreground, included, least)
}

/// Without foreground the Jaccard loss is 1 from the first voxel on: the largest error, the first of equal ones, weighs 1.
fn largest<F: Ranked>(codes: &mut [F::Code]) -> f64 {
    let mut found: Option<(usize, F::Code)> = None;
    for (i, code) in codes.iter_mut().enumerate() {
        if *code != F::NONE && found.is_none_or(|(_, most)| *code > most) {
            found = Some((i, *code));
        }
        *code = F::keep(0.0);
    }
    found.map_or(0.0, |(i, code)| {
        codes[i] = F::keep(1.0);
        F::value(code)
    })
}

#[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
fn real(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition: Jaccard losses of all prefixes, then their differences.
    fn naive(errors: &[(f64, bool)]) -> (f64, Vec<f64>) {
        let mut order: Vec<usize> = (0..errors.len()).collect();
        order.sort_by(|&a, &b| errors[b].0.partial_cmp(&errors[a].0).expect("no NaN"));
        let total = errors.iter().filter(|error| error.1).count() as f64;
        let (mut hit, mut beside, mut before, mut loss) = (0.0, 0.0, 0.0, 0.0);
        let mut weights = vec![0.0; errors.len()];
        for &i in &order {
            if errors[i].1 {
                hit += 1.0;
            } else {
                beside += 1.0;
            }
            let jaccard = 1.0 - (total - hit) / f64::max(total + beside, 1.0);
            weights[i] = jaccard - before;
            loss += errors[i].0 * weights[i];
            before = jaccard;
        }
        (loss, weights)
    }

    fn check(errors: &[(f64, bool)]) {
        let (loss, weights) = naive(errors);
        let mut codes: Vec<_> = errors.iter().map(|&(error, side)| error.code(side)).collect();
        let row = extend::<f64>(Level::new(), &mut codes, [0, 0], true, &mut Buffers::new());
        // Differences of numbers below 1 are off by an ulp of 1 each.
        assert!((row.loss - loss).abs() < 1e-14, "{} {loss}", row.loss);
        for (&code, weight) in codes.iter().zip(weights) {
            assert!((f64::kept(code) - weight).abs() < 1e-15, "{errors:?}");
        }
        assert_eq!(row.included as usize, errors.len());
    }

    #[test]
    fn equals_the_definition() {
        check(&[]);
        check(&[(0.5, true)]);
        check(&[(0.5, false), (0.75, false), (0.75, false)]);
        check(&[(0.5, false), (0.25, true), (0.5, true), (0.125, false), (0.25, false), (0.25, true)]);
        let mut state = 1u64;
        for n in 1..60 {
            let errors: Vec<(f64, bool)> = (0..n)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    ((state >> 40 & 15) as f64 / 16.0, state >> 50 & 3 == 0)
                })
                .collect();
            check(&errors);
        }
    }

    #[test]
    fn errors_that_are_not_positive_need_no_code() {
        let errors = [(0.5, true), (0.75, false), (0.0, true), (0.0, false), (0.25, false)];
        let (loss, weights) = naive(&errors);
        let mut codes: Vec<_> =
            errors.iter().map(|&(e, side)| if e > 0.0 { e.code(side) } else { f64::NONE }).collect();
        let row = extend::<f64>(Level::new(), &mut codes, [1, 2], true, &mut Buffers::new());
        assert!((row.loss - loss).abs() < 1e-15);
        assert_eq!((row.foreground, row.included), (2, 5));
        for i in [0, 1, 4] {
            assert!((f64::kept(codes[i]) - weights[i]).abs() < 1e-15);
        }
    }
}

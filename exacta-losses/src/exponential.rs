//! `e^x` and `log x` of vectors, with the same bits on every instruction set: additions, products and bit operations, nothing
//! fused and nothing from the platform's library.
//!
//! | function | arguments | error, in units in the last place | tested |
//! |---|---|---|---|
//! | `e^x`, single | `x <= 0` | 1.0 | every number |
//! | `log x`, single | `x >= 0` | 1.0 | every number |
//! | `e^x`, double | `x <= 0` | 1.5 | samples |
//! | `log x`, double | `x >= 0` | 1.5 | samples |
//!
//! Results of `e^x` below 0.7 of the smallest normal number are 0. NaN gives NaN, `log 0` is minus infinity.
//!
//! `e^x = 2^n e^r` with `n = round(x / log 2)` and `r` reduced by `log 2` in two parts (Cody and Waite, Software Manual for
//! the Elementary Functions, 1980); `log x = n log 2 + log m` with `m` in `[sqrt(1/2), sqrt(2))`. The polynomials of single precision
//! are minimax fits, those of double precision the series of `e^r` and of `2 atanh(s)`, `s = (m - 1) / (m + 1)`.

use fearless_simd::{Bytes, Select, Simd, SimdBase, f32x8, f64x4, u32x8, u64x4};

/// Coefficients of `(e^r - 1 - r) / r^2`; relative error of `e^r` 3.3e-9.
const EXP_F32: [f32; 5] = [0.499_999_94, 0.166_665_15, 0.041_668_456, 0.008_369_419, 0.001_381_314_5];
/// Coefficients of `(log(1 + f) - f + f^2/2) / f^3`; relative error of the logarithm 5.8e-9.
#[expect(clippy::excessive_precision, reason = "as fitted")]
const LOG_F32: [f32; 8] = [
    0.333_333_313_5,
    -0.250_008_195_6,
    0.200_012_266_6,
    -0.166_233_569_4,
    0.142_017_588,
    -0.131_601_825_4,
    0.127_615_749_8,
    -0.076_344_929_6,
];

/// Less than every `x` whose result is not 0: here `2^n` is 0 in bits, so that clamped arguments give 0.
pub(crate) const LOWEST_F32: f32 = -88.0;
/// The same in double precision.
pub(crate) const LOWEST_F64: f64 = -709.0;

/// `r` and `2^n` of `x` from [`LOWEST_F32`] to 0.
#[inline(always)]
pub(crate) fn reduce_f32<S: Simd>(x: f32x8<S>) -> [f32x8<S>; 2] {
    // Adding 1.5 * 2^23 leaves the nearest whole number in the low bits; 127 more, and shifted they are the bits of 2^n.
    const ROUND: f32 = 12_582_912.0 + 127.0;
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let bits: u32x8<S> = shifted.bitcast();
    // 355/512 has nine bits, so that its product with n is exact.
    [x - n * 0.693_359_4 - n * -2.121_944_4e-4, (bits << 23).bitcast()]
}

/// `2^n e^r`.
#[inline(always)]
pub(crate) fn raise_f32<S: Simd>([r, scale]: [f32x8<S>; 2]) -> f32x8<S> {
    // Two halves of the polynomial (Estrin), which do not wait for each other.
    let square = r * r;
    let low = r * EXP_F32[1] + EXP_F32[0];
    let high = r * EXP_F32[3] + EXP_F32[2] + square * EXP_F32[4];
    ((high * square + low) * square + r + 1.0) * scale
}

#[inline(always)]
pub(crate) fn log_f32<S: Simd>(simd: S, x: f32x8<S>) -> f32x8<S> {
    const SQRT_HALF: u32 = 0x3f35_04f3;
    let tiny = x.simd_lt(f32x8::splat(simd, f32::MIN_POSITIVE));
    let scaled = tiny.select(x * 33_554_432.0, x);
    let bias: f32x8<S> = tiny.select(f32x8::splat(simd, -25.0), f32x8::splat(simd, 0.0));
    let bits: u32x8<S> = scaled.bitcast();
    // The exponent of x / sqrt(1/2), in the low bits of a float that is 2^23 more.
    let above = bits - SQRT_HALF;
    let exponent = above & 0xff80_0000;
    let m: f32x8<S> = (bits - exponent).bitcast();
    // As a signed number: biased so that it is positive, then made a float by its bits.
    let whole: f32x8<S> = (((exponent + 0x4000_0000) >> 23) | 0x4b00_0000).bitcast();
    let n = whole - 8_388_608.0 - 128.0 + bias;
    let f = m - 1.0;
    let mut p = f32x8::splat(simd, LOG_F32[7]);
    for c in LOG_F32[..7].iter().rev() {
        p = p * f + *c;
    }
    let square = f * f;
    let low = p * (square * f) + n * -2.121_944_4e-4;
    let log = n * 0.693_359_4 + (f + (low - square * 0.5));
    special(simd, x, log)
}

/// 0 and infinity, which the reduction does not know.
#[inline(always)]
fn special<S: Simd>(simd: S, x: f32x8<S>, log: f32x8<S>) -> f32x8<S> {
    let log = x.simd_eq(f32x8::splat(simd, 0.0)).select(f32x8::splat(simd, f32::NEG_INFINITY), log);
    x.simd_lt(f32x8::splat(simd, f32::INFINITY)).select(log, x)
}

/// `r` and `2^n` of `x` from [`LOWEST_F64`] to 0.
#[inline(always)]
pub(crate) fn reduce_f64<S: Simd>(x: f64x4<S>) -> [f64x4<S>; 2] {
    const ROUND: f64 = 6_755_399_441_055_744.0 + 1023.0;
    let shifted = x * std::f64::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let bits: u64x4<S> = shifted.bitcast();
    // The first part has 32 bits.
    [x - n * 0.693_147_180_369_123_8 - n * 1.908_214_929_270_587_7e-10, (bits << 52).bitcast()]
}

/// `2^n e^r`.
#[inline(always)]
pub(crate) fn raise_f64<S: Simd>(simd: S, [r, scale]: [f64x4<S>; 2]) -> f64x4<S> {
    // 1/2! .. 1/13!: the rest of the series is below 5e-18.
    const SERIES: [f64; 12] = {
        let mut out = [0.0; 12];
        let (mut factorial, mut k) = (1.0, 0);
        while k < 12 {
            factorial *= (k + 2) as f64;
            out[k] = 1.0 / factorial;
            k += 1;
        }
        out
    };
    let mut q = f64x4::splat(simd, SERIES[11]);
    for c in SERIES[..11].iter().rev() {
        q = q * r + *c;
    }
    (q * (r * r) + r + 1.0) * scale
}

#[inline(always)]
pub(crate) fn log_f64<S: Simd>(simd: S, x: f64x4<S>) -> f64x4<S> {
    const SQRT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
    let tiny = x.simd_lt(f64x4::splat(simd, f64::MIN_POSITIVE));
    let scaled = tiny.select(x * 18_014_398_509_481_984.0, x);
    let bias: f64x4<S> = tiny.select(f64x4::splat(simd, -54.0), f64x4::splat(simd, 0.0));
    let bits: u64x4<S> = scaled.bitcast();
    let exponent = (bits - SQRT_HALF) & 0xfff0_0000_0000_0000;
    let m: f64x4<S> = (bits - exponent).bitcast();
    let whole: f64x4<S> = (((exponent + 0x4000_0000_0000_0000) >> 52) | 0x4330_0000_0000_0000).bitcast();
    let n = whole - 4_503_599_627_370_496.0 - 1024.0 + bias;
    let f = m - 1.0;
    let s = f / (f + 2.0);
    let z = s * s;
    // 2 atanh(s) = 2 s + s (2/3 z + 2/5 z^2 + ..); the rest after z^11 is below 1e-18.
    let mut p = f64x4::splat(simd, 2.0 / 23.0);
    for k in (1..11).rev() {
        p = p * z + 2.0 / f64::from(2 * k + 1);
    }
    // 2 s = f - s f, of which f is exact; and s f = f^2/2 - s f^2/2.
    let half = f * f * 0.5;
    let low = s * (half + p * z) + n * 1.908_214_929_270_587_7e-10;
    let log = n * 0.693_147_180_369_123_8 + (f - (half - low));
    let log = x.simd_eq(f64x4::splat(simd, 0.0)).select(f64x4::splat(simd, f64::NEG_INFINITY), log);
    x.simd_lt(f64x4::splat(simd, f64::INFINITY)).select(log, x)
}

#[cfg(test)]
mod tests {
    use exacta_core::Level;
    use exacta_core::testing::levels;

    use crate::dispatch::dispatch;
    use crate::number::Number;

    /// One of the two functions of a slice of whole vectors.
    fn run<F: Number>(level: Level, exp: bool, values: &mut [F]) {
        dispatch!(level, simd => run_with(simd, exp, values));
    }

    #[inline(always)]
    fn run_with<S: fearless_simd::Simd, F: Number>(simd: S, exp: bool, values: &mut [F]) {
        use fearless_simd::SimdBase;
        for chunk in values.chunks_exact_mut(F::LANES) {
            let x = F::Wide::<S>::from_slice(simd, chunk);
            if exp { F::exp(simd, x) } else { F::log(simd, x) }.store_slice(chunk);
        }
    }

    /// Distance to the exact value in units in the last place of the nearest float.
    fn ulps(found: f32, exact: f64) -> f64 {
        let near = (exact as f32).abs().max(f32::MIN_POSITIVE);
        (f64::from(found) - exact).abs() / f64::from(near.next_up() - near)
    }

    /// All floats of a range of bits; in debug builds one of 251, spread evenly, for these run without optimisation.
    fn check(bits: std::ops::RangeInclusive<u32>, exp: bool, exact: impl Fn(f64) -> f64 + Sync) {
        let step = if cfg!(debug_assertions) { 251 } else { 1 };
        let count = (bits.end() - bits.start()) / step + 1;
        let parts = 64;
        let worst = exacta_core::parallel::Threads::Current.map(parts, |part| {
            let (from, to) =
                (count as u64 * part as u64 / parts as u64, count as u64 * (part as u64 + 1) / parts as u64);
            let mut worst = (0.0, 0.0f32);
            for start in (from..to).step_by(4096) {
                let mut values = [1.0f32; 4096];
                let len = 4096.min(to - start) as usize;
                for (i, value) in values[..len].iter_mut().enumerate() {
                    *value = f32::from_bits(bits.start() + step * (start as u32 + i as u32));
                }
                let given = values;
                run(Level::new(), exp, &mut values);
                for (&x, &y) in given.iter().zip(&values) {
                    let error = ulps(y, exact(f64::from(x)));
                    if error > worst.0 {
                        worst = (error, x);
                    }
                }
            }
            worst
        });
        let worst = worst.into_iter().fold((0.0, 0.0), |a, b| if b.0 > a.0 { b } else { a });
        assert!(worst.0 <= 1.0, "{} units in the last place at {:e}", worst.0, worst.1);
    }

    #[test]
    fn exp_of_every_float_that_matters() {
        // From -2^-25, above which the result is 1 to the last place, to the logarithm of the smallest normal number.
        check((1 << 31 | 0x3300_0000)..=(-87.336f32).to_bits(), true, f64::exp);
        let mut small = [-0.0, -1e-45, -1e-30, -2.9e-8, f32::NEG_INFINITY, -1e30, -87.7, f32::NAN];
        run(Level::new(), true, &mut small);
        assert_eq!(small[..7], [1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0]);
        assert!(small[7].is_nan());
    }

    #[test]
    fn log_of_every_positive_float() {
        check(1..=f32::MAX.to_bits(), false, f64::ln);
        let mut special = [0.0, 1.0, f32::INFINITY, f32::NAN, -0.0, 1.0, 1.0, 1.0];
        run(Level::new(), false, &mut special);
        assert_eq!(special[..3], [f32::NEG_INFINITY, 0.0, f32::INFINITY]);
        assert!(special[3].is_nan() && special[4] == f32::NEG_INFINITY);
    }

    #[test]
    fn doubles_agree_with_the_standard_library() {
        let mut x = -708.0;
        while x < 0.0 {
            let arguments = [x, x / 7.0, x * 1e-3, x * 1e-9];
            let (mut exps, mut logs) = (arguments, arguments.map(f64::abs));
            run(Level::new(), true, &mut exps);
            run(Level::new(), false, &mut logs);
            for (i, x) in arguments.into_iter().enumerate() {
                // Half a unit for each side's rounding, one for ours.
                let close = |found: f64, exact: f64| (found - exact).abs() <= 2.0 * f64::EPSILON * exact.abs();
                assert!(close(exps[i], x.exp()), "exp {x}: {} {}", exps[i], x.exp());
                assert!(close(logs[i], x.abs().ln()), "log {x}: {} {}", logs[i], x.abs().ln());
            }
            x += 0.003_7;
        }
        let mut special = [f64::NEG_INFINITY, -708.8, f64::NAN, -0.0];
        run(Level::new(), true, &mut special);
        assert!(special[0] == 0.0 && special[1] == 0.0 && special[2].is_nan() && special[3] == 1.0);
        let mut special = [0.0, 5e-324, f64::INFINITY, 1.0];
        run(Level::new(), false, &mut special);
        assert_eq!(special, [f64::NEG_INFINITY, 5e-324f64.ln(), f64::INFINITY, 0.0]);
    }

    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        let singles: Vec<f32> = (0..40_000u32).map(|i| f32::from_bits(i.wrapping_mul(107_377) & 0x7fff_ffff)).collect();
        let doubles: Vec<f64> = singles.iter().map(|&x| f64::from(x) * 1.000_000_1).collect();
        for exp in [true, false] {
            let sign = if exp { -1.0 } else { 1.0 };
            let bits = |level| {
                let mut a: Vec<f32> = singles.iter().map(|x| sign * x).collect();
                let mut b: Vec<f64> = doubles.iter().map(|x| f64::from(sign) * x).collect();
                run(level, exp, &mut a);
                run(level, exp, &mut b);
                // Which NaN it is does not matter.
                let a: Vec<u32> = a.iter().map(|x| if x.is_nan() { 1 } else { x.to_bits() }).collect();
                (a, b.iter().map(|x| if x.is_nan() { 1 } else { x.to_bits() }).collect::<Vec<_>>())
            };
            let want = bits(Level::new());
            for level in levels() {
                assert!(bits(level) == want, "{level:?} exp {exp}");
            }
        }
    }
}

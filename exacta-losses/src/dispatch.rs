//! Which instruction sets kernels are compiled for.

/// As [`exacta_core::dispatch`], but on x86 for AVX2 and the baseline alone: vectors have eight lanes of single precision whatever the
/// machine, for the bits of their sums, so that others would add to the time it takes to compile and little to speed. Plain
/// arithmetic, which tests ask for, is the baseline's there: unrolled lane by lane, kernels of this size would take minutes.
macro_rules! dispatch {
    ($level:expr, $simd:ident => $op:expr) => {{
        #[cfg(target_arch = "x86_64")]
        {
            #[allow(unused_imports, reason = "the trait of vectorize")]
            use fearless_simd::Simd as _;
            let level: exacta_core::Level = $level;
            if let Some($simd) = level.as_avx2() {
                $simd.vectorize(
                    #[inline(always)]
                    || $op,
                )
            } else {
                let level = level.as_sse2().or(exacta_core::Level::baseline().as_sse2());
                let $simd = level.expect("part of x86-64");
                $simd.vectorize(
                    #[inline(always)]
                    || $op,
                )
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        exacta_core::dispatch!($level, $simd => $op)
    }};
}
pub(crate) use dispatch;

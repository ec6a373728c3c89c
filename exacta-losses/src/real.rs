//! Plain arithmetic of single and double precision, for kernels that are compiled for both.

use std::fmt::Debug;
use std::ops::{Add, Mul, Sub};

/// `f32` or `f64`.
pub(crate) trait Real:
    Copy + PartialOrd + Debug + Send + Sync + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + 'static
{
    const ZERO: Self;
    const ONE: Self;
    fn is_nan(self) -> bool;
}

macro_rules! real {
    ($($float:ty),+) => {$(
        impl Real for $float {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;

            #[inline(always)]
            fn is_nan(self) -> bool {
                Self::is_nan(self)
            }
        }
    )+};
}
real!(f32, f64);

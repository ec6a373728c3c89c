//! Plain arithmetic of single and double precision, for kernels that are compiled for both.

use std::fmt::Debug;
use std::ops::{Add, Mul, Sub};

use exacta_core::Error;
use exacta_core::stages::DistancesMut;

use crate::loss::Kept;
use crate::number::Number;
use crate::radix::Ranked;

/// `f32` or `f64`.
pub(crate) trait Real:
    Copy + PartialOrd + Debug + Send + Sync + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + 'static
{
    const ZERO: Self;
    const ONE: Self;
    const INFINITY: Self;
    const NEG_INFINITY: Self;
    fn is_nan(self) -> bool;
}

/// What losses that keep something a voxel are computed in.
pub(crate) trait Float: Number + Real + Ranked {
    /// Numbers to be kept.
    fn keep_all(values: Vec<Self>) -> Kept<'static>;
    /// The numbers kept, if they are as many as the batch asks for.
    ///
    /// # Errors
    /// [`Error::LossOption`].
    fn kept_all<'a>(kept: &'a Kept<'_>, count: usize) -> Result<&'a [Self], Error>;
    /// Where a distance stage writes.
    fn distances(out: &mut [Self]) -> DistancesMut<'_>;
}

/// The error of something kept by another forward pass.
pub(crate) fn not_kept(count: usize) -> Error {
    let rule = format!("hold {count} numbers of the precision of the loss, what the forward pass of this batch gave");
    Error::LossOption { argument: "kept", rule, value: "something else".to_owned() }
}

macro_rules! floats {
    ($($float:ty => $variant:ident),+) => {$(
        impl Float for $float {
            fn keep_all(values: Vec<Self>) -> Kept<'static> {
                Kept::$variant(values.into())
            }

            fn kept_all<'a>(kept: &'a Kept<'_>, count: usize) -> Result<&'a [Self], Error> {
                match kept {
                    Kept::$variant(values) if values.len() == count => Ok(values),
                    _ => Err(not_kept(count)),
                }
            }

            fn distances(out: &mut [Self]) -> DistancesMut<'_> {
                DistancesMut::$variant(out)
            }
        }
    )+};
}
floats!(f32 => F32, f64 => F64);

macro_rules! real {
    ($($float:ty),+) => {$(
        impl Real for $float {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const INFINITY: Self = Self::INFINITY;
            const NEG_INFINITY: Self = Self::NEG_INFINITY;

            #[inline(always)]
            fn is_nan(self) -> bool {
                Self::is_nan(self)
            }
        }
    )+};
}
real!(f32, f64);

//! The two working precisions.

use std::ops::{Add, Div, Mul, Neg, Sub};

use super::batch::Channel;
use super::sort::Key;

/// `f32` or `f64`.
pub(crate) trait Real:
    Copy
    + Default
    + PartialOrd
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// Bits whose order is that of the numbers.
    type Key: Key;
    const ZERO: Self;
    const ONE: Self;
    fn from_f32(value: f32) -> Self;
    fn from_f64(value: f64) -> Self;
    fn to_f64(self) -> f64;
    fn abs(self) -> Self;
    /// The larger of two numbers, +0 where it is a zero.
    fn max(self, other: Self) -> Self;
    fn exp(self) -> Self;
    fn ln(self) -> Self;
    fn ln_1p(self) -> Self;
    fn finite(self) -> bool;
    /// Both zeros have one key.
    fn key(self) -> Self::Key;
    fn of_key(key: Self::Key) -> Self;
    /// Reads `out.len()` elements of a channel from `start` on, in C order.
    fn read(channel: &Channel<'_>, start: usize, out: &mut [Self]);
}

macro_rules! real {
    ($real:ident, $key:ident, $from_f32:expr, $from_f64:expr) => {
        impl Real for $real {
            type Key = $key;
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;

            #[inline(always)]
            fn from_f32(value: f32) -> Self {
                $from_f32(value)
            }

            #[inline(always)]
            fn from_f64(value: f64) -> Self {
                $from_f64(value)
            }

            #[inline(always)]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }

            #[inline(always)]
            fn abs(self) -> Self {
                self.abs()
            }

            #[inline(always)]
            fn max(self, other: Self) -> Self {
                // Adding 0 keeps the compiler from storing this under a mask where it replaces one of the two: some processors take
                // tens of cycles for a masked store.
                (if other > self { other } else { self }) + 0.0
            }

            #[inline(always)]
            fn exp(self) -> Self {
                self.exp()
            }

            #[inline(always)]
            fn ln(self) -> Self {
                self.ln()
            }

            #[inline(always)]
            fn ln_1p(self) -> Self {
                self.ln_1p()
            }

            #[inline(always)]
            fn finite(self) -> bool {
                self.abs() < Self::INFINITY
            }

            #[inline(always)]
            fn key(self) -> $key {
                // -0 + 0 = +0. A negative number has all bits flipped, any other its sign bit.
                let bits = (self + 0.0).to_bits();
                let sign: $key = 1 << ($key::BITS - 1);
                bits ^ (((bits.cast_signed() >> ($key::BITS - 1)).cast_unsigned()) | sign)
            }

            #[inline(always)]
            fn of_key(key: $key) -> Self {
                let sign: $key = 1 << ($key::BITS - 1);
                Self::from_bits(if key & sign != 0 { key ^ sign } else { !key })
            }

            #[inline(always)]
            fn read(channel: &Channel<'_>, start: usize, out: &mut [Self]) {
                channel.read(start, out);
            }
        }
    };
}

#[expect(clippy::cast_possible_truncation, reason = "only constants and values of single precision come as double")]
const fn narrow(value: f64) -> f32 {
    value as f32
}

const fn same<T: Copy>(value: T) -> T {
    value
}

real!(f32, u32, same, narrow);
real!(f64, u64, f64::from, same);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_order_as_numbers_and_return() {
        let values = [f64::MIN, -1.5, -1e-310, 0.0, 1e-310, 0.5, 1.0, 1e30, f64::MAX];
        for pair in values.windows(2) {
            assert!(pair[0].key() < pair[1].key(), "{pair:?}");
        }
        for value in values {
            assert_eq!(f64::of_key(value.key()).to_bits(), value.to_bits());
        }
        assert_eq!((-0.0f64).key(), 0.0f64.key());
        assert_eq!((-0.0f32).key(), 0.0f32.key());
        assert!((-1.0f32).key() < (-0.5f32).key());
        assert_eq!(f32::of_key((-0.25f32).key()), -0.25);
    }
}

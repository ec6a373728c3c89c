//! Half-precision numbers by their bits, to and from single precision.

/// The number of an IEEE half.
#[inline(always)]
pub(crate) fn f16_to_f32(half: u16) -> f32 {
    let (exponent, fraction) = (u32::from(half >> 10 & 31), u32::from(half & 1023));
    let magnitude = match exponent {
        // Subnormal halves are multiples of 2^-24, which single precision holds exactly.
        0 => f32::from(half & 1023) * f32::from_bits((127 - 24) << 23),
        31 => f32::from_bits(255 << 23 | fraction << 13),
        _ => f32::from_bits((exponent + 112) << 23 | fraction << 13),
    };
    f32::from_bits(magnitude.to_bits() | u32::from(half >> 15) << 31)
}

/// The number of a bfloat16.
#[inline(always)]
pub(crate) fn bf16_to_f32(half: u16) -> f32 {
    f32::from_bits(u32::from(half) << 16)
}

/// The nearest IEEE half, ties to even.
#[inline(always)]
pub(crate) fn f32_to_f16(value: f32) -> u16 {
    let bits = value.to_bits();
    let (sign, magnitude) = ((bits >> 16 & 0x8000) as u16, bits & 0x7fff_ffff);
    let half = if magnitude > 0x7f80_0000 {
        0x7e00
    } else if magnitude < 0x3880_0000 {
        // Below the smallest normal half: adding 1/2 leaves multiples of 2^-24 in the low bits, rounded by the addition.
        ((f32::from_bits(magnitude) + 0.5).to_bits() - 0x3f00_0000) as u16
    } else {
        let rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
        ((rounded - (112 << 23)) >> 13).min(0x7c00) as u16
    };
    sign | half
}

/// The nearest bfloat16, ties to even.
#[inline(always)]
pub(crate) fn f32_to_bf16(value: f32) -> u16 {
    let bits = value.to_bits();
    let rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    if bits & 0x7fff_ffff > 0x7f80_0000 { (bits >> 16) as u16 | 0x40 } else { rounded as u16 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_survives_and_values_between_go_to_the_nearest() {
        for half in 0..=u16::MAX {
            let (wide, brain) = (f16_to_f32(half), bf16_to_f32(half));
            if wide.is_nan() {
                assert!(f16_to_f32(f32_to_f16(wide)).is_nan(), "{half:#x}");
            } else {
                assert_eq!(f32_to_f16(wide), half, "{half:#x}");
            }
            if brain.is_nan() {
                assert!(bf16_to_f32(f32_to_bf16(brain)).is_nan(), "{half:#x}");
            } else {
                assert_eq!(f32_to_bf16(brain), half, "{half:#x}");
            }
        }
        for half in 0..0x7bffu16 {
            let (low, high) = (f64::from(f16_to_f32(half)), f64::from(f16_to_f32(half + 1)));
            let middle = ((low + high) / 2.0) as f32;
            let even = half + (half & 1);
            assert_eq!(f32_to_f16(middle), even, "{half:#x}");
            assert_eq!(f32_to_f16(middle.next_down()), half, "{half:#x}");
            assert_eq!(f32_to_f16(middle.next_up()), half + 1, "{half:#x}");
        }
        assert_eq!(f32_to_f16(65_520.0), 0x7c00);
        assert_eq!(f32_to_f16(f32::NEG_INFINITY), 0xfc00);
        assert_eq!(f32_to_bf16(f32::MAX), 0x7f80);
    }
}

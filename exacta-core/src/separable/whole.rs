//! Spacings that leave squared distances exact.

/// Spacings as whole multiples of a power of two.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Whole {
    /// The power of two.
    pub unit: f64,
    /// The largest squared distance, in squared units.
    pub largest: u128,
}

/// Whether all squared distances of axes with these spacings and lengths are exact in doubles, in whatever order.
pub fn whole(axes: &[(f64, usize)]) -> Option<Whole> {
    // Normal numbers alone: the range of spacings has no others.
    let parts: Vec<(u64, i32, usize)> = axes
        .iter()
        .map(|&(spacing, length)| {
            let bits = spacing.to_bits();
            let significand = bits & ((1 << 52) - 1) | 1 << 52;
            let zeros = significand.trailing_zeros();
            let exponent = i32::try_from(bits >> 52).expect("positive") - 1075 + i32::try_from(zeros).expect("small");
            (significand >> zeros, exponent, length)
        })
        .collect();
    let lowest = parts.iter().map(|&(_, exponent, _)| exponent).min().unwrap_or(0);
    let mut largest = 0u128;
    for (odd, exponent, length) in parts {
        let shift = u32::try_from(exponent - lowest).expect("not below the lowest");
        if shift > 26 || odd >> (26 - shift) > 0 {
            return None;
        }
        // The outside lies one step beyond.
        let way = u128::from(odd << shift) * length as u128;
        largest += way * way;
    }
    let unit = f64::from_bits(u64::try_from(lowest + 1023).expect("within the range of spacings") << 52);
    (largest < 1 << 53).then_some(Whole { unit, largest })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_multiples_are_found() {
        let found = |spacing: &[f64]| whole(&spacing.iter().map(|&h| (h, 100)).collect::<Vec<_>>());
        assert_eq!(found(&[1.0, 1.0, 1.0]), Some(Whole { unit: 1.0, largest: 30_000 }));
        assert_eq!(found(&[0.5, 0.75, 2.5]).map(|whole| whole.unit), Some(0.25));
        assert_eq!(found(&[5.0, 1.0, 1.0]), Some(Whole { unit: 1.0, largest: 270_000 }));
        assert_eq!(found(&[0.8, 0.8]), None);
        assert_eq!(found(&[1e-100, 1.0]), None);
        assert_eq!(found(&[f64::powi(2.0, 300)]).map(|whole| whole.unit), Some(f64::powi(2.0, 300)));
        assert_eq!(found(&[]).map(|whole| whole.unit), Some(1.0));
    }
}

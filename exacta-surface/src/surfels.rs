//! What a corner cell weighs: the length or area of the surface within its block, by code and spacing.

use crate::normals::NORMALS;

/// The weight of each code at a spacing (as of a volume), for images of two or three axes.
pub(crate) fn by_code(spacing: [f64; 3], axes: usize) -> Vec<f64> {
    if axes == 3 { areas(spacing).to_vec() } else { lengths([spacing[1], spacing[2]]).to_vec() }
}

/// Areas of the marching surface in a block of 2x2x2 voxels: for each normal `n` of the code,
/// `v = (n0 h1 h2, n1 h0 h2, n2 h0 h1)`, products from left to right; the sum of `|v|` in the table's order.
///
/// DeepMind's areas to the last bit where NumPy's norm is fused, as on x86-64: `|v| = sqrt(v2 v2 + (v1 v1 + v0 v0))` with both sums
/// fused. Bits matter, since equal areas make cumulative shares hit percentiles.
fn areas([a, b, c]: [f64; 3]) -> [f64; 256] {
    NORMALS.map(|normals| {
        let lengths = normals.into_iter().filter(|&normal| normal != 0).map(|normal| {
            let [p, q, r] = [normal >> 6, normal >> 3 & 7, normal & 7].map(|eighths| f64::from(eighths) / 8.0);
            let [p, q, r] = [p * b * c, q * a * c, r * a * b];
            r.mul_add(r, q.mul_add(q, p * p)).sqrt()
        });
        lengths.fold(0.0, |sum, length| sum + length)
    })
}

/// Lengths of the marching contour in a block of 2x2 pixels, as DeepMind's `create_table_neighbour_code_to_contour_length`.
fn lengths([a, b]: [f64; 2]) -> [f64; 16] {
    let diagonal = 0.5 * (a * a + b * b).sqrt();
    std::array::from_fn(|code| match code {
        0 | 15 => 0.0,
        3 | 12 => b,
        5 | 10 => a,
        6 | 9 => 2.0 * diagonal,
        _ => diagonal,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_of_the_specification() {
        let sums = [
            ([1.0, 1.0, 1.0], 241.343_139_705_537_42),
            ([1.5, 0.8, 0.8], 250.841_519_741_111_54),
            ([2.0, 1.0, 1.0], 414.410_135_435_423_85),
            ([0.3, 0.7, 1.9], 194.569_766_487_605_36),
        ];
        for (spacing, wanted) in sums {
            let sum = exacta_core::quantile::compensated(areas(spacing).into_iter());
            // The exact sum, but for the last digit.
            assert!((sum - wanted).abs() <= 4.0 * f64::EPSILON * wanted, "{sum} {wanted}");
        }
        let unit = areas([1.0; 3]);
        assert_eq!(unit.iter().copied().fold(0.0, f64::max), unit[27]);
        assert_eq!(unit[27], 1.573_132_184_970_986);
        assert_eq!((unit[0], unit[255]), (0.0, 0.0));
    }

    #[test]
    fn complements_agree_and_counts_are_those_of_the_specification() {
        let by_inside = [
            (0, 0.0, 0.0),
            (8, 1.732_050_807_569, 1.813_725_447_801),
            (56, 15.413_484_604_514, 16.089_014_340_898),
            (168, 54.951_324_862_01, 57.034_106_816_402),
            (268, 97.149_419_157_351, 100.967_826_530_909),
        ];
        for inside in 0..=8u32 {
            let codes = || (0..256usize).filter(|code| code.count_ones() == inside);
            let (normals, unit, thick) = by_inside[inside.min(8 - inside) as usize];
            let found = codes().flat_map(|code| NORMALS[code]).filter(|&normal| normal != 0).count();
            assert_eq!(found, normals, "{inside} inside");
            for (spacing, wanted) in [([1.0; 3], unit), ([1.5, 0.8, 0.8], thick)] {
                let areas = areas(spacing);
                let sum: f64 = codes().map(|code| areas[code]).sum();
                assert!((sum - wanted).abs() < 1e-11, "{inside} inside: {sum} {wanted}");
            }
        }
        let normals: Vec<[u16; 4]> = NORMALS
            .into_iter()
            .map(|mut normals| {
                normals.sort_unstable();
                normals
            })
            .collect();
        assert!((0..256).all(|code| normals[code] == normals[255 - code]));
    }

    #[test]
    fn lengths_of_the_specification() {
        let wanted = [0.0, 0.85, 0.85, 0.8, 0.85, 1.5, 1.7, 0.85, 0.85, 1.7, 1.5, 0.85, 0.8, 0.85, 0.85, 0.0];
        assert_eq!(lengths([1.5, 0.8]), wanted);
        assert_eq!(lengths([3.0, 4.0]).iter().sum::<f64>(), 44.0);
        assert_eq!(lengths([1.0, 1.0]).iter().sum::<f64>(), 12.485_281_374_238_571);
    }
}

//! The definition of the distances, voxel by voxel.

use exacta_core::ndarray::{ArrayD, ArrayViewD, Dimension, IxDyn};
use exacta_core::stages::{Bin, Directed, SurfaceDistances};

use crate::squared;

/// Boundary voxels of a mask of two or three axes: those with a face neighbour outside the mask or the image.
fn boundary(mask: &ArrayViewD<'_, bool>) -> Vec<[f64; 3]> {
    let shape = mask.shape();
    let mut out = Vec::new();
    for (at, &inside) in mask.indexed_iter() {
        if !inside {
            continue;
        }
        let at = at.slice();
        let exposed = (0..shape.len()).any(|axis| {
            [at[axis].checked_sub(1), Some(at[axis] + 1).filter(|&n| n < shape[axis])].into_iter().any(|n| {
                n.is_none_or(|n| {
                    let mut neighbour = at.to_vec();
                    neighbour[axis] = n;
                    !mask[&neighbour[..]]
                })
            })
        });
        if exposed {
            let mut point = [0.0; 3];
            for (k, &a) in at.iter().enumerate() {
                #[expect(clippy::cast_precision_loss, reason = "test volumes are small")]
                let a = a as f64;
                point[3 - shape.len() + k] = a;
            }
            out.push(point);
        }
    }
    out
}

fn directed(from: &[[f64; 3]], to: &[[f64; 3]], spacing: [f64; 3]) -> Directed {
    if from.is_empty() || to.is_empty() {
        return Directed::lone_points(from.len() as u64);
    }
    let mut distances: Vec<f64> = from
        .iter()
        .map(|p| {
            let nearest =
                to.iter().map(|q| squared(spacing, [0, 1, 2].map(|k| p[k] - q[k]))).fold(f64::INFINITY, f64::min);
            nearest.sqrt()
        })
        .collect();
    distances.sort_by(f64::total_cmp);
    let bins: Vec<Bin> =
        distances.chunk_by(|a, b| a == b).map(|d| Bin { distance: d[0], weight: 1.0, count: d.len() as u64 }).collect();
    let max = bins.last().map(|bin| bin.distance);
    Directed { resolved: f64::INFINITY, max, bins, ..Directed::lone_points(from.len() as u64) }
}

/// Distances between the surfaces of two masks of one image, by the definition.
pub fn naive_distances(pred: &ArrayD<bool>, target: &ArrayD<bool>, spacing: [f64; 3]) -> SurfaceDistances {
    let (pred, target) = (boundary(&pred.view()), boundary(&target.view()));
    SurfaceDistances {
        pred_to_target: directed(&pred, &target, spacing),
        target_to_pred: directed(&target, &pred, spacing),
    }
}

/// The code of every corner of a mask of two or three axes: one more corner than voxels along each axis; what lies beyond the
/// image is outside. Offset `i` of the block, last axis fastest, sets bit `2^axes - 1 - i`.
pub fn naive_codes(mask: &ArrayD<bool>) -> ArrayD<u8> {
    let axes = mask.ndim();
    let shape: Vec<usize> = mask.shape().iter().map(|n| n + 1).collect();
    let mut codes = ArrayD::zeros(IxDyn(&shape));
    // Each voxel inside sets one bit at each of its corners: as offset `i` of the block of the corner at the other end.
    for (at, _) in mask.indexed_iter().filter(|(_, inside)| **inside) {
        for i in 0..1usize << axes {
            let corner: Vec<usize> = (0..axes).map(|k| at[k] + 1 - (i >> (axes - 1 - k) & 1)).collect();
            codes[IxDyn(&corner)] |= 1 << ((1 << axes) - 1 - i);
        }
    }
    codes
}

#[cfg(test)]
mod tests {
    use exacta_core::ndarray::array;

    use super::*;

    #[test]
    fn codes_of_the_specification() {
        let voxel = array![[[true]]].into_dyn();
        assert_eq!(naive_codes(&voxel), array![[[1, 2], [4, 8]], [[16, 32], [64, 128]]].into_dyn());
        let diagonal = array![[true, false], [false, true]].into_dyn();
        assert_eq!(naive_codes(&diagonal), array![[1, 2, 0], [4, 9, 2], [0, 4, 8]].into_dyn());
    }
}

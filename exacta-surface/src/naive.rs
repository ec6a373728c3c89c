//! The definition of the distances, voxel by voxel.

use exacta_core::ndarray::{ArrayD, ArrayViewD, Dimension, IxDyn};
use exacta_core::stages::{Bin, Directed, Elements, SurfaceDistances};

use crate::squared;
use crate::surfels;

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

/// An element: where it lies, and its weight.
type Weighted = ([f64; 3], f64);

fn directed(from: &[Weighted], to: &[Weighted], spacing: [f64; 3], elements: Elements) -> Directed {
    let weight = from.iter().map(|element| element.1).sum();
    let lone = Directed { elements, total: from.len() as u64, weight, ..Directed::default() };
    if from.is_empty() || to.is_empty() {
        return lone;
    }
    let mut distances: Vec<(f64, f64)> = from
        .iter()
        .map(|(p, weight)| {
            let nearest =
                to.iter().map(|(q, _)| squared(spacing, [0, 1, 2].map(|k| p[k] - q[k]))).fold(f64::INFINITY, f64::min);
            (nearest.sqrt(), *weight)
        })
        .collect();
    distances.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let bins: Vec<Bin> = distances
        .chunk_by(|a, b| a == b)
        .map(|d| Bin { distance: d[0].0, weight: d[0].1, count: d.len() as u64 })
        .collect();
    let max = bins.last().map(|bin| bin.distance);
    Directed { resolved: f64::INFINITY, max, bins, ..lone }
}

fn both(sides: [Vec<Weighted>; 2], spacing: [f64; 3], elements: Elements) -> SurfaceDistances {
    let [pred, target] = sides;
    SurfaceDistances {
        pred_to_target: directed(&pred, &target, spacing, elements),
        target_to_pred: directed(&target, &pred, spacing, elements),
    }
}

/// Distances between the boundary voxels of two masks of one image, by the definition.
pub fn naive_distances(pred: &ArrayD<bool>, target: &ArrayD<bool>, spacing: [f64; 3]) -> SurfaceDistances {
    let voxels = |mask: &ArrayD<bool>| boundary(&mask.view()).into_iter().map(|at| (at, 1.0)).collect();
    both([voxels(pred), voxels(target)], spacing, Elements::Points)
}

/// Distances between the surfels of two masks of one image, by the definition. The weight of each record is right to rounding: its
/// sum runs in raster order.
pub fn naive_surfel_distances(pred: &ArrayD<bool>, target: &ArrayD<bool>, spacing: [f64; 3]) -> SurfaceDistances {
    let surfels = |mask: &ArrayD<bool>| {
        let codes = naive_codes(mask);
        let lead = 3 - mask.ndim();
        let weights = surfels::by_code(spacing, mask.ndim());
        let mixed = |code: u8| code != 0 && usize::from(code) != weights.len() - 1;
        let cells = codes.indexed_iter().filter(|(_, code)| mixed(**code));
        #[expect(clippy::cast_precision_loss, reason = "test volumes are small")]
        let elements = cells.map(|(at, &code)| {
            let at = std::array::from_fn(|k| if k < lead { 0.0 } else { at[k - lead] as f64 });
            (at, weights[usize::from(code)])
        });
        elements.collect()
    };
    both([surfels(pred), surfels(target)], spacing, Elements::Patches)
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

//! The definition of the distances between surfaces of patches: every element against every other.

use exacta_core::ndarray::{ArrayD, Dimension};
use exacta_core::quantile::compensated;
use exacta_core::stages::{Bin, Directed, Elements, SurfaceDistances};
use nalgebra::Vector3;

use super::patch::{Flat, Metric, Patch, Segment, Triangle, vector};
use super::shape::{Element, Maker, Shape};
use crate::naive::naive_codes;

/// The cells of a mask that hold elements: corner, in three axes, and elements.
fn cells<'a>(mask: &ArrayD<bool>, shape: &'a Shape) -> Vec<(Vector3<f64>, &'a [Element])> {
    let codes = naive_codes(mask);
    let found = codes.indexed_iter().map(|(at, &code)| {
        let mut corner = [0; 3];
        for (k, &n) in at.slice().iter().enumerate() {
            corner[3 - mask.ndim() + k] = i32::try_from(n).expect("a small image");
        }
        (vector(corner), shape.of(code))
    });
    found.filter(|(_, elements)| !elements.is_empty()).collect()
}

fn directed<P: Patch>(
    shape: &Shape,
    [metric, sizes]: [&Metric; 2],
    from: &[(Vector3<f64>, &[Element])],
    to: &[(Vector3<f64>, &[Element])],
) -> Directed {
    let (half, unit) = (f64::from(shape.half), f64::from(shape.per_voxel()));
    let patches: Vec<(Vector3<f64>, P)> = to
        .iter()
        .flat_map(|(there, others)| others.iter().map(move |other| (there, other)))
        .map(|(there, other)| {
            let vertices: Vec<_> = other.vertices.iter().map(|&v| vector(v) * half).collect();
            (*there, P::new(metric, &vertices))
        })
        .collect();
    let mut found: Vec<(f64, f64)> = Vec::new();
    for (at, elements) in from {
        for element in *elements {
            let centre = vector(shape.centres[usize::from(element.centre)]);
            let best = patches.iter().fold(f64::INFINITY, |best, (there, patch)| {
                best.min(patch.nearer(metric, &(centre - (there - at) * unit), f64::INFINITY))
            });
            found.push((best.sqrt(), sizes.size(&element.vertices)));
        }
    }
    let total = found.len() as u64;
    found.sort_by(|a, b| a.1.total_cmp(&b.1));
    #[expect(clippy::cast_precision_loss, reason = "a small image")]
    let weight = compensated(found.chunk_by(|a, b| a.1 == b.1).map(|same| same[0].1 * same.len() as f64));
    let lone = Directed { elements: Elements::Patches, total, weight, ..Directed::default() };
    if from.is_empty() || to.is_empty() {
        return lone;
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let bins: Vec<Bin> = found
        .chunk_by(|a, b| a == b)
        .map(|same| Bin { distance: same[0].0, weight: same[0].1, count: same.len() as u64 })
        .collect();
    Directed { resolved: f64::INFINITY, max: bins.last().map(|bin| bin.distance), bins, ..lone }
}

/// Distances between the discrete contours of two masks of one image, or with `faces` between the faces of their voxels, by the
/// definition.
pub fn naive_patches(pred: &ArrayD<bool>, target: &ArrayD<bool>, faces: bool, spacing: [f64; 3]) -> SurfaceDistances {
    let axes = pred.ndim();
    let shape = Shape::new(if faces { Maker::Faces } else { Maker::Contour }, axes);
    let metric = Metric::new(spacing, shape.per_voxel());
    let sizes = Metric::new(spacing, 2);
    let (pred, target) = (cells(pred, &shape), cells(target, &shape));
    let directed = match (faces, axes) {
        (true, _) => directed::<Flat>,
        (false, 3) => directed::<Triangle>,
        (false, _) => directed::<Segment>,
    };
    SurfaceDistances {
        pred_to_target: directed(&shape, [&metric, &sizes], &pred, &target),
        target_to_pred: directed(&shape, [&metric, &sizes], &target, &pred),
    }
}

//! The definition of the transforms, voxel by voxel.

use exacta_core::ndarray::{ArrayD, ArrayViewD, Dimension, IxDyn};
use exacta_core::{Border, Features};

/// Squared distances of one image of up to three axes, by the definition: every voxel against every feature.
pub fn naive_squared_distances(
    image: &ArrayViewD<'_, i64>,
    spacing: &[f64],
    features: Features,
    border: Border,
) -> ArrayD<f64> {
    naive(
        image,
        spacing,
        border,
        |here, there| match features {
            Features::Zeros => there == 0,
            Features::NonZeros => there != 0,
            Features::OtherLabels => here == 0 || there != here,
        },
        features != Features::NonZeros,
    )
}

/// Signed distances of one image, by the definition.
pub fn naive_signed_distances(image: &ArrayViewD<'_, i64>, spacing: &[f64], border: Border) -> ArrayD<f64> {
    let mut out = naive(image, spacing, border, |here, there| (here != 0) != (there != 0), true).mapv(f64::sqrt);
    out.zip_mut_with(image, |out, &label| {
        if label != 0 {
            *out = -*out;
        }
    });
    out
}

fn naive(
    image: &ArrayViewD<'_, i64>,
    spacing: &[f64],
    border: Border,
    is_feature: impl Fn(i64, i64) -> bool,
    outside: bool,
) -> ArrayD<f64> {
    let shape = image.shape().to_vec();
    #[expect(clippy::cast_precision_loss, reason = "test volumes are small")]
    let square = |axis: usize, steps: usize| {
        let way = spacing[axis] * steps as f64;
        way * way
    };
    ArrayD::from_shape_fn(IxDyn(&shape), |at| {
        let at = at.slice();
        let here = image[at];
        let mut best = f64::INFINITY;
        for (other, &there) in image.indexed_iter() {
            if is_feature(here, there) {
                let other = other.slice();
                let sum = (0..shape.len()).fold(0.0, |sum, axis| sum + square(axis, at[axis].abs_diff(other[axis])));
                best = best.min(sum);
            }
        }
        // The outside is background, and the nearest of it lies straight ahead.
        if border == Border::Background && outside && is_feature(here, 0) {
            for axis in 0..shape.len() {
                best = best.min(square(axis, (at[axis] + 1).min(shape[axis] - at[axis])));
            }
        }
        best
    })
}

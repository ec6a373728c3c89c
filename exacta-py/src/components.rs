//! Components of one mask. Results are written into arrays that the Python side made, in the order in which the mask lies in
//! memory; each function returns the array's axes in that order.

use exacta_components::Components;
use exacta_core::{Bits, Cpu, Labels, Level, Result, Thinning};
use ndarray::{Array1, Array2, Array3};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArray3, PyReadwriteArray1, PyUntypedArray};
use pyo3::prelude::*;

use crate::arrays::Held;
use crate::error::exception;
use crate::pool;

fn find(cpu: &Cpu, mask: Labels<'_>, connectivity: usize) -> Result<Components> {
    exacta_components::label_image(cpu, mask, connectivity)
}

fn cpu(threads: usize) -> Cpu {
    Cpu { level: Level::new(), threads: pool::threads(threads) }
}

/// The axes of the array, in the order in which its memory was walked.
fn walked(bits: &Bits) -> Vec<usize> {
    let lead = 3 - bits.grid().axes();
    bits.grid().order()[lead..].iter().map(|axis| axis - lead).collect()
}

/// Writes the number of each voxel's component. `zeroed`: `out` holds only zeros.
#[pyfunction]
#[pyo3(signature = (mask, out, *, connectivity, half=None, zeroed=false, threads=1))]
pub(crate) fn label_components(
    py: Python<'_>,
    mask: &Bound<'_, PyUntypedArray>,
    mut out: PyReadwriteArray1<'_, i32>,
    connectivity: usize,
    half: Option<&str>,
    zeroed: bool,
    threads: usize,
) -> PyResult<(u32, Vec<usize>)> {
    let held = Held::new(mask, half)?;
    let mask = held.labels();
    let out = out.as_slice_mut()?;
    py.detach(|| {
        let cpu = cpu(threads);
        let found = find(&cpu, mask, connectivity)?;
        found.write_labels(&cpu, out, zeroed)?;
        Ok((found.count(), walked(found.mask())))
    })
    .map_err(|error| exception(&error))
}

/// Writes 1 where the largest component is, or with `min_size` where components of at least so many voxels are.
#[pyfunction]
#[pyo3(signature = (mask, out, *, connectivity, min_size=None, half=None, zeroed=false, threads=1))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(crate) fn filter_components(
    py: Python<'_>,
    mask: &Bound<'_, PyUntypedArray>,
    mut out: PyReadwriteArray1<'_, u8>,
    connectivity: usize,
    min_size: Option<u64>,
    half: Option<&str>,
    zeroed: bool,
    threads: usize,
) -> PyResult<Vec<usize>> {
    let held = Held::new(mask, half)?;
    let mask = held.labels();
    let out = out.as_slice_mut()?;
    py.detach(|| {
        let cpu = cpu(threads);
        let found = find(&cpu, mask, connectivity)?;
        let kept = match min_size {
            None => found.largest(&cpu),
            Some(min_size) => found.remove_small(&cpu, min_size),
        };
        kept.write_bytes(&cpu, out, zeroed)?;
        Ok(walked(&kept))
    })
    .map_err(|error| exception(&error))
}

/// Writes 1 where the skeleton of a mask of zeros and ones is.
#[pyfunction]
#[pyo3(signature = (mask, out, *, thinning, half=None, zeroed=false, threads=1))]
pub(crate) fn skeletonize(
    py: Python<'_>,
    mask: &Bound<'_, PyUntypedArray>,
    mut out: PyReadwriteArray1<'_, u8>,
    thinning: &str,
    half: Option<&str>,
    zeroed: bool,
    threads: usize,
) -> PyResult<Vec<usize>> {
    let thinning: Thinning = thinning.parse().map_err(|error| exception(&error))?;
    let held = Held::new(mask, half)?;
    let mask = held.labels();
    let out = out.as_slice_mut()?;
    py.detach(|| {
        let cpu = cpu(threads);
        let found = exacta_components::skeleton(&cpu, &Bits::binary(&cpu, mask)?, thinning);
        found.write_bytes(&cpu, out, zeroed)?;
        Ok(walked(&found))
    })
    .map_err(|error| exception(&error))
}

type Statistics<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray2<f64>>, Bound<'py, PyArray3<i64>>);

/// Sizes, centroids and boxes (first index, last plus one) of all components, along the axes of the array.
#[pyfunction]
#[pyo3(signature = (mask, *, connectivity, half=None, threads=1))]
pub(crate) fn component_statistics<'py>(
    py: Python<'py>,
    mask: &Bound<'py, PyUntypedArray>,
    connectivity: usize,
    half: Option<&str>,
    threads: usize,
) -> PyResult<Statistics<'py>> {
    let held = Held::new(mask, half)?;
    let mask = held.labels();
    let (table, axes) = py
        .detach(|| {
            let cpu = cpu(threads);
            let found = find(&cpu, mask, connectivity)?;
            Ok((found.table(&cpu, None)?.components, found.mask().grid().axes()))
        })
        .map_err(|error| exception(&error))?;
    let lead = 3 - axes;
    let signed = |n: usize| i64::try_from(n).expect("an index fits");
    let sizes: Array1<i64> = table.iter().map(|row| row.voxels.cast_signed()).collect();
    let centroids = Array2::from_shape_fn((table.len(), axes), |(i, axis)| table[i].centroid()[lead + axis]);
    let boxes = Array3::from_shape_fn((table.len(), axes, 2), |(i, axis, end)| {
        let row = &table[i];
        signed(if end == 0 { row.low[lead + axis] } else { row.high[lead + axis] + 1 })
    });
    Ok((sizes.into_pyarray(py), centroids.into_pyarray(py), boxes.into_pyarray(py)))
}

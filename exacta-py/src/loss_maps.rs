//! Soft skeletons and distance maps of whole batches.

use exacta_core::ndarray::ArrayD;
use exacta_core::stages::{DistanceMap, DistanceStage, DistancesMut};
use exacta_core::{Cpu, Level};
use exacta_edt::CpuMaps;
use exacta_losses::{Skeletons, soft_skeletonize};
use numpy::{IntoPyArray, PyArrayDyn, PyReadonlyArrayDyn, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::error::exception;
use crate::losses::Input;
use crate::pool;

/// Soft skeletons of `(B, C, *spatial)`, or with `gradient` what flows from it into the input.
#[pyfunction]
#[pyo3(signature = (probs, iterations, *, gradient=None, half=None, threads=1))]
pub(crate) fn soft_skeleton<'py>(
    py: Python<'py>,
    probs: &Bound<'py, PyUntypedArray>,
    iterations: usize,
    gradient: Option<&Bound<'py, PyUntypedArray>>,
    half: Option<&str>,
    threads: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let input = Input::new(probs, half)?;
    let gradient = gradient.map(|gradient| Input::new(gradient, None)).transpose()?;
    let (logits, weights) = (input.logits(), gradient.as_ref().map(Input::logits));
    let found = py.detach(|| {
        let cpu = Cpu { level: Level::new(), threads: pool::threads(threads) };
        soft_skeletonize(&cpu, &logits, iterations, weights.as_ref())
    });
    let shape = probs.shape();
    Ok(match found.map_err(|error| exception(&error))? {
        Skeletons::F32(values) => shaped(shape, values).into_pyarray(py).into_any(),
        Skeletons::F64(values) => shaped(shape, values).into_pyarray(py).into_any(),
    })
}

fn shaped<T>(shape: &[usize], values: Vec<T>) -> ArrayD<T> {
    ArrayD::from_shape_vec(shape, values).expect("one value a voxel")
}

/// Distance maps of 0/1 masks `(B, C, *spatial)`; spacing is one row for all cases or a row a case.
#[pyfunction]
#[pyo3(signature = (masks, spacing, *, signed, threads=1))]
pub(crate) fn distance_maps<'py>(
    py: Python<'py>,
    masks: PyReadonlyArrayDyn<'py, u8>,
    spacing: Vec<Vec<f64>>,
    signed: bool,
    threads: usize,
) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
    let view = masks.as_array();
    let shape = view.shape().to_vec();
    let standard = view.as_standard_layout();
    let flat = standard.as_slice().expect("standard layout");
    let map = if signed { DistanceMap::Signed } else { DistanceMap::Unsigned };
    let mut out = vec![0.0; flat.len()];
    let together = flat.len() / spacing.len().max(1);
    let result = py.detach(|| {
        let cpu = Cpu { level: Level::new(), threads: pool::threads(threads) };
        let parts = flat.chunks(together.max(1)).zip(out.chunks_mut(together.max(1)));
        parts.zip(&spacing).try_for_each(|((masks, out), spacing)| {
            CpuMaps.maps(&cpu, masks, &shape[2..], spacing, map, DistancesMut::F64(out))
        })
    });
    result.map_err(|error| exception(&error))?;
    Ok(shaped(&shape, out).into_pyarray(py))
}

//! Distance transforms: one array in, one array out.

use exacta_core::{Cpu, Features, Level};
use exacta_edt::Edt;
use numpy::{IntoPyArray, PyArrayDyn, PyUntypedArray};
use pyo3::prelude::*;

use crate::arrays::Held;
use crate::error::exception;
use crate::pool;

fn transform(spacing: &[f64], features: &str, border: &str) -> exacta_core::Result<Edt> {
    Ok(Edt::new(spacing)?.features(features.parse()?).border(border.parse()?))
}

/// Distances, or their squares, to the features.
#[pyfunction]
#[pyo3(signature = (mask, spacing, *, features, border, squared, half=None, threads=1))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(crate) fn distance_transform<'py>(
    py: Python<'py>,
    mask: &Bound<'py, PyUntypedArray>,
    spacing: Vec<f64>,
    features: &str,
    border: &str,
    squared: bool,
    half: Option<&str>,
    threads: usize,
) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
    let edt = transform(&spacing, features, border).map_err(|error| exception(&error))?;
    let mask = Held::new(mask, half)?;
    let labels = mask.labels();
    let out = py.detach(|| {
        let cpu = Cpu { level: Level::new(), threads: pool::threads(threads) };
        if squared { edt.squared_distances(&cpu, &labels) } else { edt.distances(&cpu, &labels) }
    });
    Ok(out.map_err(|error| exception(&error))?.into_pyarray(py))
}

/// Signed distances of a mask.
#[pyfunction]
#[pyo3(signature = (mask, spacing, *, border, half=None, threads=1))]
pub(crate) fn signed_distance<'py>(
    py: Python<'py>,
    mask: &Bound<'py, PyUntypedArray>,
    spacing: Vec<f64>,
    border: &str,
    half: Option<&str>,
    threads: usize,
) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
    let edt = transform(&spacing, Features::Zeros.name(), border).map_err(|error| exception(&error))?;
    let mask = Held::new(mask, half)?;
    let labels = mask.labels();
    let out =
        py.detach(|| edt.signed_distances(&Cpu { level: Level::new(), threads: pool::threads(threads) }, &labels));
    Ok(out.map_err(|error| exception(&error))?.into_pyarray(py))
}

/// Indices of the nearest feature, the axes of the image first.
#[pyfunction]
#[pyo3(signature = (mask, spacing, *, features, half=None, threads=1))]
pub(crate) fn nearest<'py>(
    py: Python<'py>,
    mask: &Bound<'py, PyUntypedArray>,
    spacing: Vec<f64>,
    features: &str,
    half: Option<&str>,
    threads: usize,
) -> PyResult<Bound<'py, PyArrayDyn<i64>>> {
    let edt = transform(&spacing, features, "open").map_err(|error| exception(&error))?;
    let mask = Held::new(mask, half)?;
    let labels = mask.labels();
    let out = py.detach(|| edt.nearest(&Cpu { level: Level::new(), threads: pool::threads(threads) }, &labels));
    Ok(out.map_err(|error| exception(&error))?.into_pyarray(py))
}

//! The one call that measures.

use exacta_components::CpuComponents;
use exacta_core::{Batch, Cpu, InputFormat, LabelSpec, Labels, Level, Side, Spacing, Stages};
use exacta_metrics::{MetricSet, OptionValue, Options};
use exacta_surface::CpuSurface;
use ndarray::Array2;
use numpy::{IntoPyArray, PyArray2, PyReadonlyArray2, PyUntypedArray};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString};

use crate::arrays::Held;
use crate::error::exception;
use crate::pool;

/// Name of the instruction set that kernels use.
#[pyfunction]
pub(crate) fn simd_level() -> &'static str {
    Cpu::serial().level_name()
}

/// One `(B, K)` array for each metric asked for, from one read of the labels.
#[pyfunction]
#[pyo3(signature = (pred, target, metrics, *, input_format, num_classes, include_background, ignore_index=None, mask=None,
                    spacing=None, pred_half=None, target_half=None, pred_skeleton=None, target_skeleton=None, threads=1))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(crate) fn evaluate<'py>(
    py: Python<'py>,
    pred: &Bound<'py, PyUntypedArray>,
    target: &Bound<'py, PyUntypedArray>,
    metrics: Vec<(String, Bound<'py, PyDict>)>,
    input_format: &str,
    num_classes: usize,
    include_background: bool,
    ignore_index: Option<i64>,
    mask: Option<&Bound<'py, PyUntypedArray>>,
    spacing: Option<PyReadonlyArray2<'py, f64>>,
    pred_half: Option<&str>,
    target_half: Option<&str>,
    pred_skeleton: Option<&Bound<'py, PyUntypedArray>>,
    target_skeleton: Option<&Bound<'py, PyUntypedArray>>,
    threads: usize,
) -> PyResult<Vec<Bound<'py, PyArray2<f64>>>> {
    let metrics = metric_set(&metrics)?;
    let format: InputFormat = input_format.parse().map_err(|error| exception(&error))?;
    let spec = LabelSpec { format, num_classes, include_background, ignore_index };
    let (pred, target) = (Held::new(pred, pred_half)?, Held::new(target, target_half)?);
    let mask = mask.map(|mask| Held::new(mask, None)).transpose()?;
    let mut skeletons = Vec::new();
    for (side, array) in [(Side::Pred, pred_skeleton), (Side::Target, target_skeleton)] {
        skeletons.extend(array.map(|array| Held::new(array, None).map(|array| (side, array))).transpose()?);
    }
    let (pred, target, mask) = (pred.labels(), target.labels(), mask.as_ref().map(Held::labels));
    let skeletons: Vec<(Side, Labels<'_>)> = skeletons.iter().map(|(side, array)| (*side, array.labels())).collect();
    let spacings: Option<Vec<Spacing>> = spacing
        .map(|spacing| {
            let rows = spacing.as_array();
            rows.rows().into_iter().map(|row| Spacing::new(&row.to_vec())).collect::<Result<_, _>>()
        })
        .transpose()
        .map_err(|error| exception(&error))?;
    let values = py
        .detach(|| {
            let cpu = Cpu { level: Level::new(), threads: pool::threads(threads) };
            let mut batch = Batch::new(pred, target, spec, mask)?;
            for (side, skeleton) in skeletons {
                batch = batch.with_skeleton(side, skeleton)?;
            }
            let stages = Stages { surfaces: CpuSurface { cpu: cpu.clone() }, skeletons: CpuComponents { cpu } };
            exacta_metrics::evaluate(&stages, &batch, spacings.as_deref(), &metrics)
        })
        .map_err(|error| exception(&error))?;
    Ok(values
        .into_iter()
        .map(|table| {
            let shape = (table.cases(), table.classes());
            Array2::from_shape_vec(shape, table.into_values())
                .expect("one value for each case and class")
                .into_pyarray(py)
        })
        .collect())
}

/// The metrics asked for, their options read from dicts.
pub(crate) fn metric_set(metrics: &[(String, Bound<'_, PyDict>)]) -> PyResult<MetricSet> {
    let mut set = MetricSet::default();
    for (name, given) in metrics {
        set.push(name, &options(given)?).map_err(|error| exception(&error))?;
    }
    Ok(set)
}

/// Options read from a dict.
pub(crate) fn options(given: &Bound<'_, PyDict>) -> PyResult<Options> {
    let mut options = Options::new();
    for (option, value) in given {
        let value = if value.is_instance_of::<PyBool>() {
            OptionValue::Flag(value.extract()?)
        } else if value.is_instance_of::<PyString>() {
            OptionValue::Text(value.extract()?)
        } else if let Ok(value) = value.extract::<f64>() {
            OptionValue::Number(value)
        } else {
            OptionValue::Numbers(value.extract()?)
        };
        options = options.with(&option.extract::<String>()?, value);
    }
    Ok(options)
}

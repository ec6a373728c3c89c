//! Counts of label maps, and the metrics of counts that were added up.

use exacta_core::stages::{CountStage, Counts};
use exacta_core::{Batch, Cpu, InputFormat, LabelSpec, Level, Table};
use ndarray::{Array2, Array3};
use numpy::{IntoPyArray, PyArray2, PyArray3, PyReadonlyArray2, PyUntypedArray};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::Held;
use crate::error::exception;
use crate::evaluate::metric_set;
use crate::pool;

/// True and false positives, false and true negatives of each case and class: `(B, K, 4)`.
#[pyfunction]
#[pyo3(signature = (pred, target, *, input_format, num_classes, include_background, ignore_index=None, mask=None,
                    pred_half=None, target_half=None, threads=1))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(crate) fn count<'py>(
    py: Python<'py>,
    pred: &Bound<'py, PyUntypedArray>,
    target: &Bound<'py, PyUntypedArray>,
    input_format: &str,
    num_classes: usize,
    include_background: bool,
    ignore_index: Option<i64>,
    mask: Option<&Bound<'py, PyUntypedArray>>,
    pred_half: Option<&str>,
    target_half: Option<&str>,
    threads: usize,
) -> PyResult<Bound<'py, PyArray3<i64>>> {
    let format: InputFormat = input_format.parse().map_err(|error| exception(&error))?;
    let spec = LabelSpec { format, num_classes, include_background, ignore_index };
    let (pred, target) = (Held::new(pred, pred_half)?, Held::new(target, target_half)?);
    let mask = mask.map(|mask| Held::new(mask, None)).transpose()?;
    let (pred, target, mask) = (pred.labels(), target.labels(), mask.as_ref().map(Held::labels));
    let table = py
        .detach(|| {
            let cpu = Cpu { level: Level::new(), threads: pool::threads(threads) };
            cpu.counts(&Batch::new(pred, target, spec, mask)?)
        })
        .map_err(|error| exception(&error))?;
    let out = Array3::from_shape_fn((table.cases(), table.classes(), 4), |(case, class, which)| {
        let counts = table.get(case, class);
        [counts.true_positives, counts.false_positives, counts.false_negatives, counts.true_negatives][which]
            .cast_signed()
    });
    Ok(out.into_pyarray(py))
}

/// The values of metrics, `(metrics, K)`, of such counts of one or many cases, `(K, 4)`.
#[pyfunction]
pub(crate) fn of_counts<'py>(
    py: Python<'py>,
    counts: PyReadonlyArray2<'py, i64>,
    metrics: Vec<(String, Bound<'py, PyDict>)>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let metrics = metric_set(&metrics)?;
    let counts = counts.as_array();
    let at = |row: ndarray::ArrayView1<'_, i64>, which: usize| row[which].cast_unsigned();
    let values: Vec<Counts> = counts
        .rows()
        .into_iter()
        .map(|row| Counts {
            true_positives: at(row, 0),
            false_positives: at(row, 1),
            false_negatives: at(row, 2),
            true_negatives: at(row, 3),
        })
        .collect();
    let tables = metrics.of_counts(&Table::new(1, values.len(), values)).map_err(|error| exception(&error))?;
    let out = Array2::from_shape_fn((tables.len(), counts.nrows()), |(metric, class)| *tables[metric].get(0, class));
    Ok(out.into_pyarray(py))
}

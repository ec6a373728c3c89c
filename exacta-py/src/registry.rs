//! The registry of metrics, for the Python side and the command line.

use exacta_metrics::{MetricInfo, OptionValue};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// A dict for each metric: name, family, unit, better, range, symmetric, options (`None` for one that must be given).
pub(crate) fn metrics<'py>(py: Python<'py>, list: &[MetricInfo]) -> PyResult<Bound<'py, PyTuple>> {
    let rows: Vec<Bound<'_, PyDict>> = list
        .iter()
        .map(|info| {
            let options = PyDict::new(py);
            for (name, default) in info.options {
                match default.map(|default| default.value()) {
                    None => options.set_item(name, py.None())?,
                    Some(OptionValue::Number(value)) => options.set_item(name, value)?,
                    Some(OptionValue::Numbers(values)) => options.set_item(name, values)?,
                    Some(OptionValue::Text(value)) => options.set_item(name, value)?,
                    Some(OptionValue::Flag(value)) => options.set_item(name, value)?,
                }
            }
            let row = PyDict::new(py);
            row.set_item("name", info.name)?;
            row.set_item("family", info.family.name())?;
            row.set_item("unit", info.unit)?;
            row.set_item("better", info.better.name())?;
            row.set_item("range", info.range)?;
            row.set_item("symmetric", info.symmetric)?;
            row.set_item("options", options)?;
            Ok(row)
        })
        .collect::<PyResult<_>>()?;
    PyTuple::new(py, rows)
}

//! Losses: values, gradients and pooled sums, by name.

use std::borrow::Cow;

use exacta_core::{Cpu, Labels, Level};
use exacta_losses::{Kept, Logits, LogitsMut, Loss, LossBatch, Param, Params, Saved, Statistics, Target};
use ndarray::Array2;
use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyArrayDescrMethods, PyArrayDyn, PyArrayMethods, PyReadonlyArray1,
    PyReadonlyArray2, PyReadwriteArrayDyn, PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString};

use crate::arrays::{Held, borrow};
use crate::error::{ExactaTypeError, ExactaValueError, exception};
use crate::pool;

/// The arguments that every call has, borrowed.
struct Arguments<'py> {
    loss: Box<dyn Loss>,
    input: Input<'py>,
    target: Held<'py>,
    mask: Option<Held<'py>>,
    map: Option<Input<'py>>,
    one_hot: bool,
    ignore: Option<i64>,
    threads: usize,
}

/// What Python passes beside the loss.
struct Given<'a, 'py> {
    input: &'a Bound<'py, PyUntypedArray>,
    target: &'a Bound<'py, PyUntypedArray>,
    mask: Option<&'a Bound<'py, PyUntypedArray>>,
    map: Option<&'a Bound<'py, PyUntypedArray>>,
    input_half: Option<&'a str>,
    target_half: Option<&'a str>,
    threads: usize,
}

impl<'py> Arguments<'py> {
    fn new(name: &str, params: &Bound<'py, PyDict>, given: &Given<'_, 'py>) -> PyResult<Self> {
        let (params, one_hot, ignore) = settings(params)?;
        Ok(Self {
            loss: exacta_losses::loss(name, &params).map_err(|error| exception(&error))?,
            input: Input::new(given.input, given.input_half)?,
            target: Held::new(given.target, given.target_half)?,
            mask: given.mask.map(|mask| Held::new(mask, None)).transpose()?,
            map: given.map.map(|map| Input::new(map, None)).transpose()?,
            one_hot,
            ignore,
            threads: given.threads,
        })
    }

    /// Runs a function of the loss and the batch without the GIL.
    fn run<T: Send>(
        &self,
        py: Python<'_>,
        f: impl FnOnce(&dyn Loss, &Cpu, &LossBatch<'_>) -> exacta_core::Result<T> + Send,
    ) -> PyResult<T> {
        let (input, labels) = (self.input.logits(), self.target.labels());
        let target = if self.one_hot { Target::OneHot(labels) } else { Target::Index(labels) };
        let mask: Option<Labels<'_>> = self.mask.as_ref().map(Held::labels);
        let map = self.map.as_ref().map(Input::logits);
        let (loss, ignore, threads) = (&*self.loss, self.ignore, self.threads);
        py.detach(|| {
            let cpu = Cpu { level: Level::new(), threads: pool::threads(threads) };
            let batch = LossBatch::new(input, target, mask)?
                .ignoring(ignore)?
                .with_map(map)
                .with_distances(&exacta_edt::CpuMaps);
            f(loss, &cpu, &batch)
        })
        .map_err(|error| exception(&error))
    }
}

/// A dict of settings, and the two of them that describe the batch.
fn settings(params: &Bound<'_, PyDict>) -> PyResult<(Params, bool, Option<i64>)> {
    let (mut out, mut one_hot, mut ignore) = (Params::new(), false, None);
    for (name, value) in params {
        let name: String = name.extract()?;
        if value.is_none() {
            continue;
        }
        match name.as_str() {
            "target_format" => {
                one_hot = match value.extract::<String>()?.as_str() {
                    "index" => false,
                    "one-hot" => true,
                    other => {
                        let message = format!("target_format must be \"index\" or \"one-hot\"; got {other:?}");
                        return Err(ExactaValueError::new_err(message));
                    }
                }
            }
            "ignore_index" => ignore = Some(value.extract()?),
            _ => {
                let value = if value.is_instance_of::<PyBool>() {
                    Param::Flag(value.extract()?)
                } else if value.is_instance_of::<PyString>() {
                    Param::Text(value.extract()?)
                } else if let Ok(value) = value.extract::<f64>() {
                    Param::Number(value)
                } else {
                    Param::Numbers(value.extract()?)
                };
                out = out.with(&name, value);
            }
        }
    }
    Ok((out, one_hot, ignore))
}

/// A borrowed array of logits.
pub(crate) enum Input<'py> {
    F16(numpy::PyReadonlyArrayDyn<'py, u16>),
    Bf16(numpy::PyReadonlyArrayDyn<'py, u16>),
    F32(numpy::PyReadonlyArrayDyn<'py, f32>),
    F64(numpy::PyReadonlyArrayDyn<'py, f64>),
}

impl<'py> Input<'py> {
    pub(crate) fn new(array: &Bound<'py, PyUntypedArray>, half: Option<&str>) -> PyResult<Self> {
        let dtype = array.dtype();
        Ok(match (dtype.kind(), dtype.itemsize(), half) {
            (b'u', 2, Some("float16")) => Self::F16(borrow(array)?),
            (b'u', 2, Some("bfloat16")) => Self::Bf16(borrow(array)?),
            (b'f', 4, None) => Self::F32(borrow(array)?),
            (b'f', 8, None) => Self::F64(borrow(array)?),
            _ => {
                return Err(ExactaTypeError::new_err(format!("input must hold floating numbers; got dtype {dtype}")));
            }
        })
    }

    pub(crate) fn logits(&self) -> Logits<'_> {
        match self {
            Self::F16(array) => Logits::F16(array.as_array()),
            Self::Bf16(array) => Logits::Bf16(array.as_array()),
            Self::F32(array) => Logits::F32(array.as_array()),
            Self::F64(array) => Logits::F64(array.as_array()),
        }
    }
}

/// A borrowed array that a gradient is written to.
enum Output<'py> {
    F16(PyReadwriteArrayDyn<'py, u16>),
    Bf16(PyReadwriteArrayDyn<'py, u16>),
    F32(PyReadwriteArrayDyn<'py, f32>),
    F64(PyReadwriteArrayDyn<'py, f64>),
}

fn borrow_mut<'py, T: numpy::Element>(array: &Bound<'py, PyUntypedArray>) -> PyResult<PyReadwriteArrayDyn<'py, T>> {
    array.cast::<PyArrayDyn<T>>()?.try_readwrite().map_err(|_| {
        ExactaValueError::new_err("grad_input must be writeable, and no array that is in use: pass a new one")
    })
}

impl<'py> Output<'py> {
    fn new(array: &Bound<'py, PyUntypedArray>, half: Option<&str>) -> PyResult<Self> {
        let dtype = array.dtype();
        Ok(match (dtype.kind(), dtype.itemsize(), half) {
            (b'u', 2, Some("float16")) => Self::F16(borrow_mut(array)?),
            (b'u', 2, Some("bfloat16")) => Self::Bf16(borrow_mut(array)?),
            (b'f', 4, None) => Self::F32(borrow_mut(array)?),
            (b'f', 8, None) => Self::F64(borrow_mut(array)?),
            _ => return Err(ExactaTypeError::new_err(format!("grad_input must have the dtype of input; got {dtype}"))),
        })
    }

    fn logits(&mut self) -> LogitsMut<'_> {
        match self {
            Self::F16(array) => LogitsMut::F16(array.as_array_mut()),
            Self::Bf16(array) => LogitsMut::Bf16(array.as_array_mut()),
            Self::F32(array) => LogitsMut::F32(array.as_array_mut()),
            Self::F64(array) => LogitsMut::F64(array.as_array_mut()),
        }
    }
}

/// Values, small numbers for the backward pass, and something a voxel for the few losses that keep it.
type Outcome<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, Option<Bound<'py, PyAny>>);

fn outcome(py: Python<'_>, forward: exacta_losses::Forward) -> Outcome<'_> {
    let kept = match forward.saved.kept {
        Kept::Nothing => None,
        Kept::F32(values) => Some(values.into_owned().into_pyarray(py).into_any()),
        Kept::F64(values) => Some(values.into_owned().into_pyarray(py).into_any()),
        Kept::U8(values) => Some(values.into_owned().into_pyarray(py).into_any()),
        Kept::U32(values) => Some(values.into_owned().into_pyarray(py).into_any()),
    };
    (forward.values.into_pyarray(py), forward.saved.numbers.into_pyarray(py), kept)
}

/// A borrowed array that a forward pass made.
enum HeldKept<'py> {
    F32(numpy::PyReadonlyArrayDyn<'py, f32>),
    F64(numpy::PyReadonlyArrayDyn<'py, f64>),
    U8(numpy::PyReadonlyArrayDyn<'py, u8>),
    U32(numpy::PyReadonlyArrayDyn<'py, u32>),
}

impl<'py> HeldKept<'py> {
    fn new(array: &Bound<'py, PyUntypedArray>) -> PyResult<Self> {
        let dtype = array.dtype();
        Ok(match (dtype.kind(), dtype.itemsize()) {
            (b'f', 4) => Self::F32(borrow(array)?),
            (b'f', 8) => Self::F64(borrow(array)?),
            (b'u', 1) => Self::U8(borrow(array)?),
            (b'u', 4) => Self::U32(borrow(array)?),
            _ => return Err(ExactaTypeError::new_err(format!("kept must be what the forward pass gave; got {dtype}"))),
        })
    }

    fn kept(&self) -> PyResult<Kept<'_>> {
        Ok(match self {
            Self::F32(array) => Kept::F32(in_place(array)?),
            Self::F64(array) => Kept::F64(in_place(array)?),
            Self::U8(array) => Kept::U8(in_place(array)?),
            Self::U32(array) => Kept::U32(in_place(array)?),
        })
    }
}

/// The elements of an array, copied only where they do not lie one after the other.
fn in_place<'a, T: numpy::Element + Copy>(array: &'a numpy::PyReadonlyArrayDyn<'_, T>) -> PyResult<Cow<'a, [T]>> {
    Ok(match array.as_slice() {
        Ok(slice) => Cow::Borrowed(slice),
        Err(_) => Cow::Owned(array.to_vec()?),
    })
}

/// Value of a loss, and what its gradient needs.
#[pyfunction]
#[pyo3(signature = (name, params, input, target, *, mask=None, map=None, input_half=None, target_half=None, threads=1))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(crate) fn loss_forward<'py>(
    py: Python<'py>,
    name: &str,
    params: &Bound<'py, PyDict>,
    input: &Bound<'py, PyUntypedArray>,
    target: &Bound<'py, PyUntypedArray>,
    mask: Option<&Bound<'py, PyUntypedArray>>,
    map: Option<&Bound<'py, PyUntypedArray>>,
    input_half: Option<&str>,
    target_half: Option<&str>,
    threads: usize,
) -> PyResult<Outcome<'py>> {
    let given = Given { input, target, mask, map, input_half, target_half, threads };
    let forward = Arguments::new(name, params, &given)?.run(py, |loss, cpu, batch| loss.forward(cpu, batch))?;
    Ok(outcome(py, forward))
}

/// Writes the gradient of a loss.
#[pyfunction]
#[pyo3(signature = (name, params, input, target, saved, grad_output, grad_input, *, kept=None, mask=None, map=None,
                    input_half=None, target_half=None, threads=1))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(crate) fn loss_backward<'py>(
    py: Python<'py>,
    name: &str,
    params: &Bound<'py, PyDict>,
    input: &Bound<'py, PyUntypedArray>,
    target: &Bound<'py, PyUntypedArray>,
    saved: PyReadonlyArray1<'py, f64>,
    grad_output: PyReadonlyArray1<'py, f64>,
    grad_input: &Bound<'py, PyUntypedArray>,
    kept: Option<&Bound<'py, PyUntypedArray>>,
    mask: Option<&Bound<'py, PyUntypedArray>>,
    map: Option<&Bound<'py, PyUntypedArray>>,
    input_half: Option<&str>,
    target_half: Option<&str>,
    threads: usize,
) -> PyResult<()> {
    let given = Given { input, target, mask, map, input_half, target_half, threads };
    let arguments = Arguments::new(name, params, &given)?;
    let mut output = Output::new(grad_input, input_half)?;
    let output = output.logits();
    let kept = kept.map(HeldKept::new).transpose()?;
    let kept = kept.as_ref().map_or(Ok(Kept::Nothing), HeldKept::kept)?;
    let saved = Saved { numbers: saved.as_array().to_vec(), kept };
    let grad_output = grad_output.as_array().to_vec();
    arguments.run(py, |loss, cpu, batch| loss.backward(cpu, batch, &saved, &grad_output, output))
}

/// Sums over voxels, to be added up over processes.
#[pyfunction]
#[pyo3(signature = (name, params, input, target, *, mask=None, input_half=None, target_half=None, threads=1))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(crate) fn loss_statistics<'py>(
    py: Python<'py>,
    name: &str,
    params: &Bound<'py, PyDict>,
    input: &Bound<'py, PyUntypedArray>,
    target: &Bound<'py, PyUntypedArray>,
    mask: Option<&Bound<'py, PyUntypedArray>>,
    input_half: Option<&str>,
    target_half: Option<&str>,
    threads: usize,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let given = Given { input, target, mask, map: None, input_half, target_half, threads };
    let arguments = Arguments::new(name, params, &given)?;
    let pooled = arguments.loss.as_pooled().ok_or_else(|| not_pooled(name))?;
    let _ = pooled;
    let statistics =
        arguments.run(py, |loss, cpu, batch| loss.as_pooled().expect("checked above").statistics(cpu, batch))?;
    let width = statistics.sums.len() / statistics.rows.max(1);
    let sums = Array2::from_shape_vec((statistics.rows, width), statistics.sums).expect("rows of one length");
    Ok(sums.into_pyarray(py))
}

/// Value of a loss from its sums, and what its gradient needs.
#[pyfunction]
#[pyo3(signature = (name, params, statistics, *, channels))]
pub(crate) fn loss_from_statistics<'py>(
    py: Python<'py>,
    name: &str,
    params: &Bound<'py, PyDict>,
    statistics: PyReadonlyArray2<'py, f64>,
    channels: usize,
) -> PyResult<(Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>)> {
    let (params, ..) = settings(params)?;
    let loss = exacta_losses::loss(name, &params).map_err(|error| exception(&error))?;
    let rows = statistics.as_array();
    let statistics = Statistics { channels, rows: rows.nrows(), sums: rows.iter().copied().collect() };
    let pooled = loss.as_pooled().ok_or_else(|| not_pooled(name))?;
    let forward = pooled.from_statistics(&statistics).map_err(|error| exception(&error))?;
    let (values, saved, _) = outcome(py, forward);
    Ok((values, saved))
}

fn not_pooled(name: &str) -> PyErr {
    ExactaValueError::new_err(format!("name must be a loss of pooled sums; got {name:?}"))
}

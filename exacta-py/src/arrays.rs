//! NumPy arrays as label views, in place.

use exacta_core::Labels;
use numpy::{
    Element, PyArrayDescrMethods, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::prelude::*;

use crate::error::{ExactaTypeError, ExactaValueError};

/// A borrowed array of a dtype that can hold labels.
pub(crate) enum Held<'py> {
    U8(PyReadonlyArrayDyn<'py, u8>),
    I8(PyReadonlyArrayDyn<'py, i8>),
    U16(PyReadonlyArrayDyn<'py, u16>),
    I16(PyReadonlyArrayDyn<'py, i16>),
    U32(PyReadonlyArrayDyn<'py, u32>),
    I32(PyReadonlyArrayDyn<'py, i32>),
    U64(PyReadonlyArrayDyn<'py, u64>),
    I64(PyReadonlyArrayDyn<'py, i64>),
    F32(PyReadonlyArrayDyn<'py, f32>),
    F64(PyReadonlyArrayDyn<'py, f64>),
    F16(PyReadonlyArrayDyn<'py, u16>),
    Bf16(PyReadonlyArrayDyn<'py, u16>),
}

/// Borrows `array`, or explains why it cannot be.
pub(crate) fn borrow<'py, T: Element>(array: &Bound<'py, PyUntypedArray>) -> PyResult<PyReadonlyArrayDyn<'py, T>> {
    let array = array.cast::<PyArrayDyn<T>>()?;
    // A view must be made of whole, aligned elements; the Python side copies those that are not.
    let size = isize::try_from(size_of::<T>()).expect("a number fits");
    if array.data().align_offset(align_of::<T>()) != 0 || array.strides().iter().any(|stride| stride % size != 0) {
        return Err(ExactaValueError::new_err("arrays must be aligned; pass a copy, for example numpy.array(pred)"));
    }
    array
        .try_readonly()
        .map_err(|_| ExactaValueError::new_err("an array that is being written elsewhere cannot be measured"))
}

impl<'py> Held<'py> {
    /// Borrows an array; `half` names the encoding of 16-bit words that hold half-precision numbers.
    pub(crate) fn new(array: &Bound<'py, PyUntypedArray>, half: Option<&str>) -> PyResult<Self> {
        let dtype = array.dtype();
        Ok(match (dtype.kind(), dtype.itemsize(), half) {
            (b'u', 2, Some("float16")) => Self::F16(borrow(array)?),
            (b'u', 2, Some("bfloat16")) => Self::Bf16(borrow(array)?),
            (_, _, Some(half)) => {
                return Err(ExactaTypeError::new_err(format!("{half} needs an array of uint16 words; got {dtype}")));
            }
            // A bool is read as its byte, so that one that is neither 0 nor 1 is refused and never undefined.
            (b'b', 1, None) => {
                let bytes = array.call_method1("view", ("uint8",))?;
                Self::U8(borrow(bytes.cast::<PyUntypedArray>()?)?)
            }
            (b'u', 1, None) => Self::U8(borrow(array)?),
            (b'i', 1, None) => Self::I8(borrow(array)?),
            (b'u', 2, None) => Self::U16(borrow(array)?),
            (b'i', 2, None) => Self::I16(borrow(array)?),
            (b'u', 4, None) => Self::U32(borrow(array)?),
            (b'i', 4, None) => Self::I32(borrow(array)?),
            (b'u', 8, None) => Self::U64(borrow(array)?),
            (b'i', 8, None) => Self::I64(borrow(array)?),
            (b'f', 4, None) => Self::F32(borrow(array)?),
            (b'f', 8, None) => Self::F64(borrow(array)?),
            _ => return Err(ExactaTypeError::new_err(format!("labels of dtype {dtype} are not supported"))),
        })
    }

    /// The array as labels.
    pub(crate) fn labels(&self) -> Labels<'_> {
        match self {
            Self::U8(array) => array.as_array().into(),
            Self::I8(array) => array.as_array().into(),
            Self::U16(array) => array.as_array().into(),
            Self::I16(array) => array.as_array().into(),
            Self::U32(array) => array.as_array().into(),
            Self::I32(array) => array.as_array().into(),
            Self::U64(array) => array.as_array().into(),
            Self::I64(array) => array.as_array().into(),
            Self::F32(array) => array.as_array().into(),
            Self::F64(array) => array.as_array().into(),
            Self::F16(array) => Labels::F16(array.as_array()),
            Self::Bf16(array) => Labels::Bf16(array.as_array()),
        }
    }
}

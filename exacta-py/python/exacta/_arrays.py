"""Arrays of any library in, arrays of the same library out.

A library is recognised in `sys.modules` and never imported: an array of a library that nobody imported cannot exist.
Host arrays become NumPy views without a copy. Device arrays are copied to the host, and results back to the device.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from ._errors import ExactaTypeError, ExactaValueError

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

__all__ = ["Host", "Library", "library_of"]


class Host(NamedTuple):
    """An argument as the kernels read it."""

    array: npt.NDArray[Any]
    """Native byte order, aligned, any strides; 16-bit floats as their bits (uint16)."""
    half: str | None = None
    """``"float16"`` or ``"bfloat16"`` where `array` holds bits."""
    device: tuple[Any, ...] | None = None
    """The device it came from; None is the CPU."""


class Library(Protocol):
    """What is asked of the library of an array."""

    def to_host(self, x: Any, argument: str) -> Host:
        """Make `x` readable; `argument` is its name in errors."""

    def from_host(self, result: npt.NDArray[Any], like: Any) -> Any:
        """Make an array of this library on the device of `like`."""


_READY = frozenset("?bhilqBHILQfd")
# What reading an unknown object may raise; anything else (such as MemoryError) is not about the argument.
_UNREADABLE = (TypeError, ValueError, RuntimeError, BufferError, AttributeError, NotImplementedError)


def _settle(array: npt.NDArray[Any], argument: str, device: tuple[Any, ...] | None = None) -> Host:
    """Bring the dtype of a NumPy array into one that the kernels read, or refuse it."""
    dtype = array.dtype
    if not array.flags.aligned:
        array = array.copy()
    if dtype.char in _READY and dtype.isnative:
        return Host(array, None, device)
    if not dtype.isnative and dtype.kind in "biufc":
        return _settle(array.astype(dtype.newbyteorder("=")), argument, device)
    if dtype.char == "e":
        return Host(array.view(np.uint16), "float16", device)
    if dtype.char in "FD":  # real one-hot channels may be complex; who reads labels refuses it
        return Host(array, None, device)
    # The extra dtypes of JAX and TensorFlow (ml_dtypes) are known by name only.
    if dtype.name == "bfloat16":
        return Host(array.view(np.uint16), "bfloat16", device)
    if dtype.name in ("int2", "int4"):
        return Host(array.astype(np.int8), None, device)
    if dtype.name in ("uint1", "uint2", "uint4"):
        return Host(array.astype(np.uint8), None, device)
    if dtype.name.startswith("float8"):
        return Host(array.astype(np.float32), None, device)
    hint = ""
    if dtype.kind == "O":
        hint = "; convert it first, for example with numpy.asarray(x, dtype=numpy.int64)"
    elif dtype.char in "gG":
        hint = "; convert it to float64 first"
    raise ExactaTypeError(
        f"{argument} must hold bool, integer or float values of at most 64 bits; got dtype {dtype}{hint}"
    )


class _NumPy:
    """Arrays of NumPy, and everything without a library of its own."""

    def to_host(self, x: Any, argument: str) -> Host:
        return _settle(x, argument)

    def from_host(self, result: npt.NDArray[Any], like: Any) -> Any:
        return result


class _NumPyLike(_NumPy):
    """Subclasses of ndarray, sequences, scalars, objects with the array protocol, DLPack or the buffer protocol."""

    def to_host(self, x: Any, argument: str) -> Host:
        if isinstance(x, np.ma.MaskedArray) or (
            isinstance(x, (list, tuple)) and any(isinstance(row, np.ma.MaskedArray) for row in x)
        ):
            raise ExactaTypeError(
                f"{argument} must not be a NumPy masked array, whose mask would get lost; pass {argument}.data, and "
                f"the voxels to count as mask=~numpy.ma.getmaskarray({argument}) where the metric takes a mask"
            )
        if isinstance(x, (str, bytes, dict, set, frozenset)) or x is None:
            raise ExactaTypeError(f"{argument} must be an array or nested lists of numbers; got {type(x).__name__}")
        if hasattr(x, "__dlpack__") and not isinstance(x, (np.ndarray, np.generic)):
            return _from_dlpack(x, argument)
        return _from_protocol(x, argument)


def _from_protocol(x: Any, argument: str) -> Host:
    try:
        array = np.asarray(x)
    except _UNREADABLE as error:
        if isinstance(x, (list, tuple)) and isinstance(error, ValueError):
            raise ExactaValueError(
                f"{argument} must have rows of equal length; got a ragged {type(x).__name__}"
            ) from error
        raise ExactaTypeError(f"{argument} cannot be read as an array ({type(x).__name__}): {error}") from error
    if array.dtype.char == "O" and not isinstance(x, np.ndarray):
        raise ExactaTypeError(
            f"{argument} must be an array or nested lists of numbers; got {type(x).__name__}{_how_to_read(x)}"
        )
    return _settle(array, argument)


def _how_to_read(x: Any) -> str:
    package = type(x).__module__.partition(".")[0]
    return {
        "SimpleITK": "; pass SimpleITK.GetArrayViewFromImage(x), and GetSpacing()[::-1] as spacing",
        "nibabel": "; pass x.dataobj, and x.header.get_zooms() as spacing",
        "builtins": ", whose elements are not all numbers" if isinstance(x, (list, tuple)) else "",
    }.get(package, "")


def _from_dlpack(x: Any, argument: str) -> Host:
    """Read an object that exports DLPack; one on a device is copied to the host."""
    device = None
    try:
        kind, index = x.__dlpack_device__()
        if int(kind) in (1, 3, 11):  # CPU, and host memory that CUDA or ROCm pinned
            array = np.from_dlpack(x)
        else:
            device = ("cuda" if int(kind) in (2, 13) else int(kind), int(index))
            array = np.from_dlpack(x, device="cpu")
    except _UNREADABLE as error:
        if hasattr(x, "__array__"):
            return _from_protocol(x, argument)._replace(device=device)
        raise ExactaTypeError(f"{argument} cannot be read through DLPack ({type(x).__name__}): {error}") from error
    return _settle(array, argument, device)


class _ArrayAPI(_NumPyLike):
    """Objects of another library that follows the array API standard."""

    def from_host(self, result: npt.NDArray[Any], like: Any) -> Any:
        namespace = like.__array_namespace__()
        dtype = getattr(namespace, result.dtype.name, None)  # the standard's names are those of NumPy
        ways: tuple[Callable[[], Any], ...] = (
            lambda: namespace.asarray(result, dtype=dtype, device=like.device),
            lambda: namespace.asarray(result, dtype=dtype),
            lambda: namespace.from_dlpack(result),
        )
        for make in ways:
            try:
                return make()
            except _UNREADABLE:  # not every library takes a device, or NumPy
                continue
        return result


class _Torch:
    def to_host(self, x: Any, argument: str) -> Host:
        try:
            return _settle(x.numpy(), argument)
        except (TypeError, RuntimeError, NotImplementedError):  # not a plain CPU tensor of a NumPy dtype
            return self._unusual(x, argument)

    def _unusual(self, x: Any, argument: str) -> Host:
        torch = sys.modules["torch"]
        if x.is_nested:
            raise ExactaTypeError(
                f"{argument} must be a dense tensor; got a nested tensor; pad it with to_padded_tensor()"
            )
        if x.is_quantized:
            raise ExactaTypeError(
                f"{argument} must not be quantised; got {x.dtype}; pass {argument}.int_repr() or .dequantize()"
            )
        if x.layout is not torch.strided:
            raise ExactaTypeError(
                f"{argument} must be a dense tensor; got layout {x.layout}; pass {argument}.to_dense()"
            )
        if x.device.type == "meta":
            raise ExactaValueError(f"{argument} must hold values; got a tensor on the meta device")
        device = None if x.device.type == "cpu" else (x.device.type, x.device.index or 0)
        try:
            x = x.detach()
            if type(x) is not torch.Tensor:
                x = x.as_subclass(torch.Tensor)
            x = x.cpu().resolve_conj().resolve_neg()
            if x.dtype is torch.bfloat16:
                # int16 and not uint16, which older versions lack.
                return Host(x.view(torch.int16).numpy().view(np.uint16), "bfloat16", device)
            if x.dtype is torch.complex32:
                x = x.to(torch.complex64)
            elif x.dtype.is_floating_point and x.dtype.itemsize == 1:
                x = x.to(torch.float32)
            return _settle(x.numpy(), argument, device)
        except (TypeError, RuntimeError, NotImplementedError) as error:
            if isinstance(error, ExactaTypeError):
                raise
            kind = f"{type(x).__name__}, {x.dtype}"
            raise ExactaTypeError(f"{argument} cannot be read as a tensor of numbers ({kind}): {error}") from error

    def from_host(self, result: npt.NDArray[Any], like: Any) -> Any:
        tensor = sys.modules["torch"].from_numpy(result)
        if like.is_cpu:
            return tensor
        try:
            return tensor.to(like.device)
        except TypeError:  # a device without float64, such as MPS
            return tensor


def _enable_x64(jax: Any) -> Any:
    """Find the context manager, which was in `jax.experimental` before 0.8."""
    return (jax if hasattr(jax, "enable_x64") else importlib.import_module("jax.experimental")).enable_x64


class _Jax:
    def to_host(self, x: Any, argument: str) -> Host:
        try:
            devices = sorted(x.devices(), key=lambda d: int(d.id))
            array = np.asarray(x)
        except _UNREADABLE as error:
            hint = " inside jit, vmap or grad" if isinstance(x, sys.modules["jax"].core.Tracer) else ""
            raise ExactaTypeError(f"{argument} has no values that can be read{hint}: {error}") from error
        if devices[0].platform == "cpu":
            return _settle(array, argument)
        kind = "cuda" if devices[0].platform in ("gpu", "cuda", "rocm") else devices[0].platform
        return _settle(array, argument, (kind, *(d.local_hardware_id for d in devices)))

    def from_host(self, result: npt.NDArray[Any], like: Any) -> Any:
        jax = sys.modules["jax"]
        # The mode is thread-local inside the context, so 64-bit types do not leak into the caller's program.
        with _enable_x64(jax)(True):
            return jax.device_put(result, min(like.devices(), key=lambda d: int(d.id)))


class _CuPy:
    def to_host(self, x: Any, argument: str) -> Host:
        return _settle(x.get(), argument, ("cuda", int(x.device.id)))

    def from_host(self, result: npt.NDArray[Any], like: Any) -> Any:
        with like.device:
            return sys.modules["cupy"].asarray(result)


_NUMPY, _TORCH, _JAX, _CUPY = _NumPy(), _Torch(), _Jax(), _CuPy()
_NUMPY_LIKE, _ARRAY_API = _NumPyLike(), _ArrayAPI()
_seen: dict[type, Library] = {np.ndarray: _NUMPY}


def _find_library(x: Any) -> Library:
    for name, kind, library in (("torch", "Tensor", _TORCH), ("jax", "Array", _JAX), ("cupy", "ndarray", _CUPY)):
        cls = getattr(sys.modules.get(name), kind, None)
        if isinstance(cls, type) and isinstance(x, cls):
            return library
    if hasattr(x, "__array_namespace__") and not isinstance(x, (np.ndarray, np.generic)):
        return _ARRAY_API
    return _NUMPY_LIKE


def library_of(x: Any) -> Library:
    """Find out what makes `x` readable, and results like it."""
    library = _seen.get(type(x))
    if library is None:
        library = _find_library(x)
        if library is not _NUMPY_LIKE and library is not _ARRAY_API:
            _seen[type(x)] = library  # few types, each of which decides; types of unknown origin are not kept alive
    return library

"""Checks of the options of a metric: one function per kind of option, which returns what the kernels take."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np

from ._arrays import library_of
from ._errors import ExactaError, ExactaTypeError, ExactaValueError, shown

if TYPE_CHECKING:
    import numpy.typing as npt

    from ._inputs import Inputs

__all__ = [
    "AreaUnit",
    "Backend",
    "Combine",
    "Convention",
    "InputFormat",
    "Options",
    "Surface",
    "Thinning",
    "VolumeUnit",
    "check_backend",
    "check_choice",
    "check_combine",
    "check_fill",
    "check_percentile",
    "check_spacing",
    "check_surface",
    "check_thinning",
    "check_tolerance",
    "check_unit",
]

InputFormat = Literal["index", "one-hot"]
Convention = Literal["taha", "itk"]
Combine = Literal["max", "mean", "pooled"]
Surface = Literal["voxels", "surfels", "mesh", "faces"]
Thinning = Literal["lee", "keep-components"]
Backend = Literal["auto", "native"]
AreaUnit = Literal["mm2", "cm2"]
VolumeUnit = Literal["mm3", "ml"]
Options = dict[str, float | bool | str | list[float]]
"""Options of one metric, as the kernels take them."""

_UNITS = {2: ("area", ("mm2", "cm2")), 3: ("volume", ("mm3", "ml"))}
# Products of spacings and squared distances stay far from the ends of float64 within this range.
_SPACING_MIN, _SPACING_MAX = 1e-100, 1e100
# Squares of areas have four spacings as factors.
_AREA_SPACING_MIN, _AREA_SPACING_MAX = 1e-50, 1e50


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """Return `value` if it is one of the names in `choices`."""
    if isinstance(value, str) and value in choices:
        return value
    raise ExactaValueError(f"{name} must be one of {', '.join(map(repr, choices))}; got {shown(value)}")


def check_combine(value: Any) -> str:
    """Return how two directed results become one."""
    return check_choice("combine", value, ("max", "mean", "pooled"))


def check_surface(value: Any) -> str:
    """Return the representation of a surface."""
    return check_choice("surface", value, ("voxels", "surfels", "mesh", "faces"))


def check_thinning(value: Any) -> str:
    """Return the rule by which masks are thinned."""
    return check_choice("thinning", value, ("lee", "keep-components"))


def check_backend(value: Any) -> None:
    """Refuse a backend that does not exist."""
    check_choice("backend", value, ("auto", "native"))


def check_unit(value: Any, axes: int, inputs: Inputs) -> str:
    """Return the unit of an area (2 axes) or a volume (3 axes), once the images have as many axes."""
    kind, units = _UNITS[axes]
    if inputs.ndim != axes:
        raise ExactaValueError(
            f"pred must have {axes} spatial axes for {'an' if axes == 2 else 'a'} {kind}; got {inputs.ndim}, "
            f"shape {inputs.shape}{inputs.axes_hint(axes)}"
        )
    return check_choice("unit", value, units)


def _real(name: str, value: Any, arrays: bool) -> float:
    """Return one real number as a float; `arrays` says whether a 0-d NumPy array is one."""
    refused = isinstance(value, (str, bytes, complex, np.complexfloating)) or getattr(value, "shape", ()) != ()
    if not refused and (arrays or not isinstance(value, np.ndarray)) and hasattr(value, "__float__"):
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
        except (TypeError, ValueError, RuntimeError):
            pass  # a tensor of complex or no values; said below
    raise ExactaTypeError(f"{name} must be one real number; got {shown(value)}")


def check_fill(name: str, value: Any, surface: bool = False) -> float:
    """Return the value that stands where a metric is undefined."""
    if type(value) is float:
        return value
    if surface and isinstance(value, str):
        raise ExactaValueError(f"{name} must be one real number; got the string {shown(value)}")
    return _real(name, value, arrays=False)


def check_percentile(value: Any) -> float:
    """Return a percentile in [0, 100]."""
    percentile = _real("percentile", value, arrays=True)
    if 0.0 <= percentile <= 100.0:
        return percentile
    raise ExactaValueError(f"percentile must be within [0, 100]; got {shown(value)}")


def _numbers(name: str, value: Any) -> npt.NDArray[np.float64]:
    """Return numbers of any library as a float64 array of the same rank; a value keeps its own precision."""
    if type(value) is float or type(value) is int:
        return np.array(_real(name, value, arrays=True))
    if value is None or isinstance(value, (str, bytes, dict, set, frozenset, complex)):
        raise ExactaTypeError(f"{name} must be a number or numbers; got {shown(value)}")
    if isinstance(value, (list, tuple)):
        return _listed(name, value)
    try:
        host = library_of(value).to_host(value, name)
    except ExactaError as error:
        raise ExactaTypeError(f"{name} must be a number or numbers; got {shown(value)}") from error
    if host.half == "bfloat16":
        return (host.array.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    array = host.array.view(np.float16) if host.half else host.array
    if array.dtype.kind == "c":
        raise ExactaTypeError(f"{name} must be real; got {shown(value)}")
    return array.astype(np.float64)


def _listed(name: str, value: list[Any] | tuple[Any, ...]) -> npt.NDArray[np.float64]:
    torch = sys.modules.get("torch")
    if torch is not None and any(isinstance(item, torch.Tensor) for item in value):
        # NumPy refuses a list of tensors that are on a device or require a gradient.
        value = [item.tolist() if isinstance(item, torch.Tensor) else item for item in value]
    try:
        array = np.asarray(value)
    except (ValueError, RuntimeError) as error:
        raise ExactaValueError(f"{name} must have rows of equal length; got {shown(value)}") from error
    if array.dtype.kind in "US":
        raise ExactaValueError(f"{name} must hold numbers, not strings; got {shown(value)}")
    if array.dtype.kind not in "biuf":
        raise ExactaTypeError(f"{name} must hold real numbers; got {shown(value)}")
    return array.astype(np.float64)


def check_tolerance(value: Any, columns: int) -> list[float]:
    """Return one tolerance for each reported class."""
    array = _numbers("tolerance", value)
    if array.ndim > 1 or (array.ndim == 1 and array.size != columns):
        raise ExactaValueError(
            f"tolerance must be one number or one for each of the {columns} reported classes; got shape {array.shape}"
        )
    values: list[float] = array.tolist() if array.ndim else [array.item()] * columns
    if not all(0.0 <= v < math.inf for v in values):
        raise ExactaValueError(f"tolerance must be finite and at least 0; got {shown(value)}")
    return values


def check_spacing(value: Any, inputs: Inputs, surface: str = "voxels") -> npt.NDArray[np.float64]:
    """Return the spacing of every case, shape (B, ndim), in array-axis order; elements with areas narrow its range."""
    if value is None:
        raise ExactaValueError(
            "spacing must be given for areas, volumes and distances: one length per spatial axis; got None"
        )
    array = _numbers("spacing", value)
    batch, ndim = inputs.batch, inputs.ndim
    if array.shape not in ((), (ndim,), (batch, ndim)):
        _refuse_spacing_shape(array, inputs)
    values = array.tolist()
    flat = [values] if array.ndim == 0 else values if array.ndim == 1 else [v for row in values for v in row]
    low, high, reason = _SPACING_MIN, _SPACING_MAX, ""
    if surface != "voxels":
        low, high, reason = _AREA_SPACING_MIN, _AREA_SPACING_MAX, f' for surface="{surface}"'
    for v in flat:
        if not low <= v <= high:
            raise ExactaValueError(
                f"spacing must be finite, above 0 and within [{low:g}, {high:g}]{reason}; got {v!r} in {shown(value)}"
            )
    rows = np.empty((batch, ndim))
    rows[...] = array
    return rows


def _refuse_spacing_shape(array: npt.NDArray[np.float64], inputs: Inputs) -> NoReturn:
    batch, ndim = inputs.batch, inputs.ndim
    if array.ndim == 1:
        hint = inputs.axes_hint(array.size) or (
            "; values are in the order of the array axes (SimpleITK's GetSpacing() has the reverse order)"
        )
        raise ExactaValueError(
            f"spacing must have one value per spatial axis: pred of shape {inputs.shape} has {ndim} spatial axes, "
            f"got {array.size} value{'s' * (array.size != 1)}{hint}"
        )
    raise ExactaValueError(
        f"spacing must be one number, {ndim} numbers in the order of the array axes, or an array of shape "
        f"(batch, axes) = {(batch, ndim)}; got shape {array.shape}"
    )

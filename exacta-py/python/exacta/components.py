"""Connected components of one mask: numbers, sizes, the largest, and those large enough.

Every function takes one image of 1 to 3 axes, without batch and channel axes; what is not 0 is foreground (negative
values and NaN too). `connectivity` must be given: neighbours differ by at most 1 along each axis, and along at most
`connectivity` axes.

==============  ============  ============  =================================
`connectivity`  2-D           3-D           elsewhere
==============  ============  ============  =================================
1               4 neighbours  6 neighbours  the default of SciPy
2               8 neighbours  18            the default of scikit-image in 2-D
3                             26            the default of cc3d, and of
                                            scikit-image in 3-D
==============  ============  ============  =================================

Components are numbered 1, 2, ... in C order of their first elements, as `scipy.ndimage.label` does. Numbers depend
neither on the memory layout nor on the number of threads.

Arrays may come from NumPy, PyTorch, JAX, CuPy, any library with DLPack or the array API, or be nested lists; a result
is in the library and on the device of `mask`, and lies in memory as `mask` does. Arrays on a GPU are copied to the host
in this version.

**Errors.** `exacta.ExactaValueError` (a `ValueError`) or `exacta.ExactaTypeError` (a `TypeError`), looked for in this
order: conversion of the array, number of axes, `connectivity`, `min_size`, `backend`.
``backend="triton"`` raises `exacta.ExactaNotImplementedError` (a `NotImplementedError`) for arrays on the CPU, and
`exacta.ExactaRuntimeError` for others, as this version has no such kernels.
"""

from __future__ import annotations

import math
from operator import index as as_index
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from . import _native
from ._arrays import library_of
from ._errors import ExactaNotImplementedError, ExactaRuntimeError, ExactaTypeError, ExactaValueError, shown
from ._options import check_choice
from ._threads import get_num_threads

if TYPE_CHECKING:
    import numpy.typing as npt

    from ._arrays import Host, Library

__all__ = ["ComponentStatistics", "label", "largest", "remove_small", "statistics"]

Backend: TypeAlias = Literal["auto", "native", "triton"]

# From here on the C library maps fresh pages of zeros for each array, which then need not be written.
_MAPPED = 32 * 2**20
_MOST = 2**64 - 1


class ComponentStatistics(NamedTuple):
    """What `statistics` returns; row i is about component i + 1."""

    sizes: Any
    """int64 (N,): number of elements."""
    centroids: Any
    """float64 (N, ndim): mean index along each axis."""
    boxes: Any
    """int64 (N, ndim, 2): first index, and last index plus one, along each axis."""


class _Mask:
    """A mask that passed its checks."""

    def __init__(self, mask: Any) -> None:
        self.library: Library = library_of(mask)
        self.host: Host = self.library.to_host(mask, "mask")
        self.like = mask
        self.array = self.host.array
        if self.array.dtype.kind == "c":
            self.array = self.array != 0

    def check(self, connectivity: Any) -> int:
        axes = self.array.ndim
        if not 1 <= axes <= 3:
            raise ExactaValueError(f"mask must have 1 to 3 axes, no batch and no channel; got shape {self.array.shape}")
        try:
            value = as_index(connectivity)
        except TypeError:
            value = 0
        if not 1 <= value <= axes:
            raise ExactaValueError(
                f"connectivity must be an integer in [1, {axes}] for a mask of {axes} axes; got {shown(connectivity)}"
            )
        return value

    def check_backend(self, backend: Any) -> None:
        if check_choice("backend", backend, ("auto", "native", "triton")) != "triton":
            return
        if self.host.device is None:
            raise ExactaNotImplementedError('backend="triton" is for arrays on a GPU; mask is on the CPU')
        raise ExactaRuntimeError('backend="triton" is not part of this version; "auto" and "native" are')

    def output(self, dtype: type[np.int32 | np.uint8]) -> tuple[npt.NDArray[Any], bool]:
        """Make room for one value an element; whether it is known to hold zeros comes second."""
        size = self.array.size
        if size * np.dtype(dtype).itemsize >= _MAPPED:
            return np.zeros(size, dtype), True
        return np.empty(size, dtype), False

    def shaped(self, flat: npt.NDArray[Any], axes: list[int]) -> Any:
        """Return values in order of the array's memory, whose axes are `axes` from the slowest on, in its library."""
        shape = self.array.shape
        if axes == sorted(axes):
            result = flat.reshape(shape)
        else:
            result = flat.reshape([shape[axis] for axis in axes]).transpose(np.argsort(axes))
        return self.library.from_host(result, self.like)


def label(mask: Any, *, connectivity: int, backend: Backend = "auto") -> tuple[Any, int]:
    """Number the connected components of a mask.

    Parameters
    ----------
    mask : array of 1 to 3 axes
        What is not 0 is foreground.
    connectivity : int
        Along how many axes neighbours may differ, 1 to ``mask.ndim``.
    backend : {"auto", "native", "triton"}, default "auto"
        ``"native"`` is what ``"auto"`` chooses; ``"triton"`` is refused in this version.

    Returns
    -------
    labels : array of int32, the shape of `mask`
        The number of each element's component; 0 is background.
    count : int
        How many components there are.

    Raises
    ------
    ExactaValueError, ExactaTypeError, ExactaNotImplementedError, ExactaRuntimeError
        As listed in `exacta.components`; 2^31 components or more.

    See Also
    --------
    statistics : sizes, centroids and boxes, without a volume of numbers.

    Notes
    -----
    Equal to ``scipy.ndimage.label(mask, generate_binary_structure(mask.ndim, connectivity))`` and to
    ``skimage.measure.label(mask != 0, connectivity=connectivity)``, numbers included; cc3d finds the same components
    and numbers some of them differently.

    References
    ----------
    .. [1] L. He, Y. Chao, K. Suzuki, "A run-based two-scan labeling algorithm", IEEE Transactions on Image Processing
       17(5):749-756, 2008.
    .. [2] S. Allegretti, F. Bolelli, C. Grana, "Optimized block-based algorithms to label connected components on
       GPUs", IEEE Transactions on Parallel and Distributed Systems 31(2):423-438, 2020.

    Examples
    --------
    >>> labels, count = label([[1, 0, 0, 1], [0, 1, 0, 1], [0, 0, 0, 0], [1, 1, 0, 1]], connectivity=2)
    >>> labels
    array([[1, 0, 0, 2],
           [0, 1, 0, 2],
           [0, 0, 0, 0],
           [3, 3, 0, 4]], dtype=int32)
    >>> count
    4
    """
    checked = _Mask(mask)
    neighbours = checked.check(connectivity)
    checked.check_backend(backend)
    out, zeroed = checked.output(np.int32)
    count, axes = _native.label_components(
        checked.array,
        out,
        connectivity=neighbours,
        half=checked.host.half,
        zeroed=zeroed,
        threads=get_num_threads(),
    )
    return checked.shaped(out, axes), count


def _filtered(checked: _Mask, neighbours: int, min_size: int | None) -> Any:
    out, zeroed = checked.output(np.uint8)
    axes = _native.filter_components(
        checked.array,
        out,
        connectivity=neighbours,
        min_size=min_size,
        half=checked.host.half,
        zeroed=zeroed,
        threads=get_num_threads(),
    )
    return checked.shaped(out.view(np.bool_), axes)


def largest(mask: Any, *, connectivity: int, backend: Backend = "auto") -> Any:
    """Keep the component of most elements.

    Parameters
    ----------
    mask : array of 1 to 3 axes
        What is not 0 is foreground.
    connectivity : int
        Along how many axes neighbours may differ, 1 to ``mask.ndim``.
    backend : {"auto", "native", "triton"}, default "auto"
        As in `label`.

    Returns
    -------
    array of bool, the shape of `mask`
        True in the largest component; of several, in the one with the smallest number, whose first element comes first
        in C order. All False if there is none.

    Raises
    ------
    ExactaValueError, ExactaTypeError, ExactaNotImplementedError, ExactaRuntimeError
        As listed in `exacta.components`.

    Examples
    --------
    >>> largest([0, 1, 1, 0, 1, 1], connectivity=1)
    array([False,  True,  True, False, False, False])
    """
    checked = _Mask(mask)
    neighbours = checked.check(connectivity)
    checked.check_backend(backend)
    return _filtered(checked, neighbours, None)


def remove_small(mask: Any, min_size: float, *, connectivity: int, backend: Backend = "auto") -> Any:
    """Keep the components of at least so many elements.

    Parameters
    ----------
    mask : array of 1 to 3 axes
        What is not 0 is foreground.
    min_size : float
        The fewest elements (voxels, not a volume) of a component that stays; 0 and 1 keep all, NaN keeps none.
    connectivity : int
        Along how many axes neighbours may differ, 1 to ``mask.ndim``.
    backend : {"auto", "native", "triton"}, default "auto"
        As in `label`.

    Returns
    -------
    array of bool, the shape of `mask`
        True in the components that stay.

    Raises
    ------
    ExactaValueError, ExactaTypeError, ExactaNotImplementedError, ExactaRuntimeError
        As listed in `exacta.components`; `min_size` below 0, or not a number.

    Notes
    -----
    ``skimage.morphology.remove_small_objects(mask, min_size)`` keeps the same; its newer `max_size` is the largest size
    that goes.

    Examples
    --------
    >>> remove_small([1, 0, 1, 1, 0, 1], 2, connectivity=1)
    array([False, False,  True,  True, False, False])
    """
    checked = _Mask(mask)
    neighbours = checked.check(connectivity)
    fewest = _fewest(min_size)
    checked.check_backend(backend)
    return _filtered(checked, neighbours, fewest)


def _fewest(min_size: Any) -> int:
    """Return the whole number of elements that a component must have."""
    if isinstance(min_size, (str, bytes)) or min_size is None:
        raise ExactaTypeError(f"min_size must be a number; got {shown(min_size)}")
    try:
        value = as_index(min_size)
    except TypeError:
        try:
            real = float(min_size)
        except (TypeError, ValueError, OverflowError) as error:
            raise ExactaTypeError(f"min_size must be a number; got {shown(min_size)}") from error
        value = _MOST if math.isnan(real) or real == math.inf else -1 if real < 0 else math.ceil(real)
    if value < 0:
        raise ExactaValueError(f"min_size must be at least 0; got {shown(min_size)}")
    return min(value, _MOST)


def statistics(mask: Any, *, connectivity: int, backend: Backend = "auto") -> ComponentStatistics:
    """Measure the size, the centroid and the bounding box of every component.

    Parameters
    ----------
    mask : array of 1 to 3 axes
        What is not 0 is foreground.
    connectivity : int
        Along how many axes neighbours may differ, 1 to ``mask.ndim``.
    backend : {"auto", "native", "triton"}, default "auto"
        As in `label`.

    Returns
    -------
    ComponentStatistics
        `sizes`, int64 (N,); `centroids`, float64 (N, ndim); `boxes`, int64 (N, ndim, 2), from the first index to the
        last plus one. Rows are in order of the numbers that `label` gives.

    Raises
    ------
    ExactaValueError, ExactaTypeError, ExactaNotImplementedError, ExactaRuntimeError
        As listed in `exacta.components`.

    Notes
    -----
    Found from runs of elements, so the volume of numbers is never made. A centroid is the exact integer sum of indices
    divided by the size, in one rounding.

    Examples
    --------
    >>> found = statistics([[1, 1, 0, 0], [0, 0, 0, 1]], connectivity=1)
    >>> found.sizes
    array([2, 1])
    >>> found.centroids
    array([[0. , 0.5],
           [1. , 3. ]])
    >>> found.boxes[0]
    array([[0, 1],
           [0, 2]])
    """
    checked = _Mask(mask)
    neighbours = checked.check(connectivity)
    checked.check_backend(backend)
    found = _native.component_statistics(
        checked.array, connectivity=neighbours, half=checked.host.half, threads=get_num_threads()
    )
    return ComponentStatistics(*(checked.library.from_host(values, mask) for values in found))

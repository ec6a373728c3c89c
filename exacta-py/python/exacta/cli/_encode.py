"""Label values of an image, and label maps with small consecutive labels; both in slabs, whatever the dtype."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from exacta.cli._records import CaseError

_SLAB = 1 << 20
_TABLE = 1 << 16


def label_values(array: npt.NDArray[Any], side: str) -> set[int]:
    """Every label that occurs in an image.

    Parameters
    ----------
    array : ndarray, shape S, integer or floating dtype
        C-contiguous.
    side : str
        For the message.

    Returns
    -------
    set of int
        Exact, 64-bit labels too.

    Raises
    ------
    CaseError
        When a value is fractional, infinite or NaN.
    """
    found: set[int] = set()
    for slab in _slabs(array):
        if array.dtype.kind == "f":
            _require_integral(slab, side)
        low, high = int(slab.min()), int(slab.max())
        if low == high:
            found.add(low)
        elif high - low < _TABLE:
            counts = np.bincount(_offsets(slab, low))
            # Added as Python integers: uint64 labels may lie beyond int64.
            found.update(low + offset for offset in np.flatnonzero(counts).tolist())
        else:
            found.update(int(value) for value in np.unique(slab))
    return found


def encode(
    array: npt.NDArray[Any], values: Collection[int], codes: Mapping[int, int], dtype: npt.DTypeLike
) -> npt.NDArray[Any]:
    """Replace labels by codes.

    Parameters
    ----------
    array : ndarray, shape S, integer or floating dtype
        C-contiguous.
    values : collection of int
        Every label of ``array``.
    codes : mapping of int to int
        A label that is missing here becomes 0.
    dtype : dtype
        Of the result.

    Returns
    -------
    ndarray, shape S
    """
    result = np.zeros(array.shape, dtype=dtype)
    if not array.size or not any(codes.get(value, 0) for value in values):
        return result
    low, high = min(values), max(values)
    ordered = sorted(values)
    by_table = high - low < _TABLE
    table = np.zeros(high - low + 1 if by_table else len(ordered), dtype=dtype)
    for position, value in enumerate(ordered):
        table[value - low if by_table else position] = codes.get(value, 0)
    keys = None if by_table else np.array(ordered, dtype=array.dtype)
    for slab, out in zip(_slabs(array), _slabs(result), strict=True):
        np.take(table, _offsets(slab, low) if keys is None else np.searchsorted(keys, slab), out=out, mode="clip")
    return result


def _slabs(array: npt.NDArray[Any]) -> Iterator[npt.NDArray[Any]]:
    flat = array.reshape(-1)
    for start in range(0, flat.size, _SLAB):
        yield flat[start : start + _SLAB]


def _offsets(slab: npt.NDArray[Any], low: int) -> npt.NDArray[np.intp]:
    # Unsigned and floating values can be subtracted as they are; signed ones would wrap in their own width.
    wide = slab.astype(np.int64) if slab.dtype.kind == "i" else slab
    offsets: npt.NDArray[np.intp] = (wide - wide.dtype.type(low)).astype(np.intp, copy=False)
    return offsets


def _require_integral(slab: npt.NDArray[Any], side: str) -> None:
    with np.errstate(invalid="ignore"):
        bad = ~(np.rint(slab) == slab) | np.isinf(slab)
    if bad.any():
        value = float(slab[np.argmax(bad)])
        raise CaseError(f"{side} holds the value {value:.9g}, which is no label (a probability map, or resampled?)")

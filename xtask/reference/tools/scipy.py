"""Distance transforms and components by `scipy.ndimage`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import ndimage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Computed = Iterator[tuple[str, np.ndarray]]


def edt(arrays: Mapping[str, np.ndarray], name: str, row: dict) -> Computed:
    """Distance of each element that is not 0 to the nearest 0; of larger masks at the stored places."""
    mask = arrays[f"mask/{name}"]
    if not row["defined"]:  # without a 0 SciPy's array has no meaning, and the fixture keeps what it was
        return
    distances = ndimage.distance_transform_edt(mask, sampling=row["spacing"])
    key = f"edt/{name}"
    yield "max", distances.max()
    if f"{key}:index" in arrays:
        yield f"{key}:value", distances.ravel()[arrays[f"{key}:index"]]
    else:
        yield key, distances
    for metric in ("chessboard", "taxicab"):
        yield f"{key}:{metric}", ndimage.distance_transform_cdt(mask, metric=metric)


def components(arrays: Mapping[str, np.ndarray], name: str, row: dict) -> Computed:
    """Numbers of the components at every connectivity."""
    mask = arrays[f"mask/{name}"]
    for connectivity in range(1, mask.ndim + 1):
        structure = ndimage.generate_binary_structure(mask.ndim, connectivity)
        labels, count = ndimage.label(mask, structure)
        yield f"label/{name}/{connectivity}", labels
        yield f"connectivity_{connectivity}/count", count
        yield f"connectivity_{connectivity}/largest", np.bincount(labels.ravel())[1:].max(initial=0)

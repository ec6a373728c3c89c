"""The four counts by NumPy, boundary voxels by SciPy's erosion (everything outside the array is background)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scipy.ndimage import binary_erosion

if TYPE_CHECKING:
    import numpy as np


def _edge_voxels(mask: np.ndarray) -> int:
    return int((mask & ~binary_erosion(mask, border_value=0)).sum())


def pair(pred: np.ndarray, target: np.ndarray, spacing: tuple, taus: list, wanted: frozenset[str]) -> dict:
    """Counts of one pair of masks."""
    return {
        "tp": int((pred & target).sum()),
        "fp": int((pred & ~target).sum()),
        "fn": int((~pred & target).sum()),
        "tn": int((~pred & ~target).sum()),
        "edge_voxels_pred": _edge_voxels(pred),
        "edge_voxels_target": _edge_voxels(target),
    }

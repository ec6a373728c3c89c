"""MedPy: `medpy.metric.binary`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from medpy.metric import binary
from store import attempt

if TYPE_CHECKING:
    import numpy as np

COUNTS = ("dc", "jc", "precision", "recall", "sensitivity", "specificity", "ravd")


def pair(pred: np.ndarray, target: np.ndarray, spacing: tuple, taus: list, wanted: frozenset[str]) -> dict:
    """Overlap and surface distances of one pair of masks."""
    values = {name: attempt(getattr(binary, name), pred, target) for name in COUNTS}
    for name in ("hd", "hd95", "asd", "assd"):
        function = getattr(binary, name)
        values[name] = attempt(function, pred, target, spacing)
        if f"{name}_fullconn" in wanted:
            values[f"{name}_fullconn"] = attempt(function, pred, target, spacing, connectivity=pred.ndim)
    values["asd_target_to_pred"] = attempt(binary.asd, target, pred, spacing)
    return values

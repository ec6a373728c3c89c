"""SimpleITK: `LabelOverlapMeasuresImageFilter`."""

from __future__ import annotations

import numpy as np
import SimpleITK
from store import attempt

# A label that is in neither map is an ordinary row of the fixtures, not worth a line on stderr each.
SimpleITK.ProcessObject.SetGlobalWarningDisplay(False)

MEASURES = (
    "DiceCoefficient",
    "JaccardCoefficient",
    "VolumeSimilarity",
    "FalseNegativeError",
    "FalsePositiveError",
    "FalseDiscoveryRate",
)


def _measure(pred: np.ndarray, target: np.ndarray) -> SimpleITK.LabelOverlapMeasuresImageFilter:
    measure = SimpleITK.LabelOverlapMeasuresImageFilter()
    measure.Execute(*(SimpleITK.GetImageFromArray(m.astype(np.uint8)) for m in (pred, target)))
    return measure


def labels(pred: np.ndarray, target: np.ndarray, classes: int) -> dict:
    """Overlap of one label map, by label (as text, the key of the fixture)."""
    measure = _measure(pred, target)
    return {
        str(label): {name: attempt(getattr(measure, f"Get{name}"), label) for name in MEASURES}
        for label in range(1, classes)
    }


def pair(pred: np.ndarray, target: np.ndarray, spacing: tuple, taus: list, wanted: frozenset[str]) -> dict:
    """Overlap of one pair of masks: of label 1, or the filter's total where no voxel has it."""
    measure = _measure(pred, target)
    label = (1,) if pred.any() or target.any() else ()
    return {name: attempt(getattr(measure, f"Get{name}"), *label) for name in MEASURES}

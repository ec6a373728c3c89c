"""Lesion scores as metrics of the command line: one of the fields of `exacta.lesions.evaluate`, with its options."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from exacta.cli._records import Metric

_FIELDS = {
    "lesion_tp": "tp",
    "lesion_fp": "fp",
    "lesion_fn": "fn",
    "lesion_precision": "precision",
    "lesion_recall": "recall",
    "lesion_f1": "f1",
    "lesion_sq_iou": "sq_iou",
    "lesion_sq_dice": "sq_dice",
    "lesion_pq_iou": "pq_iou",
    "lesion_pq_dice": "pq_dice",
    "lesion_dice": "lesion_dice",
    "lesion_hd95": "lesion_hd95",
}
# None: as many as the image has axes.
_OPTIONS: Mapping[str, float | bool | str | None] = {
    "matching": "greedy",
    "connectivity": None,
    "score": "iou",
    "threshold": 0.5,
    "strict": False,
    "dilation": 0.0,
    "dilation_connectivity": None,
    "min_target_volume": 0.0,
    "missed_distance": float("inf"),
    "both_empty": float("nan"),
    "both_empty_distance": float("nan"),
    "surface": "voxels",
}
_WHOLE = ("connectivity", "dilation", "dilation_connectivity")

LESION_METRICS: Mapping[str, Mapping[str, Any]] = {
    name: {"name": name, "family": "lesion", "unit": "mm" if name == "lesion_hd95" else "", "options": _OPTIONS}
    for name in _FIELDS
}


def lesion_values(
    metrics: Sequence[Metric],
    pred: npt.NDArray[Any],
    target: npt.NDArray[Any],
    *,
    spacing: Sequence[float] | float,
    num_classes: int,
) -> dict[int, npt.NDArray[np.float64]]:
    """Measure the lesion metrics among `metrics` on one case; equal options share a call.

    Returns
    -------
    dict of int to array
        Position in `metrics` to one value for each class from 1 up.
    """
    from exacta import lesions

    calls: dict[frozenset[tuple[str, float | bool | str]], list[int]] = {}
    for position, metric in enumerate(metrics):
        if metric.name in _FIELDS:
            calls.setdefault(frozenset(metric.options.items()), []).append(position)
    values = {}
    for chosen, positions in calls.items():
        options: dict[str, Any] = {**_OPTIONS, **dict(chosen)}
        for name in _WHOLE:
            value = pred.ndim if options[name] is None else options[name]
            options[name] = int(value) if float(value).is_integer() else value
        scores = lesions.evaluate(
            pred[np.newaxis],
            target[np.newaxis],
            spacing=spacing,
            num_classes=num_classes,
            include_background=False,
            **options,
        )
        for position in positions:
            values[position] = np.asarray(getattr(scores, _FIELDS[metrics[position].name])[0])
    return values

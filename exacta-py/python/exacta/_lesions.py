"""Records of `exacta.lesions`, and the checks that its functions share."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from operator import index as as_index
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from . import _native
from ._arrays import library_of
from ._errors import ExactaTypeError, ExactaValueError, shown
from ._options import check_fill, check_surface
from ._threads import get_num_threads

if TYPE_CHECKING:
    import numpy.typing as npt

    from ._inputs import Inputs
    from ._native import LesionChoices

__all__ = [
    "Lesion",
    "LesionReport",
    "LesionScores",
    "Matching",
    "Prediction",
    "Score",
    "check_choices",
    "check_connectivity",
    "instance_scores",
    "report_of",
    "scores_of",
]

Matching: TypeAlias = Literal["greedy", "hungarian", "merge", "overlap"]
Score: TypeAlias = Literal["iou", "dice"]


@dataclass(frozen=True, eq=False)
class LesionScores:
    """Scores of the lesions of each case and class: (B, K) arrays of float64, in the library of `pred`.

    `kept` lesions are those larger than ``min_target_volume``. A ratio of nothing by nothing is NaN.
    """

    tp: Any
    """Kept lesions with a match."""
    fp: Any
    """Predictions that match no lesion, kept or not."""
    fn: Any
    """Kept lesions without a match."""
    precision: Any
    """``tp / (tp + fp)``; NaN where every prediction matches only lesions that are not kept."""
    recall: Any
    """``tp / (tp + fn)``."""
    f1: Any
    """``tp / (tp + fp / 2 + fn / 2)``; 0 without a match."""
    sq_iou: Any
    """Mean IoU of the matched kept lesions, each with all its predictions; 0 without a match."""
    sq_dice: Any
    """Mean Dice of the matched kept lesions; 0 without a match."""
    pq_iou: Any
    """``sq_iou * f1``, panoptic quality."""
    pq_dice: Any
    """``sq_dice * f1``."""
    lesion_dice: Any
    """Sum of Dice over kept lesions, 0 for a missed one, divided by ``tp + fn + fp``."""
    lesion_hd95: Any
    """Sum of HD95 over matched kept lesions, and of ``missed_distance`` for each other and each false positive, divided
    by ``tp + fn + fp``; NaN without a spacing."""


class Lesion(NamedTuple):
    """A lesion of the reference."""

    case: int
    """Index in the batch."""
    class_id: int
    """Label, or index of the channel."""
    number: int
    """Number of its component, from 1 in C order of the first voxels (of the grown reference with ``dilation``)."""
    voxels: int
    """Size."""
    kept: bool
    """Whether it is larger than ``min_target_volume``."""
    predictions: tuple[int, ...]
    """Numbers of the matched predictions, ascending; empty for a missed lesion."""
    predicted_voxels: int
    """Voxels of these predictions, the whole of each."""
    shared_voxels: int
    """Voxels that the lesion shares with them."""
    iou: float
    """IoU of the lesion and these predictions together; 0 if missed."""
    dice: float
    """Dice, likewise."""
    hd95: float
    """HD95, likewise; NaN where it is not measured: lesions missed or not kept, no spacing."""


class Prediction(NamedTuple):
    """A connected component of the prediction."""

    case: int
    """Index in the batch."""
    class_id: int
    """Label, or index of the channel."""
    number: int
    """Number, from 1 in C order of the first voxels."""
    voxels: int
    """Size."""
    matched: bool
    """Whether it matches a lesion, kept or not; if not, it is a false positive."""


@dataclass(frozen=True, eq=False)
class LesionReport:
    """Scores, and a record for each lesion and each prediction; ordered by case, class, number."""

    scores: LesionScores
    """What `exacta.lesions.evaluate` returns."""
    lesions: tuple[Lesion, ...]
    """Lesions of the reference."""
    predictions: tuple[Prediction, ...]
    """Components of the prediction."""


_NAMES = tuple(field.name for field in fields(LesionScores))


def check_connectivity(name: str, value: Any, ndim: int) -> int:
    """Return over how many axes neighbours may differ."""
    try:
        number = as_index(value)
    except TypeError:
        number = 0
    if not 1 <= number <= ndim:
        raise ExactaValueError(
            f"{name} must be an integer in [1, {ndim}] for images of {ndim} spatial axes; got {shown(value)}"
        )
    return number


def _number(name: str, value: Any) -> float:
    number = check_fill(name, value)
    if math.isnan(number):
        raise ExactaValueError(f"{name} must be a number; got {shown(value)}")
    return number


def check_choices(
    inputs: Inputs,
    matching: Matching,
    score: Score,
    connectivity: Any,
    dilation: Any,
    dilation_connectivity: Any,
    threshold: Any,
    strict: Any,
    min_target_volume: Any,
    missed_distance: Any,
    both_empty: Any,
    both_empty_distance: Any,
    surface: Any,
) -> LesionChoices:
    """Check everything but `matching` and `score`, in the documented order."""
    neighbours = check_connectivity("connectivity", connectivity, inputs.ndim)
    try:
        steps = as_index(dilation)
    except TypeError:
        raise ExactaTypeError(f"dilation must be a whole number of steps; got {shown(dilation)}") from None
    if steps < 0:
        raise ExactaValueError(f"dilation must be at least 0; got {steps}")
    if steps and matching != "overlap":
        raise ExactaValueError(
            f'dilation must be 0 with matching={matching!r}; got {steps}; it is part of matching="overlap"'
        )
    of_dilation = 1
    if steps:
        if dilation_connectivity is None:
            raise ExactaValueError(f"dilation_connectivity must be given with dilation={steps}; got None")
        of_dilation = check_connectivity("dilation_connectivity", dilation_connectivity, inputs.ndim)
    return {
        "matching": matching,
        "score": score,
        "connectivity": neighbours,
        # Further steps change nothing once the image is full.
        "dilation": min(steps, sum(inputs.shape[-inputs.ndim :])),
        "dilation_connectivity": of_dilation,
        "threshold": _number("threshold", threshold),
        "strict": bool(strict),
        "min_target_volume": _number("min_target_volume", min_target_volume),
        "missed_distance": check_fill("missed_distance", missed_distance),
        "both_empty": check_fill("both_empty", both_empty),
        "both_empty_distance": check_fill("both_empty_distance", both_empty_distance),
        "surface": check_surface(surface),
    }


def scores_of(inputs: Inputs, choices: LesionChoices | str, spacing: npt.NDArray[np.float64] | None) -> LesionScores:
    """Measure; `choices` may be the name of a BraTS challenge."""
    if inputs.channels == 0:
        return _scores(inputs, [np.empty((inputs.batch, 0)) for _ in _NAMES])
    pred, target, layout = inputs.native()
    scores, _ = _native.lesion_scores(pred, target, layout, choices, spacing=spacing, threads=get_num_threads())
    return _scores(inputs, scores)


def _scores(inputs: Inputs, values: list[npt.NDArray[np.float64]]) -> LesionScores:
    return LesionScores(*(inputs.returned(value) for value in values))


def report_of(
    inputs: Inputs, choices: LesionChoices, spacing: npt.NDArray[np.float64] | None, first: int
) -> LesionReport:
    """Measure, with a record for each lesion; `first` is the label of the first column."""
    if inputs.channels == 0:
        return LesionReport(scores_of(inputs, choices, spacing), (), ())
    pred, target, layout = inputs.native()
    scores, rows = _native.lesion_scores(
        pred, target, layout, choices, spacing=spacing, rows=True, threads=get_num_threads()
    )
    assert rows is not None, "asked for"
    lesions, values, pairs, predictions = (table.tolist() for table in rows)
    matched: list[list[int]] = [[] for _ in lesions]
    for row, number in pairs:
        matched[row].append(number)
    return LesionReport(
        _scores(inputs, scores),
        tuple(
            Lesion(case, column + first, number, voxels, bool(kept), tuple(of), predicted, shared, *value)
            for (case, column, number, voxels, kept, predicted, shared), of, value in zip(
                lesions, matched, values, strict=True
            )
        ),
        tuple(
            Prediction(case, column + first, number, voxels, bool(matches))
            for case, column, number, voxels, matches in predictions
        ),
    )


def instance_scores(
    pred: Any, target: Any, matching: str, score: str, threshold: Any, strict: Any, both_empty: Any
) -> LesionScores:
    """Check instance maps and measure them."""
    library = library_of(pred)
    p, t = library.to_host(pred, "pred"), library_of(target).to_host(target, "target")
    shape = p.array.shape
    if shape != t.array.shape:
        raise ExactaValueError(f"pred and target must have the same shape; got {shape} and {t.array.shape}")
    if p.device != t.device:
        raise ExactaValueError("pred and target must be on one device; move one of them first")
    if not 2 <= len(shape) <= 4:
        raise ExactaValueError(f"pred must have a batch axis and 1 to 3 spatial axes; got shape {shape}")
    for name, host in (("pred", p), ("target", t)):
        if host.array.dtype.kind == "c":
            raise ExactaTypeError(f"{name} must hold instance numbers; got dtype {host.array.dtype}; pass {name}.real")
    scores = _native.instance_scores(
        p.array,
        t.array,
        matching=matching,
        score=score,
        threshold=_number("threshold", threshold),
        strict=bool(strict),
        both_empty=check_fill("both_empty", both_empty),
        pred_half=p.half,
        target_half=t.half,
        threads=get_num_threads(),
    )
    return LesionScores(*(library.from_host(value, pred) for value in scores))

"""One case: read, check, measure. Runs in the worker processes of ``--jobs``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from exacta.cli._encode import encode, label_values
from exacta.cli._images import Pair, read_pair
from exacta.cli._labels import disjoint_groups
from exacta.cli._lesions import LESION_METRICS, lesion_values
from exacta.cli._metrics import rounds
from exacta.cli._records import (
    BOTH_EMPTY,
    MISSED,
    OK,
    SPURIOUS,
    Case,
    CaseError,
    CaseResult,
    Label,
    Measured,
    Metric,
    Plan,
)

# Without --labels, an image of grey values would be measured once per grey value.
LARGEST_FOUND = 1000


def measure(case: Case, plan: Plan) -> CaseResult:
    """Measure one case. Never raises for what is wrong with the case: the reason is in the result."""
    try:
        if case.problem:
            raise CaseError(case.problem)
        assert case.pred is not None, "a case without problem has both files"
        assert case.target is not None, "a case without problem has both files"
        pair = read_pair(case.pred, case.target, plan.spacing)
        return _measure_pair(case.name, pair, plan)
    except CaseError as error:
        return CaseResult(case.name, reason=str(error))
    except MemoryError:
        return CaseResult(case.name, reason="out of memory")
    except Exception as error:  # one odd file must not cost the results of the others
        text = " ".join(str(error).split())
        expected = isinstance(error, ValueError | TypeError | OSError)
        return CaseResult(case.name, reason=text if expected and text else f"{type(error).__name__}: {text}")


@dataclass(frozen=True)
class _Images:
    """A pair with the labels that occur in it, and the voxels that count (None: all)."""

    pair: Pair
    pred_values: set[int]
    target_values: set[int]
    mask: npt.NDArray[np.bool_] | None


def _measure_pair(name: str, pair: Pair, plan: Plan) -> CaseResult:
    pred_values, target_values = label_values(pair.pred, "PRED"), label_values(pair.target, "TARGET")
    mask = None
    if plan.ignore is not None and plan.ignore in target_values:
        mask = pair.target != plan.ignore
    images = _Images(pair, pred_values, target_values, mask)
    found = {value for value in pred_values | target_values if value > 0 and value != plan.ignore}
    if plan.labels is None:
        if len(found) > LARGEST_FOUND:
            reason = f"{len(found)} different labels: an image of grey values? Otherwise choose labels by --labels"
            raise CaseError(reason)
        measured, absent = _measure_group([Label((value,)) for value in sorted(found)], images, plan.metrics)
        return CaseResult(name, tuple(measured), absent=absent)
    results: list[Measured | None] = [None] * len(plan.labels)
    for group in disjoint_groups(plan.labels):
        measured, _ = _measure_group([plan.labels[position] for position in group], images, plan.metrics)
        for position, result in zip(group, measured, strict=True):
            results[position] = result
    others = found.difference(*(label.values for label in plan.labels))
    return CaseResult(name, tuple(filter(None, results)), others=tuple(sorted(others)[:LARGEST_FOUND]))


def _measure_group(
    labels: Sequence[Label], images: _Images, metrics: Sequence[Metric]
) -> tuple[list[Measured], tuple[float, ...]]:
    """Measure labels without a common value, and one label more that occurs nowhere, for its values."""
    codes = {value: code for code, label in enumerate(labels, start=1) for value in label.values}
    dtype = np.min_scalar_type(len(labels) + 1)
    pred = _coded(images.pair.pred, images.pred_values, codes, dtype)
    target = _coded(images.pair.target, images.target_values, codes, dtype)
    pred_codes, target_codes = _occurring(images, codes, pred, target)
    values = _evaluate(pred, target, images, metrics, len(labels) + 2)
    measured = [
        Measured(label, _status(code in pred_codes, code in target_codes), tuple(values[:, code - 1].tolist()))
        for code, label in enumerate(labels, start=1)
    ]
    return measured, tuple(values[:, -1].tolist())


def _coded(
    array: npt.NDArray[Any], values: set[int], codes: Mapping[int, int], dtype: npt.DTypeLike
) -> npt.NDArray[Any]:
    # Most images hold 0..K already: no copy then.
    if array.dtype.kind != "f" and all(value == codes.get(value, 0) for value in values):
        return array
    return encode(array, values, codes, dtype)


def _occurring(
    images: _Images, codes: Mapping[int, int], pred: npt.NDArray[Any], target: npt.NDArray[Any]
) -> tuple[set[int], set[int]]:
    """The codes among the voxels that count, in PRED and in TARGET."""
    if images.mask is None:
        pred_codes = {codes.get(value, 0) for value in images.pred_values}
        return pred_codes, {codes.get(value, 0) for value in images.target_values}
    return label_values(pred[images.mask], "PRED"), label_values(target[images.mask], "TARGET")


def _evaluate(
    pred: npt.NDArray[Any], target: npt.NDArray[Any], images: _Images, metrics: Sequence[Metric], num_classes: int
) -> npt.NDArray[np.float64]:
    """Values of classes 1 and up, shape (metrics, num_classes - 1)."""
    from exacta.functional import evaluate

    values = np.empty((len(metrics), num_classes - 1), dtype=np.float64)
    for call in rounds(metrics):
        results = evaluate(
            pred[np.newaxis],
            target[np.newaxis],
            metrics={metrics[position].name: dict(metrics[position].options) for position in call},
            spacing=images.pair.spacing,
            num_classes=num_classes,
            include_background=False,
            mask=None if images.mask is None else images.mask[np.newaxis],
        )
        for position in call:
            values[position] = results[metrics[position].name][0]
    if any(metric.name in LESION_METRICS for metric in metrics):
        if images.mask is not None:
            raise CaseError("lesions with ignored voxels are not defined: measure them with labels that ignore none")
        found = lesion_values(metrics, pred, target, spacing=images.pair.spacing, num_classes=num_classes)
        for position, of_classes in found.items():
            values[position] = of_classes
    return values


def _status(in_pred: bool, in_target: bool) -> str:
    if in_target:
        return OK if in_pred else MISSED
    return SPURIOUS if in_pred else BOTH_EMPTY

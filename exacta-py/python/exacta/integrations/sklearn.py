"""Functions with the names, order of arguments and averages of `sklearn.metrics`; scikit-learn is not needed.

``y_true`` comes first. Arrays are flat, one sample a voxel: labels ``(n,)``, scores ``(n,)`` of the positive class or
``(n, classes)``. Classes are 0, 1, .., and `average` None gives one value a class. Values are exact, with ties.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from .. import functional
from .._arrays import library_of
from .._errors import ExactaValueError, shown

__all__ = [
    "average_precision_score",
    "brier_score_loss",
    "f1_score",
    "jaccard_score",
    "log_loss",
    "precision_recall_curve",
    "precision_score",
    "recall_score",
    "roc_auc_score",
    "roc_curve",
]

Average = Literal["macro", "weighted"] | None
LabelAverage = Literal["binary", "macro"] | None


def _flat(name: str, x: Any, axes: tuple[int, ...]) -> Any:
    host = library_of(x).to_host(x, name)
    array = host.array.view(np.float16) if host.half == "float16" else host.array
    if host.half == "bfloat16":
        array = (array.astype(np.uint32) << 16).view(np.float32)
    if array.ndim not in axes:
        hint = "; flatten it, for example with .ravel()"
        raise ExactaValueError(f"{name} must have {' or '.join(map(str, axes))} axes; got shape {array.shape}{hint}")
    return array


def _scores(y_true: Any, y_score: Any) -> tuple[Any, Any, bool]:
    """Return scores (1, C, 1, n), labels (1, 1, n), and whether one column of scores was given."""
    true, score = _flat("y_true", y_true, (1,)), _flat("y_score", y_score, (1, 2))
    if score.dtype.kind != "f":
        score = score.astype(np.float64)
    labels = true.astype(np.int64) if true.dtype.kind in "bfu" else true
    columns = score[:, None] if score.ndim == 1 else score
    return columns.T[None, :, None], labels[None, None], score.ndim == 1


def _ranked(function: Any, y_true: Any, y_score: Any, average: Any) -> Any:
    if average not in ("macro", "weighted", None):
        raise ExactaValueError(f"average must be 'macro', 'weighted' or None; got {shown(average)}")
    scores, labels, single = _scores(y_true, y_score)
    if single:  # any scores rank, not only probabilities
        return float(function(scores, labels, from_logits=True)[0, 0])
    channels = np.stack([labels[0] == c for c in range(scores.shape[1])])[None]
    values = function(scores, channels, from_logits=True, multilabel=True)[0]
    if average is None:
        return values
    return float(np.average(values, weights=channels.sum((0, 2, 3)) if average == "weighted" else None))


def average_precision_score(y_true: Any, y_score: Any, *, average: Average = "macro") -> Any:
    """Average precision, of the positive class or one class against the rest.

    Parameters
    ----------
    y_true : array, (n,)
        Labels 0 and 1, or classes.
    y_score : array of float, (n,) or (n, classes)
        Any scores; a higher one means the class rather than not.
    average : {"macro", "weighted", None}, default "macro"
        Mean over classes, mean by their number of samples, or one value a class.

    Returns
    -------
    float, or array of float64, (classes,)
        NaN without positives, where scikit-learn gives 0.
    """
    return _ranked(functional.average_precision, y_true, y_score, average)


def roc_auc_score(y_true: Any, y_score: Any, *, average: Average = "macro") -> Any:
    """Area under the ROC curve, of the positive class or one class against the rest (``multi_class="ovr"``).

    Parameters
    ----------
    y_true : array, (n,)
        Labels 0 and 1, or classes.
    y_score : array of float, (n,) or (n, classes)
        Any scores; a higher one means the class rather than not.
    average : {"macro", "weighted", None}, default "macro"
        Mean over classes, mean by their number of samples, or one value a class.

    Returns
    -------
    float, or array of float64, (classes,)
        NaN without positives or without negatives.
    """
    return _ranked(functional.auroc, y_true, y_score, average)


def _curve(y_true: Any, y_score: Any) -> functional.RankingCurve:
    scores, labels, _ = _scores(_flat("y_true", y_true, (1,)), _flat("y_score", y_score, (1,)))
    return functional.voxel_ranking(scores, labels, from_logits=True).curves[0][0]


def precision_recall_curve(y_true: Any, y_score: Any) -> tuple[Any, Any, Any]:
    """Precision and recall at each distinct score, thresholds ascending, and the point (1, 0) last.

    Parameters
    ----------
    y_true : array, (n,)
        Labels 0 and 1.
    y_score : array of float, (n,)
        Any scores.

    Returns
    -------
    precision, recall, thresholds : array of float64
        The last has one element less.
    """
    curve = _curve(y_true, y_score)
    return curve.precision[::-1].copy(), curve.recall[::-1].copy(), curve.thresholds[:0:-1].copy()


def roc_curve(y_true: Any, y_score: Any) -> tuple[Any, Any, Any]:
    """False and true positive rates at each distinct score, descending (``drop_intermediate=False``).

    Parameters
    ----------
    y_true : array, (n,)
        Labels 0 and 1.
    y_score : array of float, (n,)
        Any scores.

    Returns
    -------
    fpr, tpr, thresholds : array of float64
        The first threshold is inf.
    """
    curve = _curve(y_true, y_score)
    return curve.fpr, curve.tpr, curve.thresholds


def log_loss(y_true: Any, y_pred: Any) -> float:
    """Negative log-likelihood; probability 0 of an outcome that came gives inf, where scikit-learn clips.

    Parameters
    ----------
    y_true : array, (n,)
        Labels 0 and 1, or classes.
    y_pred : array of float, (n,) or (n, classes)
        Probabilities.

    Returns
    -------
    float
    """
    scores, labels, _ = _scores(y_true, y_pred)
    return float(functional.negative_log_likelihood(scores, labels)[0, 0])


def brier_score_loss(y_true: Any, y_proba: Any) -> float:
    """Brier score: of one column in [0, 1], of a distribution over classes in [0, 2] (``scale_by_half=False``).

    Parameters
    ----------
    y_true : array, (n,)
        Labels 0 and 1, or classes.
    y_proba : array of float, (n,) or (n, classes)
        Probabilities.

    Returns
    -------
    float
    """
    scores, labels, _ = _scores(y_true, y_proba)
    return float(functional.brier_score(scores, labels)[0, 0])


def _labelled(function: Any, y_true: Any, y_pred: Any, average: Any, fill: dict[str, float]) -> Any:
    if average not in ("binary", "macro", None):
        raise ExactaValueError(f"average must be 'binary', 'macro' or None; got {shown(average)}")
    true, pred = _flat("y_true", y_true, (1,)), _flat("y_pred", y_pred, (1,))
    classes = max(2, 1 + max((int(x.max()) for x in (true, pred) if x.size), default=1))
    if average == "binary" and classes > 2:
        raise ExactaValueError(f"average='binary' needs labels 0 and 1; found {classes - 1}; pass 'macro' or None")
    values = function(pred[None, None], true[None, None], num_classes=classes, **fill)[0]
    if average == "binary":
        return float(values[1])
    # Only labels that occur are classes here.
    seen = np.zeros(classes, bool)
    for x in (true, pred):
        seen[np.unique(x).astype(np.int64)] = True
    return values[seen] if average is None else float(values[seen].mean())


def f1_score(y_true: Any, y_pred: Any, *, average: LabelAverage = "binary", zero_division: float = 0.0) -> Any:
    """F1 score, which is Dice.

    Parameters
    ----------
    y_true, y_pred : array of int, (n,)
        Labels.
    average : {"binary", "macro", None}, default "binary"
        The value of label 1, the mean over the labels that occur, or one value for each of them.
    zero_division : float, default 0.0
        Value without positives in either array.

    Returns
    -------
    float, or array of float64
    """
    return _labelled(functional.dice, y_true, y_pred, average, {"both_empty": zero_division})


def jaccard_score(y_true: Any, y_pred: Any, *, average: LabelAverage = "binary", zero_division: float = 0.0) -> Any:
    """Jaccard index, which is intersection over union.

    Parameters
    ----------
    y_true, y_pred : array of int, (n,)
        Labels.
    average : {"binary", "macro", None}, default "binary"
        The value of label 1, the mean over the labels that occur, or one value for each of them.
    zero_division : float, default 0.0
        Value without positives in either array.

    Returns
    -------
    float, or array of float64
    """
    return _labelled(functional.iou, y_true, y_pred, average, {"both_empty": zero_division})


def precision_score(y_true: Any, y_pred: Any, *, average: LabelAverage = "binary", zero_division: float = 0.0) -> Any:
    """Precision.

    Parameters
    ----------
    y_true, y_pred : array of int, (n,)
        Labels.
    average : {"binary", "macro", None}, default "binary"
        The value of label 1, the mean over the labels that occur, or one value for each of them.
    zero_division : float, default 0.0
        Value where nothing is predicted.

    Returns
    -------
    float, or array of float64
    """
    return _labelled(functional.precision, y_true, y_pred, average, {"zero_division": zero_division})


def recall_score(y_true: Any, y_pred: Any, *, average: LabelAverage = "binary", zero_division: float = 0.0) -> Any:
    """Recall, which is sensitivity.

    Parameters
    ----------
    y_true, y_pred : array of int, (n,)
        Labels.
    average : {"binary", "macro", None}, default "binary"
        The value of label 1, the mean over the labels that occur, or one value for each of them.
    zero_division : float, default 0.0
        Value without positives in `y_true`.

    Returns
    -------
    float, or array of float64
    """
    return _labelled(functional.sensitivity, y_true, y_pred, average, {"zero_division": zero_division})

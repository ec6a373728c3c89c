"""Drawings of results. Matplotlib is imported by the call that draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._arrays import library_of
from ._errors import ExactaRuntimeError
from ._options import check_choice

if TYPE_CHECKING:
    import numpy.typing as npt

    from .detection import DetectionCurve
    from .functional._results import RankingCurve, ReliabilityDiagram

__all__ = ["detection", "ranking", "reliability"]

_MOST_POINTS = 4000  # more than any screen shows


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise ExactaRuntimeError("plot() needs Matplotlib; install it with pip install exacta[plot]") from error
    return plt.subplots(figsize=(4.5, 4.5), layout="constrained")[1]


def _numpy(x: Any) -> npt.NDArray[Any]:
    return library_of(x).to_host(x, "result").array


def _frame(ax: Any, x: str, y: str) -> Any:
    ax.set(xlabel=x, ylabel=y, xlim=(0, 1), ylim=(0, 1.02), aspect="equal")
    ax.grid(alpha=0.3)
    return ax


def reliability(diagram: ReliabilityDiagram, case: int, column: int, ax: Any) -> Any:
    """Draw accuracy over confidence, the gap to the diagonal, and how many voxels a bin holds."""
    ax = _axes(ax)
    edges, counts = _numpy(diagram.edges), _numpy(diagram.counts)[case, column]
    confidence, accuracy = _numpy(diagram.confidence)[case, column], _numpy(diagram.accuracy)[case, column]
    width = np.diff(edges)
    share = counts / max(int(counts.sum()), 1)
    ax.bar(edges[:-1], share, width, align="edge", color="0.85", label="share of voxels")
    ax.plot([0, 1], [0, 1], color="0.4", linestyle="--", linewidth=1, label="calibrated")
    filled = counts > 0
    ax.vlines(confidence[filled], confidence[filled], accuracy[filled], color="tab:red", linewidth=2, alpha=0.6)
    ax.plot(confidence[filled], accuracy[filled], "o-", color="tab:blue", markersize=4, label="accuracy")
    ax.set_title(f"ECE {float(_numpy(diagram.ece)[case, column]):.4f}")
    ax.legend(loc="upper left", fontsize="small")
    return _frame(ax, "confidence", "accuracy")


def ranking(curves: list[tuple[RankingCurve, str | None]], kind: str, ax: Any) -> Any:
    """Draw curves, each with a label or none."""
    kind = check_choice("kind", kind, ("precision-recall", "roc"))
    ax = _axes(ax)
    for curve, label in curves:
        recall = _numpy(curve.recall)
        keep = np.unique(np.linspace(0, recall.size - 1, _MOST_POINTS).round().astype(np.int64))
        if kind == "precision-recall":
            # The precision of a point holds back to the recall of the point before.
            ax.step(recall[keep], _numpy(curve.precision)[keep], where="pre", label=label)
        else:
            ax.plot(_numpy(curve.fpr)[keep], recall[keep], label=label)
    if kind == "roc":
        ax.plot([0, 1], [0, 1], color="0.4", linestyle="--", linewidth=1)
    if any(label for _, label in curves):
        ax.legend(loc="lower left" if kind == "precision-recall" else "lower right", fontsize="small")
    if kind == "roc":
        return _frame(ax, "false positive rate", "true positive rate")
    return _frame(ax, "recall", "precision")


def detection(curves: list[tuple[DetectionCurve, str | None]], kind: str, ax: Any) -> Any:
    """Draw free-response curves, or precision over recall, each with a label or none."""
    kind = check_choice("kind", kind, ("froc", "precision-recall"))
    ax = _axes(ax)
    most = 0.0
    for curve, label in curves:
        recall = _numpy(curve.recall)
        keep = np.unique(np.linspace(0, recall.size - 1, _MOST_POINTS).round().astype(np.int64))
        if kind == "precision-recall":
            ax.step(recall[keep], _numpy(curve.precision)[keep], where="pre", label=label)
        else:
            rates = _numpy(curve.false_positives_per_case)
            most = max(most, float(rates.max()))
            # The recall of a point holds until the next point has more false positives.
            ax.step(rates[keep], recall[keep], where="post", label=label)
    if any(label for _, label in curves):
        ax.legend(loc="lower left" if kind == "precision-recall" else "lower right", fontsize="small")
    if kind == "precision-recall":
        return _frame(ax, "recall", "precision")
    ax.set(xlabel="false positives per case", ylabel="sensitivity", xlim=(0, most or 1), ylim=(0, 1.02))
    ax.grid(alpha=0.3)
    return ax

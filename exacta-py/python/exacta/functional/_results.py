"""What the probability and ranking functions return besides plain arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from .. import _plot

__all__ = ["RankingCurve", "RankingResult", "ReliabilityDiagram"]


@dataclass(frozen=True, eq=False)
class ReliabilityDiagram:
    """Confidence against accuracy, bin by bin. Arrays are in the library of `pred`.

    Attributes
    ----------
    counts : array of int64, (B, K, bins)
        Voxels in each bin.
    confidence, accuracy : array of float64, (B, K, bins)
        Mean confidence, and share of outcomes that came true; NaN in empty bins.
    edges : array of float64, (bins + 1,)
        Edges of the bins, evenly spaced from 0 to 1.
    ece : array of float64, (B, K)
        Expected calibration error; NaN where no voxel counts.
    """

    counts: Any
    confidence: Any
    accuracy: Any
    edges: Any
    ece: Any

    def plot(self, *, case: int = 0, column: int = 0, ax: Any = None) -> Any:
        """Draw the diagram of one case and column with Matplotlib (extra ``plot``).

        Parameters
        ----------
        case, column : int, default 0
            Row of the batch, and class.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib.axes.Axes
        """
        return _plot.reliability(self, case, column, ax)


@dataclass(frozen=True, eq=False)
class RankingCurve:
    """Points of the precision-recall and ROC curves, from the highest threshold down. Arrays are 1-D float64.

    Attributes
    ----------
    thresholds : array
        Scores from which on a voxel is taken for a positive; the first is inf, before any is.
    precision : array
        TP / (TP + FP), 1 where nothing is found.
    recall, tpr : array
        TP / P, equal; NaN without positives.
    fpr : array
        FP / Q; NaN without negatives.
    """

    thresholds: Any
    precision: Any
    recall: Any
    fpr: Any
    tpr: Any

    def plot(self, kind: Literal["precision-recall", "roc"] = "precision-recall", *, ax: Any = None) -> Any:
        """Draw one of the two curves with Matplotlib (extra ``plot``).

        Parameters
        ----------
        kind : {"precision-recall", "roc"}, default "precision-recall"
            Which.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib.axes.Axes
        """
        return _plot.ranking([(self, None)], kind, ax)


@dataclass(frozen=True, eq=False)
class RankingResult:
    """Scores and curves of a ranking. Arrays are in the library of `pred`.

    Attributes
    ----------
    average_precision, auroc : array of float64, (B, K)
        NaN without positives; `auroc` also without negatives.
    curves : tuple of tuples of RankingCurve
        ``curves[case][column]``.
    bins : int or None
        Number of bins; None is exact.
    """

    average_precision: Any
    auroc: Any
    curves: tuple[tuple[RankingCurve, ...], ...]
    bins: int | None

    def plot(
        self, kind: Literal["precision-recall", "roc"] = "precision-recall", *, case: int = 0, ax: Any = None
    ) -> Any:
        """Draw the curves of all columns of a case with Matplotlib (extra ``plot``).

        Parameters
        ----------
        kind : {"precision-recall", "roc"}, default "precision-recall"
            Which.
        case : int, default 0
            Row of the batch.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib.axes.Axes
        """
        values = self.average_precision if kind == "precision-recall" else self.auroc
        score = "AP" if kind == "precision-recall" else "AUROC"
        labelled: list[tuple[RankingCurve, str | None]] = [
            (curve, f"column {i}, {score} {float(values[case, i]):.3f}") for i, curve in enumerate(self.curves[case])
        ]
        return _plot.ranking(labelled, kind, ax)

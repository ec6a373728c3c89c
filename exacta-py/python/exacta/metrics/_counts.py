"""Ratios of the counts of all cases together: every voxel weighs the same, whatever its case."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _native
from .._arrays import library_of
from .._errors import ExactaValueError
from .._inputs import _check_ignore_index, prepare
from .._options import check_choice, check_fill
from ..functional._evaluate import _METRICS, _select
from ._pooled import _Pooled
from ._settings import check_layout

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .._options import InputFormat

__all__ = ["PooledOverlap", "PooledResult"]


@dataclass(frozen=True, eq=False)
class PooledResult:
    """Values of pooled counts, and the counts. Arrays are in the library of the updates.

    Attributes
    ----------
    values : dict of str to array of float64, (K,)
        One array a metric, in the order asked for.
    counts : array of int64, (K, 4)
        True positives, false positives, false negatives and true negatives of each class, over all cases.
    """

    values: dict[str, Any]
    counts: Any


class PooledOverlap(_Pooled):
    """Dice and other ratios of counts over the voxels of all cases together.

    Large structures weigh more than small ones, as voxels do; the means of `Dice` and the others weigh cases the same.

    Parameters
    ----------
    metrics : sequence of str, or mapping of str to mapping
        Names of ratios of counts (`dice`, `iou`, `sensitivity`, `precision`, `specificity`, `volume_similarity`,
        `relative_volume_difference`), or names with options, as in `exacta.functional.evaluate`.
    input_format, num_classes, include_background, ignore_index
        As in `exacta.functional.dice`.

    Raises
    ------
    ExactaValueError, ExactaTypeError
        As listed in `exacta.functional`; a metric that is no ratio of counts.

    Examples
    --------
    >>> metric = PooledOverlap(metrics=["dice"], num_classes=2, include_background=False)
    >>> metric.update([[[1, 1, 1, 0]], [[0, 0, 0, 0]]], [[[1, 1, 1, 0]], [[0, 0, 0, 1]]])
    >>> result = metric.compute()
    >>> result.values["dice"], result.counts
    (array([0.85714286]), array([[3, 0, 1, 4]]))
    """

    def __init__(
        self,
        *,
        metrics: Sequence[str] | Mapping[str, Mapping[str, Any]],
        input_format: InputFormat = "index",
        num_classes: int | None = None,
        include_background: bool = True,
        ignore_index: int | None = None,
    ) -> None:
        super().__init__()
        chosen = {name: dict(options) for name, options in _select(metrics).items()}
        for name, options in chosen.items():
            if _METRICS[name]["family"] != "overlap":
                allowed = ", ".join(known for known, info in _METRICS.items() if info["family"] == "overlap")
                raise ExactaValueError(f"metrics must be ratios of counts, {allowed}; got {name!r}")
            for option, value in options.items():
                if option in ("both_empty", "zero_division"):
                    options[option] = check_fill(option, value)
                elif option == "convention":
                    options[option] = check_choice(option, value, ("taha", "itk"))
                else:
                    options[option] = bool(value)
        if ignore_index is not None:
            ignore_index = _check_ignore_index(ignore_index, input_format)
        layout = check_layout(input_format, num_classes, include_background)
        self._settings = {"metrics": chosen, **layout, "ignore_index": ignore_index}

    def update(self, pred: Any, target: Any, *, mask: Any = None, case_ids: Any = None) -> None:
        """Add the cases of a batch; a batch that is refused adds nothing.

        Parameters
        ----------
        pred, target, mask
            As `exacta.functional.dice` takes them.
        case_ids : sequence of int or str, optional
            A name for each case, in every update or in none; a case that comes again counts once.
        """
        s = self._settings
        layout = (s["input_format"], s["num_classes"], s["include_background"], s["ignore_index"])
        inputs = prepare(pred, target, *layout, mask)
        counts = inputs.counts()
        self._add(inputs.returned(np.zeros(0)), list(counts), counts.shape[1], case_ids)

    def compute(self) -> PooledResult:
        """Measure all cases so far as one; they stay. Processes take part as in `PerCaseMetric.compute`.

        Returns
        -------
        PooledResult
            The values of each metric and class, and the counts.

        Raises
        ------
        ExactaRuntimeError
            If there was no update, on any process.
        ExactaValueError
            On all processes, if they do not go together.
        """
        counts, _, like = self._pooled()
        names = self._settings["metrics"]
        values = _native.of_counts(counts, list(names.items()))
        back = library_of(like).from_host
        return PooledResult(
            {name: back(row.copy(), like) for name, row in zip(names, values, strict=True)}, back(counts, like)
        )

    def _sum(self, pieces: list[Any], columns: int) -> Any:
        return sum(pieces, np.zeros((columns, 4), np.int64))

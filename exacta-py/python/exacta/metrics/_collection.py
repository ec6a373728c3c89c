"""Several metrics of label maps from one read of each batch."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import functional
from .._arrays import library_of
from .._errors import ExactaValueError
from .._inputs import _check_ignore_index
from .._options import check_backend
from ..functional._evaluate import _select
from ._base import MetricResult, PerCaseMetric, check_case_ids, summary
from ._settings import check_layout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._options import Backend, InputFormat

__all__ = ["MetricCollection"]


class MetricCollection(PerCaseMetric):
    """Several metrics of each case and class from one read of each batch; means over cases.

    Each result is what the class of its own would give.

    Parameters
    ----------
    metrics : sequence of str, or mapping of str to mapping
        Names, or names with options, as in `exacta.functional.evaluate`; later changes of the object have no effect.
    spacing, input_format, num_classes, include_background, backend, ignore_index
        As in `exacta.functional.evaluate`; `spacing` may be left to the updates.

    Examples
    --------
    >>> metrics = MetricCollection(metrics={"dice": {}, "hd95": {"one_empty": 100}}, num_classes=3, spacing=1)
    >>> scores = metrics.update([[[0, 1], [1, 2]]], [[[0, 1], [2, 2]]])
    >>> scores["hd95"]
    array([[0.        , 1.34350288, 0.95      ]])
    >>> round(float(metrics.compute()["dice"].mean), 4)
    0.7778
    """

    def __init__(
        self,
        *,
        metrics: Sequence[str] | Mapping[str, Mapping[str, Any]],
        spacing: Any = None,
        input_format: InputFormat = "index",
        num_classes: int | None = None,
        include_background: bool = True,
        backend: Backend = "auto",
        ignore_index: int | None = None,
    ) -> None:
        super().__init__()
        names = list(_select(metrics))
        chosen = {name: dict(metrics[name]) if isinstance(metrics, Mapping) else {} for name in names}
        if ignore_index is not None:
            ignore_index = _check_ignore_index(ignore_index, input_format)
        layout = check_layout(input_format, num_classes, include_background)
        check_backend(backend)
        self._settings = {
            "metrics": copy.deepcopy(chosen),
            "spacing": spacing,
            **layout,
            "ignore_index": ignore_index,
        }

    def update(  # type: ignore[override]
        self, pred: Any, target: Any, *, spacing: Any = None, mask: Any = None, case_ids: Any = None
    ) -> dict[str, Any]:
        """Measure a batch and keep its values; a batch that is refused adds nothing.

        Parameters
        ----------
        pred, target, mask
            As `exacta.functional.evaluate` takes them.
        spacing : float, (ndim,) or (B, ndim), optional
            Of this batch, in place of that of the constructor.
        case_ids : sequence of int or str, optional
            A name for each case, in every update or in none; a case that comes again counts once.

        Returns
        -------
        dict of str to array of float64, (B, K)
            The values of the batch.
        """
        settings = dict(self._settings)
        if spacing is not None:
            settings["spacing"] = spacing
        scores: dict[str, Any] = functional.evaluate(pred, target, mask=mask, **settings)
        # A row a case, the classes of one metric after those of another.
        rows = [np.asarray(library_of(values).to_host(values, name).array) for name, values in scores.items()]
        joined = np.concatenate(rows, axis=1)
        self._absorb({"rows": joined, "case_ids": check_case_ids(case_ids, len(joined)), "updates": 1})
        self._remember(next(iter(scores.values())))
        return scores

    def compute(self) -> dict[str, MetricResult]:  # type: ignore[override]
        """Summarise all cases so far; they stay. Processes take part as in `PerCaseMetric.compute`.

        Returns
        -------
        dict of str to MetricResult
            One result a metric, in the order asked for.

        Raises
        ------
        ExactaRuntimeError
            If there was no update, on any process.
        ExactaValueError
            On all processes, if their settings or numbers of classes differ, only some name their cases, or a name
            stands for different scores.
        """
        rows, case_ids, like = self._collected()
        names = self._settings["metrics"]
        classes, left = divmod(rows.shape[1], len(names))
        if left:
            raise ExactaValueError(f"state must hold the values of {len(names)} metrics; got {rows.shape[1]} columns")
        parts = np.split(rows, range(classes, rows.shape[1], classes), axis=1) if classes else [rows] * len(names)
        return {name: summary(part, case_ids, like) for name, part in zip(names, parts, strict=True)}

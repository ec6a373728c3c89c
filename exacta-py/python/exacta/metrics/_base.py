"""What all stateful metrics have in common: settings, states that add up, cases by name, means that say their terms."""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from .._arrays import library_of
from .._distributed import exchange, fingerprint
from .._errors import ExactaRuntimeError, ExactaTypeError, ExactaValueError, shown

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self

__all__ = ["CaseId", "MetricResult", "PerCaseMetric", "Stateful", "check_case_ids", "summary", "unique_cases"]

CaseId: TypeAlias = "int | str"
"""The name of a case."""

_FORMAT = 1  # of exported states

Metric = TypeVar("Metric", bound="Stateful")


@dataclass(frozen=True, eq=False)
class MetricResult:
    """Scores of all cases, and their means.

    Arrays are in the library of the updates.

    Attributes
    ----------
    per_case : array of float64, (N, K)
        A row a case: in the order of the updates, or with `case_ids` in the order of these.
    per_class : array of float64, (K,)
        Mean over the cases whose score is not NaN; NaN if there is none. An infinite score is not left out.
    mean : array of float64, 0-d
        Mean of `per_class` over the classes that are not NaN: classes weigh the same, however many cases have them.
    count : array of int64, (K,)
        Number of cases in each mean of `per_class`.
    case_ids : tuple of int or str, or None
        The case of each row, where the updates named them.
    """

    per_case: Any
    per_class: Any
    mean: Any
    count: Any
    case_ids: tuple[CaseId, ...] | None = None


def _mean(values: list[float]) -> float:
    """Mean of what is not NaN: the sum is rounded once, so no order of cases changes it."""
    values = [value for value in values if not math.isnan(value)]
    if not values:
        return math.nan
    infinite = {value for value in values if math.isinf(value)}
    if infinite:
        return infinite.pop() if len(infinite) == 1 else math.nan
    try:
        return math.fsum(values) / len(values)
    except OverflowError:  # the sum alone is beyond float64
        return math.fsum(value / len(values) for value in values)


def summary(rows: npt.NDArray[np.float64], case_ids: tuple[CaseId, ...] | None, like: Any) -> MetricResult:
    """Means of rows of scores, in the library of `like`."""
    per_class = np.array([_mean(column.tolist()) for column in rows.T], np.float64).reshape(rows.shape[1])
    count = (~np.isnan(rows)).sum(axis=0, dtype=np.int64)
    back = library_of(like).from_host
    mean = np.array(_mean(per_class.tolist()))
    return MetricResult(back(rows.copy(), like), back(per_class, like), back(mean, like), back(count, like), case_ids)


def check_case_ids(case_ids: Any, batch: int) -> list[CaseId] | None:
    """Return the names of the cases of a batch."""
    if case_ids is None:
        return None
    if isinstance(case_ids, (str, bytes)) or not (isinstance(case_ids, Sequence) or hasattr(case_ids, "tolist")):
        raise ExactaTypeError(f"case_ids must be a sequence of names or numbers, one a case; got {shown(case_ids)}")
    ids = case_ids.tolist() if hasattr(case_ids, "tolist") else list(case_ids)
    ids = [item.item() if hasattr(item, "item") else item for item in ids] if isinstance(ids, list) else [ids]
    for item in ids:
        if isinstance(item, bool) or not isinstance(item, (int, str)):
            raise ExactaTypeError(f"case_ids must hold integers or strings; got {shown(item)}")
    if len(ids) != batch:
        raise ExactaValueError(f"case_ids must name each of the {batch} cases of the batch; got {len(ids)} names")
    return ids


def unique_cases(ids: list[CaseId], rows: list[Any]) -> tuple[list[CaseId], list[Any]]:
    """Drop cases that came again, as a padded sampler sends them, and sort by name: integers, then strings."""
    first: dict[CaseId, Any] = {}
    for name, row in zip(ids, rows, strict=True):
        if name in first and not _same(first[name], row):
            raise ExactaValueError(
                f"case_ids: case {name!r} came again with other values; names must be unique over the data set"
            )
        first.setdefault(name, row)
    names = sorted(first, key=lambda name: (isinstance(name, str), name))
    return names, [first[name] for name in names]


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(_same, a, b))
    equal_nan = a.dtype.kind == "f"
    return bool(a.shape == b.shape and np.array_equal(a, b, equal_nan=equal_nan))


class Stateful(ABC):
    """A metric that collects batches: settings that must agree, and states that add up.

    A subclass keeps its settings in `_settings`, and says what its state is (`_export`), how another is added
    (`_absorb`) and what an empty one is (`_clear`).
    """

    _settings: dict[str, Any]

    def __init__(self) -> None:
        self._settings = {}
        self._like: Any = None
        self._clear()

    @abstractmethod
    def _clear(self) -> None:
        """Make the state empty."""

    @abstractmethod
    def _export(self) -> dict[str, Any]:
        """Return the state: arrays of NumPy and plain objects, not shared with the metric."""

    @abstractmethod
    def _absorb(self, state: dict[str, Any]) -> None:
        """Add a state; one that is refused leaves the metric as it was."""

    def reset(self) -> None:
        """Forget all updates."""
        self._like = None
        self._clear()

    def merge(self, other: Self) -> Self:
        """Add the cases of another metric with the same settings, behind those of this one.

        Parameters
        ----------
        other : the same class
            Stays as it is.

        Returns
        -------
        self
            This metric.

        Raises
        ------
        ExactaTypeError
            A metric of another class.
        ExactaValueError
            Other settings, or another number of classes; this metric itself.
        """
        if type(other) is not type(self):
            raise ExactaTypeError(f"other must be a {type(self).__name__}; got {type(other).__name__}")
        if other is self:
            raise ExactaValueError("other must be another metric; merging one with itself would count its cases twice")
        self._require_settings(other._fingerprint(), "other")
        self._absorb(other._export())
        if self._like is None:
            self._like = other._like
        return self

    def state_dict(self) -> dict[str, Any]:
        """Export what was collected: NumPy arrays and plain objects, safe to pickle.

        Returns
        -------
        dict
            For `load_state_dict` of a metric of the same class with the same settings.
        """
        return {
            "format": _FORMAT,
            "settings": self._fingerprint(),
            "library": _library_name(self._like),
            "state": self._export(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Replace what was collected by an exported state.

        Raises
        ------
        ExactaTypeError, ExactaValueError
            Not a state; that of another class, other settings or another version; the metric then stays as it was.
        """
        if not isinstance(state, dict):
            raise ExactaTypeError(f"state must be a dict made by state_dict(); got {type(state).__name__}")
        missing = {"format", "settings", "library", "state"} - set(state)
        if missing:
            raise ExactaValueError(f"state must be a dict made by state_dict(); it has no {min(missing)!r}")
        if state["format"] != _FORMAT:
            raise ExactaValueError(f"state must have format {_FORMAT}, that of this version; got {state['format']!r}")
        self._require_settings(state["settings"], "state")
        before = self._like, self._export()
        self.reset()
        try:
            self._absorb(state["state"])
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            self._clear()
            self._like, old = before
            self._absorb(old)
            raise ExactaValueError(f"state must be a dict made by state_dict(); {error}") from error
        self._like = _like_named(state["library"])

    def _fingerprint(self) -> dict[str, str]:
        return {"metric": type(self).__name__, **fingerprint(self._settings)}

    def _require_settings(self, settings: dict[str, str], argument: str) -> None:
        own = self._fingerprint()
        for name in {**own, **settings}:
            if own.get(name) != settings.get(name):
                raise ExactaValueError(
                    f"{argument} must have the settings of this metric; {name} is {own.get(name, 'nothing')} here and "
                    f"{settings.get(name, 'nothing')} there"
                )

    def _remember(self, result: Any) -> None:
        """Keep of the first result what brings others into its library and onto its device."""
        if self._like is None:
            self._like = library_of(result).from_host(np.zeros(0), result)

    def _gathered(self) -> tuple[list[dict[str, Any]], Any]:
        """States of all processes, and what makes results like those of the updates."""
        parts = exchange(self._fingerprint(), (_library_name(self._like), self._export()))
        like = self._like
        if like is None:
            like = _like_named(next((name for name, _ in parts if name is not None), None))
        return [state for _, state in parts], like


def _library_name(like: Any) -> str | None:
    return None if like is None else type(like).__module__.partition(".")[0]


def _like_named(name: str | None) -> Any:
    torch = sys.modules.get("torch")
    return torch.zeros(0) if name == "torch" and torch is not None else np.zeros(0)


class PerCaseMetric(Stateful):
    """A score for each case and class, and their means over a data set.

    A subclass implements `scores`, which returns the scores of a batch; the classes of `exacta.metrics` do so with the
    function of the same name. What is kept is the scores, not the arrays.

    Examples
    --------
    >>> from exacta.functional import dice
    >>> class Foreground(PerCaseMetric):
    ...     def scores(self, pred, target):
    ...         return dice(pred > 0, target > 0, num_classes=2, include_background=False)
    >>> metric = Foreground()
    >>> metric.update(np.array([[[0, 1, 2]]]), np.array([[[0, 0, 1]]]))
    array([[0.66666667]])
    """

    def scores(self, pred: Any, target: Any, **options: Any) -> Any:
        """Return the scores of a batch, (B, K)."""
        raise NotImplementedError(f"{type(self).__name__} must implement scores(pred, target)")

    def update(self, pred: Any, target: Any, *, case_ids: Any = None, **options: Any) -> Any:
        """Measure a batch and keep its scores; a batch that is refused adds nothing.

        Parameters
        ----------
        pred, target : array
            As the function of the same name takes them.
        case_ids : sequence of int or str, optional
            A name for each case, in every update or in none. A case that comes again, on another process too, then
            counts once.
        **options
            What `scores` takes besides.

        Returns
        -------
        array of float64, (B, K)
            The scores of the batch, not shared with the metric.
        """
        return self._add(self.scores(pred, target, **options), case_ids)

    def compute(self) -> MetricResult:
        """Summarise all cases so far; they stay.

        With `torch.distributed` running on several processes, cases of all of them: every process must call it, also
        one without cases, and each gets the same result. Rows are in order of the processes, or of `case_ids`.

        Returns
        -------
        MetricResult
            Scores, means, and how many cases are in each.

        Raises
        ------
        ExactaRuntimeError
            If there was no update, on any process.
        ExactaValueError
            On all processes, if their settings or numbers of classes differ, only some name their cases, or a name
            stands for different scores.
        """
        rows, case_ids, like = self._collected()
        return summary(rows, case_ids, like)

    def _collected(self) -> tuple[npt.NDArray[np.float64], tuple[CaseId, ...] | None, Any]:
        states, like = self._gathered()
        rows, case_ids = _joined(states)
        return rows, case_ids, like

    def _add(self, scores: Any, case_ids: Any) -> Any:
        rows = np.array(library_of(scores).to_host(scores, "scores").array, np.float64)
        if rows.ndim != 2:
            raise ExactaValueError(f"scores must have shape (batch, classes); got {rows.shape}")
        self._absorb({"rows": rows, "case_ids": check_case_ids(case_ids, len(rows)), "updates": 1})
        self._remember(scores)
        return scores

    def _clear(self) -> None:
        self._rows: list[npt.NDArray[np.float64]] = []
        self._case_ids: list[CaseId] | None = None
        self._updates = 0

    def _export(self) -> dict[str, Any]:
        rows = np.concatenate(self._rows) if self._rows else None
        ids = None if self._case_ids is None else list(self._case_ids)
        return {"rows": rows, "case_ids": ids, "updates": self._updates}

    def _absorb(self, state: dict[str, Any]) -> None:
        rows, ids, updates = state["rows"], state["case_ids"], int(state["updates"])
        if rows is None:
            return
        rows = np.array(rows, np.float64)
        if rows.ndim != 2 or (ids is not None and len(ids) != len(rows)):
            raise ExactaValueError(f"scores must have shape (cases, classes), and a name each; got {rows.shape}")
        if self._rows and rows.shape[1] != self._rows[0].shape[1]:
            raise ExactaValueError(
                f"every update must have the same number of reported classes; got {rows.shape[1]} after "
                f"{self._rows[0].shape[1]}"
            )
        # A batch without cases has none to name.
        named = any(len(old) for old in self._rows)
        if len(rows) and named and (ids is None) != (self._case_ids is None):
            raise ExactaValueError("case_ids must be given in every update or in none")
        self._rows.append(rows)
        if ids is not None and len(rows):
            self._case_ids = [*(self._case_ids or []), *ids]
        self._updates += updates


def _joined(states: list[dict[str, Any]]) -> tuple[npt.NDArray[np.float64], tuple[CaseId, ...] | None]:
    """Rows of several states, each case once where cases have names."""
    states = [state for state in states if state["rows"] is not None]
    if not states:
        raise ExactaRuntimeError("there is nothing to compute from; call update first")
    widths = sorted({state["rows"].shape[1] for state in states})
    if len(widths) > 1:
        raise ExactaValueError(
            f"every process must report the same number of classes; got {widths[0]} and {widths[-1]}"
        )
    rows = np.concatenate([state["rows"] for state in states])
    filled = [state for state in states if len(state["rows"])]
    named = [state["case_ids"] is not None for state in filled]
    if not any(named):
        return rows, None
    if not all(named):
        raise ExactaValueError("case_ids must be given on every process or on none")
    ids, unique = unique_cases([name for state in filled for name in state["case_ids"]], list(rows))
    return np.stack(unique), tuple(ids)

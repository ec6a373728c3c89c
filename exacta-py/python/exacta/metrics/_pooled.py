"""Calibration and ranking of the voxels of all cases together: every voxel weighs the same, whatever its case."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _native
from .._arrays import library_of
from .._errors import ExactaRuntimeError, ExactaValueError
from .._inputs import _check_ignore_index
from .._scores import check_bins, check_mode, check_multilabel, prepare_scores
from .._threads import get_num_threads
from ..functional._results import RankingCurve, RankingResult, ReliabilityDiagram
from ._base import CaseId, Stateful, check_case_ids, unique_cases
from ._probability import check_ranking

if TYPE_CHECKING:
    import numpy.typing as npt

    from .._scores import Mode

__all__ = ["Calibration", "VoxelRanking"]


class _Pooled(Stateful):
    """Cases that add up to one piece. Those with names are kept apart, so that one that comes again counts once."""

    def _clear(self) -> None:
        self._pieces: list[Any] = []
        self._named: dict[CaseId, Any] = {}
        self._columns: int | None = None

    @abstractmethod
    def _sum(self, pieces: list[Any], columns: int) -> Any:
        """Return the piece of all cases together."""

    def _join(self, pieces: list[Any], columns: int) -> list[Any]:
        """Return fewer pieces, where several can be one without being copied each time."""
        return [self._sum(pieces, columns)] if pieces else []

    def _export(self) -> dict[str, Any]:
        named = {"ids": list(self._named), "named": list(self._named.values())}
        return {"columns": self._columns, "pieces": list(self._pieces), **named}

    def _absorb(self, state: dict[str, Any]) -> None:
        columns, pieces, ids = state["columns"], state["pieces"], state["ids"]
        if columns is None:
            return
        if self._columns not in (None, columns):
            raise ExactaValueError(
                f"every update must have the same number of columns; got {columns} after {self._columns}"
            )
        if (pieces and self._named) or (ids and self._pieces):
            raise ExactaValueError("case_ids must be given in every update or in none")
        names, named = unique_cases([*self._named, *ids], [*self._named.values(), *state["named"]])
        self._pieces = self._join([*self._pieces, *pieces], columns)
        self._named = dict(zip(names, named, strict=True))
        self._columns = columns

    def _add(self, like: Any, pieces: list[Any], columns: int, case_ids: Any) -> None:
        ids = check_case_ids(case_ids, len(pieces))
        state: dict[str, Any] = {"columns": columns, "pieces": [], "ids": [], "named": []}
        if ids is None:
            state["pieces"] = pieces
        else:
            state |= {"ids": ids, "named": pieces}
        self._absorb(state)
        self._remember(like)

    def _pooled(self) -> tuple[Any, int, Any]:
        """All cases of all processes as one piece, the number of columns, and what makes results like the updates."""
        states, like = self._gathered()
        states = [state for state in states if state["columns"] is not None]
        if not states:
            raise ExactaRuntimeError("there is nothing to compute from; call update first")
        columns = states[0]["columns"]
        for state in states:
            if state["columns"] != columns:
                raise ExactaValueError(
                    f"every process must report the same number of columns; got {columns} and {state['columns']}"
                )
        pieces = [piece for state in states for piece in state["pieces"]]
        names = [name for state in states for name in state["ids"]]
        if pieces and names:
            raise ExactaValueError("case_ids must be given on every process or on none")
        _, named = unique_cases(names, [piece for state in states for piece in state["named"]])
        return self._sum([*pieces, *named], columns), columns, like


# 2**-1074 is the smallest double, so that every one is a whole number of these.
_SCALE = 1 << 1074


def _exact(value: float) -> int:
    numerator, denominator = value.as_integer_ratio()
    return numerator * (_SCALE // denominator)


class Calibration(_Pooled):
    """Reliability diagram and expected calibration error of the voxels of all cases together.

    Every voxel weighs the same; the mean of `ExpectedCalibrationError` weighs every case the same.

    Parameters
    ----------
    bins, mode, from_logits, ignore_index, multilabel
        As in `exacta.functional.reliability_diagram`.

    Notes
    -----
    Keeps three numbers a bin and column, of each case where cases have names. Sums over cases are exact, so that no
    split into batches or processes changes a bit.

    Examples
    --------
    >>> metric = Calibration(bins=2)
    >>> metric.update([[[[0.9, 0.8, 0.3]]]], [[[1, 1, 0]]])
    >>> metric.compute().ece
    array([[0.2]])
    """

    def __init__(
        self,
        *,
        bins: int = 15,
        mode: Mode | None = None,
        from_logits: bool = False,
        ignore_index: int | None = None,
        multilabel: bool = False,
    ) -> None:
        super().__init__()
        check_multilabel(multilabel, ignore_index)
        chosen = check_mode(mode, multilabel)
        if ignore_index is not None:
            ignore_index = _check_ignore_index(ignore_index, "index")
        self._settings = {
            "bins": check_bins(bins),
            "mode": chosen,
            "from_logits": bool(from_logits),
            "ignore_index": ignore_index,
            "multilabel": multilabel,
        }

    def update(self, pred: Any, target: Any, *, mask: Any = None, case_ids: Any = None) -> None:
        """Add the cases of a batch; a batch that is refused adds nothing.

        Parameters
        ----------
        pred, target, mask
            As `exacta.functional.reliability_diagram` takes them.
        case_ids : sequence of int or str, optional
            A name for each case, in every update or in none; a case that comes again counts once.
        """
        s = self._settings
        inputs = prepare_scores(pred, target, s["multilabel"], s["from_logits"], s["ignore_index"], mask)
        sums = _native.reliability_sums(inputs.scored, bins=s["bins"], mode=s["mode"])
        self._add(inputs.back(np.zeros(0)), list(sums), sums.shape[1], case_ids)

    def compute(self) -> ReliabilityDiagram:
        """Build the diagram of all cases so far; they stay. Processes take part as in `PerCaseMetric.compute`.

        Returns
        -------
        ReliabilityDiagram
            As of one case: `counts`, `confidence` and `accuracy` (1, K, bins), `ece` (1, K).

        Raises
        ------
        ExactaRuntimeError
            If there was no update, on any process.
        ExactaValueError
            On all processes, if they do not go together.
        """
        total, _, like = self._pooled()
        rounded = [[[n / _SCALE for n in row] for row in column] for column in total]
        counts, confidence, accuracy, ece = _native.reliability_values(np.array([rounded], np.float64))
        back = library_of(like).from_host
        edges = np.linspace(0.0, 1.0, self._settings["bins"] + 1)
        return ReliabilityDiagram(*(back(array, like) for array in (counts, confidence, accuracy, edges, ece)))

    def _sum(self, pieces: list[Any], columns: int) -> Any:
        total = [[[0] * self._settings["bins"] for _ in range(3)] for _ in range(columns)]
        for piece in pieces:
            for column, rows in zip(total, _integers(piece), strict=True):
                for row, added in zip(column, rows, strict=True):
                    row[:] = [a + b for a, b in zip(row, added, strict=True)]
        return total


def _integers(piece: Any) -> list[list[list[int]]]:
    """The numbers of a piece as whole multiples of the smallest double."""
    if isinstance(piece, list):
        return piece
    return [[[_exact(value) for value in row] for row in column] for column in piece.tolist()]


class VoxelRanking(_Pooled):
    """Average precision, AUROC and curves of the voxels of all cases together.

    Every voxel weighs the same; the means of `AveragePrecision` and `AUROC` weigh every case the same.

    Parameters
    ----------
    from_logits, multilabel, include_background, ignore_index, bins
        As in `exacta.functional.voxel_ranking`.

    Notes
    -----
    Exact rankings keep every score that counts, of each class, in its own precision; binned ones two numbers a bin.

    Examples
    --------
    >>> metric = VoxelRanking()
    >>> metric.update([[[[0.9, 0.1]]], [[[0.6, 0.4]]]], [[[1, 0]], [[0, 1]]])
    >>> metric.compute().auroc
    array([[0.75]])
    """

    def __init__(
        self,
        *,
        from_logits: bool = False,
        multilabel: bool = False,
        include_background: bool = True,
        ignore_index: int | None = None,
        bins: int | None = None,
    ) -> None:
        super().__init__()
        check_multilabel(multilabel, None)
        self._settings = {
            "from_logits": bool(from_logits),
            "include_background": bool(include_background),
            **check_ranking(multilabel, ignore_index, bins),
        }

    def update(self, pred: Any, target: Any, *, mask: Any = None, case_ids: Any = None) -> None:
        """Add the cases of a batch; a batch that is refused adds nothing.

        Parameters
        ----------
        pred, target, mask
            As `exacta.functional.voxel_ranking` takes them.
        case_ids : sequence of int or str, optional
            A name for each case, in every update or in none; a case that comes again counts once.
        """
        s = self._settings
        inputs = prepare_scores(pred, target, s["multilabel"], s["from_logits"], s["ignore_index"], mask)
        first = inputs.first(s["include_background"])
        columns = inputs.channels - first
        pieces: list[Any]
        if s["bins"] is None:
            pairs = _native.selected_scores(inputs.scored, first=first)
            pieces = [pairs[row * columns : (row + 1) * columns] for row in range(inputs.batch)]
        else:
            pieces = list(_native.rank_histograms(inputs.scored, bins=s["bins"], first=first))
        self._add(inputs.back(np.zeros(0)), pieces, columns, case_ids)

    def compute(self) -> RankingResult:
        """Rank the voxels of all cases so far; they stay. Processes take part as in `PerCaseMetric.compute`.

        Returns
        -------
        RankingResult
            As of one case: scores (1, K), one row of curves.

        Raises
        ------
        ExactaRuntimeError
            If there was no update, on any process.
        ExactaValueError
            On all processes, if they do not go together.
        """
        total, columns, like = self._pooled()
        bins = self._settings["bins"]
        curve_of = _curve if bins is None else _native.histogram_curve
        curves = [curve_of(total[column]) for column in range(columns)]
        back = library_of(like).from_host

        def public(curve: Any) -> RankingCurve:
            arrays = (*curve[:4], curve[2].copy())
            return RankingCurve(*(back(array, like) for array in arrays))

        scores = np.array([curve[4:] for curve in curves], np.float64).reshape(1, columns, 2)
        precision, area = (back(scores[..., i].copy(), like) for i in (0, 1))
        return RankingResult(precision, area, (tuple(map(public, curves)),), bins)

    def _join(self, pieces: list[Any], columns: int) -> list[Any]:
        return pieces if self._settings["bins"] is None else super()._join(pieces, columns)

    def _sum(self, pieces: list[Any], columns: int) -> Any:
        bins = self._settings["bins"]
        if bins is not None:
            return sum(pieces, np.zeros((columns, 2, bins), np.int64))
        return [
            tuple(np.concatenate([piece[column][i] for piece in pieces]) for i in (0, 1)) if pieces else _NO_SCORES
            for column in range(columns)
        ]


_NO_SCORES = (np.zeros(0), np.zeros(0, np.bool_))


def _curve(pair: tuple[npt.NDArray[Any], npt.NDArray[Any]]) -> Any:
    """The curve of scores as they are: one independent channel, whose logits are ranked without a sigmoid."""
    scores, positives = (array.reshape(1, 1, 1, -1) for array in pair)
    scored: _native.Scored = {
        "pred": scores,
        "target": positives,
        "mask": None,
        "pred_half": None,
        "target_half": None,
        "multilabel": True,
        "from_logits": True,
        "ignore_index": None,
        "threads": get_num_threads(),
    }
    return _native.rank_curves(scored, first=0)[0]

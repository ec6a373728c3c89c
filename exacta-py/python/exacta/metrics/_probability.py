"""Proper scores, calibration and rankings of voxels, case by case."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from .. import functional
from .._errors import ExactaValueError, shown
from .._inputs import _check_ignore_index
from .._scores import check_bins, check_mode, check_multilabel, check_rank_bins
from ._base import PerCaseMetric

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._scores import Average, Mode

__all__ = ["AUROC", "AveragePrecision", "BrierScore", "ExpectedCalibrationError", "NegativeLogLikelihood"]


def check_ranking(multilabel: Any, ignore_index: Any, bins: Any) -> dict[str, Any]:
    """Return the settings of a ranking, once they go together."""
    if multilabel and ignore_index is not None:
        raise ExactaValueError(
            f"ignore_index needs class indices; got {shown(ignore_index)} with multilabel=True; pass mask instead"
        )
    if ignore_index is not None:
        ignore_index = _check_ignore_index(ignore_index, "index")
    bins = check_rank_bins(bins)
    check_multilabel(multilabel, ignore_index)
    return {"multilabel": multilabel, "ignore_index": ignore_index, "bins": bins}


class _Scored(PerCaseMetric):
    """What metrics of scores share: one function, whose settings are those of the constructor."""

    _function: ClassVar[Callable[..., Any]]

    def update(self, pred: Any, target: Any, *, mask: Any = None, case_ids: Any = None) -> Any:  # type: ignore[override]
        """Measure a batch and keep its scores; a batch that is refused adds nothing.

        Parameters
        ----------
        pred, target, mask
            As the function takes them.
        case_ids : sequence of int or str, optional
            A name for each case, in every update or in none; a case that comes again counts once.

        Returns
        -------
        array of float64, (B, K)
            The scores of the batch.
        """
        return self._add(type(self)._function(pred, target, mask=mask, **self._settings), case_ids)


class _Proper(_Scored):
    def __init__(
        self,
        *,
        from_logits: bool = False,
        ignore_index: int | None = None,
        multilabel: bool = False,
        average: Average = "none",
    ) -> None:
        super().__init__()
        check_multilabel(multilabel, ignore_index, average)
        if ignore_index is not None:
            ignore_index = _check_ignore_index(ignore_index, "index")
        self._settings = {
            "from_logits": bool(from_logits),
            "ignore_index": ignore_index,
            "multilabel": multilabel,
            "average": average,
        }


class BrierScore(_Proper):
    """Brier score of each case; means over cases. See `exacta.functional.brier_score`.

    Parameters
    ----------
    from_logits, ignore_index, multilabel, average
        As in `exacta.functional.brier_score`.
    """

    _function = staticmethod(functional.brier_score)


class NegativeLogLikelihood(_Proper):
    """Negative log-likelihood of each case; means over cases. See `exacta.functional.negative_log_likelihood`.

    Parameters
    ----------
    from_logits, ignore_index, multilabel, average
        As in `exacta.functional.negative_log_likelihood`.
    """

    _function = staticmethod(functional.negative_log_likelihood)


class ExpectedCalibrationError(_Scored):
    """Expected calibration error of each case; means over cases. See `exacta.functional.expected_calibration_error`.

    The mean weighs cases the same; `Calibration` weighs voxels the same.

    Parameters
    ----------
    bins, mode, from_logits, ignore_index, multilabel, average
        As in `exacta.functional.expected_calibration_error`.
    """

    _function = staticmethod(functional.expected_calibration_error)

    def __init__(
        self,
        *,
        bins: int = 15,
        mode: Mode | None = None,
        from_logits: bool = False,
        ignore_index: int | None = None,
        multilabel: bool = False,
        average: Average = "none",
    ) -> None:
        super().__init__()
        check_multilabel(multilabel, ignore_index, average)
        chosen = check_mode(mode, multilabel)
        bins = check_bins(bins)
        if ignore_index is not None:
            ignore_index = _check_ignore_index(ignore_index, "index")
        self._settings = {
            "bins": bins,
            "mode": chosen,
            "from_logits": bool(from_logits),
            "ignore_index": ignore_index,
            "multilabel": multilabel,
            "average": average,
        }


class _Ranked(_Scored):
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
        self._settings = {
            "from_logits": bool(from_logits),
            "include_background": bool(include_background),
            **check_ranking(multilabel, ignore_index, bins),
        }


class AveragePrecision(_Ranked):
    """Average precision of each case and class; means over cases. See `exacta.functional.average_precision`.

    The mean weighs cases the same and leaves out those without positives; `VoxelRanking` ranks all voxels together.

    Parameters
    ----------
    from_logits, multilabel, include_background, ignore_index, bins
        As in `exacta.functional.average_precision`.
    """

    _function = staticmethod(functional.average_precision)


class AUROC(_Ranked):
    """Area under the ROC curve of each case and class; means over cases. See `exacta.functional.auroc`.

    The mean weighs cases the same and leaves out those where it is undefined; `VoxelRanking` ranks all voxels together.

    Parameters
    ----------
    from_logits, multilabel, include_background, ignore_index, bins
        As in `exacta.functional.auroc`.
    """

    _function = staticmethod(functional.auroc)

"""Ratios of counts, case by case."""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING, Any, ClassVar

from .. import functional
from .._inputs import _check_ignore_index
from .._options import check_choice, check_fill
from ._base import PerCaseMetric
from ._settings import check_layout

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._options import Convention, InputFormat

__all__ = [
    "Dice",
    "IoU",
    "Precision",
    "RelativeVolumeDifference",
    "Sensitivity",
    "Specificity",
    "VolumeSimilarity",
]


class _Counted(PerCaseMetric):
    """What metrics of counts share: one function, whose settings are those of the constructor."""

    _function: ClassVar[Callable[..., Any]]

    def _set(self, input_format: Any, num_classes: Any, include_background: Any, ignore_index: Any, **own: Any) -> None:
        super().__init__()
        layout = check_layout(input_format, num_classes, include_background)
        if ignore_index is not None:
            ignore_index = _check_ignore_index(ignore_index, input_format)
        for name in ("both_empty", "zero_division"):
            if name in own:
                own[name] = check_fill(name, own[name])
        self._settings = {**own, **layout, "ignore_index": ignore_index}

    def scores(self, pred: Any, target: Any, **options: Any) -> Any:
        """Return the scores of a batch, (B, K)."""
        return type(self)._function(pred, target, **self._settings, **options)

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
        return self._add(self.scores(pred, target, mask=mask), case_ids)


class Dice(_Counted):
    """Dice coefficient of each case and class; means over cases. See `exacta.functional.dice`.

    Parameters
    ----------
    input_format, num_classes, include_background, both_empty, ignore_index
        As in `exacta.functional.dice`.

    Examples
    --------
    >>> metric = Dice(num_classes=3)
    >>> metric.update([[[0, 1], [1, 2]]], [[[0, 1], [2, 2]]])
    array([[1.        , 0.66666667, 0.66666667]])
    >>> metric.update([[[0, 0], [0, 0]]], [[[0, 0], [0, 0]]])
    array([[ 1., nan, nan]])
    >>> result = metric.compute()
    >>> result.per_class, result.count
    (array([1.        , 0.66666667, 0.66666667]), array([2, 1, 1]))
    """

    _function = staticmethod(functional.dice)

    def __init__(
        self,
        *,
        input_format: InputFormat = "index",
        num_classes: int | None = None,
        include_background: bool = True,
        both_empty: float = nan,
        ignore_index: int | None = None,
    ) -> None:
        self._set(input_format, num_classes, include_background, ignore_index, both_empty=both_empty)


class IoU(_Counted):
    """Intersection over union of each case and class; means over cases. See `exacta.functional.iou`.

    Parameters
    ----------
    input_format, num_classes, include_background, both_empty, ignore_index
        As in `exacta.functional.iou`.
    """

    _function = staticmethod(functional.iou)

    def __init__(
        self,
        *,
        input_format: InputFormat = "index",
        num_classes: int | None = None,
        include_background: bool = True,
        both_empty: float = nan,
        ignore_index: int | None = None,
    ) -> None:
        self._set(input_format, num_classes, include_background, ignore_index, both_empty=both_empty)


class _Rate(_Counted):
    def __init__(
        self,
        *,
        input_format: InputFormat = "index",
        num_classes: int | None = None,
        include_background: bool = True,
        zero_division: float = nan,
        ignore_index: int | None = None,
    ) -> None:
        self._set(input_format, num_classes, include_background, ignore_index, zero_division=zero_division)


class Sensitivity(_Rate):
    """Sensitivity (recall) of each case and class; means over cases. See `exacta.functional.sensitivity`.

    Parameters
    ----------
    input_format, num_classes, include_background, zero_division, ignore_index
        As in `exacta.functional.sensitivity`.
    """

    _function = staticmethod(functional.sensitivity)


class Precision(_Rate):
    """Precision of each case and class; means over cases. See `exacta.functional.precision`.

    Parameters
    ----------
    input_format, num_classes, include_background, zero_division, ignore_index
        As in `exacta.functional.precision`.
    """

    _function = staticmethod(functional.precision)


class Specificity(_Rate):
    """Specificity of each case and class; means over cases. See `exacta.functional.specificity`.

    Parameters
    ----------
    input_format, num_classes, include_background, zero_division, ignore_index
        As in `exacta.functional.specificity`.
    """

    _function = staticmethod(functional.specificity)


class VolumeSimilarity(_Counted):
    """Volume similarity of each case and class; means over cases. See `exacta.functional.volume_similarity`.

    Parameters
    ----------
    convention, input_format, num_classes, include_background, zero_division, ignore_index
        As in `exacta.functional.volume_similarity`.
    """

    _function = staticmethod(functional.volume_similarity)

    def __init__(
        self,
        *,
        convention: Convention = "taha",
        input_format: InputFormat = "index",
        num_classes: int | None = None,
        include_background: bool = True,
        zero_division: float = nan,
        ignore_index: int | None = None,
    ) -> None:
        convention_name = check_choice("convention", convention, ("taha", "itk"))
        own = {"convention": convention_name, "zero_division": zero_division}
        self._set(input_format, num_classes, include_background, ignore_index, **own)


class RelativeVolumeDifference(_Counted):
    """Relative difference of the volumes of each case and class; means over cases.

    See `exacta.functional.relative_volume_difference`.

    Parameters
    ----------
    absolute, input_format, num_classes, include_background, zero_division, ignore_index
        As in `exacta.functional.relative_volume_difference`.
    """

    _function = staticmethod(functional.relative_volume_difference)

    def __init__(
        self,
        *,
        absolute: bool = False,
        input_format: InputFormat = "index",
        num_classes: int | None = None,
        include_background: bool = True,
        zero_division: float = nan,
        ignore_index: int | None = None,
    ) -> None:
        own = {"absolute": bool(absolute), "zero_division": zero_division}
        self._set(input_format, num_classes, include_background, ignore_index, **own)

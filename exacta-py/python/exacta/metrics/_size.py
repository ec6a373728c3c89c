"""Areas and volumes, case by case."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from .. import functional
from .._options import check_choice
from ._overlap import _Counted

if TYPE_CHECKING:
    from .._options import AreaUnit, InputFormat, VolumeUnit

__all__ = ["AreaError", "PredictedArea", "PredictedVolume", "TargetArea", "TargetVolume", "VolumeError"]


class _Sized(_Counted):
    """What sizes share: a unit, and a spacing that an update may replace."""

    _units: ClassVar[tuple[str, ...]]

    def _set_size(self, spacing: Any, unit: Any, layout: tuple[Any, ...], **own: Any) -> None:
        unit = check_choice("unit", unit, self._units)
        self._set(*layout, **own, unit=unit, spacing=spacing)

    def update(  # type: ignore[override]
        self, pred: Any, target: Any, *, spacing: Any = None, mask: Any = None, case_ids: Any = None
    ) -> Any:
        """Measure a batch and keep its sizes; a batch that is refused adds nothing.

        Parameters
        ----------
        pred, target, mask
            As the function takes them.
        spacing : float, (ndim,) or (B, ndim), optional
            Of this batch, in place of that of the constructor.
        case_ids : sequence of int or str, optional
            A name for each case, in every update or in none; a case that comes again counts once.

        Returns
        -------
        array of float64, (B, K)
            The sizes of the batch.
        """
        settings = dict(self._settings)
        if spacing is not None:
            settings["spacing"] = spacing
        return self._add(type(self)._function(pred, target, mask=mask, **settings), case_ids)


class _Volume(_Sized):
    _units = ("mm3", "ml")

    def __init__(
        self,
        *,
        spacing: Any = None,
        unit: VolumeUnit = "mm3",
        input_format: InputFormat = "index",
        num_classes: int | None = None,
        include_background: bool = True,
        ignore_index: int | None = None,
    ) -> None:
        self._set_size(spacing, unit, (input_format, num_classes, include_background, ignore_index))


class _Area(_Sized):
    _units = ("mm2", "cm2")

    def __init__(
        self,
        *,
        spacing: Any = None,
        unit: AreaUnit = "mm2",
        input_format: InputFormat = "index",
        num_classes: int | None = None,
        include_background: bool = True,
        ignore_index: int | None = None,
    ) -> None:
        self._set_size(spacing, unit, (input_format, num_classes, include_background, ignore_index))


class PredictedVolume(_Volume):
    """Predicted volume of each case and class; means over cases. See `exacta.functional.predicted_volume`.

    Parameters
    ----------
    spacing, unit, input_format, num_classes, include_background, ignore_index
        As in `exacta.functional.predicted_volume`; `spacing` may be left to the updates.
    """

    _function = staticmethod(functional.predicted_volume)


class TargetVolume(_Volume):
    """Reference volume of each case and class; means over cases. See `exacta.functional.target_volume`.

    Parameters
    ----------
    spacing, unit, input_format, num_classes, include_background, ignore_index
        As in `exacta.functional.target_volume`; `spacing` may be left to the updates.
    """

    _function = staticmethod(functional.target_volume)


class VolumeError(_Sized):
    """Volume error of each case and class; means over cases. See `exacta.functional.volume_error`.

    Parameters
    ----------
    absolute, spacing, unit, input_format, num_classes, include_background, ignore_index
        As in `exacta.functional.volume_error`; `spacing` may be left to the updates.
    """

    _function = staticmethod(functional.volume_error)
    _units = ("mm3", "ml")

    def __init__(
        self,
        *,
        absolute: bool = False,
        spacing: Any = None,
        unit: VolumeUnit = "mm3",
        input_format: InputFormat = "index",
        num_classes: int | None = None,
        include_background: bool = True,
        ignore_index: int | None = None,
    ) -> None:
        layout = (input_format, num_classes, include_background, ignore_index)
        self._set_size(spacing, unit, layout, absolute=bool(absolute))


class PredictedArea(_Area):
    """Predicted area of each case and class; means over cases. See `exacta.functional.predicted_area`.

    Parameters
    ----------
    spacing, unit, input_format, num_classes, include_background, ignore_index
        As in `exacta.functional.predicted_area`; `spacing` may be left to the updates.
    """

    _function = staticmethod(functional.predicted_area)


class TargetArea(_Area):
    """Reference area of each case and class; means over cases. See `exacta.functional.target_area`.

    Parameters
    ----------
    spacing, unit, input_format, num_classes, include_background, ignore_index
        As in `exacta.functional.target_area`; `spacing` may be left to the updates.
    """

    _function = staticmethod(functional.target_area)


class AreaError(_Sized):
    """Area error of each case and class; means over cases. See `exacta.functional.area_error`.

    Parameters
    ----------
    absolute, spacing, unit, input_format, num_classes, include_background, ignore_index
        As in `exacta.functional.area_error`; `spacing` may be left to the updates.
    """

    _function = staticmethod(functional.area_error)
    _units = ("mm2", "cm2")

    def __init__(
        self,
        *,
        absolute: bool = False,
        spacing: Any = None,
        unit: AreaUnit = "mm2",
        input_format: InputFormat = "index",
        num_classes: int | None = None,
        include_background: bool = True,
        ignore_index: int | None = None,
    ) -> None:
        layout = (input_format, num_classes, include_background, ignore_index)
        self._set_size(spacing, unit, layout, absolute=bool(absolute))

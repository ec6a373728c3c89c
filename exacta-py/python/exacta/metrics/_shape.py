"""Distances between surfaces, and agreement of skeletons, case by case."""

from __future__ import annotations

from math import inf, nan
from typing import TYPE_CHECKING, Any, ClassVar

from .. import functional
from .._options import check_backend, check_combine, check_fill, check_percentile, check_surface, check_thinning
from ._base import PerCaseMetric
from ._settings import check_layout

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._options import Backend, Combine, InputFormat, Surface, Thinning

__all__ = ["ASSD", "HD95", "MASD", "NSD", "ClDice", "HausdorffDistance"]


class _Distance(PerCaseMetric):
    """What distances share: a spacing that an update may replace, and values of empty masks."""

    _function: ClassVar[Callable[..., Any]]

    def _set(self, layout: tuple[Any, ...], surface: Any, fills: tuple[Any, Any], backend: Any, **own: Any) -> None:
        super().__init__()
        check_backend(backend)
        self._settings = {
            **own,
            **check_layout(*layout),
            "surface": check_surface(surface),
            "both_empty": check_fill("both_empty", fills[0], surface=True),
            "one_empty": check_fill("one_empty", fills[1], surface=True),
        }

    def update(self, pred: Any, target: Any, spacing: Any = None, *, case_ids: Any = None) -> Any:  # type: ignore[override]
        """Measure a batch and keep its values; a batch that is refused adds nothing.

        Parameters
        ----------
        pred, target
            As the function takes them.
        spacing : float, (ndim,) or (B, ndim), optional
            Of this batch, in place of that of the constructor.
        case_ids : sequence of int or str, optional
            A name for each case, in every update or in none; a case that comes again counts once.

        Returns
        -------
        array of float64, (B, K)
            The values of the batch.
        """
        settings = dict(self._settings)
        if spacing is not None:
            settings["spacing"] = spacing
        return self._add(type(self)._function(pred, target, **settings), case_ids)


class HausdorffDistance(_Distance):
    """Hausdorff distance of each case and class; means over cases. See `exacta.functional.hausdorff_distance`.

    Parameters
    ----------
    spacing, percentile, combine, surface, input_format, num_classes, include_background, both_empty, one_empty, backend
        As in `exacta.functional.hausdorff_distance`; `spacing` may be left to the updates.
    """

    _function = staticmethod(functional.hausdorff_distance)

    def __init__(
        self,
        *,
        spacing: Any = None,
        percentile: float = 100.0,
        combine: Combine = "max",
        surface: Surface = "voxels",
        input_format: InputFormat = "index",
        num_classes: int | None = None,
        include_background: bool = True,
        both_empty: float = nan,
        one_empty: float = inf,
        backend: Backend = "auto",
    ) -> None:
        own = {"spacing": spacing, "percentile": check_percentile(percentile), "combine": check_combine(combine)}
        layout = (input_format, num_classes, include_background)
        self._set(layout, surface, (both_empty, one_empty), backend, **own)


class HD95(_Distance):
    """95th percentile of the Hausdorff distance of each case and class; means over cases. See `exacta.functional.hd95`.

    A missed structure is infinitely far, and so is then the mean; give `one_empty` for a penalty.

    Parameters
    ----------
    spacing, combine, surface, input_format, num_classes, include_background, both_empty, one_empty, backend
        As in `exacta.functional.hd95`; `spacing` may be left to the updates.
    """

    _function = staticmethod(functional.hd95)

    def __init__(
        self,
        *,
        spacing: Any = None,
        combine: Combine = "max",
        surface: Surface = "voxels",
        input_format: InputFormat = "index",
        num_classes: int | None = None,
        include_background: bool = True,
        both_empty: float = nan,
        one_empty: float = inf,
        backend: Backend = "auto",
    ) -> None:
        own = {"spacing": spacing, "combine": check_combine(combine)}
        layout = (input_format, num_classes, include_background)
        self._set(layout, surface, (both_empty, one_empty), backend, **own)


class ASSD(_Distance):
    """Average symmetric surface distance of each case and class; means over cases. See `exacta.functional.assd`.

    Parameters
    ----------
    spacing, combine, surface, input_format, num_classes, include_background, both_empty, one_empty, backend
        As in `exacta.functional.assd`; `spacing` may be left to the updates.
    """

    _function = staticmethod(functional.assd)

    def __init__(
        self,
        *,
        spacing: Any = None,
        combine: Combine = "pooled",
        surface: Surface = "voxels",
        input_format: InputFormat = "index",
        num_classes: int | None = None,
        include_background: bool = True,
        both_empty: float = nan,
        one_empty: float = inf,
        backend: Backend = "auto",
    ) -> None:
        own = {"spacing": spacing, "combine": check_combine(combine)}
        layout = (input_format, num_classes, include_background)
        self._set(layout, surface, (both_empty, one_empty), backend, **own)


class MASD(_Distance):
    """Mean average surface distance of each case and class; means over cases. See `exacta.functional.masd`.

    Parameters
    ----------
    spacing, surface, input_format, num_classes, include_background, both_empty, one_empty, backend
        As in `exacta.functional.masd`; `spacing` may be left to the updates.
    """

    _function = staticmethod(functional.masd)

    def __init__(
        self,
        *,
        spacing: Any = None,
        surface: Surface = "voxels",
        input_format: InputFormat = "index",
        num_classes: int | None = None,
        include_background: bool = True,
        both_empty: float = nan,
        one_empty: float = inf,
        backend: Backend = "auto",
    ) -> None:
        layout = (input_format, num_classes, include_background)
        self._set(layout, surface, (both_empty, one_empty), backend, spacing=spacing)


class NSD(_Distance):
    """Normalised surface Dice of each case and class; means over cases. See `exacta.functional.nsd`.

    Parameters
    ----------
    tolerance, spacing, surface, input_format, num_classes, include_background, both_empty, one_empty, backend
        As in `exacta.functional.nsd`; `spacing` may be left to the updates.
    """

    _function = staticmethod(functional.nsd)

    def __init__(
        self,
        *,
        tolerance: Any,
        spacing: Any = None,
        surface: Surface = "voxels",
        input_format: InputFormat = "index",
        num_classes: int | None = None,
        include_background: bool = True,
        both_empty: float = nan,
        one_empty: float = 0.0,
        backend: Backend = "auto",
    ) -> None:
        layout = (input_format, num_classes, include_background)
        self._set(layout, surface, (both_empty, one_empty), backend, spacing=spacing, tolerance=tolerance)


class ClDice(PerCaseMetric):
    """Centreline Dice of each case and class; means over cases. See `exacta.functional.cldice`.

    Parameters
    ----------
    input_format, num_classes, include_background, both_empty, thinning
        As in `exacta.functional.cldice`.
    """

    def __init__(
        self,
        *,
        input_format: InputFormat = "index",
        num_classes: int | None = None,
        include_background: bool = True,
        both_empty: float = nan,
        thinning: Thinning = "lee",
    ) -> None:
        super().__init__()
        self._settings = {
            **check_layout(input_format, num_classes, include_background),
            "both_empty": check_fill("both_empty", both_empty),
            "thinning": check_thinning(thinning),
        }

    def update(  # type: ignore[override]
        self,
        pred: Any,
        target: Any,
        *,
        pred_skeleton: Any = None,
        target_skeleton: Any = None,
        case_ids: Any = None,
    ) -> Any:
        """Measure a batch and keep its scores; a batch that is refused adds nothing.

        Parameters
        ----------
        pred, target, pred_skeleton, target_skeleton
            As `exacta.functional.cldice` takes them.
        case_ids : sequence of int or str, optional
            A name for each case, in every update or in none; a case that comes again counts once.

        Returns
        -------
        array of float64, (B, K)
            The scores of the batch.
        """
        skeletons = {"pred_skeleton": pred_skeleton, "target_skeleton": target_skeleton}
        return self._add(functional.cldice(pred, target, **self._settings, **skeletons), case_ids)

"""Metrics of exacta as `monai.metrics.CumulativeIterationMetric`, for loops of MONAI and handlers of Ignite.

Called as ``metric(y_pred, y)`` with one-hot channels ``(B, C, *S)``, or with label maps ``(B, 1, *S)`` and
`num_classes`; lists of channel-first cases work too. ``aggregate()`` reduces as MONAI does: NaN is left out. In Ignite,
``monai.handlers.IgniteMetricHandler(metric_fn=metric)`` attaches one to an engine.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, cast

import torch
from monai.metrics.metric import CumulativeIterationMetric
from monai.metrics.utils import do_metric_reduction

from .. import functional
from .._errors import ExactaTypeError, ExactaValueError, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "CaseMetric",
    "DiceMetric",
    "HausdorffDistanceMetric",
    "MeanIoU",
    "SurfaceDiceMetric",
    "SurfaceDistanceMetric",
]


class CaseMetric(CumulativeIterationMetric):  # type: ignore[misc, unused-ignore]
    """A function of `exacta.functional` on one-hot channels, accumulated case by case.

    Parameters
    ----------
    function : callable
        Such as `exacta.functional.volume_similarity`.
    include_background : bool, default True
        Whether channel 0 is reported.
    reduction : {"mean", "sum", "mean_batch", "sum_batch", "mean_channel", "sum_channel", "none"}, default "mean"
        As MONAI's; NaN values are left out.
    get_not_nans : bool, default False
        Whether `aggregate` also returns how many values were not NaN.
    num_classes : int, optional
        Given, inputs are label maps of one channel.
    **options
        Keyword arguments of the function.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        include_background: bool = True,
        reduction: str = "mean",
        get_not_nans: bool = False,
        num_classes: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        known = inspect.signature(function).parameters
        unknown = [option for option in options if option not in known]
        if unknown:
            raise ExactaTypeError(f"{function.__name__} has no option {shown(unknown[0])}")
        self.function = function
        self.include_background = include_background
        self.reduction = reduction
        self.get_not_nans = get_not_nans
        self.num_classes = num_classes
        self.options = options

    def _compute_tensor(self, y_pred: Any, y: Any = None, **kwargs: Any) -> torch.Tensor:
        options = {**self.options, **kwargs, "include_background": self.include_background}
        if self.num_classes is None:
            options["input_format"] = "one-hot"
        else:
            if y_pred.shape[1] != 1 or y.shape[1] != 1:
                raise ExactaValueError(
                    f"y_pred and y must be label maps of one channel with num_classes; got {tuple(y_pred.shape)} and "
                    f"{tuple(y.shape)}; leave num_classes out for one-hot channels"
                )
            options["num_classes"] = self.num_classes
            y_pred, y = y_pred[:, 0], y[:, 0]
        plain = (x.as_tensor() if hasattr(x, "as_tensor") else x for x in (y_pred, y))
        return torch.as_tensor(self.function(*plain, **options))

    def aggregate(self, reduction: str | None = None) -> Any:
        """Return the values as MONAI reduces them, in single precision, and with `get_not_nans` how many were not NaN.

        Parameters
        ----------
        reduction : str, optional
            Another than that of the constructor.
        """
        data = cast("Any", self).get_buffer()
        if not isinstance(data, torch.Tensor):
            raise ExactaValueError("the metric must have seen a batch before aggregate()")
        value, not_nans = do_metric_reduction(data, reduction or self.reduction)
        return (value, not_nans) if self.get_not_nans else value


class DiceMetric(CaseMetric):
    """Dice, with the arguments of MONAI's `DiceMetric`; `CaseMetric` describes the rest."""

    def __init__(
        self,
        include_background: bool = True,
        reduction: str = "mean",
        get_not_nans: bool = False,
        num_classes: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(functional.dice, include_background, reduction, get_not_nans, num_classes, **options)


class MeanIoU(CaseMetric):
    """Intersection over union, with the arguments of MONAI's `MeanIoU`; `CaseMetric` describes the rest."""

    def __init__(
        self,
        include_background: bool = True,
        reduction: str = "mean",
        get_not_nans: bool = False,
        num_classes: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(functional.iou, include_background, reduction, get_not_nans, num_classes, **options)


class HausdorffDistanceMetric(CaseMetric):
    """Hausdorff distance, with the arguments of MONAI's class; ``metric(y_pred, y, spacing=...)`` or a fixed `spacing`.

    Without a spacing it is 1, as in MONAI. `percentile` None is 100. One empty mask gives inf, where MONAI gives NaN at
    a percentile.
    """

    def __init__(
        self,
        include_background: bool = False,
        percentile: float | None = None,
        reduction: str = "mean",
        get_not_nans: bool = False,
        num_classes: int | None = None,
        spacing: Any = 1.0,
        **options: Any,
    ) -> None:
        options |= {"percentile": 100.0 if percentile is None else percentile, "spacing": spacing}
        function = functional.hausdorff_distance
        super().__init__(function, include_background, reduction, get_not_nans, num_classes, **options)


class SurfaceDistanceMetric(CaseMetric):
    """Average symmetric surface distance, with the arguments of MONAI's class and ``symmetric=True``."""

    def __init__(
        self,
        include_background: bool = False,
        reduction: str = "mean",
        get_not_nans: bool = False,
        num_classes: int | None = None,
        spacing: Any = 1.0,
        **options: Any,
    ) -> None:
        options["spacing"] = spacing
        super().__init__(functional.assd, include_background, reduction, get_not_nans, num_classes, **options)


class SurfaceDiceMetric(CaseMetric):
    """Normalised surface Dice, with the arguments of MONAI's class: one threshold for each reported class."""

    def __init__(
        self,
        class_thresholds: Sequence[float],
        include_background: bool = False,
        reduction: str = "mean",
        get_not_nans: bool = False,
        num_classes: int | None = None,
        spacing: Any = 1.0,
        **options: Any,
    ) -> None:
        options |= {"tolerance": list(class_thresholds), "spacing": spacing}
        super().__init__(functional.nsd, include_background, reduction, get_not_nans, num_classes, **options)

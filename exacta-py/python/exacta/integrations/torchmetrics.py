"""Metrics of exacta as `torchmetrics.Metric`: in a `MetricCollection`, logged by Lightning, synchronised across ranks.

The state is a sum and a count for each class, so ranks with any number of cases, or none, synchronise. A value that is
NaN (a class that a case does not have) is left out of the mean, and ``valid_cases`` says how many were not.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import torch
from torchmetrics import Metric

from .. import _native, functional
from .._errors import ExactaTypeError, ExactaValueError, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "ASSD",
    "AUROC",
    "HD95",
    "MASD",
    "NSD",
    "AveragePrecision",
    "BrierScore",
    "CaseMetric",
    "Dice",
    "ExpectedCalibrationError",
    "HausdorffDistance",
    "IoU",
    "NegativeLogLikelihood",
    "Precision",
    "RelativeVolumeDifference",
    "Sensitivity",
    "Specificity",
    "VolumeSimilarity",
]

_HOST_OPTIONS = (
    "compute_on_cpu",
    "dist_sync_on_step",
    "process_group",
    "dist_sync_fn",
    "distributed_available_fn",
    "sync_on_compute",
    "compute_with_cache",
)
_INFO = {info["name"]: info for info in _native.METRICS + _native.SCORE_METRICS}


class CaseMetric(Metric):  # type: ignore[misc, unused-ignore]
    """Mean over cases of a function of `exacta.functional`; the subclasses say which.

    Parameters
    ----------
    num_classes : int
        Number of classes including background; of a probability metric the number of its columns (1 for most).
    average : {"macro", "none", "classwise"}, default "macro"
        What `compute` returns: the mean of the classes that have a value, one value a class, or a dictionary of
        scalars named ``<name>_<label>``, which `Lightning` logs by class.
    labels : sequence of str, optional
        Names of the reported classes, for ``"classwise"``; their numbers by default.
    **options
        Keyword arguments of the function, and those of `torchmetrics.Metric`.

    Raises
    ------
    ExactaTypeError, ExactaValueError
        For an option that the function lacks, an unknown `average`, or `labels` of another length.
    """

    function: ClassVar[Callable[..., Any]]
    """The function."""
    is_differentiable = False
    full_state_update = False
    total: torch.Tensor
    valid_cases: torch.Tensor

    def __init__(
        self,
        num_classes: int,
        *,
        average: Literal["macro", "none", "classwise"] = "macro",
        labels: Sequence[str] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**{name: options.pop(name) for name in _HOST_OPTIONS if name in options})
        name = self.function.__name__
        known = inspect.signature(self.function).parameters
        unknown = [option for option in options if option not in known or option in ("pred", "target", "mask")]
        if unknown:
            raise ExactaTypeError(f"{type(self).__name__} got the unknown option {shown(unknown[0])}")
        if average not in ("macro", "none", "classwise"):
            raise ExactaValueError(f"average must be 'macro', 'none' or 'classwise'; got {shown(average)}")
        if "num_classes" in known:
            options["num_classes"] = num_classes
        first = 0 if options.get("include_background", True) else 1
        names = [str(c) for c in range(first, num_classes)] if labels is None else list(labels)
        if len(names) != num_classes - first:
            raise ExactaValueError(
                f"labels must name the {num_classes - first} reported classes; got {len(names)} names, {shown(labels)}"
            )
        self.average = average
        self.labels = names
        self.options = options
        self.name = name
        # A value of a case with NaN adds nothing to either.
        self.add_state("total", torch.zeros(len(names), dtype=torch.float64), dist_reduce_fx="sum")
        self.add_state("valid_cases", torch.zeros(len(names), dtype=torch.int64), dist_reduce_fx="sum")

    @property
    def higher_is_better(self) -> bool | None:  # type: ignore[override, unused-ignore]
        """Whether larger values are better; None if neither."""
        return {"higher": True, "lower": False}.get(_INFO[self.function.__name__]["better"])

    def update(self, preds: Any, target: Any, **extra: Any) -> None:
        """Add the cases of a batch.

        Parameters
        ----------
        preds, target : tensor
            As `pred` and `target` of the function.
        **extra
            ``mask``, or a ``spacing`` of this batch.
        """
        scores = type(self).function(preds, target, **{**self.options, **extra})
        if scores.shape[1] != self.total.shape[0]:
            raise ExactaValueError(
                f"num_classes must give one column for each of the {scores.shape[1]} that {self.name} returns; got "
                f"{self.total.shape[0]}"
            )
        scores = torch.as_tensor(scores).to(self.total.device)
        self.total += scores.nan_to_num(nan=0.0, posinf=torch.inf, neginf=-torch.inf).sum(0)
        self.valid_cases += (~scores.isnan()).sum(0)

    def compute(self) -> Any:
        """Return the mean over cases, as `average` says."""
        means = self.total / self.valid_cases  # 0 / 0 is NaN: a class that no case had
        if self.average == "macro":
            return means.nanmean()
        if self.average == "none":
            return means
        return {f"{self.name}_{label}": mean for label, mean in zip(self.labels, means, strict=True)}


def _adapter(function: Callable[..., Any], name: str) -> type[CaseMetric]:
    summary = (function.__doc__ or "").splitlines()[0]
    text = f"{summary}\n\n    Mean over cases of `exacta.functional.{function.__name__}`; arguments as `CaseMetric`.\n"
    fields = {"function": staticmethod(function), "__doc__": text, "__module__": __name__, "__qualname__": name}
    return type(name, (CaseMetric,), fields)


Dice = _adapter(functional.dice, "Dice")
IoU = _adapter(functional.iou, "IoU")
Sensitivity = _adapter(functional.sensitivity, "Sensitivity")
Precision = _adapter(functional.precision, "Precision")
Specificity = _adapter(functional.specificity, "Specificity")
VolumeSimilarity = _adapter(functional.volume_similarity, "VolumeSimilarity")
RelativeVolumeDifference = _adapter(functional.relative_volume_difference, "RelativeVolumeDifference")
HausdorffDistance = _adapter(functional.hausdorff_distance, "HausdorffDistance")
HD95 = _adapter(functional.hd95, "HD95")
ASSD = _adapter(functional.assd, "ASSD")
MASD = _adapter(functional.masd, "MASD")
NSD = _adapter(functional.nsd, "NSD")
AUROC = _adapter(functional.auroc, "AUROC")
AveragePrecision = _adapter(functional.average_precision, "AveragePrecision")
BrierScore = _adapter(functional.brier_score, "BrierScore")
NegativeLogLikelihood = _adapter(functional.negative_log_likelihood, "NegativeLogLikelihood")
ExpectedCalibrationError = _adapter(functional.expected_calibration_error, "ExpectedCalibrationError")

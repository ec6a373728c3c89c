"""Checks of scores (probabilities or logits) and their reference, in one fixed order.

Order: options, mask, `ignore_index`, rank and dtype of `pred`, device, dtype and shape of `target`, number of spatial
axes; with ``multilabel=True`` the mask comes after `target`. The kernels check the values where they read them.
"""

from __future__ import annotations

from operator import index as as_index
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from . import _native
from ._arrays import library_of
from ._errors import ExactaTypeError, ExactaValueError, shown
from ._inputs import _check_ignore_index, _check_mask, _device
from ._threads import get_num_threads

if TYPE_CHECKING:
    import numpy.typing as npt

    from ._arrays import Host, Library
    from ._options import Options

__all__ = [
    "Average",
    "Mode",
    "ScoreInputs",
    "check_average",
    "check_bins",
    "check_mode",
    "check_multilabel",
    "check_rank_bins",
    "prepare_scores",
]

Average = Literal["none", "macro", "micro"]
Mode = Literal["top-label", "classwise"]

_INDEX_DTYPES = ("uint8", "int8", "int16", "int32", "int64")


def check_multilabel(multilabel: Any, ignore_index: Any, average: Any = "none") -> None:
    """Refuse options that do not go together."""
    if not isinstance(multilabel, bool):
        raise ExactaTypeError(f"multilabel must be True or False; got {shown(multilabel)}")
    check_average(average)
    if multilabel and ignore_index is not None:
        raise ExactaValueError(
            f"ignore_index needs class indices; got {shown(ignore_index)} with multilabel=True, whose target holds 0 "
            "and 1; pass mask instead"
        )
    if average != "none" and not multilabel:
        raise ExactaValueError(f'average must be "none" without multilabel=True; got {shown(average)}')


def check_average(average: Any) -> str:
    """Return how labels become one value."""
    if isinstance(average, str) and average in ("none", "macro", "micro"):
        return average
    raise ExactaValueError(f"average must be one of 'none', 'macro', 'micro'; got {shown(average)}")


def _whole(name: str, value: Any, low: int) -> int:
    if not isinstance(value, (bool, np.bool_, str, float)) and value is not None:
        try:
            number = as_index(value)
        except (TypeError, ValueError, RuntimeError):
            number = low - 1
        if low <= number <= 2**24:
            return number
    raise ExactaValueError(f"{name} must be an integer from {low} to {2**24}; got {shown(value)}")


def check_bins(bins: Any) -> int:
    """Return the number of bins of a reliability diagram."""
    return _whole("bins", bins, 1)


def check_rank_bins(bins: Any) -> int | None:
    """Return the number of bins of a ranking; None is exact."""
    return None if bins is None else _whole("bins", bins, 2)


def check_mode(mode: Any, multilabel: bool) -> str:
    """Return which confidences are judged."""
    if mode is None:
        return "classwise" if multilabel else "top-label"
    if not isinstance(mode, str) or mode not in ("top-label", "classwise"):
        raise ExactaValueError(f"mode must be None, 'top-label' or 'classwise'; got {shown(mode)}")
    if multilabel and mode == "top-label":
        raise ExactaValueError(
            "mode must be 'classwise' with multilabel=True, whose channels are no alternatives; got 'top-label'"
        )
    return mode


class ScoreInputs:
    """Checked scores, ready to be read.

    Attributes
    ----------
    batch, channels : int
        Cases and channels.
    """

    __slots__ = ("_library", "_like", "batch", "channels", "scored")

    def __init__(self, library: Library, like: Any, scored: _native.Scored) -> None:
        self._library = library
        self._like = like
        self.scored = scored
        self.batch: int = scored["pred"].shape[0]
        self.channels: int = scored["pred"].shape[1]

    def back(self, result: npt.NDArray[Any]) -> Any:
        """Return an array in the library and on the device of `pred`."""
        return self._library.from_host(result, self._like)

    def first(self, include_background: Any) -> int:
        """Return the first class that a ranking reports; a single channel is refused once its values are fine."""
        if include_background:
            return 0
        if self.channels > 1:
            return 1
        _native.evaluate_scores(self.scored, "auroc", {})
        raise ExactaValueError(
            "include_background=False needs at least 2 channels; got 1, that of the positive class, so none is left"
        )

    def measure(self, name: str, options: Options, first: int = 0) -> Any:
        """Return the (B, K) values of a metric of scores."""
        return self.back(_native.evaluate_scores(self.scored, name, options, first=first))


def prepare_scores(
    pred: Any, target: Any, multilabel: bool, from_logits: Any, ignore_index: Any = None, mask: Any = None
) -> ScoreInputs:
    """Check the arrays, in the order given at the top of this module; options that exclude each other come before."""
    library = library_of(pred)
    p = library.to_host(pred, "pred")
    t = library_of(target).to_host(target, "target")
    shape = p.array.shape
    if multilabel:
        _check_channels(p)
        _check_axes(shape)
        if t.array.shape != shape:
            raise ExactaValueError(
                f"target must have the shape of pred with multilabel=True, a channel a label; got {t.array.shape} for "
                f"pred of {shape}{_target_hint(shape, t.array.shape)}"
            )
        _check_device(p, t)
        if t.array.dtype.kind == "c":
            raise ExactaTypeError(f"target must hold real 0 and 1; got dtype {t.array.dtype}; pass target.real")
        if mask is not None:
            mask = _check_mask(mask, p, (shape[0], *shape[2:]), shape)
    else:
        if mask is not None:
            _check_channels(p)
            mask = _check_mask(mask, p, (shape[0], *shape[2:]))
        if ignore_index is not None:
            ignore_index = _check_ignore_index(ignore_index, "index")
        _check_channels(p)
        _check_device(p, t)
        if t.half is not None or t.array.dtype.name not in _INDEX_DTYPES:
            raise ExactaTypeError(
                f"target must hold class indices of dtype {', '.join(_INDEX_DTYPES)}; got "
                f"{t.half or t.array.dtype}; convert it with astype, or pass multilabel=True for a channel a label"
            )
        if t.array.shape != (shape[0], *shape[2:]):
            raise ExactaValueError(
                f"target must hold class indices of shape (batch, *spatial) = {(shape[0], *shape[2:])}; got "
                f"{t.array.shape}{_target_hint(shape, t.array.shape)}"
            )
        _check_axes(shape)
    return ScoreInputs(
        library,
        pred,
        {
            "pred": p.array,
            "target": t.array,
            "mask": mask,
            "pred_half": p.half,
            "target_half": t.half,
            "multilabel": multilabel,
            "from_logits": bool(from_logits),
            "ignore_index": ignore_index,
            "threads": get_num_threads(),
        },
    )


def _check_channels(pred: Host) -> None:
    shape = pred.array.shape
    if len(shape) < 3 or shape[1] < 1:
        raise ExactaValueError(
            f"pred must have shape (batch, channel, *spatial) with at least one channel; got {shape}; for the "
            "probability of one class add the channel axis: pred[:, None]"
        )
    if pred.half is None and pred.array.dtype.kind != "f":
        raise ExactaTypeError(
            f"pred must hold floating-point probabilities or logits; got dtype {pred.array.dtype}; label maps are "
            "measured by the overlap metrics"
        )


def _check_axes(shape: tuple[int, ...]) -> None:
    if len(shape) not in (4, 5):
        raise ExactaValueError(
            "pred must have 4 or 5 axes: (batch, channel, height, width) or (batch, channel, depth, height, width); "
            f"got {len(shape)}, shape {shape}"
        )


def _check_device(pred: Host, target: Host) -> None:
    if pred.device != target.device:
        raise ExactaValueError(
            f"pred and target must be on one device; got {_device(pred)} and {_device(target)}; move one of them first"
        )


def _target_hint(pred: tuple[int, ...], target: tuple[int, ...]) -> str:
    if len(pred) == 3:
        return "; for a single case add the batch axis: pred[None], target[None]"
    if len(target) == len(pred) and target[1:2] == (1,):
        return "; drop the channel axis: target[:, 0]"
    if target == pred:
        return "; one-hot channels become indices with target.argmax(1), or stay with multilabel=True"
    if target == (pred[0], *pred[2:]):
        return "; class indices need multilabel=False"
    return ""

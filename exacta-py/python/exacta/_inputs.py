"""Checks of `pred`, `target`, the class layout and the mask, in one fixed order.

Order: conversion, equal shapes, equal devices, rank, `num_classes`, dtypes, format, background, `ignore_index`, mask.
The options of the metric follow (`_options`), and the kernels check the values while they count. Messages, with a
guess at the mistake, are made only once a check has failed.
"""

from __future__ import annotations

from operator import index as as_index
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from . import _native
from ._arrays import Host, library_of
from ._errors import ExactaTypeError, ExactaValueError, shown
from ._threads import get_num_threads

if TYPE_CHECKING:
    import numpy.typing as npt

    from ._arrays import Library
    from ._native import Layout
    from ._options import Options

__all__ = ["Inputs", "prepare"]

_MOST_CLASSES = 2**31 - 1  # far above any label scheme; keeps a mistaken number from asking for terabytes


class Inputs:
    """Checked arrays, ready to be measured.

    Attributes
    ----------
    shape : tuple of int
        Shape of `pred` as given.
    batch, ndim, columns : int
        Cases, spatial axes, reported classes.
    """

    __slots__ = (
        "_arguments",
        "_library",
        "_like",
        "_pred",
        "_target",
        "batch",
        "columns",
        "ndim",
        "shape",
    )

    def __init__(
        self, library: Library, like: Any, pred: Host, target: Host, ndim: int, columns: int, arguments: dict[str, Any]
    ) -> None:
        self._library = library
        self._like = like
        self._pred = pred
        self._target = target
        self._arguments = arguments
        self.shape: tuple[int, ...] = pred.array.shape
        self.batch = self.shape[0]
        self.ndim = ndim
        self.columns = columns

    def measure(
        self,
        metrics: list[tuple[str, Options]],
        spacing: npt.NDArray[np.float64] | None = None,
        skeletons: dict[str, npt.NDArray[Any]] | None = None,
    ) -> list[Any]:
        """Return one (B, K) array per metric, in the library and on the device of `pred`; the voxels are read once."""
        results: list[npt.NDArray[np.float64]]
        known = skeletons or {}
        if self._arguments["num_classes"] == 0:  # one-hot without channels
            results = [np.empty((self.batch, 0)) for _ in metrics]
        else:
            results = _native.evaluate(
                self._pred.array,
                self._target.array,
                metrics,
                spacing=spacing,
                pred_half=self._pred.half,
                target_half=self._target.half,
                threads=get_num_threads(),
                pred_skeleton=known.get("pred_skeleton"),
                target_skeleton=known.get("target_skeleton"),
                **self._arguments,
            )
        from_host = self._library.from_host
        return [from_host(result, self._like) for result in results]

    @property
    def device(self) -> tuple[Any, ...] | None:
        """The device that the arrays came from; None is the CPU."""
        return self._pred.device

    @property
    def channels(self) -> int:
        """Classes or channels in all; only one-hot arrays may have none."""
        return int(self._arguments["num_classes"])

    def native(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any], Layout]:
        """Return the two arrays and how they are laid out, as the kernels of lesions take them."""
        layout: Layout = {
            "input_format": self._arguments["input_format"],
            "num_classes": self._arguments["num_classes"],
            "include_background": self._arguments["include_background"],
            "pred_half": self._pred.half,
            "target_half": self._target.half,
        }
        return self._pred.array, self._target.array, layout

    def returned(self, result: npt.NDArray[Any]) -> Any:
        """Return a result in the library and on the device of `pred`."""
        return self._library.from_host(result, self._like)

    def measure_one(
        self,
        name: str,
        options: Options,
        spacing: npt.NDArray[np.float64] | None = None,
    ) -> Any:
        """Return the (B, K) array of one metric."""
        return self.measure([(name, options)], spacing)[0]

    def skeletons(self, **given: Any) -> dict[str, npt.NDArray[Any]]:
        """Check skeletons that the caller knows already, but for their values; those that are None are left out."""
        expected = (self.batch, self.columns, *self.shape[len(self.shape) - self.ndim :])
        found = {}
        for argument, skeleton in given.items():
            if skeleton is None:
                continue
            host = library_of(skeleton).to_host(skeleton, argument)
            if host.array.shape != expected:
                raise ExactaValueError(
                    f"{argument} must have shape {expected}, a channel for each reported class; got {host.array.shape}"
                )
            if host.device != self._pred.device:
                raise ExactaValueError(f"{argument} must be on {_device(self._pred)}, as pred; got {_device(host)}")
            found[argument] = _real_channels(_widened(host), None, argument).array
        return found

    def counts(self) -> npt.NDArray[np.int64]:
        """Return TP, FP, FN and TN of each case and class, (B, K, 4)."""
        if self._arguments["num_classes"] == 0:
            return np.empty((self.batch, 0, 4), np.int64)
        return _native.count(
            self._pred.array,
            self._target.array,
            pred_half=self._pred.half,
            target_half=self._target.half,
            threads=get_num_threads(),
            **self._arguments,
        )

    def require_channels(self) -> None:
        """Refuse one-hot arrays without channels, which have no surface; counts of them are empty arrays."""
        if self._arguments["num_classes"] == 0:
            raise ExactaValueError(f"pred must have at least one channel for distances; got shape {self.shape}")

    def axes_hint(self, wanted: int) -> str:
        """Guess why a caller may have expected `wanted` spatial axes."""
        if self._arguments["input_format"] == "one-hot":
            return ""
        if wanted == self.ndim + 1:
            return f"; if pred is one volume of shape {self.shape}, add the batch axis: pred[None], target[None]"
        if wanted == self.ndim - 1 and self.shape[1] <= self._arguments["num_classes"]:
            return f'; if axis 1 holds the {self.shape[1]} channels of one-hot images, pass input_format="one-hot"'
        return ""


def prepare(
    pred: Any,
    target: Any,
    input_format: Any,
    num_classes: Any,
    include_background: Any,
    ignore_index: Any = None,
    mask: Any = None,
) -> Inputs:
    """Check the arguments that say what is counted, in the order given at the top of this module."""
    library = library_of(pred)
    p = library.to_host(pred, "pred")
    t = library_of(target).to_host(target, "target")
    shape = p.array.shape
    if shape != t.array.shape:
        _refuse_shapes(shape, t.array.shape)
    if p.device != t.device:
        raise ExactaValueError(
            f"pred and target must be on one device; got {_device(p)} and {_device(t)}; move one of them first"
        )
    if not isinstance(input_format, str):  # an array would be compared element by element
        _refuse_format(input_format)
    if input_format == "index":
        if len(shape) not in (3, 4):
            _refuse_rank(shape, "index")
        ndim = len(shape) - 1
        spatial = shape[1:]
        classes = _check_num_classes(num_classes)
        p, t = _labels(p, "pred"), _labels(t, "target")
    elif input_format == "one-hot":
        if len(shape) not in (4, 5):
            _refuse_rank(shape, "one-hot")
        ndim = len(shape) - 2
        spatial = shape[2:]
        classes = shape[1]
        if num_classes is not None and not _equal(num_classes, classes):
            raise ExactaValueError(
                f"num_classes must be None or the number of channels, {classes}; got {shown(num_classes)}"
            )
    else:
        _refuse_format(input_format)
    background = bool(include_background)
    if not background and classes < 2:
        raise ExactaValueError(f"include_background=False needs at least 2 classes; got {classes}, so none is left")
    if ignore_index is not None:
        ignore_index = _check_ignore_index(ignore_index, input_format)
    if mask is not None:
        mask = _check_mask(mask, p, (shape[0], *spatial))
    if input_format == "one-hot" and (p.array.dtype.kind == "c" or t.array.dtype.kind == "c"):
        p, t = _real_channels(p, mask, "pred"), _real_channels(t, mask, "target")
    arguments = {
        "input_format": input_format,
        "num_classes": classes,
        "include_background": background,
        "ignore_index": ignore_index,
        "mask": mask,
    }
    return Inputs(library, pred, p, t, ndim, classes if background else classes - 1, arguments)


def _check_num_classes(value: Any) -> int:
    if value is None:
        raise ExactaValueError('num_classes must be given for input_format="index"; it is never taken from the labels')
    if type(value) is not int:
        if isinstance(value, (str, bytes)):
            raise ExactaTypeError(f"num_classes must be an integer; got {shown(value)}")
        if _equal(value, 0):
            raise ExactaValueError(f"num_classes must be at least 1; got {shown(value)}")
        try:
            if isinstance(value, (bool, np.bool_)):
                raise TypeError
            value = as_index(value)
        except (TypeError, ValueError, RuntimeError) as error:
            if isinstance(value, float) and value < 0:
                raise ExactaValueError(f"num_classes must be at least 1; got {shown(value)}") from None
            raise ExactaTypeError(f"num_classes must be an integer; got {shown(value)}") from error
    if not 1 <= value <= _MOST_CLASSES:
        raise ExactaValueError(f"num_classes must be at least 1 and at most {_MOST_CLASSES}; got {value}")
    return int(value)


def _equal(a: Any, b: int) -> bool:
    try:
        return bool(a == b)
    except (TypeError, ValueError, RuntimeError):
        return False


def _check_ignore_index(value: Any, input_format: str) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise ExactaTypeError(f"ignore_index must be an integer; got {shown(value)}")
    label = int(value)
    if not -(2**63) <= label < 2**63:
        raise ExactaValueError(f"ignore_index must fit a signed 64-bit integer; got {label}")
    if input_format != "index":
        raise ExactaValueError(
            f'ignore_index needs input_format="index", one-hot channels hold no labels; got {label}; pass mask instead'
        )
    return label


def _labels(host: Host, argument: str) -> Host:
    """Label maps: whole numbers, in a floating dtype too; the kernels refuse fractions where they count."""
    host = _widened(host)
    if host.array.dtype.kind == "c":
        raise ExactaTypeError(
            f"{argument} must hold integer labels; got dtype {host.array.dtype}; pass {argument}.real"
        )
    return host


def _widened(host: Host) -> Host:
    """16-bit floats, which are held as their bits, as float32; other arrays as they are."""
    if host.half is None:
        return host
    if host.half == "float16":
        return Host(host.array.view(np.float16).astype(np.float32), None, host.device)
    return Host((host.array.astype(np.uint32) << 16).view(np.float32), None, host.device)


def _real_channels(host: Host, mask: npt.NDArray[np.bool_] | None, argument: str) -> Host:
    """One-hot channels of complex dtype: real where they are counted."""
    if host.array.dtype.kind != "c":
        return host
    imaginary = host.array.imag != 0  # NaN counts as not 0
    if (imaginary if mask is None else imaginary & mask[:, None]).any():
        raise ExactaValueError(
            f"{argument} must hold only 0 and 1 in one-hot channels; got values with an imaginary part"
        )
    return Host(host.array.real, None, host.device)


def _check_mask(
    mask: Any, pred: Host, expected: tuple[int, ...], per_label: tuple[int, ...] | None = None
) -> npt.NDArray[np.bool_]:
    host = library_of(mask).to_host(mask, "mask")
    array = host.array
    if array.dtype != np.bool_:
        if array.dtype != np.uint8 or array.max(initial=0) > 1:
            found = f", values up to {array.max(initial=0)}" if array.dtype == np.uint8 else ""
            raise ExactaTypeError(
                f"mask must be bool (or uint8 with only 0 and 1), True where voxels count; got dtype "
                f"{host.half or array.dtype}{found}; pass mask > 0 or mask.astype(bool)"
            )
        array = array.view(np.bool_)
    if host.device != pred.device:
        raise ExactaValueError(f"mask must be on the device of pred, {_device(pred)}; got {_device(host)}")
    if array.shape in (expected, per_label):
        return array
    if array.shape == (expected[0], 1, *expected[1:]):
        return array[:, 0]
    hint = ""
    if array.shape == expected[1:]:
        hint = "; add the batch axis: mask[None] for one case, or repeat it for each"
    elif len(array.shape) == len(expected) + 1 and (array.shape[0], *array.shape[2:]) == expected:
        hint = "; one mask serves all channels"
    raise ExactaValueError(
        f"mask must have shape (batch, *spatial) = {expected} or {(expected[0], 1, *expected[1:])}; "
        f"got {array.shape}{hint}"
    )


def _device(host: Host) -> str:
    return "the CPU" if host.device is None else ":".join(map(str, host.device))


def _refuse_shapes(pred: tuple[int, ...], target: tuple[int, ...]) -> NoReturn:
    hint = ""
    for longer, shorter, name in ((pred, target, "pred"), (target, pred, "target")):
        if len(longer) != len(shorter) + 1:
            continue
        if longer[1:] == shorter and longer[0] == 1:
            hint = f"; only {name} has a batch axis"
        elif (longer[0], *longer[2:]) == shorter:
            taken = f"{name}[:, 0]" if longer[1] == 1 else f"{name}.argmax(1)"
            hint = f"; {name} seems to have a channel axis and the other not; as a label map it would be {taken}"
    if not hint and sorted(pred) == sorted(target):
        hint = "; the same lengths in another order: the axis orders differ"
    raise ExactaValueError(f"pred and target must have the same shape; got {pred} and {target}{hint}")


def _refuse_format(value: Any) -> NoReturn:
    raise ExactaValueError(f'input_format must be "index" or "one-hot"; got {shown(value)}')


def _refuse_rank(shape: tuple[int, ...], input_format: str) -> NoReturn:
    channel = "channel, " if input_format == "one-hot" else ""
    allowed = (4, 5) if channel else (3, 4)
    hint = ""
    if len(shape) == allowed[0] - 1:
        hint = "; for a single case add the batch axis: pred[None], target[None]"
    elif len(shape) == 5 and not channel:
        hint = '; for channels in axis 1 pass input_format="one-hot"; an axis of length 1 drops with pred[:, 0]'
    raise ExactaValueError(
        f'pred must have {allowed[0]} or {allowed[1]} axes for input_format="{input_format}": (batch, {channel}height, '
        f"width) or (batch, {channel}depth, height, width); got {len(shape)}, shape {shape}{hint}"
    )

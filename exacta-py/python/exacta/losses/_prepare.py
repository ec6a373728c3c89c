"""Checks of what a loss is called with, and its arguments in the form in which PyTorch computes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from exacta._errors import ExactaTypeError, ExactaValueError

if TYPE_CHECKING:
    from torch import Tensor

__all__ = [
    "Prepared",
    "bad_label",
    "check_input",
    "check_labels",
    "check_mask",
    "check_target",
    "check_weight_length",
    "compute_dtype",
    "holds",
    "include",
    "one_hot",
    "prepare",
    "sanitize",
]

_FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


class Prepared(NamedTuple):
    """The arguments of one call, with everything that is left out replaced by 0."""

    logits: Tensor
    """(B, C, *spatial), float32 or float64."""
    labels: Tensor | None
    """(B, *spatial), int64, for index targets."""
    soft: Tensor | None
    """(B, C, *spatial) in the dtype of `logits`, for one-hot targets."""
    included: Tensor | None
    """(B, 1, *spatial), bool; None where nothing can be left out."""
    invalid: Tensor | None
    """Whether a label is outside the classes, where that cannot be raised now."""
    fault: ExactaValueError | None = None
    """What is to be raised for it."""

    def target(self) -> Tensor:
        """Return the target as one number for each class."""
        if self.soft is not None:
            return self.soft
        assert self.labels is not None
        return one_hot(self.labels, self.logits.shape[1], self.logits.dtype, self.included)

    def counts(self) -> Tensor | None:
        """Return the number of included voxels of each case, (B,)."""
        if self.included is None:
            return None
        return self.included.flatten(1).sum(1)


def holds(flag: Tensor) -> bool | None:
    """Read a flag of one element, or None where a value cannot be read: while compiling and inside `vmap`."""
    if torch.compiler.is_compiling():
        return None
    try:
        return bool(flag)
    except RuntimeError:
        return None


def compute_dtype(x: Tensor) -> torch.dtype:
    """Return in which dtype a loss of logits is computed."""
    return x.dtype if x.dtype is torch.float64 else torch.float32


def check_input(x: Any) -> None:
    """Check the logits: a tensor (B, C, *spatial) of floats."""
    if not isinstance(x, torch.Tensor):
        raise ExactaTypeError(f"input must be a tensor of logits (B, C, *spatial); got {type(x).__name__}")
    if x.ndim < 3:
        raise ExactaValueError(
            f"input must have a batch axis, a channel axis and at least one spatial axis; got shape {tuple(x.shape)}"
        )
    if x.shape[1] < 1:
        raise ExactaValueError(f"input must have at least one channel on axis 1; got shape {tuple(x.shape)}")
    if x.dtype not in _FLOATS:
        hint = "; labels are the second argument" if not x.dtype.is_floating_point else ""
        raise ExactaTypeError(f"input must be of dtype float16, bfloat16, float32 or float64; got {x.dtype}{hint}")


def check_mask(mask: Any, x: Tensor, *, channels: bool = False) -> Tensor | None:
    """Return which voxels count, (B, 1, *spatial); `channels` allows one mask for each channel."""
    if mask is None:
        return None
    if not isinstance(mask, torch.Tensor):
        raise ExactaTypeError(f"mask must be a bool tensor; got {type(mask).__name__}")
    if mask.dtype is not torch.bool and mask.dtype is not torch.uint8:
        raise ExactaTypeError(f"mask must be of dtype bool, True where a voxel counts; got {mask.dtype}; pass mask > 0")
    if mask.device != x.device:
        raise ExactaValueError(f"mask must be on the device of input, {x.device}; got {mask.device}")
    spatial = x.shape[2:]
    shapes = [(x.shape[0], *spatial), (x.shape[0], 1, *spatial)] + ([tuple(x.shape)] if channels else [])
    if tuple(mask.shape) not in shapes:
        raise ExactaValueError(
            f"mask must have shape {' or '.join(str(s) for s in shapes)} for input of shape {tuple(x.shape)}; "
            f"got {tuple(mask.shape)}"
        )
    if mask.dtype is torch.uint8:
        if holds((mask > 1).any()):
            raise ExactaTypeError(f"mask must be bool, or uint8 with 0 and 1 only; got {int(mask.max())}")
        mask = mask.bool()
    return mask if mask.ndim == x.ndim else mask.unsqueeze(1)


def check_weight_length(weight: Tensor | None, x: Tensor, name: str = "class_weight") -> None:
    """Check that there is one weight for each class."""
    if weight is not None and weight.shape[0] != x.shape[1]:
        raise ExactaValueError(
            f"{name} must have one value for each of the {x.shape[1]} classes (channels of input, background too); "
            f"got {weight.shape[0]}"
        )


def check_target(target: Any, x: Tensor, target_format: str) -> None:
    """Check device, dtype and shape of a target."""
    if not isinstance(target, torch.Tensor):
        raise ExactaTypeError(f"target must be a tensor; got {type(target).__name__}")
    if target.device != x.device:
        raise ExactaValueError(f"target must be on the device of input, {x.device}; got {target.device}")
    if target_format == "one-hot":
        if target.shape != x.shape:
            raise ExactaValueError(
                f"target must have the shape of input, {tuple(x.shape)}, for target_format='one-hot'; "
                f"got {tuple(target.shape)}"
            )
        return
    if target.dtype is torch.bool or target.is_complex():
        raise ExactaTypeError(f"target must hold integer labels; got dtype {target.dtype}; pass target.long()")
    shape = x.shape
    wanted = (shape[0], *shape[2:])
    if target.shape != wanted:
        hint = ""
        if tuple(target.shape) == (x.shape[0], 1, *x.shape[2:]):
            hint = "; pass target.squeeze(1)"
        elif target.shape == x.shape:
            hint = "; channels of their own need target_format='one-hot'"
        raise ExactaValueError(
            f"target must have shape {wanted}, one label for each voxel of input {tuple(x.shape)}; "
            f"got {tuple(target.shape)}{hint}"
        )


def include(mask: Tensor | None, target: Tensor, ignore_index: int | None) -> Tensor | None:
    """Return which voxels count, by mask and label, (B, 1, *spatial)."""
    if ignore_index is None:
        return mask
    # Widened first: a value that the dtype cannot hold ignores nothing.
    kept = (target if target.is_floating_point() else target.to(torch.int64)) != ignore_index
    kept = kept.unsqueeze(1)
    return kept if mask is None else mask & kept


def check_labels(target: Tensor, included: Tensor | None, classes: int) -> tuple[Tensor, Tensor]:
    """Return labels as int64 with 0 where left out, and whether one of them is outside the classes."""
    if included is not None:
        target = torch.where(included.squeeze(1), target, torch.zeros((), dtype=target.dtype, device=target.device))
    labels = target.to(torch.int64)
    if target.is_floating_point() and holds((labels != target).any()):
        value = target[labels != target].flatten()[0].item()
        raise ExactaTypeError(
            f"target must hold integer labels; got {value} in dtype {target.dtype}; round it, or use "
            "target_format='one-hot' for soft targets"
        )
    return labels, ((labels < 0) | (labels >= classes)).any()


def bad_label(labels: Tensor, classes: int) -> ExactaValueError:
    """Say which label is outside the classes."""
    places = ((labels < 0) | (labels >= classes)).nonzero()
    place = tuple(places[0].tolist())
    value = int(labels[place])
    return ExactaValueError(
        f"target must hold labels in [0, {classes}), one for each channel of input; got {value} at {place}; pass "
        f"ignore_index={value} if such voxels are not to count"
    )


def sanitize(x: Tensor, included: Tensor | None) -> Tensor:
    """Replace what is left out by 0, so that NaN there reaches neither values nor gradients."""
    if included is None:
        return x
    return torch.where(included, x, torch.zeros((), dtype=x.dtype, device=x.device))


def one_hot(labels: Tensor, classes: int, dtype: torch.dtype, included: Tensor | None = None) -> Tensor:
    """Return labels (B, *spatial) as one number for each class, 0 in all classes where left out."""
    numbers = torch.arange(classes, device=labels.device).view(1, -1, *[1] * (labels.ndim - 1))
    hot = labels.unsqueeze(1) == numbers
    return (hot if included is None else hot & included).to(dtype)


def as_soft(target: Tensor, included: Tensor | None, dtype: torch.dtype) -> Tensor:
    """Return a one-hot or soft target as numbers, as they are."""
    target = target.real if target.is_complex() else target
    return sanitize(target.to(dtype), included)


def prepare(
    x: Tensor, target: Tensor, mask: Tensor | None, *, target_format: str, ignore_index: int | None, defer: bool = False
) -> Prepared:
    """Bring checked arguments into the form in which PyTorch computes.

    With `defer`, labels outside the classes are reported in `invalid` instead of raised.
    """
    dtype, classes = compute_dtype(x), x.shape[1]
    if target_format == "one-hot":
        return Prepared(sanitize(x.to(dtype), mask), None, as_soft(target, mask, dtype), mask, None)
    included = include(mask, target, ignore_index)
    labels, invalid = check_labels(target, included, classes)
    found = holds(invalid)
    fault = bad_label(labels, classes) if found else None
    if fault is not None and not defer:
        raise fault
    if found is not False:
        labels = labels.clamp(0, classes - 1)
    logits = sanitize(x.to(dtype), included)
    return Prepared(logits, labels, None, included, invalid if found is None or defer else None, fault)

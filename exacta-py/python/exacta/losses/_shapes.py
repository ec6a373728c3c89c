"""What the losses about shapes share: 2-D and 3-D inputs, exact 0/1 targets, selected channels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from exacta._errors import ExactaTypeError, ExactaValueError, shown
from exacta._options import _SPACING_MAX, _SPACING_MIN, _numbers

from ._prepare import as_soft, bad_label, check_labels, check_target, holds, one_hot

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["check_axes", "check_binary", "check_map", "check_spacing", "target_channels"]


def check_axes(x: Any, name: str = "input") -> None:
    """Check that there are two or three spatial axes and no empty one."""
    if not isinstance(x, torch.Tensor):
        raise ExactaTypeError(f"{name} must be a tensor (B, C, *spatial); got {type(x).__name__}")
    if x.ndim not in (4, 5) or 0 in x.shape:
        raise ExactaValueError(
            f"{name} must be (B, C, H, W) or (B, C, D, H, W) without an empty axis; got shape {tuple(x.shape)}"
        )


def check_binary(x: Tensor, name: str = "target") -> None:
    """Refuse values other than 0 and 1."""
    if x.dtype is not torch.bool and holds(((x != 0) & (x != 1)).any()):
        value = x[(x != 0) & (x != 1)].flatten()[0].item()
        raise ExactaValueError(
            f"{name} must hold 0 and 1 only, since distances need a border; got {value}; threshold soft labels first"
        )


def target_channels(
    target: Any, x: Tensor, target_format: str, include_background: bool, dtype: torch.dtype
) -> tuple[Tensor, Tensor | None]:
    """Return the selected channels of a target as 0 and 1, and whether a label is bad where that cannot be raised."""
    check_target(target, x, target_format)
    invalid = None
    classes = x.shape[1]
    if target_format == "one-hot":
        check_binary(target)
        g = as_soft(target, None, dtype)
    else:
        labels, bad = check_labels(target, None, classes)
        found = holds(bad)
        if found:
            raise bad_label(labels, classes)
        invalid = bad if found is None else None
        g = one_hot(labels, classes, dtype)
    if include_background:
        return g, invalid
    if classes == 1:
        raise ExactaValueError(
            "include_background=False, the default of this loss, needs at least two channels; got input with one"
        )
    return g[:, 1:], invalid


def check_spacing(value: Any, batch: int, axes: int) -> list[float]:
    """Return one length for each axis, or for each case and axis if cases differ."""
    if value is None:
        raise ExactaValueError("spacing must be given for distances: one length for each spatial axis; got None")
    array = _numbers("spacing", value)
    if array.shape not in ((), (axes,), (batch, axes)):
        raise ExactaValueError(
            f"spacing must be one length, one for each of the {axes} spatial axes, or of shape {(batch, axes)}; got "
            f"{shown(value)}"
        )
    values: list[float] = array.reshape(-1).tolist() * (axes if array.ndim == 0 else 1)
    for number in values:
        if not _SPACING_MIN <= number <= _SPACING_MAX:
            raise ExactaValueError(
                f"spacing must be finite, above 0 and within [{_SPACING_MIN:g}, {_SPACING_MAX:g}]; "
                f"got {number!r} in {shown(value)}"
            )
    rows = [values[i : i + axes] for i in range(0, len(values), axes)]
    return rows[0] if all(row == rows[0] for row in rows) else values


def check_map(value: Any, g: Tensor, *, least: float | None = None) -> Tensor:
    """Return a distance map given by the caller in the dtype of the loss."""
    if not isinstance(value, torch.Tensor):
        raise ExactaValueError(f"distance_map must be a tensor; got {type(value).__name__}")
    if value.shape != g.shape:
        raise ExactaValueError(
            f"distance_map must have one map for each selected channel, shape {tuple(g.shape)}; got "
            f"{tuple(value.shape)}; channel 0 is selected with include_background=True only"
        )
    if value.device != g.device:
        raise ExactaValueError(f"distance_map must be on the device of input, {g.device}; got {value.device}")
    if not value.is_floating_point():
        raise ExactaValueError(f"distance_map must be floating; got {value.dtype}")
    if holds(~torch.isfinite(value).all()):
        raise ExactaValueError("distance_map must be finite; got inf or nan")
    if least is not None and holds((value < least).any()):
        raise ExactaValueError(
            f"distance_map must be at least {least:g}, an unsigned map of distances; got {value.min().item():g}"
        )
    return value.detach().to(g.dtype)

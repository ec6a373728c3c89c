"""What the losses about shapes share: 2-D and 3-D inputs, exact 0/1 targets, selected channels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from exacta._errors import ExactaTypeError, ExactaValueError, shown
from exacta._options import _SPACING_MAX, _SPACING_MIN, _numbers

from ._prepare import as_soft, bad_label, check_labels, check_target, compute_dtype, holds, one_hot

if TYPE_CHECKING:
    from torch import Tensor

__all__ = [
    "check_axes",
    "check_binary",
    "check_map",
    "check_map_values",
    "check_shape_target",
    "check_spacing",
    "target_channels",
]


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


def check_shape_target(target: Any, x: Tensor, target_format: str, include_background: bool) -> None:
    """Check a target, but for its values, and that there is a channel to measure."""
    check_target(target, x, target_format)
    if target_format == "index" and target.is_floating_point():
        check_labels(target, None, x.shape[1])
    if not include_background and x.shape[1] == 1:
        raise ExactaValueError(
            "include_background=False, the default of this loss, needs at least two channels; got input with one"
        )


def target_channels(
    target: Tensor, x: Tensor, target_format: str, include_background: bool, dtype: torch.dtype
) -> tuple[Tensor, Tensor | None]:
    """Return the selected channels of a target as 0 and 1, and whether a label is bad where that cannot be raised."""
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
    return g if include_background else g[:, 1:], invalid


def check_spacing(value: Any, batch: int, axes: int) -> list[float]:
    """Return one length for each axis, or for each case and axis if cases differ."""
    if value is None:
        raise ExactaValueError("spacing must be given for distances: one length for each spatial axis; got None")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        value = (value,) * axes
    plain = type(value) is tuple and len(value) == axes and all(type(v) is float for v in value)
    if plain and all(_SPACING_MIN <= v <= _SPACING_MAX for v in value):
        return list(value)  # the usual case, which compiled programs can follow
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


def check_map(value: Any, x: Tensor, include_background: bool) -> Tensor:
    """Return a distance map given by the caller in the dtype of the loss; its values are looked at later."""
    wanted = (x.shape[0], x.shape[1] - (not include_background), *x.shape[2:])
    if not isinstance(value, torch.Tensor):
        raise ExactaValueError(f"distance_map must be a tensor; got {type(value).__name__}")
    if tuple(value.shape) != wanted:
        raise ExactaValueError(
            f"distance_map must have one map for each selected channel, shape {wanted}; got {tuple(value.shape)}; "
            "channel 0 is selected with include_background=True only"
        )
    if value.device != x.device:
        raise ExactaValueError(f"distance_map must be on the device of input, {x.device}; got {value.device}")
    if not value.is_floating_point():
        raise ExactaValueError(f"distance_map must be floating; got {value.dtype}")
    return value.detach().to(compute_dtype(x))


def check_map_values(value: Tensor, *, signed: bool) -> None:
    """Refuse a map that is not finite, or has a distance below 0."""
    if holds(~torch.isfinite(value).all()):
        raise ExactaValueError("distance_map must be finite; got inf or nan")
    if not signed and holds((value < 0).any()):
        raise ExactaValueError(
            f"distance_map must be at least 0, an unsigned map of distances; got {value.min().item():g}"
        )

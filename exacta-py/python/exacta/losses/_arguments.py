"""Checks of what a loss is made with. Each returns the value that is kept, or says which rule is broken."""

from __future__ import annotations

import math
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from exacta._errors import ExactaTypeError, ExactaValueError, shown
from exacta._options import _numbers, _real, check_choice

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "ACTIVATIONS",
    "check_alpha",
    "check_backend",
    "check_class_weight",
    "check_coefficients",
    "check_flag",
    "check_format",
    "check_ignore_index",
    "check_number",
    "check_smooth",
    "one_of",
]

ACTIVATIONS = ("softmax", "sigmoid", "none")


def one_of(name: str, value: Any, choices: Sequence[str]) -> str:
    """Return `value` if it is one of the names in `choices`."""
    return check_choice(name, value, tuple(choices))


def check_backend(value: Any) -> str:
    """Return who computes: the kernels, PyTorch, or whichever can."""
    if value == "triton":
        raise ExactaValueError(
            "backend must be one of 'auto', 'native', 'torch'; got 'triton'; the kernels of every device are 'native'"
        )
    return check_choice("backend", value, ("auto", "native", "torch"))


def check_format(value: Any) -> str:
    """Return how a target is coded."""
    return check_choice("target_format", value, ("index", "one-hot"))


def check_number(
    name: str,
    value: Any,
    *,
    least: float = 0.0,
    most: float = math.inf,
    above: bool = False,
    below: bool = False,
) -> float:
    """Return one finite number within [least, most], or above `least` and below `most` where said."""
    number = _real(name, value, arrays=True)
    low = number > least if above else number >= least
    high = number < most if below else number <= most
    if math.isfinite(number) and low and high:
        return number
    rule = f"above {least:g}" if above else f"at least {least:g}"
    if most < math.inf:
        rule += f" and {'below' if below else 'at most'} {most:g}"
    raise ExactaValueError(f"{name} must be finite, {rule}; got {shown(value)}")


def check_smooth(value: Any) -> float | tuple[float, float]:
    """Return the smoothing of a ratio: one number, or one for the numerator and one for the denominator."""
    if isinstance(value, (tuple, list)):
        if len(value) != 2:
            raise ExactaValueError(
                f"smooth must be one number, or one for numerator and one for denominator; got {shown(value)}"
            )
        return check_number("smooth", value[0]), check_number("smooth", value[1])
    return check_number("smooth", value)


def check_flag(name: str, value: Any) -> bool:
    """Return `value` if it is a bool."""
    if isinstance(value, bool):
        return value
    raise ExactaTypeError(f"{name} must be True or False; got {shown(value)}")


def check_ignore_index(value: Any, *, labels: bool = True) -> int | None:
    """Return the label that is left out; `labels` says whether the target has labels at all."""
    if value is None:
        return None
    if isinstance(value, (bool, np.bool_)):
        raise ExactaTypeError(f"ignore_index must be an integer or None; got {value}")
    try:
        number = index(value)
    except TypeError as error:
        raise ExactaTypeError(f"ignore_index must be an integer or None; got {shown(value)}") from error
    if not -(2**63) <= number < 2**63:
        raise ExactaValueError(f"ignore_index must fit a 64-bit integer; got {number}")
    if not labels:
        raise ExactaValueError(
            f"ignore_index must be None for targets without labels, where mask= leaves voxels out; got {number}"
        )
    return number


def check_coefficients(**coefficients: Any) -> list[float]:
    """Return the coefficients of a sum of losses, at least one of them above 0."""
    values = [check_number(name, value) for name, value in coefficients.items()]
    if not any(values):
        raise ExactaValueError(f"at least one of {' and '.join(coefficients)} must be above 0; got {values}")
    return values


def check_class_weight(value: Any) -> torch.Tensor | None:
    """Return one weight for each class as a float64 vector of its own."""
    if value is None:
        return None
    if isinstance(value, (str, bytes, set, frozenset, dict)):
        raise ExactaTypeError(f"class_weight must hold one number for each class; got {shown(value)}")
    try:
        # A tensor is detached and copied, a list goes to float64 straight.
        if isinstance(value, torch.Tensor):
            weight = (value.detach().real if value.is_complex() else value.detach()).to(torch.float64, copy=True)
        else:
            weight = torch.from_numpy(np.array(_numbers("class_weight", value), np.float64))
    except ExactaValueError as error:
        kind = ExactaTypeError if "strings" in str(error) else ExactaValueError
        raise kind(str(error)) from error
    if weight.ndim != 1 or not weight.numel():
        raise ExactaValueError(
            f"class_weight must be a vector with one weight for each class; got shape {tuple(weight.shape)}"
        )
    if not bool((torch.isfinite(weight) & (weight >= 0)).all()):
        raise ExactaValueError(f"class_weight must be finite and at least 0; got {weight.tolist()}")
    return weight


def check_alpha(value: Any) -> float | tuple[float, ...] | None:
    """Return the balance of a focal loss: none, one number, or one for each class."""
    if value is None:
        return None
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu()
    array = _numbers("alpha", value)
    if array.ndim > 1 or not array.size:
        raise ExactaValueError(f"alpha must be one number or one for each class; got shape {array.shape}")
    values = tuple(float(a) for a in array.reshape(-1))
    if not all(0.0 <= a <= 1.0 for a in values):
        raise ExactaValueError(f"alpha must be finite and within [0, 1]; got {shown(value)}")
    return values if array.ndim else values[0]

"""Checks of settings that constructors share; what needs an array is checked by the function at each update."""

from __future__ import annotations

from typing import Any

from .._inputs import _check_num_classes
from .._options import check_choice

__all__ = ["check_layout"]


def check_layout(input_format: Any, num_classes: Any, include_background: Any) -> dict[str, Any]:
    """Return how classes lie in the arrays; a number of classes that is left out is asked for at the first update."""
    check_choice("input_format", input_format, ("index", "one-hot"))
    if num_classes is not None and input_format == "index":
        num_classes = _check_num_classes(num_classes)
    return {
        "input_format": input_format,
        "num_classes": num_classes,
        "include_background": bool(include_background),
    }

"""Modules whose options the kernels can read."""

from __future__ import annotations

import functools
import json
from typing import Any, ClassVar

import torch
from torch import nn

__all__ = ["Configured", "current", "parameters"]


_FOR_PYTHON = ("backend", "distributed")
# Defaults that are the same in every kernel: what is not said is not parsed.
_DEFAULTS = {
    "activation": "softmax",
    "target_format": "index",
    "batch_dice": False,
    "squared_pred": False,
    "lambda_dice": 1.0,
    "lambda_ce": 1.0,
    "lambda_focal": 1.0,
    "fraction": 0.1,
    "from_logits": True,
    "classes": "present",
}


class Configured(nn.Module):
    """A module whose options are plain attributes that may be changed at any time.

    The options of `_exported` are also kept as one string, which costs nothing to read, and which a compiled program
    can
    hold as a constant.
    """

    _exported: ClassVar[tuple[str, ...]] = ()
    _settings: str = "{}"

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name in self._exported:
            found = {key: _plain(self.__dict__[key]) for key in self._exported if key in self.__dict__}
            self.__dict__["_settings"] = json.dumps(found)

    def _all_settings(self) -> str:
        settings: str = self.__dict__["_settings"]
        return settings


def current(module: Any) -> tuple[str, Any, dict[str, Any]]:
    """Return settings, options and what the kernels take; made again only when an option has changed."""
    settings: str = module._all_settings()
    if torch.compiler.is_compiling():
        return settings, module._options(), {}
    kept: tuple[str, Any, dict[str, Any]] | None = module.__dict__.get("_kept")
    if kept is None or kept[0] != settings:
        kept = module.__dict__["_kept"] = settings, module._options(), parameters(settings)
    return kept


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return [float(item) for item in value] if isinstance(value, (tuple, list)) else float(value)


@functools.lru_cache(maxsize=512)
def parameters(settings: str) -> dict[str, Any]:
    """Return the options of one or more modules, a line each, as the kernels take them."""
    found: dict[str, Any] = {}
    for line in settings.splitlines():
        found.update(json.loads(line))
    kept = {key: value for key, value in found.items() if value is not None and key not in _FOR_PYTHON}
    return {key: value for key, value in kept.items() if _DEFAULTS.get(key) != value}

"""Modules whose options the kernels can read."""

from __future__ import annotations

import functools
import json
from typing import Any, ClassVar

import torch
from torch import nn

__all__ = ["Configured", "cached_options", "parameters"]


class Configured(nn.Module):
    """A module whose options are plain attributes that may be changed at any time.

    The options of `_exported` are also kept as one string, which costs nothing to read, and which a compiled program can
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
        return self._settings


def cached_options(module: Any) -> Any:
    """Return the options of a module, made again only when one has changed."""
    if torch.compiler.is_compiling():
        return module._options()
    key = module._all_settings(), module.distributed, module.backend
    kept = module.__dict__.get("_kept_options")
    if kept is None or kept[0] != key:
        kept = module.__dict__["_kept_options"] = key, module._options()
    return kept[1]


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
    return {key: value for key, value in found.items() if value is not None}

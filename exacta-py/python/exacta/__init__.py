"""Exact segmentation metrics for NumPy, PyTorch, JAX and CuPy arrays.

The metrics are in `exacta.functional`, and as objects that collect a data set in `exacta.metrics`; lesions and their
scores in `exacta.lesions` and `exacta.detection`, distance transforms in `exacta.edt`, connected components in
`exacta.components`. Training losses for PyTorch are in `exacta.losses`, their values and gradients for other arrays in
`exacta.functional_losses`; adapters to other packages in `exacta.integrations`. Importing exacta imports none of
PyTorch, JAX and CuPy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from ._errors import ExactaError, ExactaNotImplementedError, ExactaRuntimeError, ExactaTypeError, ExactaValueError
from ._threads import get_num_threads, set_num_threads

if TYPE_CHECKING:
    from types import ModuleType

    from . import components, detection, edt, functional, functional_losses, integrations, lesions, losses, metrics

    __version__: str

__all__ = [
    "ExactaError",
    "ExactaNotImplementedError",
    "ExactaRuntimeError",
    "ExactaTypeError",
    "ExactaValueError",
    "__version__",
    "components",
    "detection",
    "edt",
    "functional",
    "functional_losses",
    "get_num_threads",
    "integrations",
    "lesions",
    "losses",
    "metrics",
    "set_num_threads",
]

_SUBMODULES = (
    "components",
    "detection",
    "edt",
    "functional",
    "functional_losses",
    "integrations",
    "lesions",
    "losses",
    "metrics",
)


def __getattr__(name: str) -> ModuleType | str:
    # Submodules load on first use, so that `import exacta` costs no more than it must.
    if name in _SUBMODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name == "__version__":
        from ._native import __version__

        return __version__
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

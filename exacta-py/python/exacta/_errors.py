"""The exceptions of exacta; each is also the built-in class that fits."""

from __future__ import annotations

__all__ = [
    "ExactaError",
    "ExactaNotImplementedError",
    "ExactaRuntimeError",
    "ExactaTypeError",
    "ExactaValueError",
    "shown",
]


class ExactaError(Exception):
    """Base class of every error that exacta raises on purpose."""


class ExactaValueError(ExactaError, ValueError):
    """An argument of a sensible type whose value, shape or device breaks a rule."""


class ExactaTypeError(ExactaError, TypeError):
    """An argument of a type or dtype that cannot be used."""


class ExactaRuntimeError(ExactaError, RuntimeError):
    """A call that cannot be served now, such as a result asked for before any update."""


class ExactaNotImplementedError(ExactaRuntimeError, NotImplementedError):
    """A backend that does not serve arrays of this kind."""


def shown(value: object) -> str:
    """Return a value as a message shows it: on one line, and not all of a long one."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{text[:50]} ... {text[-25:]}"

"""How many threads a call may use."""

from __future__ import annotations

import os
import sys

from ._errors import ExactaTypeError, ExactaValueError

__all__ = ["get_num_threads", "set_num_threads"]

_chosen: int | None = None
# Read once, as OpenMP does: a lookup costs more than all other checks of a small call.
_own = os.environ.get("EXACTA_NUM_THREADS", "").strip()
_openmp = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()  # one number per nesting level


def _cpus() -> int:
    """CPUs that this process may run on now."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows
        return os.cpu_count() or 1


def _default(cpus: int) -> int:
    if _own:
        if not _own.isdecimal() or int(_own) < 1:
            raise ExactaValueError(f"EXACTA_NUM_THREADS must be a positive integer; got {_own!r}")
        return int(_own)
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "get_num_threads"):
        return int(torch.get_num_threads())
    return int(_openmp) if _openmp.isdecimal() and int(_openmp) > 0 else cpus


def get_num_threads() -> int:
    """Return the number of threads that the next call may use.

    The first of these that is given decides, limited to the CPUs of the process: `set_num_threads`; the environment
    variable ``EXACTA_NUM_THREADS``; ``torch.get_num_threads()`` if PyTorch is loaded; ``OMP_NUM_THREADS``; the number
    of CPUs of the process. The variables are read when exacta is imported. No result depends on the number.

    Returns
    -------
    int
        At least 1.

    Raises
    ------
    ExactaValueError
        If ``EXACTA_NUM_THREADS`` is not a positive integer.
    """
    cpus = _cpus()
    return max(1, min(cpus, _chosen if _chosen is not None else _default(cpus)))


def set_num_threads(n: int | None) -> None:
    """Set the number of threads that later calls in this process may use.

    Parameters
    ----------
    n : int or None
        At least 1; more than the CPUs of the process counts as their number. None goes back to the default.

    Raises
    ------
    ExactaTypeError
        If `n` is not an integer.
    ExactaValueError
        If `n` is below 1.
    """
    global _chosen
    if n is not None:
        if isinstance(n, bool) or not hasattr(n, "__index__"):
            raise ExactaTypeError(f"n must be an integer or None; got {n!r}")
        n = n.__index__()
        if n < 1:
            raise ExactaValueError(f"n must be at least 1; got {n}")
    _chosen = n

"""States of all processes of `torch.distributed`, for metrics that every process computes together.

PyTorch is found in `sys.modules` and never imported: without it there is one process. A mistake of one process is an
error of all of them, and none is left waiting: what could go wrong is known to everyone before anyone raises.
"""

from __future__ import annotations

import hashlib
import json
import pickle
import sys
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ._errors import ExactaValueError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

__all__ = ["exchange", "fingerprint"]

State = TypeVar("State")


def fingerprint(settings: Mapping[str, Any]) -> dict[str, str]:
    """Write each setting as text that is equal exactly where the settings are."""
    return {name: json.dumps(_written(value)) for name, value in settings.items()}


def _written(value: Any) -> Any:
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, dict):
        # Pairs, since the order of metrics is that of the columns.
        return [[str(key), _written(item)] for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [_written(item) for item in value]
    if hasattr(value, "tolist"):
        return _written(value.tolist())
    if isinstance(value, (int, float)):
        return repr(float(value)) if float(value) == value or value != value else str(value)
    return repr(value)


def exchange(settings: Mapping[str, str], state: State) -> list[State]:
    """Return the states of all processes in order of their ranks; that of this one alone where there is no group.

    Parameters
    ----------
    settings : mapping of str to str
        What must be the same everywhere, as `fingerprint` writes it.
    state : object
        What is passed on: arrays and plain objects.

    Raises
    ------
    ExactaValueError
        On every process, if settings differ.
    """
    group = _group()
    if group is None:
        return [state]
    text = json.dumps(dict(settings), sort_keys=True).encode()
    digest = np.frombuffer(hashlib.sha256(text).digest(), np.int64)
    body = pickle.dumps(state, protocol=5)
    heads = _gather(group, np.array([*digest, len(text), len(body)], np.int64))
    if any((head[:4] != heads[0][:4]).any() for head in heads):
        _refuse([json.loads(text) for text in _gather_bytes(group, text, [int(head[4]) for head in heads])])
    return [pickle.loads(body) for body in _gather_bytes(group, body, [int(head[5]) for head in heads])]


def _refuse(settings: list[dict[str, str]]) -> None:
    for rank, other in enumerate(settings):
        for name in {**settings[0], **other}:
            first, second = (mapping.get(name, "nothing") for mapping in (settings[0], other))
            if first != second:
                raise ExactaValueError(
                    f"every process must compute the same metric with the same settings; {name} is {first} on process "
                    f"0 and {second} on process {rank}"
                )


def _group() -> Any:
    """Return `torch.distributed` where several processes take part."""
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    dist = torch.distributed
    if dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1:
        return dist
    return None


def _gather_bytes(group: Any, own: bytes, lengths: list[int]) -> list[bytes]:
    """Gather byte strings, whose lengths all know, padded to the longest."""
    longest = max(lengths)
    if longest == 0:
        return [b""] * len(lengths)
    padded = np.zeros(longest, np.uint8)
    padded[: len(own)] = np.frombuffer(own, np.uint8)
    gathered = _gather(group, padded)
    return [array[:length].tobytes() for array, length in zip(gathered, lengths, strict=True)]


def _gather(group: Any, array: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
    """Gather arrays of one shape and dtype."""
    torch = sys.modules["torch"]
    # NCCL moves what is on a GPU, every other backend what is on the host.
    device = torch.device("cuda", torch.cuda.current_device()) if group.get_backend() == "nccl" else torch.device("cpu")
    own = torch.from_numpy(array).to(device)
    gathered = [torch.empty_like(own) for _ in range(group.get_world_size())]
    group.all_gather(gathered, own)
    return [tensor.cpu().numpy() for tensor in gathered]

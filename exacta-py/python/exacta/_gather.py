"""What the processes of `torch.distributed` hold, on each of them."""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["gather"]


def gather(mine: Any) -> list[Any]:
    """Return the object of every process, in order of ranks; that of this one alone if none are running."""
    torch = sys.modules.get("torch")
    if torch is None:
        return [mine]
    distributed = torch.distributed
    if not distributed.is_available() or not distributed.is_initialized() or distributed.get_world_size() == 1:
        return [mine]
    everyone: list[Any] = [None] * distributed.get_world_size()
    distributed.all_gather_object(everyone, mine)
    return everyone

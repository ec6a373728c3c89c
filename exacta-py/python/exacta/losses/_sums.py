"""Sums over the processes of a group, differentiable any number of times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import distributed

from exacta._errors import ExactaRuntimeError

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["check_group", "group_exists", "reduced", "total", "wide"]


def wide(x: Tensor) -> Tensor:
    """Return small statistics in float64, or in float32 where a device has nothing wider."""
    return x.to(torch.float32 if x.device.type == "mps" else torch.float64)


def group_exists() -> bool:
    """Return whether there is a process group."""
    return bool(distributed.is_available() and distributed.is_initialized())


def check_group() -> None:
    """Refuse a sum over processes before there is a process group."""
    if not group_exists():
        raise ExactaRuntimeError(
            "distributed=True needs a process group; call torch.distributed.init_process_group first, or leave "
            "distributed=False in a single process"
        )


def reduced(x: Tensor) -> Tensor:
    """Sum over the default group; only NCCL reads device memory."""
    host = x.detach().clone() if distributed.get_backend() == "nccl" else x.detach().to("cpu", copy=True)
    distributed.all_reduce(host)
    return host.to(x.device)


class _Total(torch.autograd.Function):
    """The sum over all processes. Its adjoint is the same sum, since every process holds the result."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return reduced(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        result: Tensor = _Total.apply(grad)
        return result


def total(x: Tensor) -> Tensor:
    """Return the sum of a vector over the default process group.

    Every process must call it, and call backward on its copy of what follows: the gradient that arrives is then that of
    the sum of all copies, so DDP's average over processes makes it the gradient of one.
    """
    if distributed.get_world_size() == 1:
        return x
    result: Tensor = _Total.apply(x)
    return result

"""The way to the kernels: who may take it, and what autograd sees of it.

A call is named by a kernel, its settings and its tensors. In eager mode a small `torch.autograd.Function` runs it; while
compiling the operators of `_operators` stand in the program. Second derivatives go through the plain composition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from exacta import _native
from exacta._errors import ExactaNotImplementedError, ExactaRuntimeError
from exacta._threads import get_num_threads

from ._module import parameters
from ._operators import loss_operator
from ._prepare import compute_dtype
from ._sums import group_exists, reduced

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt
    from torch import Tensor

__all__ = ["Call", "Tensors", "compute", "run", "serves"]

_PLAIN_TYPES = (torch.Tensor, torch.nn.Parameter)
_transforms: Callable[[], bool] = getattr(torch._C, "_are_functorch_transforms_active", lambda: False)


class Call(NamedTuple):
    """Which loss, and what it is told."""

    name: str
    params: dict[str, Any]


class Tensors(NamedTuple):
    """What a loss reads."""

    input: Tensor
    target: Tensor
    mask: Tensor | None = None
    map: Tensor | None = None
    weight: Tensor | None = None


def serves(backend: str, tensors: Tensors, *, distributed: bool = False, without: str = "") -> bool:
    """Return whether the kernels compute a call; `without` says what they lack for it."""
    if backend == "torch":
        return False
    x = tensors.input
    if not without:
        if x.device.type != "cpu":
            without = f"no kernel yet for a tensor on {x.device}"
        elif tensors.target.requires_grad:
            without = "no gradient for target"
        elif not hasattr(_native, "loss_forward"):
            without = "no kernels"
        elif tensors.target.is_complex():
            without = "no kernel for a complex target"
        elif torch.compiler.is_compiling():
            return not distributed
        elif _transforms():
            without = "no kernel inside torch.func transforms"
        elif type(x) not in _PLAIN_TYPES:
            without = f"no kernel for {type(x).__name__}"
        elif not distributed and (x.numel() == 0):
            return False
        else:
            return True
    if backend == "native":
        raise ExactaNotImplementedError(
            f"backend='native' has {without}; backend='auto' takes the operators of PyTorch for such calls"
        )
    return False


def compute(
    name: str, settings: str, tensors: Tensors, plain: Callable[[Tensor], Tensor], *, distributed: bool = False
) -> Tensor:
    """Return the value of a loss; `plain` computes it from the input by the operators of PyTorch."""
    if torch.compiler.is_compiling():
        return loss_operator(name, settings, *tensors)
    params = parameters(settings)
    if tensors.weight is not None:
        params = {**params, "class_weight": tensors.weight.tolist()}
    call = Call(name, params)
    if tensors.input.requires_grad and torch.is_grad_enabled():
        result: Tensor = _Loss.apply(
            tensors.input, tensors.target, tensors.mask, tensors.map, call, plain, distributed
        )
        return result
    values, _, _ = forward(call, tensors, distributed)
    return _as_tensor(values, tensors.input)


def run(
    name: str,
    settings: str,
    backend: str,
    tensors: Tensors,
    plain: Callable[[Tensor], Tensor],
    *,
    without: str = "",
) -> Tensor:
    """Compute a loss of index targets by its kernel, or by the operators of PyTorch where that cannot be."""
    if serves(backend, tensors, without=without):
        return compute(name, settings, tensors, plain)
    return plain(tensors.input)


def host(x: Tensor) -> tuple[npt.NDArray[Any], str | None]:
    """Return a tensor as a NumPy array in place, halves as their bits and by name."""
    x = x.detach()
    if x.dtype is torch.float16:
        return x.view(torch.int16).numpy().view(np.uint16), "float16"
    if x.dtype is torch.bfloat16:
        return x.view(torch.int16).numpy().view(np.uint16), "bfloat16"
    return x.numpy(), None


def arrays(tensors: Tensors) -> tuple[tuple[Any, Any], dict[str, Any]]:
    """Return the arrays of a call as the extension takes them."""
    x, x_half = host(tensors.input)
    y, y_half = host(tensors.target)
    options: dict[str, Any] = {"input_half": x_half, "target_half": y_half, "threads": get_num_threads()}
    if tensors.mask is not None:
        options["mask"] = tensors.mask.numpy()
    if tensors.map is not None:
        options["map"] = tensors.map.numpy()
    return (x, y), options


def forward(call: Call, tensors: Tensors, distributed: bool) -> tuple[npt.NDArray[np.float64], Any, Any]:
    """Return values, small numbers and large arrays for the gradient."""
    (x, y), options = arrays(tensors)
    if not distributed:
        return _native.loss_forward(call.name, call.params, x, y, **options)
    sums = _native.loss_statistics(call.name, call.params, x, y, **options)
    if group_exists():
        sums = reduced(torch.from_numpy(sums)).numpy()
    values, saved = _native.loss_from_statistics(call.name, call.params, sums, channels=x.shape[1])
    if not group_exists():
        raise ExactaRuntimeError(
            "distributed=True needs a process group; call torch.distributed.init_process_group first, or leave "
            "distributed=False in a single process"
        )
    return values, saved, None


def backward(call: Call, tensors: Tensors, saved: Any, kept: Any, grad: npt.NDArray[np.float64]) -> Tensor:
    """Return the gradient of the input, in its dtype and memory format."""
    (x, y), options = arrays(tensors)
    result = torch.empty_like(tensors.input)
    _native.loss_backward(call.name, call.params, x, y, saved, grad, host(result)[0], kept=kept, **options)
    return result


def _as_tensor(values: npt.NDArray[np.float64], x: Tensor) -> Tensor:
    if values.shape[0] == 1:
        return torch.scalar_tensor(values[0], dtype=compute_dtype(x))
    return torch.from_numpy(values).to(compute_dtype(x))


class _Loss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        target: Tensor,
        mask: Tensor | None,
        distances: Tensor | None,
        call: Call,
        plain: Callable[[Tensor], Tensor],
        distributed: bool,
    ) -> Tensor:
        ctx.save_for_backward(x, target, mask, distances)
        values, ctx.numbers, ctx.kept = forward(call, Tensors(x, target, mask, distances), distributed)
        ctx.call, ctx.plain, ctx.distributed = call, plain, distributed
        return _as_tensor(values, x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, target, mask, distances = ctx.saved_tensors
        if torch.is_grad_enabled():
            # create_graph=True: the derivative itself must be differentiable.
            (result,) = torch.autograd.grad(ctx.plain(x), x, grad, create_graph=True)
            return result, None, None, None, None, None, None
        wide = grad.detach().to(torch.float64).reshape(-1)
        if ctx.distributed:
            wide = reduced(wide)
        tensors = Tensors(x, target, mask, distances)
        result = backward(ctx.call, tensors, ctx.numbers, ctx.kept, wide.numpy())
        return result, None, None, None, None, None, None

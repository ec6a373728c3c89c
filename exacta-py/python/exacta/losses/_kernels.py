"""The way to the kernels: who may take it, and what autograd sees of it.

A call is named by a kernel, its settings and its tensors. In eager mode a small `torch.autograd.Function` runs it;
while
compiling the operators of `_operators` stand in the program. Second derivatives go through the plain composition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from exacta._errors import ExactaNotImplementedError

from ._calls import Call, Tensors, arrays, as_tensor, backward, forward, made
from ._module import parameters
from ._operators import loss_operator
from ._prepare import check_input, check_labels, check_mask, check_target, check_weight_length, include
from ._sums import reduced

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

__all__ = ["check_index", "compute", "run", "serves"]

_PLAIN_TYPES = (torch.Tensor, torch.nn.Parameter)
_transforms: Callable[[], bool] = getattr(torch._C, "_are_functorch_transforms_active", lambda: False)


def serves(backend: str, tensors: Tensors, *, distributed: bool = False, without: str = "") -> bool:
    """Return whether the kernels compute a call; `without` says what they lack for it."""
    if backend == "torch":
        return False
    x, y = tensors.input, tensors.target
    if not without:
        if not x.is_cpu:
            without = f"no kernel yet for a tensor on {x.device}"
        elif y.requires_grad:
            without = "no gradient for target"
        elif y.is_complex():
            without = "no kernel for a complex target"
        elif torch.compiler.is_compiling():
            return not distributed
        elif _transforms():
            without = "no kernel inside torch.func transforms"
        elif type(x) not in _PLAIN_TYPES:
            without = f"no kernel for {type(x).__name__}"
        else:
            return distributed or x.numel() > 0
    if backend == "native":
        raise ExactaNotImplementedError(
            f"backend='native' has {without}; backend='auto' takes the operators of PyTorch for such calls"
        )
    return False


def run(
    name: str,
    settings: str,
    backend: str,
    tensors: Tensors,
    plain: Callable[[Tensor], Tensor],
    *,
    spacing: list[float] | None = None,
    without: str = "",
) -> Tensor:
    """Compute a loss by its kernel, or by the operators of PyTorch where that cannot be."""
    if serves(backend, tensors, without=without):
        return compute(name, settings, tensors, plain, spacing=spacing)
    return plain(tensors.input)


def check_index(x: Any, target: Any, mask: Any, weight: Tensor | None, ignore_index: int | None) -> Tensors:
    """Check the arguments of a loss of labels, in the documented order."""
    check_input(x)
    mask = check_mask(mask, x)
    check_weight_length(weight, x)
    check_target(target, x, "index")
    if target.is_floating_point():
        check_labels(target, include(mask, target, ignore_index), x.shape[1])
    return Tensors(x, target, mask, None, weight)


def compute(
    name: str,
    settings: str,
    tensors: Tensors,
    plain: Callable[[Tensor], Tensor],
    *,
    params: dict[str, Any] | None = None,
    spacing: list[float] | None = None,
    distributed: bool = False,
) -> Tensor:
    """Return the value of a loss; `plain` computes it from the input by the operators of PyTorch."""
    if torch.compiler.is_compiling():
        value: Tensor = loss_operator(*tensors, name, settings, spacing or [])[0]
        return value
    call = made(name, params or parameters(settings), tensors.weight, spacing or [])
    if tensors.input.requires_grad and torch.is_grad_enabled():
        result: Tensor = _Loss.apply(*tensors[:4], call, plain, distributed)
        return result
    values, _, _ = forward(call, arrays(tensors), distributed)
    return as_tensor(values, call, tensors.input)


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
        given = arrays(Tensors(x, target, mask, distances))
        values, numbers, kept = forward(call, given, distributed)
        # Saved so that autograd notices a change of either; the arrays are these tensors, not copies.
        ctx.save_for_backward(x, target)
        ctx.state = call, given, numbers, kept, plain, distributed
        return as_tensor(values, call, x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, _ = ctx.saved_tensors
        call, given, numbers, kept, plain, distributed = ctx.state
        if torch.is_grad_enabled():
            # create_graph=True: the derivative itself must be differentiable.
            (result,) = torch.autograd.grad(plain(x), x, grad, create_graph=True)
        else:
            if distributed:
                grad = reduced(grad.to(torch.float64))
            incoming = np.array(grad.tolist(), np.float64, ndmin=1)
            result = backward(call, given, x, numbers, kept, incoming)
        return result, None, None, None, None, None, None

"""The operators that PyTorch sees, `torch.ops.exacta`, so that compiled programs can hold them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from exacta import _native, edt
from exacta._errors import ExactaNotImplementedError, ExactaRuntimeError
from exacta._threads import get_num_threads

from ._calls import Tensors, arrays, as_tensor, backward, forward, host, made
from ._module import parameters
from ._prepare import compute_dtype

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

__all__ = ["loss_operator", "maps", "skeleton_backward_operator", "skeleton_operator"]

_LIBRARY = torch.library.Library("exacta", "DEF")


def define(schema: str, implementation: Callable[..., Any], fake: Callable[..., Any]) -> Any:
    """Register an operator of one implementation for all devices, and what it returns for tensors without values."""
    name = schema.split("(", 1)[0]
    _LIBRARY.define(schema, tags=(torch.Tag.pt2_compliant_tag,))
    _LIBRARY.impl(name, implementation, "CompositeExplicitAutograd")
    torch.library.register_fake(f"exacta::{name}", fake, lib=_LIBRARY)
    return getattr(torch.ops.exacta, name).default


def _distance_maps(mask: Tensor, spacing: list[float], signed: bool) -> Tensor:
    """Return distances (B, C, *spatial) in float64 of a bool mask, of one spacing or one for each case."""
    axes = mask.ndim - 2
    if mask.device.type not in ("cpu", "cuda"):
        raise ExactaNotImplementedError(f"distance maps need a tensor on the CPU or a CUDA device; got {mask.device}")
    border: edt.Border = "background" if signed else "open"
    if len(spacing) == axes:
        found = edt.signed_distance(mask, spacing=spacing, border=border, batch_axes=2)
    else:
        rows = [spacing[i : i + axes] for i in range(0, len(spacing), axes)]
        found = torch.stack(
            [
                edt.signed_distance(case, spacing=row, border=border, batch_axes=1)
                for case, row in zip(mask, rows, strict=True)
            ]
        )
    if not signed:
        return torch.where(torch.isinf(found), 0.0, found.abs()).contiguous()
    # An empty mask is as far away as the image is long.
    lengths = torch.tensor(spacing, dtype=torch.float64, device=mask.device).reshape(-1, axes)
    sizes = torch.tensor(mask.shape[2:], dtype=torch.float64, device=mask.device)
    far = (lengths * sizes).square().sum(1).sqrt().reshape(-1, *[1] * (mask.ndim - 1))
    return torch.where(torch.isinf(found), far, found).contiguous()


def _distance_maps_fake(mask: Tensor, spacing: list[float], signed: bool) -> Tensor:
    return mask.new_empty(mask.shape, dtype=torch.float64)


maps = define("distance_maps(Tensor mask, float[] spacing, bool signed) -> Tensor", _distance_maps, _distance_maps_fake)


# What the backward pass needs has a size that is known before anything is computed: small numbers are padded, large
# ones
# are as many as there are voxels. Without either an operator could not stand in a compiled program.
_BIT_A_VOXEL = ("topk_ce", "dice_topk_ce")
_PER_CHANNEL = ("lovasz_softmax", "lovasz_hinge", "boundary", "hausdorff_dt", "soft_cldice")
_OPTIONAL = "Tensor? mask, Tensor? map, Tensor? weight, str name, str settings, float[] spacing"


def _numbers_size(x: Tensor) -> int:
    size: int = 16 + (x.shape[0] + 1) * (4 * x.shape[1] + 8)
    return size


def _kept(x: Tensor, name: str, settings: str) -> Tensor:
    """Return a tensor of the dtype and size of what is kept for each voxel."""
    cases, classes, voxels = x.shape[0], x.shape[1], x[0, 0].numel() if x.shape[0] else 0
    if name in _BIT_A_VOXEL:
        return x.new_empty((cases, (voxels + 7) // 8), dtype=torch.uint8)
    if name not in _PER_CHANNEL:
        return x.new_empty((0, 0), dtype=torch.uint8)
    # A number and no bool, of which symbolic sizes cannot be reduced.
    background = name == "lovasz_hinge" or parameters(settings).get("include_background", name == "lovasz_softmax")
    return x.new_empty((cases * (classes - (0 if background else 1)), voxels), dtype=compute_dtype(x))


def _loss(
    x: Tensor,
    target: Tensor,
    mask: Tensor | None,
    map: Tensor | None,  # noqa: A002
    weight: Tensor | None,
    name: str,
    settings: str,
    spacing: list[float],
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the value, and what its gradient needs."""
    call = made(name, parameters(settings), weight, list(spacing))
    values, saved, kept = forward(call, arrays(Tensors(x, target, mask, map)))
    numbers = torch.zeros(_numbers_size(x), dtype=torch.float64)
    numbers[0] = len(saved)
    numbers[1 : 1 + len(saved)] = torch.from_numpy(saved)
    shape = _kept(x.to("meta"), name, settings)
    large = torch.zeros(shape.shape, dtype=shape.dtype)
    if kept is not None:
        large = torch.from_numpy(kept).reshape(shape.shape)
    return as_tensor(values, call, x), numbers, large


def _loss_fake(
    x: Tensor,
    target: Tensor,
    mask: Tensor | None,
    map: Tensor | None,  # noqa: A002
    weight: Tensor | None,
    name: str,
    settings: str,
    spacing: list[float],
) -> tuple[Tensor, Tensor, Tensor]:
    size = (x.shape[0],) if parameters(settings).get("reduction") == "none" else ()
    value = x.new_empty(size, dtype=compute_dtype(x))
    return value, x.new_empty((_numbers_size(x),), dtype=torch.float64), _kept(x, name, settings)


def _loss_backward(
    grad: Tensor,
    numbers: Tensor,
    kept: Tensor,
    x: Tensor,
    target: Tensor,
    mask: Tensor | None,
    map: Tensor | None,  # noqa: A002
    weight: Tensor | None,
    name: str,
    settings: str,
    spacing: list[float],
) -> Tensor:
    """Return the gradient of the input."""
    call = made(name, parameters(settings), weight, list(spacing))
    saved = numbers[1 : 1 + int(numbers[0])].numpy()
    large = kept.reshape(-1).numpy() if kept.numel() else None
    incoming = grad.to(torch.float64).reshape(-1).numpy()
    return backward(call, arrays(Tensors(x, target, mask, map)), x, saved, large, incoming)


def _loss_backward_fake(grad: Tensor, numbers: Tensor, kept: Tensor, x: Tensor, *others: Any) -> Tensor:
    return torch.empty_like(x, requires_grad=False)


loss_operator = define(f"loss(Tensor input, Tensor target, {_OPTIONAL}) -> (Tensor, Tensor, Tensor)", _loss, _loss_fake)
_backward_operator = define(
    f"loss_backward(Tensor grad, Tensor numbers, Tensor kept, Tensor input, Tensor target, {_OPTIONAL}) -> Tensor",
    _loss_backward,
    _loss_backward_fake,
)


def _skeleton(x: Tensor, iterations: int) -> Tensor:
    """Return the soft skeleton of float32 or float64 values."""
    return torch.from_numpy(_native.soft_skeleton(host(x)[0], iterations, threads=get_num_threads()))


def _skeleton_backward(grad: Tensor, x: Tensor, iterations: int) -> Tensor:
    """Return what a gradient of the skeleton is for the values."""
    found = _native.soft_skeleton(host(x)[0], iterations, gradient=host(grad)[0], threads=get_num_threads())
    return torch.from_numpy(found)


def _skeleton_fake(x: Tensor, iterations: int) -> Tensor:
    return torch.empty_like(x, requires_grad=False, memory_format=torch.contiguous_format)


def _skeleton_backward_fake(grad: Tensor, x: Tensor, iterations: int) -> Tensor:
    return _skeleton_fake(x, iterations)


skeleton_operator = define("soft_skeleton(Tensor x, int iterations) -> Tensor", _skeleton, _skeleton_fake)
skeleton_backward_operator = define(
    "soft_skeleton_backward(Tensor grad, Tensor x, int iterations) -> Tensor",
    _skeleton_backward,
    _skeleton_backward_fake,
)


def _setup_skeleton(ctx: Any, inputs: tuple[Tensor, int], output: Tensor) -> None:
    ctx.save_for_backward(inputs[0])
    ctx.iterations = inputs[1]


def _derive_skeleton(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
    return skeleton_backward_operator(grad, *ctx.saved_tensors, ctx.iterations), None


def _setup(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor, Tensor]) -> None:
    ctx.save_for_backward(*inputs[:5], *output[1:])
    ctx.mark_non_differentiable(*output[1:])
    ctx.others = inputs[5:]


def _derive(ctx: Any, grad: Tensor, *_: Any) -> tuple[Tensor | None, ...]:
    *tensors, numbers, kept = ctx.saved_tensors
    return _backward_operator(grad, numbers, kept, *tensors, *ctx.others), *[None] * 7


def _no_second(ctx: Any, *_: Any) -> Any:
    raise ExactaRuntimeError(
        "a compiled kernel has no second derivative; make the loss with backend='torch' for create_graph=True"
    )


torch.library.register_autograd("exacta::loss", _derive, setup_context=_setup, lib=_LIBRARY)
torch.library.register_autograd("exacta::loss_backward", _no_second, lib=_LIBRARY)
torch.library.register_autograd("exacta::soft_skeleton", _derive_skeleton, setup_context=_setup_skeleton, lib=_LIBRARY)
torch.library.register_autograd("exacta::soft_skeleton_backward", _no_second, lib=_LIBRARY)

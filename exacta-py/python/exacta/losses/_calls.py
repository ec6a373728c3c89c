"""One call of a kernel: tensors to arrays in place, values and gradients back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from exacta import _native
from exacta._threads import get_num_threads

from ._prepare import compute_dtype
from ._sums import check_group, group_exists, reduced

if TYPE_CHECKING:
    import numpy.typing as npt
    from torch import Tensor

__all__ = ["Arrays", "Call", "Tensors", "arrays", "as_tensor", "backward", "forward", "host", "made"]


_SMALL = 4096


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
    """Weights of classes, or a matrix of costs."""


def made(name: str, params: dict[str, Any], weight: Tensor | None, spacing: list[float]) -> Call:
    """Return a call with the settings that change from step to step."""
    if weight is not None:
        params = {**params, "dist_matrix" if "wasserstein" in name else "class_weight": weight.flatten().tolist()}
    if spacing:
        params = {**params, "spacing": spacing}
    return Call(name, params)


def host(x: Tensor) -> tuple[npt.NDArray[Any], str | None]:
    """Return a tensor as a NumPy array in place, halves as their bits and by name."""
    if x.requires_grad:
        x = x.detach()
    if x.dtype is torch.float16:
        return x.view(torch.int16).numpy().view(np.uint16), "float16"
    if x.dtype is torch.bfloat16:
        return x.view(torch.int16).numpy().view(np.uint16), "bfloat16"
    return x.numpy(), None


class Arrays(NamedTuple):
    """The tensors of a call as the extension takes them."""

    input: npt.NDArray[Any]
    target: npt.NDArray[Any]
    options: dict[str, Any]


def arrays(tensors: Tensors) -> Arrays:
    """Return the tensors of a call as arrays in place."""
    x, x_half = host(tensors.input)
    y, y_half = host(tensors.target)
    # Little work goes to one thread anyway, and no result depends on their number.
    options: dict[str, Any] = {"threads": get_num_threads() if x.size > _SMALL else 1}
    if x_half is not None:
        options["input_half"] = x_half
    if y_half is not None:
        options["target_half"] = y_half
    if tensors.mask is not None:
        options["mask"] = tensors.mask.numpy()
    if tensors.map is not None:
        options["map"] = tensors.map.numpy()
    return Arrays(x, y, options)


def forward(
    call: Call, given: Arrays, distributed: bool = False
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[Any] | None]:
    """Return values, small numbers and large arrays for the gradient."""
    if not distributed:
        return _native.loss_forward(call.name, call.params, given.input, given.target, **given.options)
    sums = _native.loss_statistics(call.name, call.params, given.input, given.target, **given.options)
    if group_exists():
        sums = reduced(torch.from_numpy(sums)).numpy()
    # A bad label anywhere is in the sums, and an error here, on every process.
    channels = given.input.shape[1]
    values, saved = _native.loss_from_statistics(call.name, call.params, sums, channels=channels)
    check_group()
    return values, saved, None


def backward(
    call: Call,
    given: Arrays,
    x: Tensor,
    saved: npt.NDArray[np.float64],
    kept: npt.NDArray[Any] | None,
    grad: npt.NDArray[np.float64],
) -> Tensor:
    """Return the gradient of the input, in its dtype and memory format."""
    result = torch.empty_like(x, requires_grad=False)
    out = host(result)[0] if "input_half" in given.options else result.numpy()
    options = given.options if kept is None else {**given.options, "kept": kept}
    _native.loss_backward(call.name, call.params, given.input, given.target, saved, grad, out, **options)
    return result


def as_tensor(values: npt.NDArray[np.float64], call: Call, x: Tensor) -> Tensor:
    """Return values as a loss returns them."""
    if call.params.get("reduction") == "none":
        return torch.from_numpy(values).to(compute_dtype(x))
    return torch.scalar_tensor(values.item(0), dtype=compute_dtype(x))

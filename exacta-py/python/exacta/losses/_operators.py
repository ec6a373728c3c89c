"""The operators that PyTorch sees, `torch.ops.exacta`, so that compiled programs can hold them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from exacta import edt
from exacta._errors import ExactaNotImplementedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

__all__ = ["maps"]

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


def loss_operator(*arguments: Any) -> Any:
    raise NotImplementedError

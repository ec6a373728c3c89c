"""Losses whose value follows from a few sums over the voxels: their options, checks and ways of computing."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from exacta._errors import ExactaValueError

from . import _plain
from ._calls import Tensors
from ._kernels import compute, serves
from ._prepare import check_input, check_labels, check_mask, check_target, check_weight_length, include, prepare

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Options", "evaluate"]

_warned = False


class Options(NamedTuple):
    """Everything that makes one loss of the family differ from another; a factor of 0 leaves a term out."""

    activation: str
    target_format: str
    ignore_index: int | None
    backend: str
    distributed: bool = False
    overlap: str = ""
    """"plain", "squared", "tversky", "generalized", or "" without an overlap term."""
    overlap_factor: float = 1.0
    include_background: bool = True
    batch: bool = False
    smooth: float | tuple[float, float] = 0.0
    alpha: float = 0.5
    beta: float = 0.5
    power: float = 1.0
    weight_type: str = "square"
    empty_target: str = "zero"
    pointwise: str = ""
    """"ce", "focal", or "" without a pointwise term."""
    point_factor: float = 1.0
    gamma: float = 2.0
    focal_alpha: float | tuple[float, ...] | None = None


def evaluate(
    kernel: str,
    told: tuple[str, Options, dict[str, Any]],
    input: Any,  # noqa: A002
    target: Any,
    mask: Any,
    overlap_weight: Tensor | None = None,
    point_weight: Tensor | None = None,
) -> Tensor:
    """Check the arguments of one call, in the documented order, and compute the loss."""
    settings, options, params = told
    check_input(input)
    if not _warned and options.activation == "softmax" and input.shape[1] == 1:
        _warn_single_channel()
    mask = check_mask(mask, input)
    weight = overlap_weight if point_weight is None else point_weight
    if weight is not None:
        check_weight_length(weight, input)
    alpha = options.focal_alpha
    if isinstance(alpha, tuple) and options.pointwise and len(alpha) != input.shape[1]:
        raise ExactaValueError(
            f"alpha must be one number or have one value for each of the {input.shape[1]} classes; got {len(alpha)}"
        )
    tensors = Tensors(input, target, mask, None, weight)
    native = isinstance(target, torch.Tensor) and serves(options.backend, tensors, distributed=options.distributed)
    check_target(target, input, options.target_format)

    def plain(x: Tensor) -> Tensor:
        prepared = prepare(
            x,
            target,
            mask,
            target_format=options.target_format,
            ignore_index=options.ignore_index,
            defer=options.distributed,
        )
        if options.overlap and not options.include_background and x.shape[1] == 1:
            raise ExactaValueError("include_background=False needs at least two channels; got input with one")
        return _plain.fused(prepared, options, overlap_weight, point_weight)

    if not native:
        return plain(input)
    if options.target_format == "index" and target.is_floating_point():
        check_labels(target, include(mask, target, options.ignore_index), input.shape[1])
    if options.overlap and not options.include_background and input.shape[1] == 1:
        raise ExactaValueError("include_background=False needs at least two channels; got input with one")
    return compute(kernel, settings, tensors, plain, params=params, distributed=options.distributed)


def _warn_single_channel() -> None:
    """Say once that softmax over one channel is 1 everywhere."""
    global _warned
    if torch.compiler.is_compiling():
        return
    _warned = True
    warnings.warn(
        "softmax over a single channel is 1 everywhere and has no gradient; activation='sigmoid' is meant",
        UserWarning,
        stacklevel=6,
    )

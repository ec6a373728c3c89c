"""From small statistics to the value of a loss. Everything here is a tensor of a few numbers in float64.

Overlap statistics have the shape (3, R, K): three sums, for R cases (1 where the batch counts as one case) and K
selected
classes. Their meaning is `DICE`: sums of p g, p and g; squared: of p g, p^2 and g^2; Tversky: of p g, p (1 - g) and
(1 - p) g.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

if TYPE_CHECKING:
    from torch import Tensor

    from ._fused import Options

__all__ = ["Statistics", "overlap_value", "pointwise_value"]


class Statistics(NamedTuple):
    """What one pass over the voxels leaves."""

    overlap: Tensor | None
    """(3, R, K), or None without an overlap term."""
    counts: Tensor | None
    """(R,), included voxels; None where nothing can be left out."""
    numerator: Tensor | None
    """Sum of the pointwise term, or None without one."""
    denominator: Tensor | None
    """What it is divided by."""


def overlap_value(statistics: Statistics, options: Options, weight: Tensor | None) -> Tensor:
    """Return the overlap term: a mean over classes and cases, of those cases that have a voxel."""
    assert statistics.overlap is not None
    first, second, third = statistics.overlap.unbind(0)
    active = None if statistics.counts is None else statistics.counts > 0
    if weight is not None and not options.include_background:
        weight = weight[1:]
    if options.overlap == "generalized":
        ratios = _generalized(first, second, third, active, options, weight)
        return _over_cases(ratios, active)
    above, below = smoothing(options)
    if options.overlap == "tversky":
        over, under = first + above, first + options.alpha * second + options.beta * third + below
    else:
        over, under = 2 * first + above, second + third + below
    if active is not None:
        over, under = (torch.where(active.unsqueeze(1), part, torch.ones_like(part)) for part in (over, under))
    if isinstance(options.smooth, tuple):  # a class with nothing over nothing counts with a loss of 0
        nothing = (over == 0) & (under == 0)
        over, under = torch.where(nothing, 1.0, over), torch.where(nothing, 1.0, under)
    errors = 1 - over / under
    if options.power != 1.0:
        # The slope of a power below 1 is infinite at 0, where the loss is least: no gradient there.
        zero = errors == 0
        errors = torch.where(zero, 0.0, torch.where(zero, 1.0, errors) ** options.power)
    if weight is None:
        return _over_cases(errors.mean(1), active)
    weight = weight.to(errors.dtype)
    return _over_cases((errors * weight).sum(1) / _or_one(weight.sum()), active)


def smoothing(options: Options) -> tuple[float, float]:
    """Return what is added to the numerator and the denominator of a ratio."""
    return options.smooth if isinstance(options.smooth, tuple) else (options.smooth, options.smooth)


def _over_cases(values: Tensor, active: Tensor | None) -> Tensor:
    if active is None:
        return values.mean()
    return torch.where(active, values, 0.0).sum() / active.sum().clamp(min=1)


def _or_one(x: Tensor) -> Tensor:
    return torch.where(x == 0, 1.0, x)


def _generalized(
    overlap: Tensor,
    predicted: Tensor,
    volume: Tensor,
    active: Tensor | None,
    options: Options,
    class_weight: Tensor | None,
) -> Tensor:
    """Return 1 - 2 sum(w I) / sum(w (P + T)) of each case; absent classes weigh as much as the heaviest present one."""
    if options.weight_type == "uniform":
        weight = torch.ones_like(volume)
    else:
        present = volume != 0
        weight = 1 / torch.where(present, volume, 1.0) ** (2 if options.weight_type == "square" else 1)
        heaviest = torch.where(present, weight, -torch.inf).amax(1, keepdim=True)
        alone = 1.0 if options.empty_target == "uniform" else 0.0
        weight = torch.where(present, weight, torch.where(present.any(1, keepdim=True), heaviest, alone))
    if class_weight is not None:
        weight = weight * class_weight.to(weight.dtype)
    above, below = smoothing(options)
    over = 2 * (weight * overlap).sum(1) + above
    under = (weight * (predicted + volume)).sum(1) + below
    trivial = (weight == 0).all(1)
    if isinstance(options.smooth, tuple):
        trivial = trivial | ((over == 0) & (under == 0))
    if active is not None:
        trivial = trivial | ~active
    return 1 - torch.where(trivial, 1.0, over) / torch.where(trivial, 1.0, under)


def pointwise_value(statistics: Statistics, *, always: bool) -> Tensor:
    """Return the pointwise term; `always` says that nothing can be left out, so that 0 / 0 is the mean of nothing."""
    assert statistics.numerator is not None
    assert statistics.denominator is not None
    return statistics.numerator / (statistics.denominator if always else _or_one(statistics.denominator))

"""The sums over voxels of the overlap and pointwise losses, as a plain composition of PyTorch operators.

It serves every device, derivatives of any order and targets that need a gradient, and is what the kernels are compared
with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.nn import functional

from exacta._errors import ExactaValueError

from ._formulas import Statistics, overlap_value, pointwise_value
from ._prepare import holds
from ._sums import check_group, group_exists, total, wide

if TYPE_CHECKING:
    from torch import Tensor

    from ._fused import Options
    from ._prepare import Prepared

__all__ = ["activate", "cross_entropy", "fused", "log_probabilities"]


def activate(logits: Tensor, activation: str) -> Tensor:
    """Return probabilities."""
    if activation == "softmax":
        return torch.softmax(logits, 1)
    return torch.sigmoid(logits) if activation == "sigmoid" else logits


def fused(x: Prepared, options: Options, overlap_weight: Tensor | None, point_weight: Tensor | None) -> Tensor:
    """Return the value of a loss of this family."""
    statistics = _statistics(x, options, point_weight)
    invalid = x.invalid
    if options.distributed:
        statistics, invalid = _over_processes(statistics, x)
    value = None
    if statistics.overlap is not None:
        value = options.overlap_factor * overlap_value(statistics, options, overlap_weight)
    if statistics.numerator is not None:
        always = x.included is None and not options.distributed and not _weighs_labels(x, options, point_weight)
        points = options.point_factor * pointwise_value(statistics, always=always)
        value = points if value is None else value + points
    assert value is not None
    if invalid is not None:
        value = torch.where(invalid, torch.nan, value)
    return value.to(x.logits.dtype)


def _over_processes(statistics: Statistics, x: Prepared) -> tuple[Statistics, Tensor | None]:
    """Sum all statistics over the process group, in one message; a bad label anywhere is an error everywhere."""
    if x.fault is not None and not group_exists():
        raise x.fault
    check_group()
    parts = [part for part in (*statistics, x.invalid) if part is not None]
    block = total(torch.cat([wide(part).reshape(-1) for part in parts]))
    sums = iter(block.split([part.numel() for part in parts]))
    overlap, counts, numerator, denominator, bad = (
        None if part is None else next(sums).reshape(part.shape) for part in (*statistics, x.invalid)
    )
    invalid = None if bad is None else bad > 0
    if invalid is not None and holds(invalid):
        raise x.fault or ExactaValueError(
            "target must hold labels that are channels of input; another process of the group has one that is not"
        )
    return Statistics(overlap, counts, numerator, denominator), invalid


def _statistics(x: Prepared, options: Options, weight: Tensor | None) -> Statistics:
    overlap = counts = numerator = denominator = None
    if options.overlap:
        overlap = _overlap(x, options)
        counts = x.counts()
        if options.distributed and counts is None:
            counts = torch.full((1,), x.logits[:, 0].numel(), device=x.logits.device)
        if counts is not None:
            counts = wide(counts.sum().reshape(1) if options.batch else counts)
    if options.pointwise == "ce":
        numerator, denominator = cross_entropy(x, options.activation, weight)
    elif options.pointwise == "focal":
        numerator, denominator = _focal(x, options, weight)
    return Statistics(overlap, counts, numerator, denominator)


def _overlap(x: Prepared, options: Options) -> Tensor:
    """Return three sums for each case and selected class, (3, R, K)."""
    p, g = activate(x.logits, options.activation), x.target()
    if x.included is not None:
        p = torch.where(x.included, p, 0.0)
    if not options.include_background:
        p, g = p[:, 1:], g[:, 1:]
    p, g = p.flatten(2), g.flatten(2)
    if options.overlap == "tversky":
        products = (p * g, p * (1 - g), (1 - p) * g)
    elif options.overlap == "squared":
        products = (p * g, p * p, g * g)
    else:
        products = (p * g, p, g)
    sums = wide(torch.stack([product.sum(2) for product in products]))
    return sums.sum(1, keepdim=True) if options.batch else sums


def _weighs_labels(x: Prepared, options: Options, weight: Tensor | None) -> bool:
    return weight is not None and options.pointwise == "ce" and options.activation == "softmax" and x.labels is not None


def log_probabilities(x: Prepared) -> tuple[Tensor, Tensor | None]:
    """Return log-softmax and target: of the labelled class alone for labels, (B, 1, *spatial) and None."""
    logs = torch.log_softmax(x.logits, 1)
    if x.labels is not None:
        return logs.gather(1, x.labels.unsqueeze(1)), None
    assert x.soft is not None
    if not x.soft.requires_grad:
        # A class that is no target has no term, whatever its logarithm.
        logs = torch.where(x.soft != 0, logs, 0.0)
    return logs, x.soft


def _per_class(weight: Tensor, x: Prepared) -> Tensor:
    """Shape one number for each class like the logits, or pick that of each label."""
    weight = weight.to(x.logits)
    if x.labels is not None:
        return weight[x.labels].unsqueeze(1)
    return weight.view(1, -1, *[1] * (x.logits.ndim - 2))


def _included(x: Prepared) -> Tensor:
    """Return the number of voxels that count."""
    counts = x.counts()
    if counts is not None:
        return wide(counts.sum())
    return wide(torch.full((), x.logits[:, 0].numel(), device=x.logits.device))


def cross_entropy(x: Prepared, activation: str, weight: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return the sum of the cross-entropy and its divisor."""
    if activation == "sigmoid":
        terms = functional.binary_cross_entropy_with_logits(x.logits, x.target(), reduction="none")
        if weight is not None:
            terms = terms * weight.to(x.logits).view(1, -1, *[1] * (x.logits.ndim - 2))
        return _sum(terms, x), _included(x) * x.logits.shape[1]
    logs, soft = log_probabilities(x)
    terms = -logs if soft is None else -soft * logs
    divisor = _included(x)
    if weight is not None:
        weights = _per_class(weight, x)
        terms = weights * terms
        if soft is None:
            divisor = _sum(weights, x)
    return _sum(terms, x), divisor


def _focal(x: Prepared, options: Options, weight: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return the sum of the focal terms and its divisor."""
    gamma, divisor = options.gamma, _included(x)
    if options.activation == "sigmoid":
        terms = _focal_sigmoid(x, options)
        if weight is not None:
            terms = terms * weight.to(x.logits).view(1, -1, *[1] * (x.logits.ndim - 2))
        return _sum(terms, x), divisor * x.logits.shape[1]
    logs, soft = log_probabilities(x)
    terms = -_power(-torch.expm1(logs), gamma) * logs
    if soft is not None:
        terms = soft * terms
    alpha = _alpha(options, x)
    if alpha is not None:
        terms = _per_class(alpha, x) * terms
    if weight is not None:
        terms = _per_class(weight, x) * terms
    return _sum(terms, x), divisor


def _power(u: Tensor, gamma: float) -> Tensor:
    """Return u^gamma, with slope 0 at u = 0."""
    if gamma == 0.0:
        return torch.ones_like(u)
    positive = u > 0
    return torch.where(positive, torch.where(positive, u, 1.0) ** gamma, 0.0)


def _focal_sigmoid(x: Prepared, options: Options) -> Tensor:
    g, gamma = x.target(), options.gamma
    positive, negative = functional.logsigmoid(x.logits), functional.logsigmoid(-x.logits)
    on = -torch.exp(gamma * negative) * positive
    off = -torch.exp(gamma * positive) * negative
    alpha = _alpha(options, x)
    if alpha is not None:
        if isinstance(options.focal_alpha, float):
            alpha = torch.full_like(alpha, options.focal_alpha)
        alpha = alpha.to(x.logits).view(1, -1, *[1] * (x.logits.ndim - 2))
        on, off = alpha * on, (1 - alpha) * off
    if not g.requires_grad:
        on, off = torch.where(g != 0, on, 0.0), torch.where(g != 1, off, 0.0)
    return g * on + (1 - g) * off


def _alpha(options: Options, x: Prepared) -> Tensor | None:
    """Return the factor of each class: 1 - alpha for the first and alpha for the others, or what was given."""
    alpha, classes = options.focal_alpha, x.logits.shape[1]
    if alpha is None:
        return None
    values = list(alpha) if isinstance(alpha, tuple) else [1 - alpha] + [alpha] * (classes - 1)
    return torch.tensor(values, dtype=x.logits.dtype, device=x.logits.device)


def _sum(terms: Tensor, x: Prepared) -> Tensor:
    """Sum what counts."""
    if x.included is not None:
        terms = torch.where(x.included, terms, 0.0)
    return wide(terms.sum())

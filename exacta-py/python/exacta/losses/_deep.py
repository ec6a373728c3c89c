"""A weighted sum of a loss over several resolutions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from exacta._errors import ExactaTypeError, ExactaValueError, shown
from exacta._options import _real

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from torch import Tensor

__all__ = ["DeepSupervisionLoss"]


class DeepSupervisionLoss(nn.Module):
    r"""Weighted sum of one loss over the levels of a network.

    ``sum_i weights[i] loss(inputs[i], targets[i])``, without interpolation and without normalisation of the weights.

    Parameters
    ----------
    loss : module
        The loss of one level; returns a tensor of one value.
    weights : iterable of float
        One weight for each level, finite, at least 0, not all 0. A level of weight 0 is not looked at.

    Returns
    -------
    tensor of the dtype of `loss`, ()

    Raises
    ------
    ExactaTypeError
        If `inputs` or `targets` is a tensor, not a sequence of them.
    ExactaValueError
        If weights are not as described, or the number of levels differs from theirs.

    Notes
    -----
    Called with ``(inputs, targets, *, masks=None)``; each entry of `masks` is passed on as ``mask``.

    References
    ----------
    Lee et al., Deeply-supervised nets, AISTATS 2015.

    Examples
    --------
    >>> import torch
    >>> from exacta.losses import DeepSupervisionLoss, DiceLoss
    >>> loss = DeepSupervisionLoss(DiceLoss(smooth=0), [1.0, 0.5])
    >>> labels = torch.tensor([[0, 1, 1, 0]])
    >>> loss([torch.zeros(1, 2, 4), torch.zeros(1, 2, 2)], [labels, labels[:, :2]]).item()
    0.75
    """

    def __init__(self, loss: nn.Module, weights: Iterable[float]) -> None:
        super().__init__()
        values = tuple(_real("weights", weight, arrays=True) for weight in weights)
        if not values or not all(0 <= v < math.inf for v in values) or not any(values):
            raise ExactaValueError(f"weights must be finite, at least 0 and not all 0; got {shown(values)}")
        self.loss = loss
        self.weights = values

    def forward(
        self,
        inputs: Sequence[Tensor | None],
        targets: Sequence[Tensor | None],
        *,
        masks: Sequence[Tensor | None] | None = None,
    ) -> Tensor:
        """Return the weighted sum over levels."""
        levels = len(self.weights)
        for name, given in (("inputs", inputs), ("targets", targets)):
            if isinstance(given, torch.Tensor):
                raise ExactaTypeError(f"{name} must be a sequence with a tensor for each level; got one tensor")
            if len(given) != levels:
                raise ExactaValueError(f"{name} must have one entry for each of the {levels} weights; got {len(given)}")
        if masks is not None and (isinstance(masks, torch.Tensor) or len(masks) != levels):
            got = "one tensor" if isinstance(masks, torch.Tensor) else len(masks)
            raise ExactaValueError(f"masks must be None or have one entry for each of the {levels} weights; got {got}")
        total: Tensor | None = None
        for level, weight in enumerate(self.weights):
            if weight == 0:
                continue
            extra: dict[str, Any] = {} if masks is None else {"mask": masks[level]}
            value = self.loss(inputs[level], targets[level], **extra)
            if not isinstance(value, torch.Tensor) or value.ndim:
                raise ExactaValueError(
                    f"loss must return a tensor of one value; got {getattr(value, 'shape', type(value).__name__)}"
                )
            total = weight * value if total is None else total + weight * value
        assert total is not None
        return total

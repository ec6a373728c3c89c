"""Cross-entropy of the hardest voxels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch

from exacta._errors import ExactaValueError

from ._arguments import check_backend, check_class_weight, check_coefficients, check_ignore_index, check_number
from ._combined import _Delegate
from ._kernels import check_index, run
from ._module import Configured
from ._overlap import DiceLoss
from ._plain import fused, log_probabilities
from ._prepare import prepare
from ._sums import wide

if TYPE_CHECKING:
    from torch import Tensor

    from ._prepare import Prepared

__all__ = ["DiceTopKCELoss", "TopKCELoss"]


class TopKCELoss(Configured):
    r"""Softmax cross-entropy of the share of voxels where it is largest.

    Mean of the k largest ``-w[y] log p[y]`` among the n voxels of the whole batch, ``k = ceil(fraction n)`` in float64.
    Of equal values those at the lowest index of the flattened labels ``(B, *spatial)`` are taken.

    Parameters
    ----------
    fraction : float, default 0.1
        Share of the voxels, in (0, 1].
    ignore_index : int or None, default None
        Label whose voxels are left out.
    class_weight : sequence of float, (C,), or None, default None
        Weights w, which count in the order of voxels too; the divisor stays k.
    backend : {"auto", "native", "torch"}, default "auto"
        As in `DiceLoss`.

    Returns
    -------
    tensor of float32, or of float64 for float64 logits, ()
        0 with a zero gradient if no voxel is left.

    Raises
    ------
    ExactaTypeError, ExactaValueError
        If an option, or a dtype, shape, device or label is not as described.

    Notes
    -----
    nnU-Net's ``TopKLoss`` rounds k down.

    References
    ----------
    Wu, Shen and van den Hengel, Bridging category-level and instance-level semantic image segmentation, 2016, section
    3.2.

    Examples
    --------
    >>> import torch
    >>> from exacta.losses import TopKCELoss
    >>> logits = torch.tensor([[[0.0, 3.0, 3.0], [0.0, 0.0, 0.0]]])
    >>> round(TopKCELoss(fraction=0.3)(logits, torch.tensor([[0, 0, 0]])).item(), 6)
    0.693147
    """

    class_weight: Tensor | None
    _exported = ("fraction", "ignore_index")

    def __init__(
        self,
        *,
        fraction: float = 0.1,
        ignore_index: int | None = None,
        backend: str = "auto",
        class_weight: Any = None,
    ) -> None:
        super().__init__()
        self.backend = check_backend(backend)
        self.fraction = check_number("fraction", fraction, most=1.0, above=True)
        self.ignore_index = check_ignore_index(ignore_index)
        self.register_buffer("class_weight", check_class_weight(class_weight))

    def forward(self, input: Tensor, target: Tensor, *, mask: Tensor | None = None) -> Tensor:  # noqa: A002
        """Return the loss of logits (B, C, *spatial) and labels (B, *spatial), over the voxels where `mask` is True."""
        x = check_index(input, target, mask, self.class_weight, self.ignore_index)

        def plain(z: Tensor) -> Tensor:
            prepared = prepare(z, *x[1:3], target_format="index", ignore_index=self.ignore_index)
            return _hardest(prepared, self.fraction, self.class_weight)

        return run("topk_ce", self._settings, self.backend, x, plain)


def _hardest(x: Prepared, fraction: float, weight: Tensor | None) -> Tensor:
    """Return the mean of the largest values, as a plain composition of PyTorch operators."""
    assert x.labels is not None
    terms = -log_probabilities(x)[0].flatten()
    if weight is not None:
        terms = terms * weight.to(terms)[x.labels].flatten()
    total = terms.numel()
    if x.included is None:
        count = torch.full((), math.ceil(fraction * total), device=terms.device)
    else:
        included = x.included.flatten()
        count = torch.ceil(wide(included.sum()) * fraction).to(torch.int64)
        terms = torch.where(included, terms, 0.0)
    if fraction < 1.0:
        keys = terms.detach()
        if x.included is not None:
            keys = torch.where(x.included.flatten(), keys, -torch.inf)
        # Stable, so that of equal values the first are taken; the number of them stays on the device.
        order = keys.argsort(descending=True, stable=True)
        terms = torch.where(torch.arange(total, device=terms.device) < count, terms[order], 0.0)
    value = wide(terms.sum()) / count.clamp(min=1)
    if x.invalid is not None:
        value = torch.where(x.invalid, torch.nan, value)
    return value.to(x.logits.dtype)


class DiceTopKCELoss(Configured):
    r"""Dice loss plus cross-entropy of the hardest voxels.

    ``lambda_dice Dice + lambda_ce TopKCE``, with `DiceLoss` for softmax and labels, and `TopKCELoss`.

    Parameters
    ----------
    fraction : float, default 0.1
        As in `TopKCELoss`.
    lambda_dice : float, default 1.0
        Factor of the Dice loss, at least 0. A term whose factor is 0 is not computed.
    lambda_ce : float, default 1.0
        Factor of the cross-entropy, at least 0; one of both must be above 0.
    include_background, batch_dice, smooth, ignore_index, backend, squared_pred
        As in `DiceLoss`. `include_background` is about the Dice term alone.
    class_weight : sequence of float, (C,), or None, default None
        Weights of the cross-entropy, as in `TopKCELoss`; the Dice term has none.

    Returns
    -------
    tensor of float32, or of float64 for float64 logits, ()
        0 with a zero gradient if no voxel is left.

    Raises
    ------
    ExactaTypeError, ExactaValueError
        If an option, or a dtype, shape, device or label is not as described.

    References
    ----------
    Isensee et al., nnU-Net, Nature Methods 2021; Ma et al., Loss odyssey in medical image segmentation, Medical Image
    Analysis 2021.

    Examples
    --------
    >>> import torch
    >>> from exacta.losses import DiceTopKCELoss
    >>> round(DiceTopKCELoss(smooth=0)(torch.zeros(1, 2, 4), torch.tensor([[0, 1, 1, 0]])).item(), 5)
    1.19315
    """

    class_weight: Tensor | None
    _exported = ("lambda_dice", "lambda_ce")
    include_background = _Delegate()
    batch_dice = _Delegate()
    smooth = _Delegate()
    squared_pred = _Delegate()
    backend = _Delegate()
    ignore_index = _Delegate()
    fraction = _Delegate("ce")

    def __init__(
        self,
        *,
        fraction: float = 0.1,
        lambda_dice: float = 1.0,
        lambda_ce: float = 1.0,
        include_background: bool = True,
        batch_dice: bool = False,
        smooth: float = 1e-5,
        ignore_index: int | None = None,
        backend: str = "auto",
        squared_pred: bool = False,
        class_weight: Any = None,
    ) -> None:
        super().__init__()
        self.lambda_dice, self.lambda_ce = check_coefficients(lambda_dice=lambda_dice, lambda_ce=lambda_ce)
        self.dice = DiceLoss(
            include_background=include_background,
            batch_dice=batch_dice,
            smooth=smooth,
            ignore_index=ignore_index,
            backend=backend,
            squared_pred=squared_pred,
        )
        self.ce = TopKCELoss(fraction=fraction, ignore_index=ignore_index, backend=backend)
        self.register_buffer("class_weight", check_class_weight(class_weight))

    def forward(self, input: Tensor, target: Tensor, *, mask: Tensor | None = None) -> Tensor:  # noqa: A002
        """Return the loss of logits (B, C, *spatial) and labels (B, *spatial), over the voxels where `mask` is True."""
        x = check_index(input, target, mask, self.class_weight, self.ignore_index)
        if self.lambda_dice and not self.include_background and input.shape[1] == 1:
            raise ExactaValueError("include_background=False needs at least two channels; got input with one")

        def plain(z: Tensor) -> Tensor:
            return self._plain(prepare(z, *x[1:3], target_format="index", ignore_index=self.ignore_index))

        settings = f'{self.dice._settings}\n{self.ce._settings}\n{self._settings}\n{{"activation": null}}'
        return run("dice_topk_ce", settings, self.backend, x, plain)

    def _plain(self, x: Prepared) -> Tensor:
        value: Tensor | None = None
        if self.lambda_dice:
            value = self.lambda_dice * fused(x, self.dice._options(), None, None)
        if self.lambda_ce:
            hardest = self.lambda_ce * _hardest(x, self.ce.fraction, self.class_weight)
            value = hardest if value is None else value + hardest
        assert value is not None
        return value

"""The focal loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._arguments import (
    check_alpha,
    check_backend,
    check_class_weight,
    check_format,
    check_ignore_index,
    check_number,
    one_of,
)
from ._fused import Options, evaluate
from ._module import Configured, current

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["FocalLoss"]


class FocalLoss(Configured):
    r"""Focal loss: cross-entropy that fades for voxels that are right already.

    With softmax ``sum_c -a_c g_c (1 - p_c)^gamma log p_c``, averaged over voxels. With sigmoid, of each channel,
    ``-a g (1 - p)^gamma log p - (1 - a) (1 - g) p^gamma log(1 - p)``, averaged over voxels and channels. Logarithms and
    complements are taken of the logits, so no logit is too large.

    Parameters
    ----------
    activation : {"softmax", "sigmoid"}, default "softmax"
        How logits become p.
    target_format : {"index", "one-hot"}, default "index"
        Labels ``(B, *spatial)`` of integers, or one number for each class ``(B, C, *spatial)``, used as it is: soft
        targets blend the terms for 0 and 1.
    gamma : float, default 2.0
        The exponent, at least 0; 0 is cross-entropy.
    alpha : float, sequence of float (C,), or None, default None
        Balance, within [0, 1]. One number: with softmax the factor of all classes but the first, which has 1 - alpha;
        with sigmoid that of positive voxels, negative ones having 1 - alpha. One for each class: with softmax the
        factor
        of that class, with sigmoid the alpha of that channel.
    ignore_index : int or None, default None
        Label whose voxels are left out; for labels only.
    distributed : bool, default False
        Whether sums run over all processes of the default group, as in `DiceLoss`.
    backend : {"auto", "native", "torch"}, default "auto"
        As in `DiceLoss`.
    class_weight : sequence of float, (C,), or None, default None
        Factors of the classes beside alpha, one for each channel; the divisor stays the number of voxels, and channels.

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
    MONAI's ``FocalLoss(use_softmax=True)`` also divides by the number of classes.

    References
    ----------
    Lin et al., Focal loss for dense object detection, ICCV 2017, eq. 5.

    Examples
    --------
    >>> import torch
    >>> from exacta.losses import FocalLoss
    >>> loss = FocalLoss(alpha=(0.1, 0.3, 0.6))
    >>> round(loss(torch.zeros(1, 3, 1), torch.tensor([[2]])).item(), 6)
    0.292963
    """

    class_weight: Tensor | None
    _exported = ("activation", "target_format", "gamma", "alpha", "ignore_index", "backend", "distributed")

    def __init__(
        self,
        *,
        activation: str = "softmax",
        target_format: str = "index",
        gamma: float = 2.0,
        alpha: Any = None,
        ignore_index: int | None = None,
        distributed: bool = False,
        backend: str = "auto",
        class_weight: Any = None,
    ) -> None:
        super().__init__()
        self.activation = one_of("activation", activation, ("softmax", "sigmoid"))
        self.target_format = check_format(target_format)
        self.backend = check_backend(backend)
        self.gamma = check_number("gamma", gamma)
        self.alpha = check_alpha(alpha)
        self.ignore_index = check_ignore_index(ignore_index, labels=target_format == "index")
        self.distributed = bool(distributed)
        self.register_buffer("class_weight", check_class_weight(class_weight))

    def _options(self) -> Options:
        return Options(
            activation=self.activation,
            target_format=self.target_format,
            ignore_index=self.ignore_index,
            backend=self.backend,
            distributed=bool(self.distributed),
            pointwise="focal",
            gamma=self.gamma,
            focal_alpha=self.alpha,
        )

    def forward(self, input: Tensor, target: Tensor, *, mask: Tensor | None = None) -> Tensor:  # noqa: A002
        """Return the loss of logits (B, C, *spatial) and a target, over the voxels where `mask` is True."""
        return evaluate("focal", current(self), input, target, mask, point_weight=self._buffers["class_weight"])

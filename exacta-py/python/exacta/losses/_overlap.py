"""Overlap losses: Dice, Tversky, focal Tversky, generalized Dice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from exacta._errors import ExactaValueError

from ._arguments import (
    ACTIVATIONS,
    check_backend,
    check_class_weight,
    check_flag,
    check_format,
    check_ignore_index,
    check_number,
    check_smooth,
    one_of,
)
from ._fused import Options, evaluate
from ._module import Configured, current

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["DiceLoss", "FocalTverskyLoss", "GeneralizedDiceLoss", "TverskyLoss"]


class _OverlapLoss(Configured):
    """Options, checks and the forward pass that all overlap losses share."""

    class_weight: Tensor | None
    _shared = (
        *("activation", "target_format", "include_background", "batch_dice", "smooth", "ignore_index"),
        *("backend", "distributed"),
    )
    _exported: ClassVar[tuple[str, ...]] = _shared
    _kernel = ""

    def __init__(
        self,
        *,
        activation: str,
        target_format: str,
        include_background: bool,
        batch_dice: bool,
        distributed: bool,
        smooth: float | tuple[float, float],
        ignore_index: int | None,
        backend: str,
        class_weight: Any,
    ) -> None:
        super().__init__()
        self.activation = one_of("activation", activation, ACTIVATIONS)
        self.backend = check_backend(backend)
        self.target_format = check_format(target_format)
        self.smooth = check_smooth(smooth)
        if distributed and not batch_dice:
            raise ExactaValueError(
                "distributed=True needs batch_dice=True: the ratio of a single case does not depend on other processes"
            )
        self.include_background = bool(include_background)
        self.batch_dice = bool(batch_dice)
        self.distributed = bool(distributed)
        self.ignore_index = check_ignore_index(ignore_index, labels=target_format == "index")
        self.register_buffer("class_weight", check_class_weight(class_weight))

    def _options(self) -> Options:
        return Options(
            activation=self.activation,
            target_format=self.target_format,
            ignore_index=self.ignore_index,
            backend=self.backend,
            distributed=bool(self.distributed),
            overlap="plain",
            include_background=bool(self.include_background),
            batch=bool(self.batch_dice),
            smooth=self.smooth,
        )

    def forward(self, input: Tensor, target: Tensor, *, mask: Tensor | None = None) -> Tensor:  # noqa: A002
        """Return the loss of logits (B, C, *spatial) and a target, over the voxels where `mask` is True."""
        return evaluate(self._kernel, current(self), input, target, mask, overlap_weight=self._buffers["class_weight"])


class DiceLoss(_OverlapLoss):
    r"""Soft Dice loss, one ratio for each case and class.

    ``1 - (2 I + s) / (P + T + s)``, averaged over cases and selected classes, with ``I = sum p g``, ``P = sum p`` and
    ``T = sum g`` over the voxels of a case, p the activated prediction, g the target as 0 and 1 (or soft) and s =
    `smooth`. With `squared_pred` ``P = sum p^2`` and ``T = sum g^2``.

    Parameters
    ----------
    activation : {"softmax", "sigmoid", "none"}, default "softmax"
        How logits become p: over channels, for each channel, or not at all (the input holds probabilities).
    target_format : {"index", "one-hot"}, default "index"
        Labels ``(B, *spatial)`` of integers, or one number for each class ``(B, C, *spatial)``, used as it is.
    include_background : bool, default True
        Whether channel 0 has a ratio. It is dropped after the activation.
    batch_dice : bool, default False
        Whether sums run over the batch, as if it were one case.
    distributed : bool, default False
        Whether sums run over all processes of the default group too; needs `batch_dice`. The gradient that each process
        gets is that of the whole batch times the number of processes, which DDP divides by again.
    smooth : float or (float, float), default 1e-5
        Added to numerator and denominator, or one number for each; at least 0. With 0 an absent class without predicted
        mass is NaN; with (0, 0) it counts with a loss of 0.
    ignore_index : int or None, default None
        Label whose voxels are left out, of any value; for labels only.
    backend : {"auto", "native", "torch"}, default "auto"
        The kernels of exacta, operators of PyTorch, or the kernels wherever they can.
    squared_pred : bool, default False
        Whether the denominator has squares.
    class_weight : sequence of float, (C,), or None, default None
        Weights of the mean over classes, one for each channel of the input, the background's too.

    Returns
    -------
    tensor of float32, or of float64 for float64 logits, ()
        Mean over cases, without those that have no voxel left; 0 with a zero gradient if none has.

    Raises
    ------
    ExactaTypeError, ExactaValueError
        If an option, or a dtype, shape, device or label is not as described.

    Notes
    -----
    Called with ``(input, target, *, mask=None)``; `mask` is bool, ``(B, *spatial)`` or ``(B, 1, *spatial)``. What is
    left out may hold anything, NaN too. Equal to MONAI's ``DiceLoss`` with both smoothing constants equal.

    References
    ----------
    Milletari, Navab and Ahmadi, V-Net, 3DV 2016, section 3 (squares); Drozdzal et al., The importance of skip
    connections in biomedical image segmentation, 2016, eq. 1.

    Examples
    --------
    >>> import torch
    >>> from exacta.losses import DiceLoss
    >>> probabilities = torch.tensor([[[0.9, 0.2, 0.6], [0.1, 0.8, 0.4]]])
    >>> loss = DiceLoss(activation="none", smooth=0)
    >>> round(loss(probabilities, torch.tensor([[0, 1, 1]])).item(), 6)
    0.30303
    """

    _exported = (*_OverlapLoss._shared, "squared_pred")
    _kernel = "dice"

    def __init__(
        self,
        *,
        activation: str = "softmax",
        target_format: str = "index",
        include_background: bool = True,
        batch_dice: bool = False,
        distributed: bool = False,
        smooth: float | tuple[float, float] = 1e-5,
        ignore_index: int | None = None,
        backend: str = "auto",
        squared_pred: bool = False,
        class_weight: Any = None,
    ) -> None:
        super().__init__(
            activation=activation,
            target_format=target_format,
            include_background=include_background,
            batch_dice=batch_dice,
            distributed=distributed,
            smooth=smooth,
            ignore_index=ignore_index,
            backend=backend,
            class_weight=class_weight,
        )
        self.squared_pred = check_flag("squared_pred", squared_pred)

    def _options(self) -> Options:
        options = super()._options()
        return options._replace(overlap="squared") if self.squared_pred else options


class TverskyLoss(_OverlapLoss):
    r"""Tversky loss: false positives and false negatives weighed apart.

    ``1 - (TP + s) / (TP + alpha FP + beta FN + s)``, averaged over cases and selected classes, with ``TP = sum p g``,
    ``FP = sum p (1 - g)``, ``FN = sum (1 - p) g``. Dice with twice the smoothing for ``alpha = beta = 0.5``, the soft
    Jaccard loss for ``alpha = beta = 1``.

    Parameters
    ----------
    activation, target_format, include_background, batch_dice, distributed, smooth, ignore_index, backend, class_weight
        As in `DiceLoss`.
    alpha : float, default 0.5
        Weight of false positives, at least 0.
    beta : float, default 0.5
        Weight of false negatives, at least 0.

    Returns
    -------
    tensor of float32, or of float64 for float64 logits, ()
        As `DiceLoss`.

    Raises
    ------
    ExactaTypeError, ExactaValueError
        As `DiceLoss`.

    References
    ----------
    Salehi, Erdogmus and Gholipour, Tversky loss function for image segmentation, MLMI 2017, eq. 4.

    Examples
    --------
    >>> import torch
    >>> from exacta.losses import TverskyLoss
    >>> loss = TverskyLoss(activation="none", target_format="one-hot", smooth=0, alpha=0.3, beta=0.7)
    >>> round(loss(torch.ones(1, 1, 6), torch.tensor([[[0, 1, 0, 1, 1, 1]]])).item(), 6)
    0.130435
    """

    _exported: ClassVar[tuple[str, ...]] = (*_OverlapLoss._shared, "alpha", "beta")
    _kernel = "tversky"

    def __init__(
        self,
        *,
        activation: str = "softmax",
        target_format: str = "index",
        include_background: bool = True,
        batch_dice: bool = False,
        distributed: bool = False,
        smooth: float | tuple[float, float] = 1e-5,
        ignore_index: int | None = None,
        backend: str = "auto",
        alpha: float = 0.5,
        beta: float = 0.5,
        class_weight: Any = None,
    ) -> None:
        super().__init__(
            activation=activation,
            target_format=target_format,
            include_background=include_background,
            batch_dice=batch_dice,
            distributed=distributed,
            smooth=smooth,
            ignore_index=ignore_index,
            backend=backend,
            class_weight=class_weight,
        )
        self.alpha = check_number("alpha", alpha)
        self.beta = check_number("beta", beta)

    def _options(self) -> Options:
        return super()._options()._replace(overlap="tversky", alpha=self.alpha, beta=self.beta)


class FocalTverskyLoss(TverskyLoss):
    r"""Focal Tversky loss: the Tversky loss of each case and class to a power.

    ``e^gamma`` of each entry ``e`` of `TverskyLoss`, then the mean. An entry of exactly 0 has no gradient.

    Parameters
    ----------
    activation, target_format, include_background, batch_dice, distributed, smooth, ignore_index, backend, class_weight
        As in `DiceLoss`.
    gamma : float, default 0.75
        The exponent itself, above 0; 1 is `TverskyLoss`.
    alpha : float, default 0.3
        Weight of false positives, at least 0.
    beta : float, default 0.7
        Weight of false negatives, at least 0.

    Returns
    -------
    tensor of float32, or of float64 for float64 logits, ()
        As `DiceLoss`.

    Raises
    ------
    ExactaTypeError, ExactaValueError
        As `DiceLoss`.

    References
    ----------
    Abraham and Khan, A novel focal Tversky loss function with improved attention U-Net, ISBI 2019, eq. 4; there the
    exponent is 1 / gamma.

    Examples
    --------
    >>> import torch
    >>> from exacta.losses import FocalTverskyLoss
    >>> probabilities = torch.tensor([[[0.9, 0.2, 0.6], [0.1, 0.8, 0.4]]])
    >>> loss = FocalTverskyLoss(activation="none", smooth=0)
    >>> round(loss(probabilities, torch.tensor([[0, 1, 1]])).item(), 6)
    0.397559
    """

    _exported = (*TverskyLoss._exported, "gamma")
    _kernel = "focal_tversky"

    def __init__(
        self,
        *,
        activation: str = "softmax",
        target_format: str = "index",
        include_background: bool = True,
        batch_dice: bool = False,
        distributed: bool = False,
        smooth: float | tuple[float, float] = 1e-5,
        ignore_index: int | None = None,
        backend: str = "auto",
        gamma: float = 0.75,
        alpha: float = 0.3,
        beta: float = 0.7,
        class_weight: Any = None,
    ) -> None:
        super().__init__(
            activation=activation,
            target_format=target_format,
            include_background=include_background,
            batch_dice=batch_dice,
            distributed=distributed,
            smooth=smooth,
            ignore_index=ignore_index,
            backend=backend,
            alpha=alpha,
            beta=beta,
            class_weight=class_weight,
        )
        self.gamma = check_number("gamma", gamma, above=True)

    def _options(self) -> Options:
        return super()._options()._replace(power=self.gamma)


class GeneralizedDiceLoss(_OverlapLoss):
    r"""Generalized Dice loss: one ratio for all classes of a case, each weighed by its volume.

    ``1 - (2 sum w_c I_c + s) / (sum w_c (P_c + T_c) + s)`` over the selected classes, averaged over cases, with the
    sums
    of `DiceLoss` and ``w = 1 / T^2``, ``1 / T`` or 1. A class that is absent from the target gets the largest weight of
    the present ones.

    Parameters
    ----------
    activation, target_format, include_background, batch_dice, distributed, smooth, ignore_index, backend
        As in `DiceLoss`. Smoothing is added after weighing, so it is not small beside ``w T = 1 / T``.
    weight_type : {"square", "simple", "uniform"}, default "square"
        ``1 / T^2``, ``1 / T`` or 1.
    empty_target : {"zero", "uniform"}, default "zero"
        What counts where no selected class is present: weights 0 and the loss 0, or weights 1. Without effect for
        ``weight_type="uniform"``.
    class_weight : sequence of float, (C,), or None, default None
        Factors of the weights, one for each channel of the input, the background's too.

    Returns
    -------
    tensor of float32, or of float64 for float64 logits, ()
        As `DiceLoss`; a case with an empty target counts in the mean.

    Raises
    ------
    ExactaTypeError, ExactaValueError
        As `DiceLoss`.

    Notes
    -----
    Equal to MONAI's ``GeneralizedDiceLoss`` with both smoothing constants equal.

    References
    ----------
    Sudre et al., Generalised Dice overlap as a deep learning loss function, DLMIA 2017, section 2.1.

    Examples
    --------
    >>> import torch
    >>> from exacta.losses import GeneralizedDiceLoss
    >>> probabilities = torch.tensor([[[0.9, 0.2, 0.6], [0.1, 0.8, 0.4]]])
    >>> loss = GeneralizedDiceLoss(activation="none", smooth=0)
    >>> round(loss(probabilities, torch.tensor([[0, 1, 1]])).item(), 6)
    0.319149
    """

    _exported = (*_OverlapLoss._shared, "weight_type", "empty_target")
    _kernel = "generalized_dice"

    def __init__(
        self,
        *,
        activation: str = "softmax",
        target_format: str = "index",
        include_background: bool = True,
        batch_dice: bool = False,
        distributed: bool = False,
        smooth: float | tuple[float, float] = 1e-5,
        ignore_index: int | None = None,
        backend: str = "auto",
        weight_type: str = "square",
        empty_target: str = "zero",
        class_weight: Any = None,
    ) -> None:
        super().__init__(
            activation=activation,
            target_format=target_format,
            include_background=include_background,
            batch_dice=batch_dice,
            distributed=distributed,
            smooth=smooth,
            ignore_index=ignore_index,
            backend=backend,
            class_weight=class_weight,
        )
        self.weight_type = one_of("weight_type", weight_type, ("square", "simple", "uniform"))
        self.empty_target = one_of("empty_target", empty_target, ("zero", "uniform"))

    def _options(self) -> Options:
        return (
            super()
            ._options()
            ._replace(overlap="generalized", weight_type=self.weight_type, empty_target=self.empty_target)
        )

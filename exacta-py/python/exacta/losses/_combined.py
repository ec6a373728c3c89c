"""Sums of an overlap loss and a pointwise loss, of one pass over the logits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._arguments import check_class_weight, check_coefficients, one_of
from ._focal import FocalLoss
from ._fused import Options, evaluate
from ._module import Configured, current
from ._overlap import DiceLoss, GeneralizedDiceLoss

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["DiceCELoss", "DiceFocalLoss", "GeneralizedDiceCELoss"]


class _Delegate:
    """An option that lives in a submodule, read and written through the sum."""

    def __init__(self, module: str = "dice") -> None:
        self.module = module

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else getattr(getattr(instance, self.module), self.name)

    def __set__(self, instance: Any, value: Any) -> None:
        setattr(getattr(instance, self.module), self.name, value)


class DiceCELoss(Configured):
    r"""Dice loss plus cross-entropy, of one pass over the logits.

    ``lambda_dice Dice + lambda_ce CE``, with `DiceLoss` and, over all channels, the cross-entropy. With softmax and
    labels y that is ``sum -w[y] log p[y]`` over ``sum w[y]``; with softmax and one-hot targets ``sum -w_c g_c log p_c``
    over the number of voxels; with sigmoid the mean over voxels and channels of ``w_c BCE(z_c, g_c)``.

    Parameters
    ----------
    activation : {"softmax", "sigmoid"}, default "softmax"
        How logits become p.
    target_format, include_background, batch_dice, distributed, smooth, squared_pred, ignore_index, backend
        As in `DiceLoss`. `include_background` is about the Dice term alone.
    lambda_dice : float, default 1.0
        Factor of the Dice loss, at least 0. A term whose factor is 0 is not computed.
    lambda_ce : float, default 1.0
        Factor of the cross-entropy, at least 0; one of both must be above 0.
    class_weight : sequence of float, (C,), or None, default None
        Weights w of the cross-entropy, one for each channel of the input; the Dice term has none.

    Returns
    -------
    tensor of float32, or of float64 for float64 logits, ()
        A term for which no voxel, or no weight, is left is 0 with a zero gradient.

    Raises
    ------
    ExactaTypeError, ExactaValueError
        If an option, or a dtype, shape, device or label is not as described.

    Notes
    -----
    MONAI's ``DiceCELoss`` weighs the Dice term too, and has the softmax cross-entropy even for ``sigmoid=True``.

    References
    ----------
    Isensee et al., nnU-Net, Nature Methods 2021, online methods.

    Examples
    --------
    >>> import torch
    >>> from exacta.losses import DiceCELoss
    >>> logits = torch.zeros(1, 2, 4, requires_grad=True)
    >>> loss = DiceCELoss()(logits, torch.tensor([[0, 1, 1, 0]]))
    >>> loss.backward()
    >>> round(loss.item(), 5)
    1.19315
    """

    class_weight: Tensor | None
    activation = _Delegate()
    target_format = _Delegate()
    include_background = _Delegate()
    batch_dice = _Delegate()
    distributed = _Delegate()
    smooth = _Delegate()
    ignore_index = _Delegate()
    backend = _Delegate()
    _exported = ("lambda_dice", "lambda_ce")
    _kernel = "dice_ce"
    _point_factor = "lambda_ce"

    def __init__(
        self,
        *,
        activation: str = "softmax",
        target_format: str = "index",
        include_background: bool = True,
        batch_dice: bool = False,
        distributed: bool = False,
        smooth: float | tuple[float, float] = 1e-5,
        lambda_dice: float = 1.0,
        lambda_ce: float = 1.0,
        class_weight: Any = None,
        squared_pred: bool = False,
        ignore_index: int | None = None,
        backend: str = "auto",
    ) -> None:
        super().__init__()
        one_of("activation", activation, ("softmax", "sigmoid"))
        self.dice: DiceLoss | GeneralizedDiceLoss = DiceLoss(
            activation=activation,
            target_format=target_format,
            include_background=include_background,
            batch_dice=batch_dice,
            distributed=distributed,
            smooth=smooth,
            ignore_index=ignore_index,
            backend=backend,
            squared_pred=squared_pred,
        )
        self.lambda_dice, self.lambda_ce = check_coefficients(
            **{"lambda_dice": lambda_dice, self._point_factor: lambda_ce}
        )
        self.register_buffer("class_weight", check_class_weight(class_weight))

    def _options(self) -> Options:
        options = self.dice._options()
        return options._replace(
            overlap=options.overlap if self.lambda_dice else "",
            overlap_factor=float(self.lambda_dice),
            pointwise="ce" if self.lambda_ce else "",
            point_factor=float(self.lambda_ce),
        )

    def forward(self, input: Tensor, target: Tensor, *, mask: Tensor | None = None) -> Tensor:  # noqa: A002
        """Return the loss of logits (B, C, *spatial) and a target, over the voxels where `mask` is True."""
        return evaluate(self._kernel, current(self), input, target, mask, point_weight=self._buffers["class_weight"])

    def _all_settings(self) -> str:
        return f"{self._modules['dice'].__dict__['_settings']}\n{self.__dict__['_settings']}"


class GeneralizedDiceCELoss(DiceCELoss):
    r"""Generalized Dice loss plus cross-entropy, of one pass over the logits.

    ``lambda_dice GDL + lambda_ce CE``, with `GeneralizedDiceLoss` and the cross-entropy of `DiceCELoss`.

    Parameters
    ----------
    activation, target_format, lambda_dice, lambda_ce, class_weight
        As in `DiceCELoss`.
    include_background, batch_dice, distributed, smooth, ignore_index, backend
        As in `DiceLoss`.
    weight_type, empty_target
        As in `GeneralizedDiceLoss`.

    Returns
    -------
    tensor of float32, or of float64 for float64 logits, ()
        As `DiceCELoss`.

    Raises
    ------
    ExactaTypeError, ExactaValueError
        As `DiceCELoss`.

    References
    ----------
    Sudre et al., Generalised Dice overlap as a deep learning loss function, DLMIA 2017, section 2.1.

    Examples
    --------
    >>> import torch
    >>> from exacta.losses import GeneralizedDiceCELoss
    >>> round(GeneralizedDiceCELoss(smooth=0)(torch.zeros(1, 2, 4), torch.tensor([[0, 1, 1, 0]])).item(), 5)
    1.19315
    """

    _kernel = "generalized_dice_ce"

    def __init__(
        self,
        *,
        activation: str = "softmax",
        target_format: str = "index",
        include_background: bool = True,
        batch_dice: bool = False,
        distributed: bool = False,
        smooth: float | tuple[float, float] = 1e-5,
        lambda_dice: float = 1.0,
        lambda_ce: float = 1.0,
        class_weight: Any = None,
        weight_type: str = "square",
        empty_target: str = "zero",
        ignore_index: int | None = None,
        backend: str = "auto",
    ) -> None:
        super().__init__(
            activation=activation,
            target_format=target_format,
            include_background=include_background,
            batch_dice=batch_dice,
            distributed=distributed,
            smooth=smooth,
            lambda_dice=lambda_dice,
            lambda_ce=lambda_ce,
            class_weight=class_weight,
            ignore_index=ignore_index,
            backend=backend,
        )
        self.dice = GeneralizedDiceLoss(
            activation=activation,
            target_format=target_format,
            include_background=include_background,
            batch_dice=batch_dice,
            distributed=distributed,
            smooth=smooth,
            ignore_index=ignore_index,
            backend=backend,
            weight_type=weight_type,
            empty_target=empty_target,
        )


class DiceFocalLoss(DiceCELoss):
    r"""Dice loss plus focal loss, of one pass over the logits.

    ``lambda_dice Dice + lambda_focal Focal``, with `DiceLoss` and, over all channels, `FocalLoss`.

    Parameters
    ----------
    activation : {"softmax", "sigmoid"}, default "softmax"
        How logits become p.
    target_format, include_background, batch_dice, distributed, smooth, squared_pred, ignore_index, backend
        As in `DiceLoss`. `include_background` is about the Dice term alone.
    lambda_dice : float, default 1.0
        Factor of the Dice loss, at least 0. A term whose factor is 0 is not computed.
    lambda_focal : float, default 1.0
        Factor of the focal loss, at least 0; one of both must be above 0. `lambda_ce` is the same number.
    gamma, alpha, class_weight
        As in `FocalLoss`; the Dice term has no weights.

    Returns
    -------
    tensor of float32, or of float64 for float64 logits, ()
        As `DiceCELoss`.

    Raises
    ------
    ExactaTypeError, ExactaValueError
        As `DiceCELoss`.

    Notes
    -----
    MONAI's ``DiceFocalLoss`` has the sigmoid focal loss even for ``softmax=True``.

    References
    ----------
    Zhu et al., AnatomyNet, Medical Physics 2019, eq. 4.

    Examples
    --------
    >>> import torch
    >>> from exacta.losses import DiceFocalLoss
    >>> round(DiceFocalLoss()(torch.zeros(1, 2, 4), torch.tensor([[0, 1, 1, 0]])).item(), 5)
    0.67329
    """

    _kernel = "dice_focal"
    gamma = _Delegate("focal")
    alpha = _Delegate("focal")
    _point_factor = "lambda_focal"

    def __init__(
        self,
        *,
        activation: str = "softmax",
        target_format: str = "index",
        include_background: bool = True,
        batch_dice: bool = False,
        distributed: bool = False,
        smooth: float | tuple[float, float] = 1e-5,
        lambda_dice: float = 1.0,
        lambda_focal: float = 1.0,
        gamma: float = 2.0,
        alpha: Any = None,
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
            lambda_dice=lambda_dice,
            lambda_ce=lambda_focal,
            class_weight=class_weight,
            squared_pred=squared_pred,
            ignore_index=ignore_index,
            backend=backend,
        )
        self.focal = FocalLoss(
            activation=activation,
            target_format=target_format,
            gamma=gamma,
            alpha=alpha,
            ignore_index=ignore_index,
            distributed=distributed,
            backend=backend,
        )

    @property
    def lambda_focal(self) -> float:
        """Factor of the focal loss."""
        return self.lambda_ce

    @lambda_focal.setter
    def lambda_focal(self, value: float) -> None:
        self.lambda_ce = value

    def _all_settings(self) -> str:
        factors = self._settings.replace("lambda_ce", "lambda_focal")
        return f"{self.dice._settings}\n{self.focal._settings}\n{factors}"

    def _options(self) -> Options:
        options = super()._options()
        return options._replace(
            pointwise="focal" if self.lambda_ce else "", gamma=self.focal.gamma, focal_alpha=self.focal.alpha
        )

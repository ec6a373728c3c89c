r"""Training losses as functions of arrays: the value, and the gradient with respect to the input.

For NumPy and whatever else `exacta.functional` reads; `exacta.losses` has the modules for PyTorch. Nothing is recorded: a
caller with automatic differentiation of its own, such as a ``jax.custom_vjp``, takes both numbers from here.

Arguments that all functions share:

input : array of float16, bfloat16, float32 or float64, (B, C, \*spatial)
    Logits; predictions with ``activation="none"``. Any strides. Halves are computed in single precision.
target : array of integers (B, \*spatial) or (B, 1, \*spatial), or of numbers (B, C, \*spatial)
    With ``target_format="index"`` a class in [0, C) a voxel; with ``"one-hot"`` a number a voxel and class, taken as it is.
mask : array of bool, (B, \*spatial) or (B, 1, \*spatial), optional
    Voxels that count. Excluded voxels may hold anything and get a gradient of 0.
activation : {"softmax", "sigmoid", "none"}, default "softmax"
    What turns logits into predictions p; "none" for overlap losses alone.
ignore_index : int, optional
    Voxels of this label do not count; index targets only.
include_background : bool, default True
    Whether channel 0 takes part in overlap ratios. The activation sees all channels.
batch_dice : bool, default False
    Sums over the batch before the ratio, rather than a ratio a case and then their mean.
smooth : float or (float, float), default 1e-5
    Added to numerator and denominator; two numbers set them apart, and a ratio 0/0 then counts as a loss of 0.
class_weight : sequence of C floats, optional
    Weight of each class; in overlap losses of a mean over the selected classes.
gradient : bool, default True
    Whether the gradient is computed.

Each returns a `ValueAndGradient`: the value as a float, computed with sums in double precision, and the gradient in the dtype,
the shape and the library of `input`, or None. The bits depend neither on threads nor on strides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from . import _native
from ._arrays import library_of
from ._errors import ExactaTypeError
from ._threads import get_num_threads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._arrays import Host

__all__ = [
    "ValueAndGradient",
    "cross_entropy",
    "dice",
    "dice_ce",
    "dice_focal",
    "focal",
    "focal_tversky",
    "generalized_dice",
    "generalized_dice_ce",
    "tversky",
]

Activation: TypeAlias = Literal["softmax", "sigmoid", "none"]
Format: TypeAlias = Literal["index", "one-hot"]
Smooth: TypeAlias = "float | tuple[float, float]"
Weights: TypeAlias = "Sequence[float] | None"


class ValueAndGradient(NamedTuple):
    """What a loss gives."""

    value: float
    """The loss."""
    gradient: Any
    """Its gradient with respect to `input`, an array like it; None if it was not asked for."""


def dice(
    input: Any,
    target: Any,
    *,
    mask: Any = None,
    activation: Activation = "softmax",
    target_format: Format = "index",
    include_background: bool = True,
    batch_dice: bool = False,
    smooth: Smooth = 1e-5,
    squared_pred: bool = False,
    class_weight: Weights = None,
    ignore_index: int | None = None,
    gradient: bool = True,
) -> ValueAndGradient:
    r"""Soft Dice loss, ``mean(1 - (2 sum(p g) + s) / (sum(p) + sum(g) + s))`` over cases and classes.

    `squared_pred` puts ``sum(p^2) + sum(g^2)`` in the denominator. Further parameters: see the module.

    References
    ----------
    Milletari, Navab and Ahmadi, V-Net, 3DV 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from exacta import functional_losses
    >>> p = np.array([[[0.9, 0.2, 0.6], [0.1, 0.8, 0.4]]])
    >>> value, gradient = functional_losses.dice(p, np.array([[0, 1, 1]]), activation="none", smooth=0.0)
    >>> round(value, 6), gradient.shape
    (0.30303, (1, 2, 3))
    """
    return _run("dice", locals())


def tversky(
    input: Any,
    target: Any,
    *,
    mask: Any = None,
    activation: Activation = "softmax",
    target_format: Format = "index",
    include_background: bool = True,
    batch_dice: bool = False,
    smooth: Smooth = 1e-5,
    alpha: float = 0.5,
    beta: float = 0.5,
    class_weight: Weights = None,
    ignore_index: int | None = None,
    gradient: bool = True,
) -> ValueAndGradient:
    """Tversky loss, ``mean(1 - (TP + s) / (TP + alpha FP + beta FN + s))``.

    ``TP = sum(p g)``, ``FP = sum(p (1 - g))``, ``FN = sum((1 - p) g)``: `alpha` weighs false positives, `beta` false
    negatives. Both 0.5 is Dice with twice the smoothing, both 1 the soft Jaccard loss. Further parameters: see the module.

    References
    ----------
    Salehi, Erdogmus and Gholipour, Tversky loss function for image segmentation, MLMI 2017.
    """
    return _run("tversky", locals())


def focal_tversky(
    input: Any,
    target: Any,
    *,
    mask: Any = None,
    activation: Activation = "softmax",
    target_format: Format = "index",
    include_background: bool = True,
    batch_dice: bool = False,
    smooth: Smooth = 1e-5,
    gamma: float = 0.75,
    alpha: float = 0.3,
    beta: float = 0.7,
    class_weight: Weights = None,
    ignore_index: int | None = None,
    gradient: bool = True,
) -> ValueAndGradient:
    """Focal Tversky loss, the mean of the Tversky loss of each case and class to the power `gamma`.

    A ratio of exactly 1 adds 0, with a derivative of 0. Further parameters: see `tversky` and the module.

    References
    ----------
    Abraham and Khan, A novel focal Tversky loss function with improved attention U-Net, ISBI 2019; `gamma` here is the
    exponent itself.
    """
    return _run("focal_tversky", locals())


def generalized_dice(
    input: Any,
    target: Any,
    *,
    mask: Any = None,
    activation: Activation = "softmax",
    target_format: Format = "index",
    include_background: bool = True,
    batch_dice: bool = False,
    smooth: Smooth = 1e-5,
    weight_type: Literal["square", "simple", "uniform"] = "square",
    empty_target: Literal["zero", "uniform"] = "zero",
    ignore_index: int | None = None,
    gradient: bool = True,
) -> ValueAndGradient:
    """Generalized Dice loss, ``mean(1 - (2 sum_c w_c I_c + s) / (sum_c w_c (P_c + T_c) + s))`` over cases.

    ``I = sum(p g)``, ``P = sum(p)``, ``T = sum(g)``; `w` is 1/T^2, 1/T or 1. A class absent from the target takes the
    largest weight of those present; if none is, the loss is 0, or that of equal weights with ``empty_target="uniform"``.
    Smoothing is added after weighting and is not small beside weights of 1/T^2. Further parameters: see the module.

    References
    ----------
    Sudre et al., Generalised Dice overlap as a deep learning loss function, DLMIA 2017.
    """
    return _run("generalized_dice", locals())


def cross_entropy(
    input: Any,
    target: Any,
    *,
    mask: Any = None,
    activation: Literal["softmax", "sigmoid"] = "softmax",
    target_format: Format = "index",
    class_weight: Weights = None,
    ignore_index: int | None = None,
    gradient: bool = True,
) -> ValueAndGradient:
    """Cross-entropy of classes, or binary cross-entropy of channels with sigmoid, averaged over the voxels that count.

    With `class_weight`, softmax and index targets the sum is divided by the weight of the labels; else by the number of
    voxels (times C for sigmoid). Further parameters: see the module.
    """
    return _run("cross_entropy", locals())


def focal(
    input: Any,
    target: Any,
    *,
    mask: Any = None,
    activation: Literal["softmax", "sigmoid"] = "softmax",
    target_format: Format = "index",
    gamma: float = 2.0,
    alpha: float | Sequence[float] | None = None,
    class_weight: Weights = None,
    ignore_index: int | None = None,
    gradient: bool = True,
) -> ValueAndGradient:
    """Focal loss, the mean of ``-a_c g_c (1 - p_c)^gamma log(p_c)`` summed over classes.

    `alpha`: one number is the weight of the classes above 0 (1 - alpha that of class 0; with sigmoid of a channel's absence), C
    numbers are those of the classes. `class_weight` multiplies the terms. Further parameters: see the module.

    References
    ----------
    Lin et al., Focal loss for dense object detection, ICCV 2017, equation 5.
    """
    return _run("focal", locals())


def dice_ce(
    input: Any,
    target: Any,
    *,
    mask: Any = None,
    activation: Literal["softmax", "sigmoid"] = "softmax",
    target_format: Format = "index",
    include_background: bool = True,
    batch_dice: bool = False,
    smooth: Smooth = 1e-5,
    lambda_dice: float = 1.0,
    lambda_ce: float = 1.0,
    class_weight: Weights = None,
    squared_pred: bool = False,
    ignore_index: int | None = None,
    gradient: bool = True,
) -> ValueAndGradient:
    """``lambda_dice * dice + lambda_ce * cross_entropy`` from one read of the input.

    `class_weight` reaches cross-entropy alone. Further parameters: see `dice`, `cross_entropy` and the module.
    """
    return _run("dice_ce", locals())


def generalized_dice_ce(
    input: Any,
    target: Any,
    *,
    mask: Any = None,
    activation: Literal["softmax", "sigmoid"] = "softmax",
    target_format: Format = "index",
    include_background: bool = True,
    batch_dice: bool = False,
    smooth: Smooth = 1e-5,
    lambda_dice: float = 1.0,
    lambda_ce: float = 1.0,
    weight_type: Literal["square", "simple", "uniform"] = "square",
    empty_target: Literal["zero", "uniform"] = "zero",
    class_weight: Weights = None,
    ignore_index: int | None = None,
    gradient: bool = True,
) -> ValueAndGradient:
    """``lambda_dice * generalized_dice + lambda_ce * cross_entropy`` from one read of the input.

    `class_weight` reaches cross-entropy alone. Further parameters: see `generalized_dice`, `cross_entropy` and the module.
    """
    return _run("generalized_dice_ce", locals())


def dice_focal(
    input: Any,
    target: Any,
    *,
    mask: Any = None,
    activation: Literal["softmax", "sigmoid"] = "softmax",
    target_format: Format = "index",
    include_background: bool = True,
    batch_dice: bool = False,
    smooth: Smooth = 1e-5,
    lambda_dice: float = 1.0,
    lambda_focal: float = 1.0,
    gamma: float = 2.0,
    alpha: float | Sequence[float] | None = None,
    squared_pred: bool = False,
    ignore_index: int | None = None,
    gradient: bool = True,
) -> ValueAndGradient:
    """``lambda_dice * dice + lambda_focal * focal`` from one read of the input.

    Further parameters: see `dice`, `focal` and the module.
    """
    return _run("dice_focal", locals())


def _run(name: str, given: dict[str, Any]) -> ValueAndGradient:
    """Call a loss with the arguments of the function of its name."""
    arrays = {key: given.pop(key) for key in ("input", "target", "mask")}
    wanted = given.pop("gradient")
    params = {key: _setting(key, value) for key, value in given.items()}
    library = library_of(arrays["input"])
    host, target = (library_of(arrays[key]).to_host(arrays[key], key) for key in ("input", "target"))
    mask = arrays["mask"]
    if mask is not None:
        mask = library_of(mask).to_host(mask, "mask").array
        if mask.dtype != np.bool_:
            raise ExactaTypeError(f"mask must hold bool, True where a voxel counts; got dtype {mask.dtype}")
    if params["target_format"] == "index" and (target.array.dtype.kind not in "iu" or target.half):
        raise ExactaTypeError(
            f'target must hold integers for target_format="index"; got dtype {target.half or target.array.dtype}: '
            'cast it, or pass target_format="one-hot" for a number a class'
        )
    shared: dict[str, Any] = {
        "mask": mask,
        "input_half": host.half,
        "target_half": target.half,
        "threads": get_num_threads(),
    }
    values, saved, _ = _native.loss_forward(name, params, host.array, target.array, **shared)
    if not wanted:
        return ValueAndGradient(float(values[0]), None)
    out = np.empty_like(host.array, subok=False)
    _native.loss_backward(name, params, host.array, target.array, saved, np.ones(1), out, **shared)
    return ValueAndGradient(float(values[0]), library.from_host(_of_dtype(out, host, arrays["input"]), arrays["input"]))


def _setting(name: str, value: Any) -> Any:
    """Make a list of what holds several numbers."""
    if value is None or isinstance(value, (bool, str, int, float)):
        return value
    try:
        numbers = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ExactaTypeError(f"{name} must hold numbers; got {value!r}") from error
    listed: float | list[float] = numbers.tolist()
    return listed


def _of_dtype(out: Any, host: Host, like: Any) -> Any:
    """Give the words of half-precision numbers their dtype."""
    if host.half == "float16":
        return out.view(np.float16)
    if host.half == "bfloat16":
        dtype = getattr(like, "dtype", None)
        if not isinstance(dtype, np.dtype):
            raise ExactaTypeError(f"input of bfloat16 has no dtype in NumPy for its gradient; got {dtype}: pass float32")
        return out.view(dtype)
    return out

"""Training losses and their gradients as functions of arrays, without a framework's autograd.

What each loss means, its settings and its defaults are those of the class of the same name in `exacta.losses`; here a
loss is named as its formula's file is, and settings are keywords. The base for a `custom_vjp` of JAX or for training
loops in NumPy; importing it imports no framework.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _native
from ._arrays import library_of
from ._errors import ExactaTypeError, ExactaValueError, shown
from ._threads import get_num_threads

if TYPE_CHECKING:
    import numpy.typing as npt

    from ._arrays import Host

__all__ = ["LOSSES", "soft_skeletonize", "value", "value_and_grad"]

LOSSES = (
    "boundary",
    "cross_entropy",
    "dice",
    "dice_ce",
    "dice_focal",
    "dice_topk_ce",
    "focal",
    "focal_tversky",
    "generalized_dice",
    "generalized_dice_ce",
    "generalized_wasserstein_dice",
    "hausdorff_dt",
    "lovasz_hinge",
    "lovasz_softmax",
    "soft_cldice",
    "topk_ce",
    "tversky",
)


class _Call(NamedTuple):
    input: Host
    target: Host
    options: dict[str, Any]


def value(loss: str, input: Any, target: Any, *, mask: Any = None, map: Any = None, **settings: Any) -> Any:  # noqa: A002
    r"""Return the value of a loss.

    Parameters
    ----------
    loss : str
        One of `LOSSES`.
    input : array of float16, bfloat16, float32 or float64, (B, C, \*spatial)
        Logits, or predictions with ``activation="none"``. Read in place, whatever its strides.
    target : array, (B, \*spatial) of labels, or with ``target_format="one-hot"`` the shape of `input`
        Any dtype that holds labels; read without widening.
    mask : array of bool, (B, \*spatial) or (B, 1, \*spatial), or None
        Which voxels count.
    map : array of float, the shape of the selected channels, or None
        `distance_map` of "boundary" and "hausdorff_dt", `target_skeleton` of "soft_cldice".
    **settings
        What the constructor of the class takes, but for `backend` and `distributed`; `spacing` where a loss needs it:
        one value, one an axis, or a row a case; `dist_matrix` as rows.

    Returns
    -------
    array of float32, or of float64 for such input, () or (B,)
        (B,) for ``reduction="none"``; in the library and on the device of `input`.

    Raises
    ------
    ExactaTypeError, ExactaValueError
        If an argument is not as described.

    Examples
    --------
    >>> import numpy as np
    >>> from exacta import functional_losses
    >>> logits = np.array([[[0.0, 3.0, 3.0], [0.0, 0.0, 0.0]]])
    >>> float(functional_losses.value("topk_ce", logits, np.array([[0, 0, 0]]), fraction=0.3).round(6))
    0.693147
    """
    call = _prepare(input, target, mask, map)
    settings = _settings(settings, call.input.array.ndim - 2)
    values, _, _ = _native.loss_forward(loss, settings, call.input.array, call.target.array, **call.options)
    return library_of(input).from_host(_result(values, call.input, settings), input)


def value_and_grad(
    loss: str,
    input: Any,  # noqa: A002
    target: Any,
    *,
    mask: Any = None,
    map: Any = None,  # noqa: A002
    grad_output: Any = 1.0,
    **settings: Any,
) -> tuple[Any, Any]:
    r"""Return the value of a loss and its gradient with respect to the input.

    Parameters
    ----------
    loss, input, target, mask, map, **settings
        As in `value`.
    grad_output : float or array of float, () or (B,), default 1.0
        What the gradient is multiplied by: the derivative of a later result by the value.

    Returns
    -------
    value : array of float32 or float64, () or (B,)
        As `value` returns it.
    grad : array of the shape and dtype of `input`
        The exact gradient; 0 where a voxel does not count. bfloat16 input gives float32.

    Raises
    ------
    ExactaTypeError, ExactaValueError
        If an argument is not as described.

    Examples
    --------
    >>> import numpy as np
    >>> from exacta import functional_losses
    >>> logits = np.array([[[0.0, 3.0], [0.0, 0.0]]])
    >>> functional_losses.value_and_grad("topk_ce", logits, np.array([[0, 0]]), fraction=0.5)[1]
    array([[[-0.5,  0. ],
            [ 0.5,  0. ]]])
    """
    call = _prepare(input, target, mask, map)
    settings = _settings(settings, call.input.array.ndim - 2)
    arrays = call.input.array, call.target.array
    values, saved, kept = _native.loss_forward(loss, settings, *arrays, **call.options)
    incoming = np.broadcast_to(np.asarray(grad_output, np.float64), values.shape).copy()
    grad: npt.NDArray[Any] = np.empty(arrays[0].shape, arrays[0].dtype)
    _native.loss_backward(loss, settings, *arrays, saved, incoming, grad, kept=kept, **call.options)
    if call.input.half == "float16":
        grad = grad.view(np.float16)
    elif call.input.half == "bfloat16":
        grad = (grad.astype(np.uint32) << 16).view(np.float32)
    library = library_of(input)
    return library.from_host(_result(values, call.input, settings), input), library.from_host(grad, input)


def soft_skeletonize(probs: Any, *, iterations: int = 10, gradient: Any = None) -> Any:
    r"""Return the soft skeleton of probabilities, or what flows back from it.

    ``S = relu(x - O(x))``; then `iterations` times ``x = E(x)``, ``d = relu(x - O(x))``, ``S = S + relu(d - S d)``. E
    is the least of a voxel and its face neighbours, O the largest of E over the full neighbourhood of 9 or 27 voxels.

    Parameters
    ----------
    probs : array of float, (B, C, H, W) or (B, C, D, H, W)
        Probabilities; nothing is assumed of their range.
    iterations : int, default 10
        At least the radius of what is to become thin.
    gradient : array of float, the shape of `probs`, or None
        If given, the derivative of ``sum(gradient * S)`` by `probs` is returned: of equal neighbours the first in
        raster order is handed the gradient.

    Returns
    -------
    array of float32, or of float64 for such input, shape of `probs`

    Raises
    ------
    ExactaTypeError, ExactaValueError
        If an argument is not as described.

    References
    ----------
    Shit et al., clDice, CVPR 2021, algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from exacta import functional_losses
    >>> line = np.zeros((1, 1, 3, 5), np.float32)
    >>> line[..., 1, 1:4] = 1
    >>> functional_losses.soft_skeletonize(line)[0, 0].sum()
    np.float32(3.0)
    """
    if isinstance(iterations, bool) or not isinstance(iterations, (int, np.integer)) or iterations < 0:
        raise ExactaValueError(f"iterations must be a whole number that is not negative; got {shown(iterations)}")
    library = library_of(probs)
    host = library.to_host(probs, "probs")
    weights = None if gradient is None else _float(library_of(gradient).to_host(gradient, "gradient"))
    result = _native.soft_skeleton(
        host.array, int(iterations), gradient=weights, half=host.half, threads=get_num_threads()
    )
    return library.from_host(result, probs)


def _prepare(x: Any, target: Any, mask: Any, given: Any) -> _Call:
    host = library_of(x).to_host(x, "input")
    if host.half is None and host.array.dtype.kind != "f":
        raise ExactaTypeError(f"input must hold floating numbers; got dtype {host.array.dtype}")
    labels = library_of(target).to_host(target, "target")
    options: dict[str, Any] = {
        "input_half": host.half,
        "target_half": labels.half,
        "threads": get_num_threads(),
    }
    if mask is not None:
        kept = library_of(mask).to_host(mask, "mask").array
        if kept.dtype != np.bool_:
            raise ExactaTypeError(f"mask must hold bool values; got dtype {kept.dtype}")
        options["mask"] = kept
    if given is not None:
        options["map"] = _float(library_of(given).to_host(given, "map"))
    return _Call(host, labels, options)


def _float(host: Host) -> npt.NDArray[Any]:
    if host.half == "float16":
        return host.array.view(np.float16).astype(np.float32)
    if host.half == "bfloat16":
        return (host.array.astype(np.uint32) << 16).view(np.float32)
    return host.array


def _settings(settings: dict[str, Any], axes: int) -> dict[str, Any]:
    """Return settings as the extension takes them: sequences flat, one spacing for all axes repeated."""
    out = dict(settings)
    for name, item in settings.items():
        if item is None or isinstance(item, (str, bool, int, float)):
            continue
        try:
            out[name] = np.asarray(item, np.float64).ravel().tolist()
        except (TypeError, ValueError) as error:
            raise ExactaTypeError(f"{name} must hold numbers; got {shown(item)}") from error
    spacing = out.get("spacing")
    if isinstance(spacing, (int, float)) and not isinstance(spacing, bool):
        out["spacing"] = [float(spacing)] * axes
    return out


def _result(values: npt.NDArray[np.float64], x: Host, settings: dict[str, Any]) -> npt.NDArray[Any]:
    result: npt.NDArray[Any] = values.astype(np.float64 if x.array.dtype == np.float64 else np.float32)
    return result if settings.get("reduction") == "none" else result.reshape(())

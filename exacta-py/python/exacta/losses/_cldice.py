"""The soft clDice loss and its skeleton."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional

from exacta._errors import ExactaTypeError, ExactaValueError, shown

from ._arguments import ACTIVATIONS, check_backend, check_format, check_number, one_of
from ._calls import Tensors
from ._kernels import run, serves
from ._module import Configured
from ._operators import skeleton_backward_operator, skeleton_operator
from ._plain import activate
from ._prepare import check_input, compute_dtype, holds
from ._shapes import check_axes, check_shape_target, target_channels
from ._sums import wide

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["SoftClDiceLoss", "soft_skeletonize"]


def soft_skeletonize(probs: Tensor, *, iterations: int = 10, backend: str = "auto") -> Tensor:
    r"""Soft skeleton of probabilities.

    With the erosion E, the minimum over a voxel and its face neighbours, the dilation M, the maximum over the full
    neighbourhood, and the opening ``O = M(E)``: ``S = relu(x - O(x))``; then `iterations` times ``x = E(x)``,
    ``d = relu(x - O(x))``, ``S = S + relu(d - S d)``. Neighbours outside of the image are skipped. Axes are alike.

    Parameters
    ----------
    probs : floating tensor, (B, C, H, W) or (B, C, D, H, W)
        Probabilities; nothing is assumed of their range.
    iterations : int, default 10
        At least the radius of what is to become thin; at least 0.
    backend : {"auto", "native", "torch"}, default "auto"
        Both compute the same values; gradients may differ where neighbours are equal: native hands them to the first in
        raster order, the operators of PyTorch share them.

    Returns
    -------
    tensor of float32, or of float64 for float64 input, shape of `probs`

    Raises
    ------
    ExactaNotImplementedError
        If ``backend="native"`` and no kernel serves the tensor.
    ExactaValueError
        If an argument is not as described.

    References
    ----------
    Shit et al., clDice, CVPR 2021, algorithm 1.

    Examples
    --------
    >>> import torch
    >>> from exacta.losses import soft_skeletonize
    >>> bar = torch.zeros(1, 1, 5, 5)
    >>> bar[..., 1:4, :] = 1
    >>> soft_skeletonize(bar, iterations=2)[0, 0, :, 2]
    tensor([0., 0., 1., 0., 0.])
    """
    iterations = check_iterations(iterations)
    if not isinstance(probs, torch.Tensor) or not probs.is_floating_point():
        raise ExactaValueError(f"probs must be a floating tensor; got {getattr(probs, 'dtype', type(probs).__name__)}")
    check_axes(probs, "probs")
    check_backend(backend)
    return skeleton(probs.to(compute_dtype(probs)), iterations, backend)


def check_iterations(value: Any) -> int:
    """Return a number of iterations."""
    try:
        number = -1 if isinstance(value, bool) else index(value)
    except TypeError:
        number = -1
    if number < 0:
        raise ExactaValueError(f"iterations must be an integer of at least 0; got {shown(value)}")
    return number


def skeleton(x: Tensor, iterations: int, backend: str) -> Tensor:
    """Return the soft skeleton of float32 or float64 values."""
    if not serves(backend, Tensors(x, x.detach())):
        return plain_skeleton(x, iterations)
    if torch.compiler.is_compiling() or not x.requires_grad:
        result: Tensor = skeleton_operator(x, iterations)
        return result
    thinned: Tensor = _Skeleton.apply(x, iterations)
    return thinned


class _Skeleton(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, iterations: int) -> Tensor:
        ctx.save_for_backward(x)
        ctx.iterations = iterations
        result: Tensor = skeleton_operator(x, iterations)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (x,) = ctx.saved_tensors
        if torch.is_grad_enabled():
            (result,) = torch.autograd.grad(plain_skeleton(x, ctx.iterations), x, grad, create_graph=True)
            return result, None
        return skeleton_backward_operator(grad.contiguous(), x, ctx.iterations), None


def plain_skeleton(x: Tensor, iterations: int) -> Tensor:
    """Return the soft skeleton as a plain composition of PyTorch operators."""
    eroded = _erode(x)
    result = torch.relu(x - _dilate(eroded))
    for _ in range(iterations):
        x, eroded = eroded, _erode(eroded)
        delta = torch.relu(x - _dilate(eroded))
        result = result + torch.relu(delta - result * delta)
    return result


def _pool(x: Tensor, size: tuple[int, ...]) -> Tensor:
    pool = functional.max_pool2d if len(size) == 2 else functional.max_pool3d
    result: Tensor = pool(x, size, 1, tuple(n // 2 for n in size))
    return result


def _erode(x: Tensor) -> Tensor:
    axes = x.ndim - 2
    lines = [-_pool(-x, tuple(3 if a == axis else 1 for a in range(axes))) for axis in range(axes)]
    result = torch.minimum(lines[0], lines[1])
    return torch.minimum(result, lines[2]) if axes == 3 else result


def _dilate(x: Tensor) -> Tensor:
    return _pool(x, (3,) * (x.ndim - 2))


class SoftClDiceLoss(Configured):
    r"""Soft clDice loss: agreement of each skeleton with the other mask.

    ``1 - 2 tp ts / (tp + ts)``, averaged over cases and selected classes, with ``tp = (sum sp g + s) / (sum sp + s)``
    and
    ``ts = (sum st p + s) / (sum st + s)``, where sp and st are the skeletons of p and g by `soft_skeletonize`.

    Parameters
    ----------
    iterations : int, default 10
        Of the skeleton.
    smooth : float, default 1.0
        s, above 0.
    activation : {"softmax", "sigmoid", "none"}, default "softmax"
        How logits become p.
    target_format : {"index", "one-hot"}, default "index"
        Labels ``(B, *spatial)`` of integers, or channels of 0 and 1.
    include_background : bool, default False
        Whether channel 0 counts; needed for a single channel.
    backend : {"auto", "native", "torch"}, default "auto"
        As in `soft_skeletonize`.

    Returns
    -------
    tensor of float32, or of float64 for float64 logits, ()

    Raises
    ------
    ExactaTypeError, ExactaValueError
        If an option, or a dtype, shape, device or label is not as described.

    Notes
    -----
    Called with ``(input, target, *, target_skeleton=None)`` for two or three spatial axes; `target_skeleton` is st made
    before, of the selected channels. The target's skeleton has no gradient. MONAI's ``SoftclDiceLoss`` sums over the
    classes of a case before it divides.

    References
    ----------
    Shit et al., clDice, CVPR 2021, eq. 1 to 3 and algorithm 2.

    Examples
    --------
    >>> import torch
    >>> from exacta.losses import SoftClDiceLoss
    >>> mask = torch.zeros(1, 1, 5, 5)
    >>> mask[..., 2, :] = 1
    >>> SoftClDiceLoss(activation="none", target_format="one-hot", include_background=True)(mask, mask).item()
    0.0
    """

    _exported = ("iterations", "smooth", "activation", "target_format", "include_background")

    def __init__(
        self,
        *,
        iterations: int = 10,
        smooth: float = 1.0,
        activation: str = "softmax",
        target_format: str = "index",
        include_background: bool = False,
        backend: str = "auto",
    ) -> None:
        super().__init__()
        self.activation = one_of("activation", activation, ACTIVATIONS)
        self.target_format = check_format(target_format)
        self.iterations = check_iterations(iterations)
        self.smooth = check_number("smooth", smooth, above=True)
        self.backend = check_backend(backend)
        self.include_background = bool(include_background)

    def forward(self, input: Tensor, target: Tensor, *, target_skeleton: Tensor | None = None) -> Tensor:  # noqa: A002
        """Return the loss of logits (B, C, *spatial) and a target."""
        check_axes(input)
        check_input(input)
        check_shape_target(target, input, self.target_format, self.include_background)
        if target_skeleton is not None:
            target_skeleton = _check_skeleton(target_skeleton, input, self.include_background)

        def plain(x: Tensor) -> Tensor:
            return self._plain(x, target, target_skeleton)

        return run("soft_cldice", self._settings, self.backend, Tensors(input, target, None, target_skeleton), plain)

    def _plain(self, x: Tensor, target: Tensor, given: Tensor | None) -> Tensor:
        dtype = compute_dtype(x)
        g, invalid = target_channels(target, x, self.target_format, self.include_background, dtype)
        if given is None:
            with torch.no_grad():
                st = plain_skeleton(g.detach(), self.iterations)
        else:
            st = given
            if holds(~(torch.isfinite(st) & (st >= 0) & (st <= g)).all()):
                raise ExactaValueError(
                    "target_skeleton must be finite, at least 0 and at most the target; some value is not"
                )
        p = activate(x.to(dtype), self.activation)
        p = p if self.include_background else p[:, 1:]
        sp = plain_skeleton(p, self.iterations)
        s = self.smooth
        first, second, third, fourth = (wide(x.flatten(2).sum(2)) for x in (sp * g, sp, st * p, st))
        precision, sensitivity = (first + s) / (second + s), (third + s) / (fourth + s)
        value = (1 - 2 * precision * sensitivity / (precision + sensitivity)).mean()
        if invalid is not None:
            value = torch.where(invalid, torch.nan, value)
        return value.to(dtype)


def _check_skeleton(value: Any, x: Tensor, include_background: bool) -> Tensor:
    wanted = (x.shape[0], x.shape[1] - (not include_background), *x.shape[2:])
    if not isinstance(value, torch.Tensor):
        raise ExactaTypeError(f"target_skeleton must be a tensor; got {type(value).__name__}")
    if tuple(value.shape) != wanted:
        raise ExactaValueError(
            f"target_skeleton must have one channel for each selected class, shape {wanted}; got {tuple(value.shape)}"
        )
    if value.device != x.device:
        raise ExactaValueError(f"target_skeleton must be on the device of input, {x.device}; got {value.device}")
    return value.detach().to(compute_dtype(x))

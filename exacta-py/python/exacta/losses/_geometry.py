"""Losses of distances: boundary loss and Hausdorff loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import torch

from exacta._errors import ExactaValueError

from ._arguments import ACTIVATIONS, check_backend, check_format, check_number, one_of
from ._calls import Tensors
from ._kernels import run
from ._module import Configured
from ._operators import maps
from ._plain import activate
from ._prepare import check_input, check_mask, compute_dtype, holds, sanitize
from ._shapes import (
    check_axes,
    check_binary,
    check_map,
    check_map_values,
    check_shape_target,
    check_spacing,
    target_channels,
)
from ._sums import wide

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["BoundaryLoss", "HausdorffDTLoss", "distance_maps"]


def distance_maps(target: Tensor, *, spacing: Any, signed: bool = False) -> Tensor:
    r"""Distance maps of the channels of a target, exactly.

    Unsigned: the distance of each voxel to the nearest voxel of the other label, centre to centre; 0 everywhere in a
    channel of one label, the edge of the image being no background. Signed: the distance to the foreground outside of
    it, minus the distance to the background inside, where what is outside of the image is background; in an empty
    channel the constant ``sqrt(sum (n_i h_i)^2)`` of the axis lengths n and the spacing h.

    Parameters
    ----------
    target : tensor of any dtype, (B, C, H, W) or (B, C, D, H, W)
        Channels of 0 and 1.
    spacing : float, sequence of float (axes,), or (B, axes)
        Length of a voxel along each spatial axis, in the order of the axes.
    signed : bool, default False
        Which of the two maps.

    Returns
    -------
    tensor of float64, shape of `target`
        In the unit of `spacing`, on the device of `target`, without a gradient.

    Raises
    ------
    ExactaTypeError
        If `spacing` cannot be read as numbers.
    ExactaValueError
        If `target` or `spacing` has another shape or other values than described.

    Notes
    -----
    The unsigned map is the one that MONAI's Hausdorff loss makes.

    References
    ----------
    Felzenszwalb and Huttenlocher, Distance transforms of sampled functions, Theory of Computing 8, 2012.

    Examples
    --------
    >>> import torch
    >>> from exacta.losses import distance_maps
    >>> mask = torch.tensor([[[[0, 1, 1], [0, 1, 0]]]])
    >>> distance_maps(mask, spacing=(2.0, 1.0), signed=True)
    tensor([[[[ 1., -1., -1.],
              [ 1., -1.,  1.]]]], dtype=torch.float64)
    """
    check_axes(target, "target")
    check_binary(target)
    values = check_spacing(spacing, target.shape[0], target.ndim - 2)
    with torch.no_grad():
        result: Tensor = maps(target.detach() != 0, values, bool(signed))
    return result


class BoundaryLoss(Configured):
    r"""Boundary loss: predicted mass weighed by its signed distance to the border of the target.

    ``sum p phi`` over voxels and selected channels, over their number, with the signed map phi of `distance_maps`. It
    may be negative.

    Parameters
    ----------
    activation : {"softmax", "sigmoid", "none"}, default "softmax"
        How logits become p.
    target_format : {"index", "one-hot"}, default "index"
        Labels ``(B, *spatial)`` of integers, or channels of 0 and 1.
    include_background : bool, default False
        Whether channel 0 counts; needed for a single channel.
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
    Called with ``(input, target, *, spacing=None, distance_map=None, mask=None)`` for two or three spatial axes.
    `distance_map` is phi made before, of the selected channels; `spacing` is not looked at then. `mask` limits the sum;
    the target is needed everywhere. The authors' map is 0 on the inner border.

    References
    ----------
    Kervadec et al., Boundary loss for highly unbalanced segmentation, Medical Image Analysis 2021, eq. 5.

    Examples
    --------
    >>> import torch
    >>> from exacta.losses import BoundaryLoss
    >>> labels = torch.tensor([[[0, 1, 1], [0, 1, 0]]])
    >>> BoundaryLoss()(torch.zeros(1, 2, 2, 3), labels, spacing=(2.0, 1.0)).item()
    0.0
    """

    _exported: ClassVar[tuple[str, ...]] = ("activation", "target_format", "include_background")

    def __init__(
        self,
        *,
        activation: str = "softmax",
        target_format: str = "index",
        include_background: bool = False,
        backend: str = "auto",
    ) -> None:
        super().__init__()
        self.activation = one_of("activation", activation, ACTIVATIONS)
        self.target_format = check_format(target_format)
        self.include_background = bool(include_background)
        self.backend = check_backend(backend)

    def forward(
        self,
        input: Tensor,  # noqa: A002
        target: Tensor,
        *,
        spacing: Any = None,
        distance_map: Tensor | None = None,
        mask: Tensor | None = None,
    ) -> Tensor:
        """Return the loss of logits (B, C, *spatial) and a target, over the voxels where `mask` is True."""
        check_axes(input)
        check_input(input)
        mask = check_mask(mask, input)
        check_shape_target(target, input, self.target_format, self.include_background)
        phi, lengths = self._distances(input, distance_map, spacing, both=False)

        def plain(x: Tensor) -> Tensor:
            dtype = compute_dtype(x)
            g, invalid = target_channels(target, x, self.target_format, self.include_background, dtype)
            p = self._selected(sanitize(x.to(dtype), mask))
            return _mean(p * self._map(g, phi, lengths, signed=True), mask, invalid)

        return run("boundary", self._settings, self.backend, Tensors(input, target, mask, phi), plain, spacing=lengths)

    def _distances(
        self, x: Tensor, distance_map: Tensor | None, spacing: Any, *, both: bool
    ) -> tuple[Tensor | None, list[float]]:
        """Return the map of the caller, or the spacing for one; `both` says that the spacing is needed all the same."""
        phi = None if distance_map is None else check_map(distance_map, x, self.include_background)
        if phi is not None and not both:
            return phi, []
        return phi, check_spacing(spacing, x.shape[0], x.ndim - 2)

    def _map(self, g: Tensor, given: Tensor | None, spacing: list[float], *, signed: bool) -> Tensor:
        if given is not None:
            check_map_values(given, signed=signed)
            return given
        with torch.no_grad():
            result: Tensor = maps(g.detach() != 0, spacing, signed).to(g.dtype)
        return result

    def _selected(self, logits: Tensor) -> Tensor:
        p = activate(logits, self.activation)
        return p if self.include_background else p[:, 1:]


def _mean(terms: Tensor, mask: Tensor | None, invalid: Tensor | None) -> Tensor:
    if mask is None:
        value = wide(terms.sum()) / terms.numel()
    else:
        entries = mask.sum() * terms.shape[1]
        value = wide(torch.where(mask, terms, 0.0).sum()) / entries.clamp(min=1)
    if invalid is not None:
        value = torch.where(invalid, torch.nan, value)
    return value.to(terms.dtype)


class HausdorffDTLoss(BoundaryLoss):
    r"""Hausdorff loss by distance transforms: squared errors weighed by the distance to both borders.

    ``(p - g)^2 (h^alpha + t^alpha)``, averaged over voxels and selected channels, with the unsigned maps of
    `distance_maps`: h of ``p > threshold``, through which no gradient flows, and t of the target.

    Parameters
    ----------
    alpha : float, default 2.0
        Power of the distances, above 0.
    threshold : float, default 0.5
        Which p are foreground, in each channel by itself; within (0, 1).
    activation, target_format, include_background, backend
        As in `BoundaryLoss`.

    Returns
    -------
    tensor of float32, or of float64 for float64 logits, ()
        0 with a zero gradient if no voxel is left.

    Raises
    ------
    ExactaTypeError, ExactaValueError
        If an option, or a dtype, shape, device or label is not as described, or a prediction is not finite.

    Notes
    -----
    Called like `BoundaryLoss`; `distance_map` is t, unsigned and without the power, and `spacing` is needed all the
    same.
    `mask` limits the mean, never the maps. Equal to MONAI's ``HausdorffDTLoss`` at unit spacing.

    References
    ----------
    Karimi and Salcudean, Reducing the Hausdorff distance in medical image segmentation, IEEE TMI 2020, eq. 8.

    Examples
    --------
    >>> import torch
    >>> from exacta.losses import HausdorffDTLoss
    >>> labels = torch.tensor([[[0, 1, 1], [0, 1, 0]]])
    >>> HausdorffDTLoss()(torch.zeros(1, 2, 2, 3), labels, spacing=1.0).item()
    0.25
    """

    _exported = (*BoundaryLoss._exported, "alpha", "threshold")

    def __init__(
        self,
        *,
        alpha: float = 2.0,
        threshold: float = 0.5,
        activation: str = "softmax",
        target_format: str = "index",
        include_background: bool = False,
        backend: str = "auto",
    ) -> None:
        super().__init__(
            activation=activation, target_format=target_format, include_background=include_background, backend=backend
        )
        self.alpha = check_number("alpha", alpha, above=True)
        self.threshold = check_number("threshold", threshold, most=1.0, above=True, below=True)

    def forward(
        self,
        input: Tensor,  # noqa: A002
        target: Tensor,
        *,
        spacing: Any = None,
        distance_map: Tensor | None = None,
        mask: Tensor | None = None,
    ) -> Tensor:
        """Return the loss of logits (B, C, *spatial) and a target, over the voxels where `mask` is True."""
        check_input(input)
        mask = check_mask(mask, input)
        check_axes(input)
        check_shape_target(target, input, self.target_format, self.include_background)
        given, lengths = self._distances(input, distance_map, spacing, both=True)

        def plain(x: Tensor) -> Tensor:
            dtype = compute_dtype(x)
            g, invalid = target_channels(target, x, self.target_format, self.include_background, dtype)
            t = self._map(g, given, lengths, signed=False)
            p = self._selected(x.to(dtype))
            if holds(~torch.isfinite(p).all()):
                raise ExactaValueError(
                    "input must give finite predictions everywhere, as all of them shape the distances; got inf or nan"
                )
            with torch.no_grad():
                h = maps(p.detach() > self.threshold, lengths, False).to(dtype)
            return _mean((p - g) ** 2 * (h**self.alpha + t**self.alpha), mask, invalid)

        tensors = Tensors(input, target, mask, given)
        return run("hausdorff_dt", self._settings, self.backend, tensors, plain, spacing=lengths)

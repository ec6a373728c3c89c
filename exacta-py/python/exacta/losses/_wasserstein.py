"""The generalized Wasserstein Dice loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from exacta._errors import ExactaTypeError, ExactaValueError, shown

from ._arguments import check_backend, check_ignore_index, check_number, one_of
from ._kernels import check_index, run
from ._module import Configured
from ._prepare import one_hot, prepare
from ._sums import wide

if TYPE_CHECKING:
    from torch import Tensor

    from ._prepare import Prepared

__all__ = ["GeneralizedWassersteinDiceLoss"]


class GeneralizedWassersteinDiceLoss(Configured):
    r"""Dice loss whose errors cost what a matrix says for each pair of classes.

    With ``d_i = sum_c p_ci M[y_i, c]`` of voxel i, M the matrix over its maximum, ``1 - (2 T + s) / (2 T + R + s)`` for
    each case, where ``T = sum w (1 - d)``, ``R = sum e d``. In mode "default" w is 1 outside of class 0, else 0, and e
    is
    1; in mode "GDL" both are ``1 / (n_y + 1)``, n_y the number of voxels of that label in the case.

    Parameters
    ----------
    dist_matrix : matrix of float, (C, C)
        Costs: symmetric, finite, at least 0, with a zero diagonal. In mode "default" class 0 is as far as possible from
        every other. Kept as the buffer `dist_matrix`, in float64, divided by its maximum.
    weighting_mode : {"default", "GDL"}, default "default"
        Which weights.
    smooth : float, default 1e-5
        Added to numerator and denominator, at least 0. With 0, nothing over nothing is 0.
    reduction : {"mean", "sum", "none"}, default "mean"
        Over cases. The mean is over those that have a voxel left, where some can be left out.
    ignore_index : int or None, default None
        Label whose voxels are left out.
    backend : {"auto", "native", "torch"}, default "auto"
        As in `DiceLoss`.

    Returns
    -------
    tensor of float32, or of float64 for float64 logits, () or (B,)
        0 with a zero gradient for a case without a voxel left.

    Raises
    ------
    ExactaTypeError, ExactaValueError
        If an option, or a dtype, shape, device or label is not as described.

    Notes
    -----
    Softmax and labels only. Equal to MONAI's loss of this name.

    References
    ----------
    Fidon et al., Generalised Wasserstein Dice score for imbalanced multi-class segmentation, BrainLes 2017, eq. 10 to
    12.

    Examples
    --------
    >>> import torch
    >>> from exacta.losses import GeneralizedWassersteinDiceLoss
    >>> p = torch.tensor([[0.9, 0.2, 0.6], [0.3, 0.8, 0.1]])
    >>> loss = GeneralizedWassersteinDiceLoss([[0, 1], [1, 0]], smooth=0, reduction="none")
    >>> [round(v, 4) for v in loss(torch.stack([1 - p, p], 1).log(), torch.tensor([[1, 0, 1], [1, 1, 0]])).tolist()]
    [0.1892, 0.3125]
    """

    dist_matrix: Tensor
    _exported = ("weighting_mode", "smooth", "reduction", "ignore_index")

    def __init__(
        self,
        dist_matrix: Any,
        *,
        weighting_mode: str = "default",
        smooth: float = 1e-5,
        reduction: str = "mean",
        ignore_index: int | None = None,
        backend: str = "auto",
    ) -> None:
        super().__init__()
        self.weighting_mode = one_of("weighting_mode", weighting_mode, ("default", "GDL"))
        self.reduction = one_of("reduction", reduction, ("none", "mean", "sum"))
        self.smooth = check_number("smooth", smooth)
        self.register_buffer("dist_matrix", _check_matrix(dist_matrix, self.weighting_mode))
        self.num_classes = int(self.dist_matrix.shape[0])
        self.ignore_index = check_ignore_index(ignore_index)
        self.backend = check_backend(backend)

    def forward(self, input: Tensor, target: Tensor, *, mask: Tensor | None = None) -> Tensor:  # noqa: A002
        """Return the loss of logits (B, C, *spatial) and labels (B, *spatial), over the voxels where `mask` is True."""
        x = check_index(input, target, mask, None, self.ignore_index)
        if input.shape[1] != self.num_classes:
            raise ExactaValueError(
                f"input must have one channel for each of the {self.num_classes} classes of dist_matrix; "
                f"got {input.shape[1]}"
            )

        def plain(z: Tensor) -> Tensor:
            return self._plain(prepare(z, *x[1:3], target_format="index", ignore_index=self.ignore_index))

        # The matrix travels as a tensor, so that it may be on any device and of any dtype.
        x = x._replace(weight=self.dist_matrix)
        return run("generalized_wasserstein_dice", self._settings, self.backend, x, plain)

    def _plain(self, x: Prepared) -> Tensor:
        assert x.labels is not None
        logits, labels = x.logits, x.labels
        matrix = self.dist_matrix.to(logits)
        costs = matrix[labels].movedim(-1, 1)
        distance = (torch.softmax(logits, 1) * costs).sum(1, keepdim=True)
        # (B, C): voxels of each label, and the sum of their distances
        member = one_hot(labels, self.num_classes, logits.dtype, x.included).flatten(2)
        voxels, sums = wide(member.sum(2)), wide((member * distance.flatten(2)).sum(2))
        if self.weighting_mode == "default":
            hits = (voxels - sums)[:, 1:].sum(1)
            errors = sums.sum(1)
        else:
            weight = 1 / (voxels + 1)
            hits, errors = (weight * (voxels - sums)).sum(1), (weight * sums).sum(1)
        over, under = 2 * hits + self.smooth, 2 * hits + errors + self.smooth
        idle = under == 0
        if x.included is not None:
            idle = idle | (voxels.sum(1) == 0)
        values = 1 - torch.where(idle, 1.0, over) / torch.where(idle, 1.0, under)
        if x.invalid is not None:
            values = torch.where(x.invalid, torch.nan, values)
        return _reduce(values, x.counts(), self.reduction).to(logits.dtype)


def _reduce(values: Tensor, counts: Tensor | None, reduction: str) -> Tensor:
    if reduction == "none":
        return values
    if reduction == "sum":
        return values.sum()
    if counts is None:
        return values.sum() / max(values.shape[0], 1)
    return values.sum() / (counts > 0).sum().clamp(min=1)


def _check_matrix(value: Any, mode: str) -> Tensor:
    """Return a matrix of costs as float64, divided by its maximum."""
    if value is None or isinstance(value, (str, bytes, set, frozenset, dict)):
        raise ExactaTypeError(f"dist_matrix must be a square matrix of numbers; got {shown(value)}")
    try:
        matrix = value.detach() if isinstance(value, torch.Tensor) else torch.as_tensor(value)
        if not matrix.is_complex():
            matrix = matrix.to(torch.float64, copy=True)
            if isinstance(value, (list, tuple)):  # by way of the default dtype digits would get lost
                matrix = torch.tensor(value, dtype=torch.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        kind = ExactaValueError if isinstance(error, ValueError) else ExactaTypeError
        raise kind(f"dist_matrix must be a square matrix of numbers; got {shown(value)}") from error
    if matrix.is_complex():
        raise ExactaTypeError(f"dist_matrix must be real; got {matrix.dtype}")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] < 2:
        raise ExactaValueError(f"dist_matrix must be square, of at least two classes; got {tuple(matrix.shape)}")
    if not bool((torch.isfinite(matrix) & (matrix >= 0)).all()):
        raise ExactaValueError(f"dist_matrix must be finite and at least 0; got {shown(matrix.tolist())}")
    if bool(matrix.diagonal().any()) or not torch.equal(matrix, matrix.T):
        raise ExactaValueError(
            f"dist_matrix must have a zero diagonal and be exactly symmetric; got {shown(matrix.tolist())}"
        )
    top = matrix.max()
    if not bool(top > 0):
        raise ExactaValueError("dist_matrix must have an entry above 0; got zeros only")
    if mode == "default" and not bool((matrix[0, 1:] == top).all()):
        raise ExactaValueError(
            f"dist_matrix[0, 1:] must be the maximum {top.item():g} in mode 'default', as class 0 is the background; "
            f"got {shown(matrix[0, 1:].tolist())}; use weighting_mode='GDL' where no class is"
        )
    return matrix / top

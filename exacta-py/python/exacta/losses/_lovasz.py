"""Lovasz losses: convex surrogates of the Jaccard index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from exacta._errors import ExactaTypeError, ExactaValueError

from ._arguments import check_backend, check_class_weight, check_flag, check_ignore_index, one_of
from ._calls import Tensors
from ._kernels import check_index, run
from ._module import Configured
from ._prepare import (
    check_input,
    check_mask,
    compute_dtype,
    holds,
    include,
    prepare,
    sanitize,
)
from ._sums import wide

if TYPE_CHECKING:
    from torch import Tensor

    from ._prepare import Prepared

__all__ = ["LovaszHingeLoss", "LovaszSoftmaxLoss"]


class LovaszSoftmaxLoss(Configured):
    r"""Lovasz-softmax loss: the Lovasz extension of the Jaccard loss of each class.

    With errors ``e = |f - p|`` of one class, f its voxels as 0 and 1, sorted by falling size (stably), the class has
    the
    loss ``sum e_k (J_k - J_(k-1))``, where J_k is the Jaccard loss if the first k voxels are wrong. Then the mean over
    classes. Jaccard losses are formed from integers in float64.

    Parameters
    ----------
    from_logits : bool, default True
        Whether softmax is taken of the input; without, it holds probabilities.
    classes : {"present", "all"}, default "present"
        Over which classes the mean runs: those that the target has, or all.
    per_image : bool, default False
        Whether each case has a loss of its own, instead of the batch as a whole.
    include_background : bool, default True
        Whether class 0 counts.
    ignore_index : int or None, default None
        Label whose voxels are left out.
    class_weight : sequence of float, (C,), or None, default None
        Weights of the mean over classes, one for each channel of the input, the background's too.
    backend : {"auto", "native", "torch"}, default "auto"
        As in `DiceLoss`.

    Returns
    -------
    tensor of float32, or of float64 for float64 logits, ()
        0 with a zero gradient if no voxel is left, or no class counts. With `per_image` the mean over cases that have a
        voxel left.

    Raises
    ------
    ExactaTypeError, ExactaValueError
        If an option, or a dtype, shape, device or label is not as described.

    Notes
    -----
    Equal to ``lovasz_softmax`` of the authors' repository.

    References
    ----------
    Berman, Rannen Triki and Blaschko, The Lovasz-softmax loss, CVPR 2018, eq. 8 to 12.

    Examples
    --------
    >>> import torch
    >>> from exacta.losses import LovaszSoftmaxLoss
    >>> probabilities = torch.tensor([[[0.9, 0.2, 0.6], [0.1, 0.8, 0.4]]])
    >>> round(LovaszSoftmaxLoss(from_logits=False)(probabilities, torch.tensor([[0, 1, 1]])).item(), 6)
    0.383333
    """

    class_weight: Tensor | None
    _exported = ("from_logits", "classes", "per_image", "include_background", "ignore_index")

    def __init__(
        self,
        *,
        from_logits: bool = True,
        classes: str = "present",
        per_image: bool = False,
        include_background: bool = True,
        ignore_index: int | None = None,
        backend: str = "auto",
        class_weight: Any = None,
    ) -> None:
        super().__init__()
        self.backend = check_backend(backend)
        self.from_logits = bool(from_logits)
        self.classes = one_of("classes", classes, ("present", "all"))
        self.per_image = bool(per_image)
        self.include_background = bool(include_background)
        self.ignore_index = check_ignore_index(ignore_index)
        self.register_buffer("class_weight", check_class_weight(class_weight))

    def forward(self, input: Tensor, target: Tensor, *, mask: Tensor | None = None) -> Tensor:  # noqa: A002
        """Return the loss of logits (B, C, *spatial) and labels (B, *spatial), over the voxels where `mask` is True."""
        x = check_index(input, target, mask, self.class_weight, self.ignore_index)
        if not self.include_background and input.shape[1] == 1:
            raise ExactaValueError("include_background=False needs at least two channels; got input with one")

        def plain(z: Tensor) -> Tensor:
            return self._plain(prepare(z, *x[1:3], target_format="index", ignore_index=self.ignore_index))

        return run("lovasz_softmax", self._settings, self.backend, x, plain)

    def _plain(self, x: Prepared) -> Tensor:
        value = self._mean(x)
        if x.invalid is not None:
            value = torch.where(x.invalid, torch.nan, value)
        return value.to(x.logits.dtype)

    def _mean(self, x: Prepared) -> Tensor:
        p = torch.softmax(x.logits, 1) if self.from_logits else x.logits
        f, weight = x.target(), self.class_weight
        if not self.include_background:
            p, f = p[:, 1:], f[:, 1:]
            weight = None if weight is None else weight[1:]
        # (cases, classes, voxels): one row is sorted by itself
        errors, positive = _rows((f - p).abs(), self.per_image), _rows(f, self.per_image) != 0
        included = None if x.included is None else _rows(x.included, self.per_image).expand_as(positive)
        values = jaccard_rows(errors, positive, included)
        if self.classes == "present":
            active = positive.any(2)
        elif included is not None:
            active = included.any(2)
        else:
            active = torch.full(values.shape, errors.shape[2] > 0, device=values.device)
        share = wide(active) if weight is None else wide(active) * wide(weight).to(values.device)
        mass = share.sum(1)
        cases = (share * values).sum(1) / torch.where(mass == 0, 1.0, mass)
        if included is None:
            return cases.sum() / max(cases.shape[0], 1)
        counted = included.any(2).any(1)
        return torch.where(counted, cases, 0.0).sum() / counted.sum().clamp(min=1)


def _rows(x: Tensor, per_image: bool) -> Tensor:
    """Return (B, C, voxels), or (1, C, all voxels) in the order of the flattened labels."""
    x = x.flatten(2)
    return x if per_image else x.transpose(0, 1).flatten(1).unsqueeze(0)


def jaccard_rows(errors: Tensor, positive: Tensor, included: Tensor | None) -> Tensor:
    """Return ``sum e_k (J_k - J_(k-1))`` over the last axis, in order of falling errors; nothing where left out."""
    keys = errors.detach()
    if included is not None:
        keys = torch.where(included, keys, -torch.inf)
    order = keys.argsort(dim=-1, descending=True, stable=True)
    hit = positive.gather(-1, order).to(torch.int64)
    counted = torch.ones_like(hit) if included is None else included.gather(-1, order).to(torch.int64)
    total = hit.sum(-1, keepdim=True)
    intersection = wide(total - hit.cumsum(-1))
    union = wide((total + (counted - hit).cumsum(-1)).clamp(min=1))
    jaccard = 1 - intersection / union
    steps = torch.cat([jaccard[..., :1], jaccard.diff(dim=-1)], -1)
    terms = errors.gather(-1, order) * steps.to(errors.dtype)
    return wide(torch.where(counted != 0, terms, 0.0).sum(-1))


class LovaszHingeLoss(Configured):
    r"""Lovasz hinge loss of binary segmentations.

    The sum of `LovaszSoftmaxLoss`, with the hinge ``max(1 - z (2 f - 1), 0)`` of logits z and a target f of 0 and 1 in
    place of its errors; no activation is taken.

    Parameters
    ----------
    multilabel : bool, default False
        Whether channels are independent targets ``(B, C, *spatial)``; without, the input has one channel and the target
        the shape ``(B, *spatial)``.
    per_image : bool, default True
        Whether each case (and channel) has a loss of its own, instead of the batch as a whole.
    ignore_index : int or None, default None
        Value of the target whose voxels are left out; not for multilabel targets.
    backend : {"auto", "native", "torch"}, default "auto"
        As in `DiceLoss`.

    Returns
    -------
    tensor of float32, or of float64 for float64 logits, ()
        Mean over rows, without those that have no voxel left; 0 with a zero gradient if none has.

    Raises
    ------
    ExactaTypeError, ExactaValueError
        If an option, or a dtype, shape or device is not as described, a target holds another value than 0 and 1, or a
        logit is not finite.

    Notes
    -----
    `mask` may also have the shape of the input. A row without positives is penalised for its worst voxel alone.

    References
    ----------
    Berman, Rannen Triki and Blaschko, The Lovasz-softmax loss, CVPR 2018, eq. 6 and 7.

    Examples
    --------
    >>> import torch
    >>> from exacta.losses import LovaszHingeLoss
    >>> logits = torch.tensor([[[0.5, -1.0, 2.0, 0.0]]])
    >>> LovaszHingeLoss()(logits, torch.tensor([[1, 0, 1, 0]])).item()
    0.5
    """

    _exported = ("multilabel", "per_image", "ignore_index")

    def __init__(
        self,
        *,
        multilabel: bool = False,
        per_image: bool = True,
        ignore_index: int | None = None,
        backend: str = "auto",
    ) -> None:
        super().__init__()
        self.backend = check_backend(backend)
        self.multilabel = check_flag("multilabel", multilabel)
        self.per_image = check_flag("per_image", per_image)
        self.ignore_index = check_ignore_index(ignore_index, labels=not self.multilabel)

    def forward(self, input: Tensor, target: Tensor, *, mask: Tensor | None = None) -> Tensor:  # noqa: A002
        """Return the loss of logits (B, C, *spatial) and a target of 0 and 1, over the voxels where `mask` is True."""
        check_input(input)
        if not self.multilabel and input.shape[1] != 1:
            raise ExactaValueError(
                f"input must have one channel; got {input.shape[1]}; channels of their own need multilabel=True"
            )
        self._check_target(target, input)
        mask = check_mask(mask, input, channels=True)
        lacks = "no mask for each channel" if mask is not None and mask.shape[1] > 1 else ""

        def plain(z: Tensor) -> Tensor:
            return self._plain(z, target, mask)

        settings = f'{self._settings}\n{{"target_format": "{"one-hot" if self.multilabel else "index"}"}}'
        return run("lovasz_hinge", settings, self.backend, Tensors(input, target, mask), plain, without=lacks)

    def _plain(self, input: Tensor, target: Tensor, mask: Tensor | None) -> Tensor:  # noqa: A002
        hit = target if self.multilabel else target.unsqueeze(1)
        included = include(mask, target, self.ignore_index)
        _check_values(input, hit, included)
        z = sanitize(input.to(compute_dtype(input)), included)
        positive = hit == 1
        if included is not None:
            included = included.expand_as(positive)
            positive = positive & included
        margins = 1 - z * torch.where(positive, 1.0, -1.0).to(z.dtype)
        rows = [None if x is None else _rows(x, self.per_image) for x in (margins, positive, included)]
        assert rows[0] is not None
        assert rows[1] is not None
        values = hinge_rows(rows[0], rows[1], rows[2])
        if rows[2] is None:
            value = values.sum() / max(values.numel(), 1)
        else:
            value = values.sum() / rows[2].any(2).sum().clamp(min=1)
        return value.to(z.dtype)

    def _check_target(self, target: Any, x: Tensor) -> None:
        if not isinstance(target, torch.Tensor):
            raise ExactaTypeError(f"target must be a tensor; got {type(target).__name__}")
        if target.device != x.device:
            raise ExactaValueError(f"target must be on the device of input, {x.device}; got {target.device}")
        wanted = tuple(x.shape) if self.multilabel else (x.shape[0], *x.shape[2:])
        if tuple(target.shape) != wanted:
            raise ExactaValueError(
                f"target must have shape {wanted} for input of shape {tuple(x.shape)} and multilabel={self.multilabel}"
                f"; got {tuple(target.shape)}"
            )
        if target.is_complex():
            raise ExactaTypeError(f"target must be real; got {target.dtype}")
        if self.ignore_index is not None and (target.is_floating_point() or target.dtype is torch.bool):
            raise ExactaTypeError(f"target must hold integers where ignore_index is set; got dtype {target.dtype}")


def hinge_rows(margins: Tensor, positive: Tensor, included: Tensor | None) -> Tensor:
    """Return the loss of each row; the hinge acts after sorting, so that the order is that of the margins."""
    keys = margins if included is None else torch.where(included, margins, -torch.inf)
    order = keys.detach().argsort(dim=-1, descending=True, stable=True)
    sorted_included = None if included is None else included.gather(-1, order)
    # Sorted already: a stable sort of falling values moves nothing, and relu keeps them falling.
    return jaccard_rows(torch.relu(margins.gather(-1, order)), positive.gather(-1, order), sorted_included)


def _check_values(z: Tensor, target: Tensor, included: Tensor | None) -> None:
    """Refuse targets other than 0 and 1 and logits that are not finite, where they count."""
    strange = (target != 0) & (target != 1)
    infinite = ~torch.isfinite(z)
    if included is not None:
        strange, infinite = strange & included, infinite & included
    if holds((strange.any() | infinite.any()).reshape(())):
        if bool(strange.any()):
            raise ExactaValueError(
                f"target must hold 0 and 1 only; got {target.expand_as(strange)[strange][0].item()}; pass ignore_index "
                "or mask for voxels that are not to count"
            )
        raise ExactaValueError(f"input must be finite; got {z[infinite][0].item()}")

"""Lesions: which were found, which predictions are false, and what that scores.

A lesion is a connected component of a class, of a label map or a channel. `evaluate` gives the scores of each case and
class, `report` a row for each lesion, `evaluate_instances` the scores of objects that come with numbers of their own;
`brats_regions` and `brats2023` are those of the BraTS 2023 challenge.

Arrays may come from NumPy, PyTorch, JAX, CuPy, any library with DLPack or the array API, or be nested lists; results
are in the library and on the device of `pred`.

**Errors.** `exacta.ExactaValueError` (a `ValueError`) or `exacta.ExactaTypeError` (a `TypeError`), looked for in this
order before anything is computed: `matching`, `score`, the arrays (as in `exacta.functional`), `connectivity`,
`dilation`, `dilation_connectivity`, `threshold`, `min_target_volume`, the fill values, `surface`, `spacing`, `backend`;
last the values of the arrays.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from . import _native
from ._arrays import library_of
from ._errors import ExactaTypeError, ExactaValueError
from ._inputs import prepare
from ._lesions import (
    Lesion,
    LesionReport,
    LesionScores,
    Prediction,
    check_choices,
    instance_scores,
    report_of,
    scores_of,
)
from ._options import check_backend, check_choice, check_spacing
from ._threads import get_num_threads

if TYPE_CHECKING:
    from ._lesions import Matching, Score
    from ._options import Backend, InputFormat, Surface

__all__ = [
    "Lesion",
    "LesionReport",
    "LesionScores",
    "Prediction",
    "brats2023",
    "brats_regions",
    "evaluate",
    "evaluate_instances",
    "report",
]

Challenge: TypeAlias = Literal["GLI", "SSA", "MEN", "PED", "MET"]
_CHALLENGES = ("GLI", "SSA", "MEN", "PED", "MET")


def evaluate(
    pred: Any,
    target: Any,
    *,
    matching: Matching,
    connectivity: int,
    score: Score = "iou",
    threshold: float = 0.5,
    strict: bool = False,
    dilation: int = 0,
    dilation_connectivity: int | None = None,
    min_target_volume: float = 0.0,
    spacing: Any = None,
    surface: Surface = "voxels",
    missed_distance: float = math.inf,
    both_empty: float = math.nan,
    both_empty_distance: float = math.nan,
    input_format: InputFormat = "index",
    num_classes: int | None = None,
    include_background: bool = True,
    backend: Backend = "auto",
) -> LesionScores:
    """Match the lesions of a prediction with those of a reference, and score them.

    Parameters
    ----------
    pred, target : array, (B, *spatial) labels or (B, C, *spatial) channels
        Prediction and reference, 2-D or 3-D, of the same shape.
    matching : {"greedy", "hungarian", "merge", "overlap"}
        Which pairs that share a voxel match.

        ``"greedy"``
            best scores first, one to one (Panoptica's default).
        ``"hungarian"``
            one to one, with the largest sum of scores.
        ``"merge"``
            as greedy, and a free prediction joins a matched lesion if that raises the score of all its predictions
            together, whether or not its own score passes.
        ``"overlap"``
            every pair that shares a voxel, many to many (BraTS); `score`, `threshold` and `strict` are not read.

        Of equal scores the pair with the lower prediction comes first, then the one with the lower lesion.
    connectivity : int
        Neighbours of a voxel in a lesion: 1 to the number of spatial axes, as in `exacta.components`.
    score : {"iou", "dice"}, default "iou"
        What pairs are compared by.
    threshold : float, default 0.5
        The score that a pair must reach; at 0 and below every pair that shares a voxel passes, above 1 none.
    strict : bool, default False
        Whether the score must exceed the threshold.
    dilation : int, default 0
        With ``matching="overlap"``: the reference grows by so many steps before it is taken apart; lesions that touch
        then are one, of their own voxels, and a prediction matches the grown lesion.
    dilation_connectivity : int, optional
        Neighbourhood of a step, as `connectivity`; needed with `dilation`.
    min_target_volume : float, default 0
        A lesion of the reference counts only if its volume is larger: in mm³ or mm², in voxels without `spacing`. What
        matches only smaller ones is no false positive.
    spacing : float, (ndim,) or (B, ndim), optional
        Length of a voxel along each axis in mm, in the order of the array axes. Without it `lesion_hd95` is NaN.
    surface : {"voxels", "surfels", "mesh"}, default "voxels"
        The surface for `lesion_hd95`, as in `exacta.functional.hd95`.
    missed_distance : float, default inf
        What each missed lesion and each false positive adds to `lesion_hd95`, also in place of an infinite distance.
    both_empty, both_empty_distance : float, default NaN
        `lesion_dice` and `lesion_hd95` where there is neither lesion nor false positive.
    input_format, num_classes, include_background
        As in `exacta.functional.dice`.
    backend : {"auto", "native"}, default "auto"
        What computes; both are the compiled kernels.

    Returns
    -------
    LesionScores
        Twelve (B, K) arrays of float64 by name.

    Raises
    ------
    ExactaValueError, ExactaTypeError
        As listed in `exacta.lesions`.

    See Also
    --------
    report : the same with a row for each lesion.

    Notes
    -----
    Components, sizes, overlaps and matches come from runs of voxels, distances from the box of each matched lesion:
    the time follows the volume and the lesions, never their product.

    References
    ----------
    .. [1] A. Kirillov et al., "Panoptic segmentation", CVPR 2019.
    .. [2] F. Kofler et al., "Panoptica -- instance-wise evaluation of 3D semantic and instance segmentation maps",
       arXiv:2312.02608.
    .. [3] R. Jonker, A. Volgenant, "A shortest augmenting path algorithm for dense and sparse linear assignment
       problems", Computing 38:325-340, 1987.

    Examples
    --------
    >>> target = [[[0, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 0]]]
    >>> pred = [[[0, 0, 1, 1, 1, 1, 0, 0, 1, 1, 0, 1, 1, 0, 0, 0, 0, 0, 0]]]
    >>> scores = evaluate(pred, target, matching="greedy", connectivity=1, num_classes=2, include_background=False)
    >>> scores.tp, scores.fp, scores.fn
    (array([[2.]]), array([[1.]]), array([[1.]]))
    >>> scores.sq_iou
    array([[0.55]])
    """
    check_choice("matching", matching, ("greedy", "hungarian", "merge", "overlap"))
    check_choice("score", score, ("iou", "dice"))
    inputs = prepare(pred, target, input_format, num_classes, include_background)
    choices = check_choices(
        inputs,
        matching,
        score,
        connectivity,
        dilation,
        dilation_connectivity,
        threshold,
        strict,
        min_target_volume,
        missed_distance,
        both_empty,
        both_empty_distance,
        surface,
    )
    rows = None if spacing is None else check_spacing(spacing, inputs, choices["surface"])
    check_backend(backend)
    return scores_of(inputs, choices, rows)


def report(
    pred: Any,
    target: Any,
    *,
    matching: Matching,
    connectivity: int,
    score: Score = "iou",
    threshold: float = 0.5,
    strict: bool = False,
    dilation: int = 0,
    dilation_connectivity: int | None = None,
    min_target_volume: float = 0.0,
    spacing: Any = None,
    surface: Surface = "voxels",
    missed_distance: float = math.inf,
    both_empty: float = math.nan,
    both_empty_distance: float = math.nan,
    input_format: InputFormat = "index",
    num_classes: int | None = None,
    include_background: bool = True,
    backend: Backend = "auto",
) -> LesionReport:
    """Match lesions as `evaluate` does, and keep a row for each lesion and each prediction.

    Parameters
    ----------
    pred, target, matching, connectivity, score, threshold, strict, dilation, dilation_connectivity
        As in `evaluate`.
    min_target_volume, spacing, surface, missed_distance, both_empty, both_empty_distance
        As in `evaluate`.
    input_format, num_classes, include_background, backend
        As in `evaluate`.

    Returns
    -------
    LesionReport
        `scores`, what `evaluate` returns; `lesions` and `predictions`, one record each, ordered by case, class, number.

    Raises
    ------
    ExactaValueError, ExactaTypeError
        As listed in `exacta.lesions`.

    Examples
    --------
    >>> target, pred = [[[0, 1, 1, 1, 0, 0, 1, 1]]], [[[0, 0, 1, 1, 0, 0, 0, 0]]]
    >>> found = report(pred, target, matching="overlap", connectivity=1, num_classes=2, include_background=False)
    >>> for lesion in found.lesions:
    ...     print(lesion.number, lesion.voxels, lesion.predictions, lesion.dice)
    1 3 (1,) 0.8
    2 2 () 0.0
    """
    check_choice("matching", matching, ("greedy", "hungarian", "merge", "overlap"))
    check_choice("score", score, ("iou", "dice"))
    inputs = prepare(pred, target, input_format, num_classes, include_background)
    choices = check_choices(
        inputs,
        matching,
        score,
        connectivity,
        dilation,
        dilation_connectivity,
        threshold,
        strict,
        min_target_volume,
        missed_distance,
        both_empty,
        both_empty_distance,
        surface,
    )
    rows = None if spacing is None else check_spacing(spacing, inputs, choices["surface"])
    check_backend(backend)
    return report_of(inputs, choices, rows, 0 if include_background else 1)


def evaluate_instances(
    pred: Any,
    target: Any,
    *,
    matching: Matching,
    score: Score = "iou",
    threshold: float = 0.5,
    strict: bool = False,
    both_empty: float = math.nan,
) -> LesionScores:
    """Match the objects of two instance maps and score them; objects may touch.

    `evaluate` takes masks apart into components; here every label but 0 is an object, whatever its number and parts.

    Parameters
    ----------
    pred, target : array, (B, *spatial)
        Instance numbers, 0 for background, of the same shape and 1 to 3 spatial axes: whole numbers of any dtype, with
        any gaps. Numbers of the two need not correspond.
    matching, score, threshold, strict
        As in `evaluate`; of equal scores the lower label of `pred` comes first, then that of `target`.
    both_empty : float, default NaN
        `lesion_dice` where there is no object at all.

    Returns
    -------
    LesionScores
        (B, 1) arrays; `lesion_hd95` is NaN.

    Raises
    ------
    ExactaValueError, ExactaTypeError
        An unknown name, shapes or axes that do not fit, negative or fractional labels.

    References
    ----------
    .. [1] A. Kirillov et al., "Panoptic segmentation", CVPR 2019.

    Examples
    --------
    >>> scores = evaluate_instances([[1, 1, 0, 7, 7]], [[2, 2, 3, 3, 3]], matching="greedy")
    >>> scores.tp, scores.pq_iou
    (array([[2.]]), array([[0.83333333]]))
    """
    check_choice("matching", matching, ("greedy", "hungarian", "merge", "overlap"))
    check_choice("score", score, ("iou", "dice"))
    return instance_scores(pred, target, matching, score, threshold, strict, both_empty)


def brats2023(
    pred: Any,
    target: Any,
    *,
    challenge: Challenge,
    spacing: Any,
    input_format: InputFormat = "one-hot",
    num_classes: int | None = None,
    include_background: bool = True,
    backend: Backend = "auto",
) -> LesionScores:
    """Score lesions as the BraTS 2023 challenges did.

    `evaluate` with ``matching="overlap"``, 26 neighbours, ``dilation_connectivity=2``, HD95 between surfels,
    ``missed_distance=374``, ``both_empty=1``, ``both_empty_distance=0``, and

    ===================  =============  ====  ====
    challenge            GLI, SSA, PED  MEN   MET
    ===================  =============  ====  ====
    `dilation`           3              1     1
    `min_target_volume`  50             50    2
    ===================  =============  ====  ====

    Parameters
    ----------
    pred, target : array, (B, C, *spatial) channels or (B, *spatial) labels
        Prediction and reference, 3-D; the regions of `brats_regions` as channels.
    challenge : {"GLI", "SSA", "MEN", "PED", "MET"}
        Adult glioma, Sub-Saharan Africa, meningioma, paediatric tumours, metastases.
    spacing : float, (3,), (B, 3) or None
        Length of a voxel along each axis in mm, in the order of the array axes. With None volumes are counted in voxels
        and `lesion_hd95` is NaN.
    input_format : {"one-hot", "index"}, default "one-hot"
        Channels, unlike elsewhere: the regions overlap.
    num_classes, include_background, backend
        As in `evaluate`.

    Returns
    -------
    LesionScores
        `lesion_dice` and `lesion_hd95` are ``LesionWise_Score_Dice`` and ``LesionWise_Score_HD95`` of the published
        script; `tp`, `fp`, `fn` its counts.

    Raises
    ------
    ExactaValueError, ExactaTypeError
        An unknown challenge, images that are not 3-D; as listed in `exacta.lesions`.

    References
    ----------
    .. [1] R. Saluja et al., https://github.com/rachitsaluja/BraTS-2023-Metrics.

    Examples
    --------
    >>> import numpy as np
    >>> labels = np.zeros((2, 1, 16, 16, 16), np.uint8)
    >>> labels[0, :, 2:6, 2:6, 3:7] = labels[1, :, 2:6, 2:6, 2:6] = 3
    >>> pred, target = (brats_regions(case) for case in labels)
    >>> brats2023(pred, target, challenge="GLI", spacing=None).lesion_dice
    array([[0.75, 0.75, 0.75]])
    """
    check_choice("challenge", challenge, _CHALLENGES)
    inputs = prepare(pred, target, input_format, num_classes, include_background)
    if inputs.ndim != 3:
        raise ExactaValueError(
            f"pred must have 3 spatial axes for BraTS; got {inputs.ndim}, shape {inputs.shape}{inputs.axes_hint(3)}"
        )
    rows = None if spacing is None else check_spacing(spacing, inputs, "surfels")
    check_backend(backend)
    return scores_of(inputs, challenge, rows)


def brats_regions(labels: Any, /) -> Any:
    """Turn a BraTS label map into its three overlapping regions.

    Parameters
    ----------
    labels : array, (B, *spatial)
        1 is the necrotic core, 2 the oedema, 3 the enhancing tumour, of any dtype; every other value belongs to no
        region. Label 4 of older data has to be made 3 first.

    Returns
    -------
    array of bool, (B, 3, *spatial)
        Whole tumour (1, 2, 3), tumour core (1, 3), enhancing tumour (3), in the library and on the device of `labels`.

    Raises
    ------
    ExactaValueError
        `labels` without a batch axis, or with more than three spatial axes.
    ExactaTypeError
        `labels` that cannot be read, or complex ones.

    Examples
    --------
    >>> brats_regions([[0, 1, 2, 3, 4]])
    array([[[False,  True,  True,  True, False],
            [False,  True, False,  True, False],
            [False, False, False,  True, False]]])
    """
    library = library_of(labels)
    host = library.to_host(labels, "labels")
    shape = host.array.shape
    if not 2 <= len(shape) <= 4:
        raise ExactaValueError(f"labels must have a batch axis and 1 to 3 spatial axes; got shape {shape}")
    if host.array.dtype.kind == "c":
        raise ExactaTypeError(f"labels must be real; got dtype {host.array.dtype}; pass labels.real")
    # Zeros of NumPy come in huge pages, and what is background is not written.
    out = np.zeros(3 * host.array.size, np.uint8)
    axes = _native.brats_regions(host.array, out, half=host.half, threads=get_num_threads())
    spatial = [shape[1 + axis] for axis in axes]
    order = [0, 1, *(2 + axis for axis in np.argsort(axes).tolist())]
    regions = out.view(np.bool_).reshape([shape[0], 3, *spatial]).transpose(order)
    return library.from_host(regions, labels)

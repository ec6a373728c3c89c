"""How well scores order voxels: average precision, AUROC and their curves, each class against the rest.

Exact, ties included: only the smaller side is sorted, every other voxel is counted among it, in whole numbers. What
`mask` and `ignore_index` leave out is neither used nor checked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _native
from .._scores import check_multilabel, check_rank_bins, prepare_scores
from ._results import RankingCurve, RankingResult

if TYPE_CHECKING:
    from .._scores import ScoreInputs

__all__ = ["auroc", "average_precision", "voxel_ranking"]


def average_precision(
    pred: Any,
    target: Any,
    *,
    from_logits: bool = False,
    multilabel: bool = False,
    include_background: bool = True,
    ignore_index: int | None = None,
    mask: Any = None,
    bins: int | None = None,
) -> Any:
    r"""Average precision: the mean over the positives of the precision at their own score as threshold.

    ``AP = sum over thresholds (R_i - R_(i-1)) P_i``, without interpolation.

    Parameters
    ----------
    pred : array of float16, bfloat16, float32 or float64, (B, C, \*spatial)
        Probabilities, or logits with ``from_logits=True``. ``C >= 2``: a distribution over classes; ``C = 1``: the
        positive class of two; ``multilabel=True``: independent channels.
    target : array, (B, \*spatial) of class indices, or of the shape of `pred` with ``multilabel=True``
        uint8, int8, int16, int32 or int64 in [0, C), for one channel in [0, 2); 0 and 1 of any dtype for `multilabel`.
    from_logits : bool, default False
        Whether `pred` holds logits: of a softmax over channels, of a sigmoid for one channel or independent ones.
    multilabel : bool, default False
        Whether channels are independent.
    include_background : bool, default True
        Whether class or channel 0 gets a column; its voxels still count as negatives of the others.
    ignore_index : int, optional
        Target label whose voxels are left out; not with `multilabel`.
    mask : bool array, (B, \*spatial) or (B, 1, \*spatial), optional
        True where voxels count; with `multilabel` also (B, C, \*spatial), label by label.
    bins : int, optional
        None is exact; otherwise at least 2 bins of equal width of the probability, whose scores then tie.

    Returns
    -------
    array of float64, (B, K)
        In [0, 1]; NaN without positives. K is C, less one without background.

    Raises
    ------
    ExactaTypeError
        If `pred` is not floating, or `target`, `mask` or an option has a type that cannot be used.
    ExactaValueError
        If shapes disagree, options exclude each other, or a voxel that counts has a label out of range, a score that is
        not finite, a probability outside [0, 1], or channels whose sum is farther than 0.001 from 1 (0.003 for
        bfloat16, which rounds as much).

    Notes
    -----
    Equal to `average_precision_score` of scikit-learn. Probabilities are compared as they are stored; logits of one
    channel, or independent ones, too; logits of several classes by their log-softmax in double precision.

    References
    ----------
    .. [1] C. D. Manning, P. Raghavan, H. Schuetze, "Introduction to information retrieval", 2008, section 8.4.

    Examples
    --------
    >>> average_precision([[[[0.9, 0.8, 0.8, 0.3, 0.1]]]], [[[1, 0, 1, 1, 0]]])
    array([[0.80555556]])
    """
    return _measure(
        "average_precision", pred, target, from_logits, multilabel, include_background, ignore_index, mask, bins
    )


def auroc(
    pred: Any,
    target: Any,
    *,
    from_logits: bool = False,
    multilabel: bool = False,
    include_background: bool = True,
    ignore_index: int | None = None,
    mask: Any = None,
    bins: int | None = None,
) -> Any:
    r"""Area under the ROC curve: the probability that a positive scores higher than a negative, ties counting half.

    ``AUROC = (pairs won + pairs tied / 2) / (P Q)``

    Parameters
    ----------
    pred : array of float16, bfloat16, float32 or float64, (B, C, \*spatial)
        Probabilities, or logits with ``from_logits=True``. ``C >= 2``: a distribution over classes; ``C = 1``: the
        positive class of two; ``multilabel=True``: independent channels.
    target : array, (B, \*spatial) of class indices, or of the shape of `pred` with ``multilabel=True``
        uint8, int8, int16, int32 or int64 in [0, C), for one channel in [0, 2); 0 and 1 of any dtype for `multilabel`.
    from_logits : bool, default False
        Whether `pred` holds logits: of a softmax over channels, of a sigmoid for one channel or independent ones.
    multilabel : bool, default False
        Whether channels are independent.
    include_background : bool, default True
        Whether class or channel 0 gets a column; its voxels still count as negatives of the others.
    ignore_index : int, optional
        Target label whose voxels are left out; not with `multilabel`.
    mask : bool array, (B, \*spatial) or (B, 1, \*spatial), optional
        True where voxels count; with `multilabel` also (B, C, \*spatial), label by label.
    bins : int, optional
        None is exact; otherwise at least 2 bins of equal width of the probability, whose scores then tie.

    Returns
    -------
    array of float64, (B, K)
        In [0, 1]; NaN without positives or without negatives. K is C, less one without background.

    Raises
    ------
    ExactaTypeError
        If `pred` is not floating, or `target`, `mask` or an option has a type that cannot be used.
    ExactaValueError
        If shapes disagree, options exclude each other, or a voxel that counts has a label out of range, a score that is
        not finite, a probability outside [0, 1], or channels whose sum is farther than 0.001 from 1 (0.003 for
        bfloat16, which rounds as much).

    Notes
    -----
    Equal to `roc_auc_score` of scikit-learn for each class against the rest. Scores are compared as in
    `average_precision`.

    References
    ----------
    .. [1] J. A. Hanley, B. J. McNeil, "The meaning and use of the area under a receiver operating characteristic (ROC)
       curve", Radiology 143, 1982.

    Examples
    --------
    >>> auroc([[[[0.9, 0.8, 0.8, 0.3, 0.1]]]], [[[1, 0, 1, 1, 0]]])
    array([[0.75]])
    """
    return _measure("auroc", pred, target, from_logits, multilabel, include_background, ignore_index, mask, bins)


def voxel_ranking(
    pred: Any,
    target: Any,
    *,
    from_logits: bool = False,
    multilabel: bool = False,
    include_background: bool = True,
    ignore_index: int | None = None,
    mask: Any = None,
    bins: int | None = None,
) -> RankingResult:
    r"""Average precision, AUROC and the points of both curves.

    Parameters
    ----------
    pred : array of float16, bfloat16, float32 or float64, (B, C, \*spatial)
        Probabilities, or logits with ``from_logits=True``. ``C >= 2``: a distribution over classes; ``C = 1``: the
        positive class of two; ``multilabel=True``: independent channels.
    target : array, (B, \*spatial) of class indices, or of the shape of `pred` with ``multilabel=True``
        uint8, int8, int16, int32 or int64 in [0, C), for one channel in [0, 2); 0 and 1 of any dtype for `multilabel`.
    from_logits : bool, default False
        Whether `pred` holds logits: of a softmax over channels, of a sigmoid for one channel or independent ones.
    multilabel : bool, default False
        Whether channels are independent.
    include_background : bool, default True
        Whether class or channel 0 gets a column; its voxels still count as negatives of the others.
    ignore_index : int, optional
        Target label whose voxels are left out; not with `multilabel`.
    mask : bool array, (B, \*spatial) or (B, 1, \*spatial), optional
        True where voxels count; with `multilabel` also (B, C, \*spatial), label by label.
    bins : int, optional
        None is exact; otherwise at least 2 bins of equal width of the probability, whose scores then tie.

    Returns
    -------
    RankingResult
        The scores, ``(B, K)``, and ``curves[case][column]``; ``plot()`` draws them.

    Raises
    ------
    ExactaTypeError
        If `pred` is not floating, or `target`, `mask` or an option has a type that cannot be used.
    ExactaValueError
        If shapes disagree, options exclude each other, or a voxel that counts has a label out of range, a score that is
        not finite, a probability outside [0, 1], or channels whose sum is farther than 0.001 from 1 (0.003 for
        bfloat16, which rounds as much).

    Notes
    -----
    An exact curve has one point a distinct score and one before all; a binned one ``bins + 1``, the thresholds being
    the lower edges of the bins. Thresholds of categorical logits are log-probabilities.

    References
    ----------
    .. [1] T. Fawcett, "An introduction to ROC analysis", Pattern Recognition Letters 27, 2006.

    Examples
    --------
    >>> voxel_ranking([[[[0.9, 0.8, 0.8, 0.3, 0.1]]]], [[[1, 0, 1, 1, 0]]]).curves[0][0].fpr
    array([0. , 0. , 0.5, 0.5, 1. ])
    """
    inputs, bins, first = _prepare(pred, target, from_logits, multilabel, include_background, ignore_index, mask, bins)
    columns = inputs.channels - first
    if bins is None:
        curves = _native.rank_curves(inputs.scored, first=first)
    else:
        histograms = _native.rank_histograms(inputs.scored, bins=bins, first=first)
        curves = [_native.histogram_curve(histogram) for row in histograms for histogram in row]
    return ranking_result(inputs, curves, columns, bins)


def ranking_result(inputs: ScoreInputs, curves: list[Any], columns: int, bins: int | None) -> RankingResult:
    """Return native curves, row by row, as the result of a ranking."""
    back = inputs.back
    shape = (inputs.batch, columns)
    scores = np.array([curve[4:] for curve in curves], np.float64).reshape(*shape, 2)

    def public(curve: Any) -> RankingCurve:
        thresholds, precision, recall, fpr = map(back, curve[:4])
        return RankingCurve(thresholds, precision, recall, fpr, back(curve[2].copy()))

    rows = tuple(tuple(map(public, curves[row * columns : (row + 1) * columns])) for row in range(inputs.batch))
    return RankingResult(back(scores[..., 0].copy()), back(scores[..., 1].copy()), rows, bins)


def _prepare(
    pred: Any,
    target: Any,
    from_logits: Any,
    multilabel: Any,
    include_background: Any,
    ignore_index: Any,
    mask: Any,
    bins: Any,
) -> tuple[ScoreInputs, int | None, int]:
    bins = check_rank_bins(bins)
    check_multilabel(multilabel, ignore_index)
    inputs = prepare_scores(pred, target, multilabel, from_logits, ignore_index, mask)
    return inputs, bins, inputs.first(include_background)


def _measure(name: str, *arguments: Any) -> Any:
    inputs, bins, first = _prepare(*arguments)
    return inputs.measure(name, {"bins": float(bins or 0)}, first)

"""Proper scores and calibration of voxel probabilities.

One pass over the voxels; what `mask` and `ignore_index` leave out is neither used nor checked. Sums are taken in double
precision in an order that depends on the shape alone: no result depends on threads, instruction set or memory layout.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _native
from .._scores import check_bins, check_mode, check_multilabel, prepare_scores
from ._results import ReliabilityDiagram

if TYPE_CHECKING:
    from .._scores import Average, Mode

__all__ = ["brier_score", "expected_calibration_error", "negative_log_likelihood", "reliability_diagram"]


def brier_score(
    pred: Any,
    target: Any,
    *,
    from_logits: bool = False,
    ignore_index: int | None = None,
    mask: Any = None,
    multilabel: bool = False,
    average: Average = "none",
) -> Any:
    r"""Brier score: the mean squared distance of the probabilities to the outcome.

    ``Brier = 1/n sum over voxels sum over classes (p_c - [c = y])^2``; for one channel, and for each label with
    `multilabel`, ``1/n sum (p - y)^2``: half of what the two channels ``1 - p, p`` give.

    Parameters
    ----------
    pred : array of float16, bfloat16, float32 or float64, (B, C, \*spatial)
        Probabilities, or logits with ``from_logits=True``. ``C >= 2``: a distribution over classes; ``C = 1``: the
        positive class of two; ``multilabel=True``: independent channels.
    target : array, (B, \*spatial) of class indices, or of the shape of `pred` with ``multilabel=True``
        uint8, int8, int16, int32 or int64 in [0, C), for one channel in [0, 2); 0 and 1 of any dtype for `multilabel`.
    from_logits : bool, default False
        Whether `pred` holds logits: of a softmax over channels, of a sigmoid for one channel or independent ones.
    ignore_index : int, optional
        Target label whose voxels are left out; not with `multilabel`.
    mask : bool array, (B, \*spatial) or (B, 1, \*spatial), optional
        True where voxels count; with `multilabel` also (B, C, \*spatial), label by label.
    multilabel : bool, default False
        Whether channels are independent.
    average : {"none", "macro", "micro"}, default "none"
        With `multilabel`: a value a label, the mean of the labels' values that are not NaN, or all pairs of label and
        voxel together.

    Returns
    -------
    array of float64, (B, 1), or (B, C) with `multilabel` and ``average="none"``
        In [0, 2], in [0, 1] for one channel; NaN where no voxel counts.

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
    Equal to `brier_score_loss` of scikit-learn with ``scale_by_half=False``. The terms of a distribution are taken in
    the precision of `pred` (half precision in float32), those of independent labels in float64.

    References
    ----------
    .. [1] G. W. Brier, "Verification of forecasts expressed in terms of probability", Monthly Weather Review 78, 1950.

    Examples
    --------
    >>> round(float(brier_score([[[[0.9, 0.2], [0.6, 0.4]]]], [[[1, 0], [0, 1]]])[0, 0]), 12)
    0.1925
    """
    check_multilabel(multilabel, ignore_index, average)
    inputs = prepare_scores(pred, target, multilabel, from_logits, ignore_index, mask)
    return inputs.measure("brier_score", {"average": average})


def negative_log_likelihood(
    pred: Any,
    target: Any,
    *,
    from_logits: bool = False,
    ignore_index: int | None = None,
    mask: Any = None,
    multilabel: bool = False,
    average: Average = "none",
) -> Any:
    r"""Negative log-likelihood in nats: the mean of minus the logarithm of the probability of the outcome.

    ``NLL = -1/n sum over voxels log p_y``; for one channel, and for each label with `multilabel`, ``p_1 = p`` and
    ``p_0 = 1 - p``.

    Parameters
    ----------
    pred : array of float16, bfloat16, float32 or float64, (B, C, \*spatial)
        Probabilities, or logits with ``from_logits=True``. ``C >= 2``: a distribution over classes; ``C = 1``: the
        positive class of two; ``multilabel=True``: independent channels.
    target : array, (B, \*spatial) of class indices, or of the shape of `pred` with ``multilabel=True``
        uint8, int8, int16, int32 or int64 in [0, C), for one channel in [0, 2); 0 and 1 of any dtype for `multilabel`.
    from_logits : bool, default False
        Whether `pred` holds logits: of a softmax over channels, of a sigmoid for one channel or independent ones.
    ignore_index : int, optional
        Target label whose voxels are left out; not with `multilabel`.
    mask : bool array, (B, \*spatial) or (B, 1, \*spatial), optional
        True where voxels count; with `multilabel` also (B, C, \*spatial), label by label.
    multilabel : bool, default False
        Whether channels are independent.
    average : {"none", "macro", "micro"}, default "none"
        With `multilabel`: a value a label, the mean of the labels' values that are not NaN, or all pairs of label and
        voxel together.

    Returns
    -------
    array of float64, (B, 1), or (B, C) with `multilabel` and ``average="none"``
        From 0; NaN where no voxel counts.

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
    Probabilities are not clipped: probability 0 of an outcome that came gives inf, where `log_loss` of scikit-learn
    clips to the machine epsilon. Logits take forms that do not overflow.

    References
    ----------
    .. [1] I. J. Good, "Rational decisions", Journal of the Royal Statistical Society B 14, 1952.

    Examples
    --------
    >>> round(float(negative_log_likelihood([[[[0.9, 0.2], [0.6, 0.4]]]], [[[1, 0], [0, 1]]])[0, 0]), 12)
    0.54027138268
    """
    check_multilabel(multilabel, ignore_index, average)
    inputs = prepare_scores(pred, target, multilabel, from_logits, ignore_index, mask)
    return inputs.measure("negative_log_likelihood", {"average": average})


def expected_calibration_error(
    pred: Any,
    target: Any,
    *,
    bins: int = 15,
    mode: Mode | None = None,
    from_logits: bool = False,
    ignore_index: int | None = None,
    mask: Any = None,
    multilabel: bool = False,
    average: Average = "none",
) -> Any:
    r"""Expected calibration error: the gap between confidence and accuracy, weighted by how many voxels a bin holds.

    ``ECE = sum over bins |outcomes - sum of confidences| / n``

    Parameters
    ----------
    pred : array of float16, bfloat16, float32 or float64, (B, C, \*spatial)
        Probabilities, or logits with ``from_logits=True``. ``C >= 2``: a distribution over classes; ``C = 1``: the
        positive class of two; ``multilabel=True``: independent channels.
    target : array, (B, \*spatial) of class indices, or of the shape of `pred` with ``multilabel=True``
        uint8, int8, int16, int32 or int64 in [0, C), for one channel in [0, 2); 0 and 1 of any dtype for `multilabel`.
    bins : int, default 15
        Bins of equal width; confidence ``c`` is in bin ``min(floor(c bins), bins - 1)``.
    mode : {None, "top-label", "classwise"}, default None
        ``"top-label"`` judges the largest probability of each voxel (the first of several; one channel is positive
        above 0.5), ``"classwise"`` the probability of each class; None is the former without `multilabel`.
    from_logits : bool, default False
        Whether `pred` holds logits: of a softmax over channels, of a sigmoid for one channel or independent ones.
    ignore_index : int, optional
        Target label whose voxels are left out; not with `multilabel`.
    mask : bool array, (B, \*spatial) or (B, 1, \*spatial), optional
        True where voxels count; with `multilabel` also (B, C, \*spatial), label by label.
    multilabel : bool, default False
        Whether channels are independent.
    average : {"none", "macro", "micro"}, default "none"
        With `multilabel`: a value a label, the mean of the labels' values that are not NaN, or all pairs of label and
        voxel together.

    Returns
    -------
    array of float64, (B, 1) for the top label, one channel or an average, else (B, C)
        In [0, 1]; NaN where no voxel counts.

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
    Equal to `calibration_error` of torchmetrics with ``norm="l1"`` (top label), and to `CalibrationErrorMetric` of
    MONAI (classwise). ``average="micro"`` adds bins over labels before the gap is taken, so opposite errors can cancel.

    References
    ----------
    .. [1] M. P. Naeini, G. F. Cooper, M. Hauskrecht, "Obtaining well calibrated probabilities using Bayesian binning",
       AAAI 2015.
    .. [2] C. Guo et al., "On calibration of modern neural networks", ICML 2017, equation 3.

    Examples
    --------
    >>> round(float(expected_calibration_error([[[[0.9, 0.2], [0.6, 0.4]]]], [[[1, 0], [0, 1]]], bins=4)[0, 0]), 12)
    0.375
    """
    check_multilabel(multilabel, ignore_index, average)
    bins = check_bins(bins)
    chosen = check_mode(mode, multilabel)
    inputs = prepare_scores(pred, target, multilabel, from_logits, ignore_index, mask)
    return inputs.measure("expected_calibration_error", {"bins": float(bins), "mode": chosen, "average": average})


def reliability_diagram(
    pred: Any,
    target: Any,
    *,
    bins: int = 15,
    mode: Mode | None = None,
    from_logits: bool = False,
    ignore_index: int | None = None,
    mask: Any = None,
    multilabel: bool = False,
) -> ReliabilityDiagram:
    r"""Mean confidence and accuracy by bin of confidence, and the expected calibration error.

    Parameters
    ----------
    pred : array of float16, bfloat16, float32 or float64, (B, C, \*spatial)
        Probabilities, or logits with ``from_logits=True``. ``C >= 2``: a distribution over classes; ``C = 1``: the
        positive class of two; ``multilabel=True``: independent channels.
    target : array, (B, \*spatial) of class indices, or of the shape of `pred` with ``multilabel=True``
        uint8, int8, int16, int32 or int64 in [0, C), for one channel in [0, 2); 0 and 1 of any dtype for `multilabel`.
    bins : int, default 15
        Bins of equal width; confidence ``c`` is in bin ``min(floor(c bins), bins - 1)``.
    mode : {None, "top-label", "classwise"}, default None
        As in `expected_calibration_error`.
    from_logits : bool, default False
        Whether `pred` holds logits: of a softmax over channels, of a sigmoid for one channel or independent ones.
    ignore_index : int, optional
        Target label whose voxels are left out; not with `multilabel`.
    mask : bool array, (B, \*spatial) or (B, 1, \*spatial), optional
        True where voxels count; with `multilabel` also (B, C, \*spatial), label by label.
    multilabel : bool, default False
        Whether channels are independent.

    Returns
    -------
    ReliabilityDiagram
        Counts, mean confidence, accuracy, edges and ECE; ``plot()`` draws it.

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
    Membership of a bin is decided by the product, not by comparison with `edges`: 0.29 of 100 bins is in bin 28.

    References
    ----------
    .. [1] M. H. DeGroot, S. E. Fienberg, "The comparison and evaluation of forecasters", The Statistician 32, 1983.

    Examples
    --------
    >>> reliability_diagram([[[[0.9, 0.2], [0.6, 0.4]]]], [[[1, 0], [0, 1]]], bins=4).counts
    array([[[0, 0, 2, 2]]])
    """
    bins = check_bins(bins)
    check_multilabel(multilabel, ignore_index)
    chosen = check_mode(mode, multilabel)
    inputs = prepare_scores(pred, target, multilabel, from_logits, ignore_index, mask)
    sums = _native.reliability_sums(inputs.scored, bins=bins, mode=chosen)
    counts, confidence, accuracy, ece = _native.reliability_values(sums)
    back = inputs.back
    edges = np.linspace(0.0, 1.0, bins + 1)
    return ReliabilityDiagram(back(counts), back(confidence), back(accuracy), back(edges), back(ece))

"""Overlap of two segmentations, from the four counts of each case and class.

TP, FP, FN and TN count the voxels in both, in the prediction only, in the target only and in neither. They are exact
integers, and each score is one correctly rounded division in float64.
"""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING, Any

from .._inputs import prepare
from .._options import check_fill

if TYPE_CHECKING:
    from .._options import InputFormat

__all__ = ["dice", "iou", "precision", "sensitivity", "specificity"]


def dice(
    pred: Any,
    target: Any,
    *,
    input_format: InputFormat = "index",
    num_classes: int | None = None,
    include_background: bool = True,
    ignore_index: int | None = None,
    mask: Any = None,
    both_empty: float = nan,
) -> Any:
    """Dice similarity coefficient (F1 score of the voxels).

    ``Dice = 2 TP / (2 TP + FP + FN)``.

    Parameters
    ----------
    pred, target : array, (B, *spatial) labels or (B, C, *spatial) channels
        Prediction and reference, 2-D or 3-D, of the same shape.
    input_format : {"index", "one-hot"}, default "index"
        Label maps, or one channel of zeros and ones per class.
    num_classes : int
        Number of classes including background; may be left out for ``"one-hot"``.
    include_background : bool, default True
        Whether class 0 gets a column.
    ignore_index : int, optional
        Target label whose voxels are left out; ``"index"`` only.
    mask : bool array, (B, *spatial) or (B, 1, *spatial), optional
        True where voxels count.
    both_empty : float, default nan
        Value where a class is in neither array.

    Returns
    -------
    array of float64, (B, K)
        Scores in [0, 1]; 1 for equal masks, 0 without overlap, also if only one mask is empty. Symmetric.

    Raises
    ------
    ExactaValueError, ExactaTypeError
        As listed in `exacta.functional`; `both_empty` that is not one real number.

    Notes
    -----
    Equal to `DiceCoefficient` of SimpleITK, `dc` of MedPy and `compute_dice` of MONAI where neither mask is empty;
    for two empty masks MedPy returns 1. No smoothing term is added.

    References
    ----------
    .. [1] L. R. Dice, "Measures of the amount of ecologic association between species", Ecology 26(3):297-302, 1945.
    .. [2] A. A. Taha, A. Hanbury, "Metrics for evaluating 3D medical image segmentation", BMC Medical Imaging 15:29,
       2015, "Overlap based metrics".

    Examples
    --------
    >>> dice([[[0, 1], [1, 2]]], [[[0, 1], [2, 2]]], num_classes=3)
    array([[1.        , 0.66666667, 0.66666667]])
    """
    inputs = prepare(pred, target, input_format, num_classes, include_background, ignore_index, mask)
    return inputs.measure_one("dice", {"both_empty": check_fill("both_empty", both_empty)})


def iou(
    pred: Any,
    target: Any,
    *,
    input_format: InputFormat = "index",
    num_classes: int | None = None,
    include_background: bool = True,
    ignore_index: int | None = None,
    mask: Any = None,
    both_empty: float = nan,
) -> Any:
    """Intersection over union (Jaccard index).

    ``IoU = TP / (TP + FP + FN) = Dice / (2 - Dice)``.

    Parameters
    ----------
    pred, target : array, (B, *spatial) labels or (B, C, *spatial) channels
        Prediction and reference, 2-D or 3-D, of the same shape.
    input_format : {"index", "one-hot"}, default "index"
        Label maps, or one channel of zeros and ones per class.
    num_classes : int
        Number of classes including background; may be left out for ``"one-hot"``.
    include_background : bool, default True
        Whether class 0 gets a column.
    ignore_index : int, optional
        Target label whose voxels are left out; ``"index"`` only.
    mask : bool array, (B, *spatial) or (B, 1, *spatial), optional
        True where voxels count.
    both_empty : float, default nan
        Value where a class is in neither array.

    Returns
    -------
    array of float64, (B, K)
        Scores in [0, 1]; 1 for equal masks, 0 without overlap, also if only one mask is empty. Symmetric.

    Raises
    ------
    ExactaValueError, ExactaTypeError
        As listed in `exacta.functional`; `both_empty` that is not one real number.

    Notes
    -----
    Equal to `JaccardCoefficient` of SimpleITK, `jc` of MedPy and `compute_iou` of MONAI where neither mask is empty;
    for two empty masks MedPy returns 1.

    References
    ----------
    .. [1] P. Jaccard, "The distribution of the flora in the alpine zone", New Phytologist 11(2):37-50, 1912.
    .. [2] A. A. Taha, A. Hanbury, "Metrics for evaluating 3D medical image segmentation", BMC Medical Imaging 15:29,
       2015, "Overlap based metrics".

    Examples
    --------
    >>> iou([[[0, 1], [1, 2]]], [[[0, 1], [2, 2]]], num_classes=3)
    array([[1. , 0.5, 0.5]])
    """
    inputs = prepare(pred, target, input_format, num_classes, include_background, ignore_index, mask)
    return inputs.measure_one("iou", {"both_empty": check_fill("both_empty", both_empty)})


def sensitivity(
    pred: Any,
    target: Any,
    *,
    input_format: InputFormat = "index",
    num_classes: int | None = None,
    include_background: bool = True,
    ignore_index: int | None = None,
    mask: Any = None,
    zero_division: float = nan,
) -> Any:
    """Sensitivity: the share of the target that was found (recall, true positive rate).

    ``Sensitivity = TP / (TP + FN)``; 1 minus it is the false negative rate.

    Parameters
    ----------
    pred, target : array, (B, *spatial) labels or (B, C, *spatial) channels
        Prediction and reference, 2-D or 3-D, of the same shape.
    input_format : {"index", "one-hot"}, default "index"
        Label maps, or one channel of zeros and ones per class.
    num_classes : int
        Number of classes including background; may be left out for ``"one-hot"``.
    include_background : bool, default True
        Whether class 0 gets a column.
    ignore_index : int, optional
        Target label whose voxels are left out; ``"index"`` only.
    mask : bool array, (B, *spatial) or (B, 1, *spatial), optional
        True where voxels count.
    zero_division : float, default nan
        Value where the target is empty.

    Returns
    -------
    array of float64, (B, K)
        Scores in [0, 1]; 0 if only the prediction is empty.

    Raises
    ------
    ExactaValueError, ExactaTypeError
        As listed in `exacta.functional`; `zero_division` that is not one real number.

    Notes
    -----
    Equal to `recall` and `sensitivity` of MedPy and to ``1 - FalseNegativeError`` of SimpleITK where the target is
    not empty.

    References
    ----------
    .. [1] A. A. Taha, A. Hanbury, "Metrics for evaluating 3D medical image segmentation", BMC Medical Imaging 15:29,
       2015, "Overlap based metrics", true positive rate.

    Examples
    --------
    >>> sensitivity([[[0, 1], [1, 2]]], [[[0, 1], [2, 2]]], num_classes=3)
    array([[1. , 1. , 0.5]])
    """
    inputs = prepare(pred, target, input_format, num_classes, include_background, ignore_index, mask)
    return inputs.measure_one("sensitivity", {"zero_division": check_fill("zero_division", zero_division)})


def precision(
    pred: Any,
    target: Any,
    *,
    input_format: InputFormat = "index",
    num_classes: int | None = None,
    include_background: bool = True,
    ignore_index: int | None = None,
    mask: Any = None,
    zero_division: float = nan,
) -> Any:
    """Precision: the share of the prediction that is right (positive predictive value).

    ``Precision = TP / (TP + FP)``; 1 minus it is the false discovery rate.

    Parameters
    ----------
    pred, target : array, (B, *spatial) labels or (B, C, *spatial) channels
        Prediction and reference, 2-D or 3-D, of the same shape.
    input_format : {"index", "one-hot"}, default "index"
        Label maps, or one channel of zeros and ones per class.
    num_classes : int
        Number of classes including background; may be left out for ``"one-hot"``.
    include_background : bool, default True
        Whether class 0 gets a column.
    ignore_index : int, optional
        Target label whose voxels are left out; ``"index"`` only.
    mask : bool array, (B, *spatial) or (B, 1, *spatial), optional
        True where voxels count.
    zero_division : float, default nan
        Value where the prediction is empty.

    Returns
    -------
    array of float64, (B, K)
        Scores in [0, 1]; 0 if only the target is empty.

    Raises
    ------
    ExactaValueError, ExactaTypeError
        As listed in `exacta.functional`; `zero_division` that is not one real number.

    Notes
    -----
    Equal to `precision` of MedPy and to ``1 - FalseDiscoveryRate`` of SimpleITK where the prediction is not empty.

    References
    ----------
    .. [1] A. A. Taha, A. Hanbury, "Metrics for evaluating 3D medical image segmentation", BMC Medical Imaging 15:29,
       2015, "Overlap based metrics", positive predictive value.

    Examples
    --------
    >>> precision([[[0, 1], [1, 2]]], [[[0, 1], [2, 2]]], num_classes=3)
    array([[1. , 0.5, 1. ]])
    """
    inputs = prepare(pred, target, input_format, num_classes, include_background, ignore_index, mask)
    return inputs.measure_one("precision", {"zero_division": check_fill("zero_division", zero_division)})


def specificity(
    pred: Any,
    target: Any,
    *,
    input_format: InputFormat = "index",
    num_classes: int | None = None,
    include_background: bool = True,
    ignore_index: int | None = None,
    mask: Any = None,
    zero_division: float = nan,
) -> Any:
    """Specificity: the share of the rest of the image that was left alone (true negative rate).

    ``Specificity = TN / (TN + FP)``; 1 minus it is the false positive rate.

    Parameters
    ----------
    pred, target : array, (B, *spatial) labels or (B, C, *spatial) channels
        Prediction and reference, 2-D or 3-D, of the same shape.
    input_format : {"index", "one-hot"}, default "index"
        Label maps, or one channel of zeros and ones per class.
    num_classes : int
        Number of classes including background; may be left out for ``"one-hot"``.
    include_background : bool, default True
        Whether class 0 gets a column.
    ignore_index : int, optional
        Target label whose voxels are left out; ``"index"`` only.
    mask : bool array, (B, *spatial) or (B, 1, *spatial), optional
        True where voxels count.
    zero_division : float, default nan
        Value where the target covers every counted voxel.

    Returns
    -------
    array of float64, (B, K)
        Scores in [0, 1].

    Raises
    ------
    ExactaValueError, ExactaTypeError
        As listed in `exacta.functional`; `zero_division` that is not one real number.

    Notes
    -----
    It depends on the field of view: with more background the same error scores higher. Equal to `specificity` of
    MedPy and to ``1 - FalsePositiveError`` of SimpleITK.

    References
    ----------
    .. [1] A. A. Taha, A. Hanbury, "Metrics for evaluating 3D medical image segmentation", BMC Medical Imaging 15:29,
       2015, "Overlap based metrics", true negative rate.

    Examples
    --------
    >>> specificity([[[0, 1], [1, 2]]], [[[0, 1], [2, 2]]], num_classes=3)
    array([[1.        , 0.66666667, 1.        ]])
    """
    inputs = prepare(pred, target, input_format, num_classes, include_background, ignore_index, mask)
    return inputs.measure_one("specificity", {"zero_division": check_fill("zero_division", zero_division)})

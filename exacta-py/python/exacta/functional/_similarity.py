"""How alike two segmentations are in size, wherever they are.

From exact counts, one correctly rounded division in float64 (and for the "taha" convention one subtraction).
"""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING, Any

from .._inputs import prepare
from .._options import check_choice, check_fill

if TYPE_CHECKING:
    from .._options import Convention, InputFormat, Options

__all__ = ["relative_volume_difference", "volume_similarity"]


def volume_similarity(
    pred: Any,
    target: Any,
    *,
    convention: Convention = "taha",
    input_format: InputFormat = "index",
    num_classes: int | None = None,
    include_background: bool = True,
    ignore_index: int | None = None,
    mask: Any = None,
    zero_division: float = nan,
) -> Any:
    """Similarity of the two volumes, wherever they are.

    With sizes ``p = TP + FP`` and ``t = TP + FN``: ``"taha"``: ``1 - |p - t| / (p + t)``; ``"itk"``: ``2 (p - t) / (p
    + t)``.

    Parameters
    ----------
    pred, target : array, (B, *spatial) labels or (B, C, *spatial) channels
        Prediction and reference, 2-D or 3-D, of the same shape.
    convention : {"taha", "itk"}, default "taha"
        Similarity, or the signed relative difference that ITK calls by the same name.
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
        Value where a class is in neither array.

    Returns
    -------
    array of float64, (B, K)
        ``"taha"``: [0, 1], 1 for equal volumes. ``"itk"``: [-2, 2], 0 for equal volumes, above 0 if `pred` is larger.

    Raises
    ------
    ExactaValueError, ExactaTypeError
        As listed in `exacta.functional`; `convention` of another name.

    Notes
    -----
    Overlap plays no part: two distant masks of one size score 1. ``"itk"`` equals `VolumeSimilarity` of SimpleITK's
    `LabelOverlapMeasuresImageFilter` executed on (pred, target).

    References
    ----------
    .. [1] A. A. Taha, A. Hanbury, "Metrics for evaluating 3D medical image segmentation", BMC Medical Imaging 15:29,
       2015, "Volume based metrics".

    Examples
    --------
    >>> volume_similarity([[[0, 1], [1, 2]]], [[[0, 1], [2, 2]]], num_classes=3, convention="itk")
    array([[ 0.        ,  0.66666667, -0.66666667]])
    """
    inputs = prepare(pred, target, input_format, num_classes, include_background, ignore_index, mask)
    options: Options = {
        "convention": check_choice("convention", convention, ("taha", "itk")),
        "zero_division": check_fill("zero_division", zero_division),
    }
    return inputs.measure_one("volume_similarity", options)


def relative_volume_difference(
    pred: Any,
    target: Any,
    *,
    absolute: bool = False,
    input_format: InputFormat = "index",
    num_classes: int | None = None,
    include_background: bool = True,
    ignore_index: int | None = None,
    mask: Any = None,
    zero_division: float = nan,
) -> Any:
    """Difference of the volumes relative to the target (RVD).

    With sizes ``p = TP + FP`` and ``t = TP + FN``: ``RVD = (p - t) / t``; `absolute`: ``|p - t| / t``.

    Parameters
    ----------
    pred, target : array, (B, *spatial) labels or (B, C, *spatial) channels
        Prediction and reference, 2-D or 3-D, of the same shape.
    absolute : bool, default False
        Whether to drop the sign.
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
        Value where the target is empty, even if the prediction is not.

    Returns
    -------
    array of float64, (B, K)
        At least -1 (0 if `absolute`); 0 for equal volumes, above 0 if `pred` is larger.

    Raises
    ------
    ExactaValueError, ExactaTypeError
        As listed in `exacta.functional`; `zero_division` that is not one real number.

    Notes
    -----
    Equal to `ravd` of MedPy and `RVD` of Panoptica where the target is not empty.

    References
    ----------
    .. [1] T. Heimann et al., "Comparison and evaluation of methods for liver segmentation from CT datasets", IEEE
       Transactions on Medical Imaging 28(8):1251-1265, 2009.

    Examples
    --------
    >>> relative_volume_difference([[[0, 1], [1, 2]]], [[[0, 1], [2, 2]]], num_classes=3)
    array([[ 0. ,  1. , -0.5]])
    """
    inputs = prepare(pred, target, input_format, num_classes, include_background, ignore_index, mask)
    options: Options = {"absolute": bool(absolute), "zero_division": check_fill("zero_division", zero_division)}
    return inputs.measure_one("relative_volume_difference", options)

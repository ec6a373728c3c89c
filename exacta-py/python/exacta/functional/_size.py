"""Physical size: areas of 2-D images and volumes of 3-D images, from exact voxel counts.

Both arrays are always needed and checked, since the target decides which voxels are ignored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._inputs import prepare
from .._options import check_spacing, check_unit

if TYPE_CHECKING:
    from .._options import AreaUnit, InputFormat, VolumeUnit

__all__ = ["area_error", "predicted_area", "predicted_volume", "target_area", "target_volume", "volume_error"]


def predicted_volume(
    pred: Any,
    target: Any,
    *,
    spacing: Any,
    unit: VolumeUnit = "mm3",
    input_format: InputFormat = "index",
    num_classes: int | None = None,
    include_background: bool = True,
    ignore_index: int | None = None,
    mask: Any = None,
) -> Any:
    """Volume of the prediction.

    ``(TP + FP) v``, with v the volume of a voxel: the product of its spacing in mm; divided by 1000 for ``"ml"``.

    Parameters
    ----------
    pred, target : array, (B, D, H, W) labels or (B, C, D, H, W) channels
        Prediction and reference, 3-D.
    spacing : float, (3,) or (B, 3)
        Length of a voxel along each axis in mm, in the order of the array axes.
    unit : {"mm3", "ml"}, default "mm3"
        Unit of the result.
    input_format, num_classes, include_background, ignore_index, mask
        As in `exacta.functional.dice`.

    Returns
    -------
    array of float64, (B, K)
        Volumes in `unit`, 0 for a class that was not predicted; NaN for a case without any counted voxel.

    Raises
    ------
    ExactaValueError, ExactaTypeError
        As listed in `exacta.functional`; images that are not 3-D; an unknown `unit`; a `spacing` of another shape or
        outside [1e-100, 1e100].

    Notes
    -----
    The product is taken from axis 0 on in float64, then multiplied by the count.

    References
    ----------
    .. [1] A. A. Taha, A. Hanbury, "Metrics for evaluating 3D medical image segmentation", BMC Medical Imaging 15:29,
       2015, "Volume based metrics".

    Examples
    --------
    >>> predicted_volume([[[[0, 1], [1, 2]]]], [[[[0, 1], [2, 2]]]], num_classes=3, spacing=(2, 1, 0.5))
    array([[1., 2., 1.]])
    """
    inputs = prepare(pred, target, input_format, num_classes, include_background, ignore_index, mask)
    unit_name = check_unit(unit, 3, inputs)
    return inputs.measure_one("predicted_volume", {"unit": unit_name}, check_spacing(spacing, inputs))


def target_volume(
    pred: Any,
    target: Any,
    *,
    spacing: Any,
    unit: VolumeUnit = "mm3",
    input_format: InputFormat = "index",
    num_classes: int | None = None,
    include_background: bool = True,
    ignore_index: int | None = None,
    mask: Any = None,
) -> Any:
    """Volume of the target.

    ``(TP + FN) v``, with v the volume of a voxel: the product of its spacing in mm; divided by 1000 for ``"ml"``.

    Parameters
    ----------
    pred, target : array, (B, D, H, W) labels or (B, C, D, H, W) channels
        Prediction and reference, 3-D.
    spacing : float, (3,) or (B, 3)
        Length of a voxel along each axis in mm, in the order of the array axes.
    unit : {"mm3", "ml"}, default "mm3"
        Unit of the result.
    input_format, num_classes, include_background, ignore_index, mask
        As in `exacta.functional.dice`.

    Returns
    -------
    array of float64, (B, K)
        Volumes in `unit`, 0 for a class that is absent; NaN for a case without any counted voxel.

    Raises
    ------
    ExactaValueError, ExactaTypeError
        As listed in `exacta.functional`; images that are not 3-D; an unknown `unit`; a `spacing` of another shape or
        outside [1e-100, 1e100].

    Notes
    -----
    The product is taken from axis 0 on in float64, then multiplied by the count.

    References
    ----------
    .. [1] A. A. Taha, A. Hanbury, "Metrics for evaluating 3D medical image segmentation", BMC Medical Imaging 15:29,
       2015, "Volume based metrics".

    Examples
    --------
    >>> target_volume([[[[0, 1], [1, 2]]]], [[[[0, 1], [2, 2]]]], num_classes=3, spacing=(2, 1, 0.5))
    array([[1., 1., 2.]])
    """
    inputs = prepare(pred, target, input_format, num_classes, include_background, ignore_index, mask)
    unit_name = check_unit(unit, 3, inputs)
    return inputs.measure_one("target_volume", {"unit": unit_name}, check_spacing(spacing, inputs))


def volume_error(
    pred: Any,
    target: Any,
    *,
    spacing: Any,
    unit: VolumeUnit = "mm3",
    absolute: bool = False,
    input_format: InputFormat = "index",
    num_classes: int | None = None,
    include_background: bool = True,
    ignore_index: int | None = None,
    mask: Any = None,
) -> Any:
    """Volume of the prediction minus that of the target.

    ``(FP - FN) v``, with v the volume of a voxel: the product of its spacing in mm; divided by 1000 for ``"ml"``.

    Parameters
    ----------
    pred, target : array, (B, D, H, W) labels or (B, C, D, H, W) channels
        Prediction and reference, 3-D.
    spacing : float, (3,) or (B, 3)
        Length of a voxel along each axis in mm, in the order of the array axes.
    unit : {"mm3", "ml"}, default "mm3"
        Unit of the result.
    absolute : bool, default False
        Whether to drop the sign.
    input_format, num_classes, include_background, ignore_index, mask
        As in `exacta.functional.dice`.

    Returns
    -------
    array of float64, (B, K)
        Above 0 where the prediction is larger; 0 for an absent class; NaN for a case without any counted voxel.

    Raises
    ------
    ExactaValueError, ExactaTypeError
        As listed in `exacta.functional`; images that are not 3-D; an unknown `unit`; a `spacing` of another shape or
        outside [1e-100, 1e100].

    Notes
    -----
    Equal areas or volumes in different places have error 0: see `exacta.functional.dice`. The counts are subtracted
    before the one multiplication, so the sign is exact.

    References
    ----------
    .. [1] A. A. Taha, A. Hanbury, "Metrics for evaluating 3D medical image segmentation", BMC Medical Imaging 15:29,
       2015, "Volume based metrics".

    Examples
    --------
    >>> volume_error([[[[0, 1], [1, 2]]]], [[[[0, 1], [2, 2]]]], num_classes=3, spacing=(2, 1, 0.5))
    array([[ 0.,  1., -1.]])
    """
    inputs = prepare(pred, target, input_format, num_classes, include_background, ignore_index, mask)
    unit_name = check_unit(unit, 3, inputs)
    return inputs.measure_one(
        "volume_error", {"unit": unit_name, "absolute": bool(absolute)}, check_spacing(spacing, inputs)
    )


def predicted_area(
    pred: Any,
    target: Any,
    *,
    spacing: Any,
    unit: AreaUnit = "mm2",
    input_format: InputFormat = "index",
    num_classes: int | None = None,
    include_background: bool = True,
    ignore_index: int | None = None,
    mask: Any = None,
) -> Any:
    """Area of the prediction.

    ``(TP + FP) a``, with a the area of a pixel: the product of its spacing in mm; divided by 100 for ``"cm2"``.

    Parameters
    ----------
    pred, target : array, (B, H, W) labels or (B, C, H, W) channels
        Prediction and reference, 2-D.
    spacing : float, (2,) or (B, 2)
        Length of a voxel along each axis in mm, in the order of the array axes.
    unit : {"mm2", "cm2"}, default "mm2"
        Unit of the result.
    input_format, num_classes, include_background, ignore_index, mask
        As in `exacta.functional.dice`.

    Returns
    -------
    array of float64, (B, K)
        Areas in `unit`, 0 for a class that was not predicted; NaN for a case without any counted voxel.

    Raises
    ------
    ExactaValueError, ExactaTypeError
        As listed in `exacta.functional`; images that are not 2-D; an unknown `unit`; a `spacing` of another shape or
        outside [1e-100, 1e100].

    Notes
    -----
    The product is taken from axis 0 on in float64, then multiplied by the count.

    References
    ----------
    .. [1] A. A. Taha, A. Hanbury, "Metrics for evaluating 3D medical image segmentation", BMC Medical Imaging 15:29,
       2015, "Volume based metrics".

    Examples
    --------
    >>> predicted_area([[[0, 1], [1, 2]]], [[[0, 1], [2, 2]]], num_classes=3, spacing=(2, 3))
    array([[ 6., 12.,  6.]])
    """
    inputs = prepare(pred, target, input_format, num_classes, include_background, ignore_index, mask)
    unit_name = check_unit(unit, 2, inputs)
    return inputs.measure_one("predicted_area", {"unit": unit_name}, check_spacing(spacing, inputs))


def target_area(
    pred: Any,
    target: Any,
    *,
    spacing: Any,
    unit: AreaUnit = "mm2",
    input_format: InputFormat = "index",
    num_classes: int | None = None,
    include_background: bool = True,
    ignore_index: int | None = None,
    mask: Any = None,
) -> Any:
    """Area of the target.

    ``(TP + FN) a``, with a the area of a pixel: the product of its spacing in mm; divided by 100 for ``"cm2"``.

    Parameters
    ----------
    pred, target : array, (B, H, W) labels or (B, C, H, W) channels
        Prediction and reference, 2-D.
    spacing : float, (2,) or (B, 2)
        Length of a voxel along each axis in mm, in the order of the array axes.
    unit : {"mm2", "cm2"}, default "mm2"
        Unit of the result.
    input_format, num_classes, include_background, ignore_index, mask
        As in `exacta.functional.dice`.

    Returns
    -------
    array of float64, (B, K)
        Areas in `unit`, 0 for a class that is absent; NaN for a case without any counted voxel.

    Raises
    ------
    ExactaValueError, ExactaTypeError
        As listed in `exacta.functional`; images that are not 2-D; an unknown `unit`; a `spacing` of another shape or
        outside [1e-100, 1e100].

    Notes
    -----
    The product is taken from axis 0 on in float64, then multiplied by the count.

    References
    ----------
    .. [1] A. A. Taha, A. Hanbury, "Metrics for evaluating 3D medical image segmentation", BMC Medical Imaging 15:29,
       2015, "Volume based metrics".

    Examples
    --------
    >>> target_area([[[0, 1], [1, 2]]], [[[0, 1], [2, 2]]], num_classes=3, spacing=(2, 3))
    array([[ 6.,  6., 12.]])
    """
    inputs = prepare(pred, target, input_format, num_classes, include_background, ignore_index, mask)
    unit_name = check_unit(unit, 2, inputs)
    return inputs.measure_one("target_area", {"unit": unit_name}, check_spacing(spacing, inputs))


def area_error(
    pred: Any,
    target: Any,
    *,
    spacing: Any,
    unit: AreaUnit = "mm2",
    absolute: bool = False,
    input_format: InputFormat = "index",
    num_classes: int | None = None,
    include_background: bool = True,
    ignore_index: int | None = None,
    mask: Any = None,
) -> Any:
    """Area of the prediction minus that of the target.

    ``(FP - FN) a``, with a the area of a pixel: the product of its spacing in mm; divided by 100 for ``"cm2"``.

    Parameters
    ----------
    pred, target : array, (B, H, W) labels or (B, C, H, W) channels
        Prediction and reference, 2-D.
    spacing : float, (2,) or (B, 2)
        Length of a voxel along each axis in mm, in the order of the array axes.
    unit : {"mm2", "cm2"}, default "mm2"
        Unit of the result.
    absolute : bool, default False
        Whether to drop the sign.
    input_format, num_classes, include_background, ignore_index, mask
        As in `exacta.functional.dice`.

    Returns
    -------
    array of float64, (B, K)
        Above 0 where the prediction is larger; 0 for an absent class; NaN for a case without any counted voxel.

    Raises
    ------
    ExactaValueError, ExactaTypeError
        As listed in `exacta.functional`; images that are not 2-D; an unknown `unit`; a `spacing` of another shape or
        outside [1e-100, 1e100].

    Notes
    -----
    Equal areas or volumes in different places have error 0: see `exacta.functional.dice`. The counts are subtracted
    before the one multiplication, so the sign is exact.

    References
    ----------
    .. [1] A. A. Taha, A. Hanbury, "Metrics for evaluating 3D medical image segmentation", BMC Medical Imaging 15:29,
       2015, "Volume based metrics".

    Examples
    --------
    >>> area_error([[[0, 1], [1, 2]]], [[[0, 1], [2, 2]]], num_classes=3, spacing=(2, 3))
    array([[ 0.,  6., -6.]])
    """
    inputs = prepare(pred, target, input_format, num_classes, include_background, ignore_index, mask)
    unit_name = check_unit(unit, 2, inputs)
    return inputs.measure_one(
        "area_error", {"unit": unit_name, "absolute": bool(absolute)}, check_spacing(spacing, inputs)
    )

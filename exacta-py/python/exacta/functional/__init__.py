"""Segmentation metrics as plain functions, one value per case and class.

Every function takes `pred` and `target` and returns a float64 array of shape (B, K), one row per case and one column
per reported class. `evaluate` computes several metrics in one pass. What follows holds for all of them.

**Layout.** A batch axis comes first, always.

====================  ==============================================  ===============  ====================================
`surface`      elements                                        weight           distance to the other surface's
=============  ==============================================  ===============  ====================================
``"voxels"``   mask voxels with a face neighbour outside       1                nearest such voxel, centre to centre
``"surfels"``  voxel corners whose 2x2(x2) block is mixed      area or length   nearest such corner
``"mesh"``     triangles or segments of the discrete contour   area or length   nearest point, from the centre
``"faces"``    half faces of voxels, sides of pixels           area or length   nearest point, from the centre
=============  ==============================================  ===============  ====================================

Percentiles of voxels interpolate linearly; those of weighted elements are the distance of the first element, nearest
first, at which the share of the weight reaches the percentile.

**Errors.** Each is an `exacta.ExactaValueError` (a `ValueError`) or `exacta.ExactaTypeError` (a `TypeError`). They are
looked for in this order: conversion of the arrays, equal shapes, equal devices, number of axes, `num_classes`, dtype,
`input_format`, background, `ignore_index`, `mask`, options of the metric, and last the values of the arrays.
"""

from ._evaluate import evaluate
from ._overlap import dice, iou, precision, sensitivity, specificity
from ._similarity import relative_volume_difference, volume_similarity
from ._size import area_error, predicted_area, predicted_volume, target_area, target_volume, volume_error
from ._surface import assd, hausdorff_distance, hd95, masd, nsd

__all__ = [
    "area_error",
    "assd",
    "dice",
    "evaluate",
    "hausdorff_distance",
    "hd95",
    "iou",
    "masd",
    "nsd",
    "precision",
    "predicted_area",
    "predicted_volume",
    "relative_volume_difference",
    "sensitivity",
    "specificity",
    "target_area",
    "target_volume",
    "volume_error",
    "volume_similarity",
]

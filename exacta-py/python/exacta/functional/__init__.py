r"""Segmentation metrics as plain functions, one value per case and class.

Every function takes `pred` and `target` and returns a float64 array of shape (B, K), one row per case and one column
per reported class. `evaluate` computes several metrics in one pass. What follows holds for all of them.

**Layout.** A batch axis comes first, always.

====================  =============================================  ==================================================
`input_format`        shape                                          values
====================  =============================================  ==================================================
``"index"``           (B, H, W) or (B, D, H, W)                      labels in [0, num_classes): bool, any integer, or
                                                                     floating where every label is a whole number
``"one-hot"``         (B, C, H, W) or (B, C, D, H, W)                exactly 0 or 1, any dtype; channels may overlap
====================  =============================================  ==================================================

K is the number of classes or channels, less one with ``include_background=False``, which drops the column of class 0
(its voxels still count as negatives of the other classes). Axes of length 1 are never dropped: a volume of one slice
is a volume, whose every voxel touches the outside.

Probabilities and rankings take scores instead: `pred` of shape (B, C, \*spatial) with floating probabilities or logits,
`target` with class indices (B, \*spatial), or with ``multilabel=True`` zeros and ones of the shape of `pred`.

**Counted voxels.** `mask` (bool, or uint8 with 0 and 1; True counts) and `ignore_index` (voxels whose *target* has
that label) remove voxels from both arrays; what they hold is then neither counted nor checked. Outside the image is
background.

**Libraries.** Each array may come from NumPy, PyTorch, JAX, CuPy, any library with DLPack or the array API, or be
nested lists. The result is in the library and on the device of `pred`; of lists, and of objects without a library of
their own, it is a NumPy array. PyTorch, JAX and CuPy are not needed and not imported. Arrays on a GPU are copied to
the host and measured there in this version, and the result is put on their device (on the CPU where a device has no
float64). `pred`, `target` and `mask` must be on one device. Nothing returned requires a gradient.

**Spacing.** Lengths in the order of the array axes: one number; one per spatial axis; or shape (B, axes), one row per
case. SimpleITK's ``GetSpacing()`` has the reverse order. Areas, volumes and distances are in its unit, called mm here.

**Surfaces.** `surface` says what distances are measured between, and changes every one of them.

=============  ==============================================  ===============  ====================================
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
from ._probability import (
    brier_score,
    expected_calibration_error,
    negative_log_likelihood,
    reliability_diagram,
)
from ._ranking import auroc, average_precision, voxel_ranking
from ._results import RankingCurve, RankingResult, ReliabilityDiagram
from ._similarity import relative_volume_difference, volume_similarity
from ._size import area_error, predicted_area, predicted_volume, target_area, target_volume, volume_error
from ._surface import assd, hausdorff_distance, hd95, masd, nsd
from ._topology import cldice, skeletonize

__all__ = [
    "RankingCurve",
    "RankingResult",
    "ReliabilityDiagram",
    "area_error",
    "assd",
    "auroc",
    "average_precision",
    "brier_score",
    "cldice",
    "dice",
    "evaluate",
    "expected_calibration_error",
    "hausdorff_distance",
    "hd95",
    "iou",
    "masd",
    "negative_log_likelihood",
    "nsd",
    "precision",
    "predicted_area",
    "predicted_volume",
    "relative_volume_difference",
    "reliability_diagram",
    "sensitivity",
    "skeletonize",
    "specificity",
    "target_area",
    "target_volume",
    "volume_error",
    "volume_similarity",
    "voxel_ranking",
]

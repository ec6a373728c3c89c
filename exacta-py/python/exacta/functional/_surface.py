"""Distances between the surfaces of two segmentations.

What a surface consists of is chosen by `surface`:

- ``"voxels"``: foreground voxels with a face neighbour that is background or outside the image, each of weight 1;
- ``"surfels"``: voxel corners whose block of 2x2 pixels or 2x2x2 voxels is neither all foreground nor all background
  (outside the image counts as background), each with the length or area of the marching surface in its block as weight:
  DeepMind's surface elements;
- ``"mesh"``: triangles (2-D: segments) of the discrete contour as VTK makes it, with vertices at the midpoints between
  voxels that differ, weighted by area (length);
- ``"faces"``: the faces between voxels inside and outside, each cut in two triangles (2-D: the sides of pixels), as
  MeshMetrics 0.2 measures volumes.

Distances are exact Euclidean distances in the unit of the spacing: of voxels and surfels between these places, of a
mesh and of faces from the centre of an element to the nearest point of the other surface. d(P, T) stands for the
distances from every element of the prediction to the nearest of the target, d(T, P) for the reverse, w for the weights.
"""

from __future__ import annotations

from math import inf, nan
from typing import TYPE_CHECKING, Any

from .._inputs import Inputs, prepare
from .._options import (
    check_backend,
    check_combine,
    check_fill,
    check_percentile,
    check_spacing,
    check_surface,
    check_tolerance,
)

if TYPE_CHECKING:
    from .._options import Backend, Combine, InputFormat, Options, Surface

__all__ = ["assd", "hausdorff_distance", "hd95", "masd", "nsd"]


def measure_surface(
    name: str,
    inputs: Inputs,
    options: Options,
    spacing: Any,
    surface: Any,
    both_empty: Any,
    one_empty: Any,
    backend: Any,
) -> Any:
    """Check what all surface metrics have in common, then measure one of them."""
    inputs.require_channels()
    options["both_empty"] = check_fill("both_empty", both_empty, surface=True)
    options["one_empty"] = check_fill("one_empty", one_empty, surface=True)
    options["surface"] = kind = check_surface(surface)
    rows = check_spacing(spacing, inputs, kind)
    check_backend(backend)
    return inputs.measure_one(name, options, rows)


def hausdorff_distance(
    pred: Any,
    target: Any,
    *,
    spacing: Any,
    percentile: float = 100.0,
    combine: Combine = "max",
    surface: Surface = "voxels",
    input_format: InputFormat = "index",
    num_classes: int | None = None,
    include_background: bool = True,
    both_empty: float = nan,
    one_empty: float = inf,
    backend: Backend = "auto",
) -> Any:
    """Hausdorff distance between the surfaces, or a percentile of it.

    With ``D`` the given percentile of d(P, T) and of d(T, P): ``HD = max(D(P, T), D(T, P))``; ``"mean"`` is their
    mean, ``"pooled"`` the percentile of both sets of distances as one.

    Parameters
    ----------
    pred, target : array, (B, *spatial) labels or (B, C, *spatial) channels
        Prediction and reference, 2-D or 3-D, of the same shape.
    spacing : float, (ndim,) or (B, ndim)
        Length of a voxel along each axis in mm, in the order of the array axes.
    percentile : float, default 100.0
        In [0, 100]; 100 is the largest distance. Of voxels interpolated linearly between ranks; of weighted elements
        the distance of the first, in ascending order, at which the cumulative share of the weights reaches it.
    combine : {"max", "mean", "pooled"}, default "max"
        How the two directions become one.
    surface : {"voxels", "surfels", "mesh", "faces"}, default "voxels"
        What a surface consists of, see `exacta.functional`.
    input_format, num_classes, include_background
        As in `exacta.functional.dice`.
    both_empty, one_empty : float, default nan and inf
        Value where a class is in neither array, and in exactly one.
    backend : {"auto", "native"}, default "auto"
        What computes; both are the compiled kernels.

    Returns
    -------
    array of float64, (B, K)
        Distances of at least 0, in the unit of `spacing`. Symmetric.

    Raises
    ------
    ExactaValueError, ExactaTypeError
        As listed in `exacta.functional`; a `percentile` outside [0, 100]; an unknown name;
        a `spacing` of another shape or outside [1e-100, 1e100] ([1e-50, 1e50] for weighted elements).

    Notes
    -----
    Equal to `compute_hausdorff_distance` of MONAI (which rounds to float32) with ``"max"`` and to `hd` of MedPy at
    percentile 100; of surfels, to `compute_robust_hausdorff` of DeepMind's surface-distance to the last bit.
    `HausdorffDistanceImageFilter` of SimpleITK and `hausdorff_distance` of scikit-image measure
    between whole regions instead.

    References
    ----------
    .. [1] D. P. Huttenlocher, G. A. Klanderman, W. J. Rucklidge, "Comparing images using the Hausdorff distance",
       IEEE Transactions on Pattern Analysis and Machine Intelligence 15(9):850-863, 1993, eq. 1 and 2.
    .. [2] A. A. Taha, A. Hanbury, "Metrics for evaluating 3D medical image segmentation", BMC Medical Imaging 15:29,
       2015, "Spatial distance based metrics".

    Examples
    --------
    >>> pred, target = [[[0, 1, 1, 0, 0]]], [[[0, 0, 1, 1, 0]]]
    >>> hausdorff_distance(pred, target, num_classes=2, include_background=False, spacing=(1, 2))
    array([[2.]])
    """
    percentile = check_percentile(percentile)
    combine_name = check_combine(combine)
    inputs = prepare(pred, target, input_format, num_classes, include_background)
    options: Options = {"percentile": percentile, "combine": combine_name}
    return measure_surface("hausdorff_distance", inputs, options, spacing, surface, both_empty, one_empty, backend)


def hd95(
    pred: Any,
    target: Any,
    *,
    spacing: Any,
    combine: Combine = "max",
    surface: Surface = "voxels",
    input_format: InputFormat = "index",
    num_classes: int | None = None,
    include_background: bool = True,
    both_empty: float = nan,
    one_empty: float = inf,
    backend: Backend = "auto",
) -> Any:
    """95th percentile of the Hausdorff distance.

    ``HD95 = max(D(P, T), D(T, P))``, with ``D`` the 95th percentile of d(P, T) and of d(T, P); for
    ``"mean"`` and ``"pooled"`` see `hausdorff_distance`.

    Parameters
    ----------
    pred, target : array, (B, *spatial) labels or (B, C, *spatial) channels
        Prediction and reference, 2-D or 3-D, of the same shape.
    spacing : float, (ndim,) or (B, ndim)
        Length of a voxel along each axis in mm, in the order of the array axes.
    combine : {"max", "mean", "pooled"}, default "max"
        How the two directions become one.
    surface : {"voxels", "surfels", "mesh", "faces"}, default "voxels"
        What a surface consists of, see `exacta.functional`.
    input_format, num_classes, include_background
        As in `exacta.functional.dice`.
    both_empty, one_empty : float, default nan and inf
        Value where a class is in neither array, and in exactly one.
    backend : {"auto", "native"}, default "auto"
        What computes; both are the compiled kernels.

    Returns
    -------
    array of float64, (B, K)
        Distances of at least 0, in the unit of `spacing`. Symmetric.

    Raises
    ------
    ExactaValueError, ExactaTypeError
        As listed in `exacta.functional`; an unknown name;
        a `spacing` of another shape or outside [1e-100, 1e100] ([1e-50, 1e50] for weighted elements).

    Notes
    -----
    The tools differ: MONAI and MetricsReloaded take the larger of the two directed percentiles (``"max"``), MedPy and
    Panoptica the percentile of both directions pooled (``"pooled"``).

    References
    ----------
    .. [1] D. P. Huttenlocher, G. A. Klanderman, W. J. Rucklidge, "Comparing images using the Hausdorff distance",
       IEEE Transactions on Pattern Analysis and Machine Intelligence 15(9):850-863, 1993, section on the partial
       distance.
    .. [2] A. A. Taha, A. Hanbury, "Metrics for evaluating 3D medical image segmentation", BMC Medical Imaging 15:29,
       2015, "Spatial distance based metrics".

    Examples
    --------
    >>> pred, target = [[[0, 1, 1, 0, 0]]], [[[0, 0, 1, 1, 0]]]
    >>> hd95(pred, target, num_classes=2, include_background=False, spacing=(1, 2))
    array([[1.9]])
    """
    combine_name = check_combine(combine)
    inputs = prepare(pred, target, input_format, num_classes, include_background)
    options: Options = {"combine": combine_name}
    return measure_surface("hd95", inputs, options, spacing, surface, both_empty, one_empty, backend)


def assd(
    pred: Any,
    target: Any,
    *,
    spacing: Any,
    combine: Combine = "pooled",
    surface: Surface = "voxels",
    input_format: InputFormat = "index",
    num_classes: int | None = None,
    include_background: bool = True,
    both_empty: float = nan,
    one_empty: float = inf,
    backend: Backend = "auto",
) -> Any:
    """Average symmetric surface distance.

    ``ASSD = (sum w d(P, T) + sum w d(T, P)) / (sum w(P) + sum w(T))``, with w = 1 for voxels; ``"mean"`` and ``"max"``
    combine the two directed means instead.

    Parameters
    ----------
    pred, target : array, (B, *spatial) labels or (B, C, *spatial) channels
        Prediction and reference, 2-D or 3-D, of the same shape.
    spacing : float, (ndim,) or (B, ndim)
        Length of a voxel along each axis in mm, in the order of the array axes.
    combine : {"max", "mean", "pooled"}, default "pooled"
        How the two directions become one; ``"mean"`` is `masd`.
    surface : {"voxels", "surfels", "mesh", "faces"}, default "voxels"
        What a surface consists of, see `exacta.functional`.
    input_format, num_classes, include_background
        As in `exacta.functional.dice`.
    both_empty, one_empty : float, default nan and inf
        Value where a class is in neither array, and in exactly one.
    backend : {"auto", "native"}, default "auto"
        What computes; both are the compiled kernels.

    Returns
    -------
    array of float64, (B, K)
        Distances of at least 0, in the unit of `spacing`. Symmetric.

    Raises
    ------
    ExactaValueError, ExactaTypeError
        As listed in `exacta.functional`; an unknown name;
        a `spacing` of another shape or outside [1e-100, 1e100] ([1e-50, 1e50] for weighted elements).

    Notes
    -----
    Equal to `assd` of MedPy from 0.5 on and to `compute_average_surface_distance` of MONAI with ``symmetric=True``.
    MedPy 0.4 and Panoptica call the mean of the directed means ASSD: that is `masd`.

    References
    ----------
    .. [1] T. Heimann et al., "Comparison and evaluation of methods for liver segmentation from CT datasets", IEEE
       Transactions on Medical Imaging 28(8):1251-1265, 2009.

    Examples
    --------
    >>> pred, target = [[[0, 1, 1, 0, 0]]], [[[0, 0, 1, 1, 0]]]
    >>> assd(pred, target, num_classes=2, include_background=False, spacing=(1, 2))
    array([[1.]])
    """
    combine_name = check_combine(combine)
    inputs = prepare(pred, target, input_format, num_classes, include_background)
    options: Options = {"combine": combine_name}
    return measure_surface("assd", inputs, options, spacing, surface, both_empty, one_empty, backend)


def masd(
    pred: Any,
    target: Any,
    *,
    spacing: Any,
    surface: Surface = "voxels",
    input_format: InputFormat = "index",
    num_classes: int | None = None,
    include_background: bool = True,
    both_empty: float = nan,
    one_empty: float = inf,
    backend: Backend = "auto",
) -> Any:
    """Mean average surface distance: the mean of the two directed means.

    ``MASD = (mean d(P, T) + mean d(T, P)) / 2``, which is `assd` with ``combine="mean"``.

    Parameters
    ----------
    pred, target : array, (B, *spatial) labels or (B, C, *spatial) channels
        Prediction and reference, 2-D or 3-D, of the same shape.
    spacing : float, (ndim,) or (B, ndim)
        Length of a voxel along each axis in mm, in the order of the array axes.
    surface : {"voxels", "surfels", "mesh", "faces"}, default "voxels"
        What a surface consists of, see `exacta.functional`.
    input_format, num_classes, include_background
        As in `exacta.functional.dice`.
    both_empty, one_empty : float, default nan and inf
        Value where a class is in neither array, and in exactly one.
    backend : {"auto", "native"}, default "auto"
        What computes; both are the compiled kernels.

    Returns
    -------
    array of float64, (B, K)
        Distances of at least 0, in the unit of `spacing`. Symmetric.

    Raises
    ------
    ExactaValueError, ExactaTypeError
        As listed in `exacta.functional`; an unknown name;
        a `spacing` of another shape or outside [1e-100, 1e100] ([1e-50, 1e50] for weighted elements).

    Notes
    -----
    Both surfaces weigh the same, however many voxels they have; in `assd` the larger one weighs more. Equal to MASD
    of MetricsReloaded and ASSD of Panoptica and MedPy 0.4; of surfels, to the mean of the two averages of DeepMind's
    surface-distance.

    References
    ----------
    .. [1] L. Maier-Hein et al., "Metrics reloaded: recommendations for image analysis validation", Nature Methods
       21:195-212, 2024.

    Examples
    --------
    >>> pred, target = [[[0, 1, 1, 0, 0]]], [[[0, 0, 1, 1, 0]]]
    >>> masd(pred, target, num_classes=2, include_background=False, spacing=(1, 2))
    array([[1.]])
    """
    inputs = prepare(pred, target, input_format, num_classes, include_background)
    return measure_surface("masd", inputs, {}, spacing, surface, both_empty, one_empty, backend)


def nsd(
    pred: Any,
    target: Any,
    *,
    spacing: Any,
    tolerance: Any,
    surface: Surface = "voxels",
    input_format: InputFormat = "index",
    num_classes: int | None = None,
    include_background: bool = True,
    both_empty: float = nan,
    one_empty: float = 0.0,
    backend: Backend = "auto",
) -> Any:
    """Normalised surface Dice: the share of both surfaces within a tolerance.

    ``NSD = (sum of w where d(P, T) <= tau + sum of w where d(T, P) <= tau) / (sum w(P) + sum w(T))``, with w = 1 for
    voxels. A distance equal to the tolerance is within it.

    Parameters
    ----------
    pred, target : array, (B, *spatial) labels or (B, C, *spatial) channels
        Prediction and reference, 2-D or 3-D, of the same shape.
    spacing : float, (ndim,) or (B, ndim)
        Length of a voxel along each axis in mm, in the order of the array axes.
    tolerance : float or (K,)
        ``tau`` in the unit of `spacing`, one for all or one for each reported class; at least 0.
    surface : {"voxels", "surfels", "mesh", "faces"}, default "voxels"
        What a surface consists of, see `exacta.functional`.
    input_format, num_classes, include_background
        As in `exacta.functional.dice`.
    both_empty, one_empty : float, default nan and 0.0
        Value where a class is in neither array, and in exactly one.
    backend : {"auto", "native"}, default "auto"
        What computes; both are the compiled kernels.

    Returns
    -------
    array of float64, (B, K)
        Scores in [0, 1]; 1 if no surface deviates by more than the tolerance. Symmetric.

    Raises
    ------
    ExactaValueError, ExactaTypeError
        As listed in `exacta.functional`; a `tolerance` of another length or below 0; an unknown name;
        a `spacing` of another shape or outside [1e-100, 1e100] ([1e-50, 1e50] for weighted elements).

    Notes
    -----
    ``"voxels"`` counts surface voxels, as `compute_surface_dice` of MONAI and MetricsReloaded do; ``"surfels"`` weighs
    surface elements by their area, as `compute_surface_dice_at_tolerance` of DeepMind's surface-distance and
    `compute_surface_dice` of MONAI with ``use_subvoxels=True`` do.

    References
    ----------
    .. [1] S. Nikolov et al., "Deep learning to achieve clinically applicable segmentation of head and neck anatomy
       for radiotherapy", arXiv:1809.04430, 2018.

    Examples
    --------
    >>> pred, target = [[[0, 1, 1, 0, 0]]], [[[0, 0, 1, 1, 0]]]
    >>> nsd(pred, target, num_classes=2, include_background=False, spacing=(1, 2), tolerance=1)
    array([[0.5]])
    """
    inputs = prepare(pred, target, input_format, num_classes, include_background)
    options: Options = {"tolerance": check_tolerance(tolerance, inputs.columns)}
    return measure_surface("nsd", inputs, options, spacing, surface, both_empty, one_empty, backend)

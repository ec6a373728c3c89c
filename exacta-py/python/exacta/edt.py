"""Exact Euclidean distance transforms of masks and label maps.

Every squared distance is the least value of ``((h0 d0)^2 + (h1 d1)^2) + (h2 d2)^2`` over all features, with the spacing
``h`` and the whole steps ``d`` along each axis of the array, each operation rounded to float64: the expression of
`scipy.ndimage.distance_transform_edt`. No result depends on the thread count, the instruction set or the memory layout.
"""

from __future__ import annotations

from operator import index as as_index
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from . import _native
from ._arrays import library_of
from ._errors import ExactaTypeError, ExactaValueError, shown
from ._options import _SPACING_MAX, _SPACING_MIN, _numbers, check_choice
from ._threads import get_num_threads

if TYPE_CHECKING:
    from ._arrays import Host, Library

__all__ = ["distance_transform", "nearest", "signed_distance"]

Border: TypeAlias = Literal["open", "background"]
Features: TypeAlias = Literal["zeros", "nonzeros", "other-labels"]

_BORDERS = ("open", "background")


def distance_transform(
    mask: Any,
    *,
    spacing: Any = 1.0,
    squared: bool = False,
    features: Features = "zeros",
    border: Border = "open",
    batch_axes: int = 0,
) -> Any:
    r"""Distance of each voxel to the nearest feature, exactly.

    ``d(q) = sqrt(min over features p of ((h0 (q0 - p0))^2 + (h1 (q1 - p1))^2) + (h2 (q2 - p2))^2)``, centre to centre.

    Parameters
    ----------
    mask : array of bool, integers or floats, (\*batch, \*spatial)
        One to three spatial axes; what is not 0 is foreground, NaN too. Read in place, whatever its strides.
    spacing : float or array of float, (spatial axes,), default 1.0
        Length of a voxel along each spatial axis, in the order of the array's axes.
    squared : bool, default False
        Whether squares are returned, without the root.
    features : {"zeros", "nonzeros", "other-labels"}, default "zeros"
        To what is measured: the background (SciPy, and `edt` of a binary mask), the foreground, or, for each label but
        0, all voxels of another label, 0 among them (`edt` of a label map). Features have distance 0; so has label 0.
    border : {"open", "background"}, default "open"
        Whether the outside of the array counts as background (`edt` with ``black_border=True``). Only distances to
        background can differ.
    batch_axes : int, default 0
        Number of leading axes that count images of their own.

    Returns
    -------
    array of float64, shape of `mask`
        Distances in the unit of `spacing`, in the library and on the device of `mask`, and in its memory order;
        infinite where an image has no feature. An empty array for an empty one.

    Raises
    ------
    ExactaTypeError
        If `mask` or `spacing` cannot be read as numbers.
    ExactaValueError
        If `mask` has not one to three spatial axes, `spacing` has another length or a value outside [1e-100, 1e100], or
        an option is unknown.

    Notes
    -----
    SciPy picks the nearest feature with rounded comparisons and is at times one unit in the last place above this.
    `edt` computes in single precision. Without a feature SciPy returns distances to index -1, `edt` infinity.

    References
    ----------
    Felzenszwalb and Huttenlocher, Distance transforms of sampled functions, Theory of Computing 8, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from exacta import edt
    >>> edt.distance_transform(np.array([[1, 1, 1], [1, 1, 0]]), spacing=(1.5, 0.8), squared=True)
    array([[4.81, 2.89, 2.25],
           [2.56, 0.64, 0.  ]])
    """
    library, host, values = _prepare(mask, spacing, batch_axes)
    result = _native.distance_transform(
        host.array,
        values,
        features=check_choice("features", features, ("zeros", "nonzeros", "other-labels")),
        border=check_choice("border", border, _BORDERS),
        squared=bool(squared),
        half=host.half,
        threads=get_num_threads(),
    )
    return library.from_host(result, mask)


def signed_distance(mask: Any, *, spacing: Any = 1.0, border: Border = "open", batch_axes: int = 0) -> Any:
    r"""Signed distance map of a mask: negative inside, positive outside.

    Minus the distance to the nearest background voxel in the mask, the distance to the nearest foreground voxel outside
    of it, centre to centre: no value is 0, and face neighbours on both sides of the surface have -h and h. Computed in
    one transform.

    Parameters
    ----------
    mask : array of bool, integers or floats, (\*batch, \*spatial)
        One to three spatial axes; what is not 0 is foreground.
    spacing : float or array of float, (spatial axes,), default 1.0
        Length of a voxel along each spatial axis, in the order of the array's axes.
    border : {"open", "background"}, default "open"
        Whether the outside of the array counts as background; only values inside the mask can differ.
    batch_axes : int, default 0
        Number of leading axes that count images of their own.

    Returns
    -------
    array of float64, shape of `mask`
        In the unit of `spacing`, in the library and on the device of `mask`; inf without foreground, -inf without
        background. An empty array for an empty one.

    Raises
    ------
    ExactaTypeError, ExactaValueError
        As `distance_transform`.

    Notes
    -----
    Equal to ``distance_transform_edt(mask == 0) - distance_transform_edt(mask)`` of SciPy. SimpleITK's
    `SignedMaurerDistanceMap` measures to the border voxels of the mask, which are 0 there.

    References
    ----------
    Felzenszwalb and Huttenlocher, Distance transforms of sampled functions, Theory of Computing 8, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from exacta import edt
    >>> edt.signed_distance(np.array([0, 0, 1, 1, 0]), spacing=2.0)
    array([ 4.,  2., -2., -2.,  2.])
    """
    library, host, values = _prepare(mask, spacing, batch_axes)
    result = _native.signed_distance(
        host.array,
        values,
        border=check_choice("border", border, _BORDERS),
        half=host.half,
        threads=get_num_threads(),
    )
    return library.from_host(result, mask)


def nearest(
    mask: Any, *, spacing: Any = 1.0, features: Literal["zeros", "nonzeros"] = "zeros", batch_axes: int = 0
) -> Any:
    r"""Index of the nearest feature of each voxel.

    The ``p`` at which `distance_transform` finds its least value. Of several it is the one with the smallest index
    along the last axis, of these along the axis before, then along the first; nearest at each of the separable steps.

    Parameters
    ----------
    mask : array of bool, integers or floats, (\*batch, \*spatial)
        One to three spatial axes; what is not 0 is foreground.
    spacing : float or array of float, (spatial axes,), default 1.0
        Length of a voxel along each spatial axis, in the order of the array's axes.
    features : {"zeros", "nonzeros"}, default "zeros"
        To what is measured.
    batch_axes : int, default 0
        Number of leading axes that count images of their own.

    Returns
    -------
    array of int64, (spatial axes, \*batch, \*spatial)
        Indices along each spatial axis, within the image, in the library and on the device of `mask`; -1 where an image
        has no feature. An empty array for an empty one.

    Raises
    ------
    ExactaTypeError, ExactaValueError
        As `distance_transform`.

    Notes
    -----
    ``distance_transform_edt(mask, return_distances=False, return_indices=True)`` of SciPy, which breaks ties otherwise.

    References
    ----------
    Felzenszwalb and Huttenlocher, Distance transforms of sampled functions, Theory of Computing 8, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from exacta import edt
    >>> edt.nearest(np.array([[1, 1, 1], [1, 1, 0]]))
    array([[[1, 1, 1],
            [1, 1, 1]],
           [[2, 2, 2],
            [2, 2, 2]]])
    """
    library, host, values = _prepare(mask, spacing, batch_axes)
    result = _native.nearest(
        host.array,
        values,
        features=check_choice("features", features, ("zeros", "nonzeros")),
        half=host.half,
        threads=get_num_threads(),
    )
    return library.from_host(result, mask)


def _prepare(mask: Any, spacing: Any, batch_axes: Any) -> tuple[Library, Host, list[float]]:
    """Check what every transform takes, in the order of the arguments."""
    library = library_of(mask)
    host = library.to_host(mask, "mask")
    if host.array.dtype.kind == "c":
        raise ExactaTypeError(f"mask must hold real values; got dtype {host.array.dtype}; pass mask != 0")
    if isinstance(batch_axes, bool):
        raise ExactaTypeError(f"batch_axes must be an integer; got {batch_axes}")
    try:
        batch = as_index(batch_axes)
    except TypeError as error:
        raise ExactaTypeError(f"batch_axes must be an integer; got {shown(batch_axes)}") from error
    axes = host.array.ndim - batch
    if batch < 0 or not 1 <= axes <= 3:
        hint = "; leading axes that count images are said by batch_axes" if axes > 3 else ""
        raise ExactaValueError(
            f"mask must have 1 to 3 spatial axes; got shape {host.array.shape} with batch_axes={batch}{hint}"
        )
    array = _numbers("spacing", spacing)
    if array.shape not in ((), (axes,)):
        raise ExactaValueError(
            f"spacing must be one length or one for each of the {axes} spatial axes; got {shown(spacing)}"
        )
    values: list[float] = array.tolist() if array.ndim else [array.item()] * axes
    for value in values:
        if not _SPACING_MIN <= value <= _SPACING_MAX:
            raise ExactaValueError(
                f"spacing must be finite, above 0 and within [{_SPACING_MIN:g}, {_SPACING_MAX:g}]; "
                f"got {value!r} in {shown(spacing)}"
            )
    return library, host, values

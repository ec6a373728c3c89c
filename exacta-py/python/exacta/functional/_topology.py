"""Agreement of shape: skeletons, and whether they run through the other mask.

A skeleton is what thinning leaves of a mask: Lee, Kashyap and Chu (1994), voxel for voxel as
``skimage.morphology.skeletonize(method="lee")``.

=====================  ===============================================================================================
`thinning`             what may vanish
=====================  ===============================================================================================
``"lee"``              as scikit-image: components without a middle voxel, such as cubes of 2x2x2 and bars of 2x2 and
                       4x4 voxels, are deleted whole
``"keep-components"``  the last voxel of a component stays, so that there are as many as in the mask
=====================  ===============================================================================================
"""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _native
from .._errors import ExactaValueError
from .._inputs import prepare
from .._options import check_fill, check_thinning
from .._threads import get_num_threads
from ..components import _Mask

if TYPE_CHECKING:
    from .._options import InputFormat, Options, Thinning

__all__ = ["cldice", "skeletonize"]


def cldice(
    pred: Any,
    target: Any,
    *,
    input_format: InputFormat = "index",
    num_classes: int | None = None,
    include_background: bool = True,
    both_empty: float = nan,
    pred_skeleton: Any = None,
    target_skeleton: Any = None,
    thinning: Thinning = "lee",
) -> Any:
    """Centreline Dice (clDice): whether the skeletons run through each other's masks.

    With skeletons ``S(P)`` and ``S(T)``, ``precision = |S(P) and T| / |S(P)|`` and ``sensitivity = |S(T) and P| /
    |S(T)|``: ``clDice = 2 precision sensitivity / (precision + sensitivity)``.

    Parameters
    ----------
    pred, target : array, (B, *spatial) labels or (B, C, *spatial) channels
        Prediction and reference, 2-D or 3-D, of the same shape.
    input_format, num_classes, include_background
        As in `exacta.functional.dice`.
    both_empty : float, default nan
        Value where a class is in neither array.
    pred_skeleton, target_skeleton : array, (B, K, *spatial), optional
        Skeletons that are known already, zeros and ones, one channel per reported class, such as those of a reference
        that does not change. They may come from any thinning, but lie within their masks.
    thinning : {"lee", "keep-components"}, default "lee"
        The rule for the skeletons that are not given; as in `skeletonize`.

    Returns
    -------
    array of float64, (B, K)
        Scores in [0, 1]; 1 if each skeleton lies within the other mask. Symmetric. 0 where one mask is empty, and where
        a mask is not but its skeleton is.

    Raises
    ------
    ExactaValueError, ExactaTypeError
        As listed in `exacta.functional`; a skeleton of another shape or device, with other values than 0 and 1, or with
        voxels outside its mask; an unknown name.

    See Also
    --------
    skeletonize : the skeleton of one mask.

    Notes
    -----
    With ``"lee"`` a small cube against itself scores 0, as its skeleton is empty; ``"keep-components"`` gives 1.
    Spacing plays no part. Each class is thinned within its box, several at a time. Equal to clDice of MetricsReloaded
    and Panoptica in 3-D where it is defined; in 2-D these thin by Zhang's rule.

    References
    ----------
    .. [1] S. Shit et al., "clDice: a novel topology-preserving loss function for tubular structure segmentation", CVPR
       2021, equations 1 and 2.

    Examples
    --------
    >>> pred = [[[0, 0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0, 0]]]
    >>> target = [[[0, 0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0]]]
    >>> cldice(pred, target, num_classes=2, include_background=False)
    array([[0.72727273]])
    """
    inputs = prepare(pred, target, input_format, num_classes, include_background)
    options: Options = {
        "both_empty": check_fill("both_empty", both_empty),
        "thinning": check_thinning(thinning),
    }
    skeletons = inputs.skeletons(pred_skeleton=pred_skeleton, target_skeleton=target_skeleton)
    return inputs.measure([("cldice", options)], skeletons=skeletons)[0]


def skeletonize(mask: Any, *, thinning: Thinning = "lee") -> Any:
    """Thin a mask to its skeleton.

    Voxels are deleted from six directions in turn (four where there is one slice) as long as that changes neither the
    number of components nor that of holes and cavities, and end points stay.

    Parameters
    ----------
    mask : array of 2 or 3 axes
        One image, without batch and channel axes, of zeros and ones of any dtype. A volume of one slice is thinned as
        an image.
    thinning : {"lee", "keep-components"}, default "lee"
        ``"lee"``: as scikit-image, whose deletions in one pass can take away a whole component, such as a 2x2x2 cube.
        ``"keep-components"``: the last voxel of each component stays.

    Returns
    -------
    array of bool, the shape of `mask`
        True on the skeleton, a part of the mask; in memory as `mask` lies.

    Raises
    ------
    ExactaValueError, ExactaTypeError
        As listed in `exacta.functional`; another number of axes; a value other than 0 and 1, NaN too; an unknown name.

    Notes
    -----
    ``"lee"`` equals ``skimage.morphology.skeletonize(mask, method="lee")``. The order of deletions is part of the
    definition, so the skeleton of a transposed or flipped mask is not the transposed or flipped skeleton.

    References
    ----------
    .. [1] T. C. Lee, R. L. Kashyap, C. N. Chu, "Building skeleton models via 3-D medial surface/axis thinning
       algorithms", CVGIP: Graphical Models and Image Processing 56(6):462-478, 1994.

    Examples
    --------
    >>> skeletonize([[1, 1, 1, 1, 1], [1, 1, 1, 1, 1], [1, 1, 1, 1, 1]]).astype(int)
    array([[0, 0, 0, 0, 0],
           [1, 1, 1, 1, 1],
           [0, 0, 0, 0, 0]])
    """
    checked = _Mask(mask)
    array = checked.host.array
    if array.ndim not in (2, 3):
        raise ExactaValueError(f"mask must have 2 or 3 axes, no batch and no channel; got shape {array.shape}")
    if array.dtype.kind == "c":
        if (array.imag != 0).any():
            raise ExactaValueError("mask must hold only 0 and 1; got values with an imaginary part")
        array = array.real
    rule = check_thinning(thinning)
    out, zeroed = checked.output(np.uint8)
    axes = _native.skeletonize(
        array, out, thinning=rule, half=checked.host.half, zeroed=zeroed, threads=get_num_threads()
    )
    return checked.shaped(out.view(np.bool_), axes)

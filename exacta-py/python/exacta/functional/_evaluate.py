"""Several metrics of one pair of arrays in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import _native
from .._errors import ExactaTypeError, ExactaValueError, shown
from .._inputs import Inputs, prepare
from .._options import (
    check_backend,
    check_choice,
    check_combine,
    check_fill,
    check_percentile,
    check_spacing,
    check_surface,
    check_tolerance,
    check_unit,
)

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from .._native import MetricInfo
    from .._options import Backend, InputFormat, Options

__all__ = ["evaluate"]

_METRICS = {info["name"]: info for info in _native.METRICS}


def evaluate(
    pred: Any,
    target: Any,
    *,
    metrics: Sequence[str] | Mapping[str, Mapping[str, Any]],
    spacing: Any = None,
    input_format: InputFormat = "index",
    num_classes: int | None = None,
    include_background: bool = True,
    backend: Backend = "auto",
    ignore_index: int | None = None,
    mask: Any = None,
) -> dict[str, Any]:
    """Compute several metrics in one pass over the arrays.

    Each value is that of the function of the same name. The voxels are counted once for all metrics, and the surface
    distances are computed once.

    Parameters
    ----------
    pred, target : array, (B, *spatial) labels or (B, C, *spatial) channels
        Prediction and reference, 2-D or 3-D, of the same shape.
    metrics : sequence of str, or mapping of str to mapping
        Names of functions in this package, or names with options: the keywords that are the function's own, such as
        ``both_empty``, ``unit`` or ``tolerance``. Each name once.
    spacing : float, (ndim,) or (B, ndim), optional
        Length of a voxel along each axis in mm, in the order of the array axes; read only for areas, volumes and
        distances, which need it.
    input_format, num_classes, include_background
        As in `exacta.functional.dice`.
    backend : {"auto", "native"}, default "auto"
        What computes distances; both are the compiled kernels.
    ignore_index, mask
        As in `exacta.functional.dice`; not together with a distance.

    Returns
    -------
    dict of str to array of float64, (B, K)
        One array per name, in the order of `metrics`.

    Raises
    ------
    ExactaTypeError
        `metrics` that is neither a sequence nor a mapping, an unknown option; as listed in `exacta.functional`.
    ExactaValueError
        An empty selection, an unknown or repeated name; `mask` or `ignore_index` with a distance; an area and a volume
        at once; as listed in `exacta.functional`.

    Notes
    -----
    Order of checks: the selection, `mask` and `ignore_index` with distances, the arrays, options of counts and sizes in
    the order of `metrics`, then options of distances, `spacing`, `backend`, and last the values of the arrays.

    References
    ----------
    See the function of each name.

    Examples
    --------
    >>> pred, target = [[[0, 1], [1, 2]]], [[[0, 1], [2, 2]]]
    >>> scores = evaluate(pred, target, num_classes=3, metrics={"iou": {}, "hd95": {}}, spacing=1)
    >>> scores["iou"]
    array([[1. , 0.5, 0.5]])
    >>> list(scores)
    ['iou', 'hd95']
    """
    selected = _select(metrics)
    distances = [name for name in selected if _METRICS[name]["family"] == "surface"]
    if distances and (mask is not None or ignore_index is not None):
        argument = "mask" if mask is not None else "ignore_index"
        raise ExactaValueError(
            f"{argument} must be None with {distances[0]}: a surface through removed voxels is not defined; "
            "ask for the distances in a call of their own"
        )
    inputs = prepare(pred, target, input_format, num_classes, include_background, ignore_index, mask)
    rows: npt.NDArray[np.float64] | None = None
    for name, options in selected.items():
        family = _METRICS[name]["family"]
        if family != "surface":
            _check_options(_METRICS[name], options, inputs)
        if family == "size" and rows is None:
            rows = check_spacing(spacing, inputs)
    if distances:
        inputs.require_channels()
    for name in distances:
        _check_options(_METRICS[name], selected[name], inputs)
    if distances:
        kinds: set[str] = set()
        for name in distances:
            kind = check_surface(selected[name]["surface"])
            if rows is None or (kind != "voxels" and kind not in kinds):
                rows = check_spacing(spacing, inputs, kind)
            kinds.add(kind)
        check_backend(backend)
    return dict(zip(selected, inputs.measure(list(selected.items()), rows), strict=True))


def _select(metrics: Any) -> dict[str, Options]:
    """Return the options of each requested metric, defaults filled in."""
    if isinstance(metrics, (str, bytes)) or not isinstance(metrics, (Sequence, Mapping)):
        hint = f"; for one metric pass [{shown(metrics)}]" if isinstance(metrics, str) else ""
        raise ExactaTypeError(
            f"metrics must be a sequence of names or a mapping of names to options; got {type(metrics).__name__}{hint}"
        )
    if not len(metrics):
        raise ExactaValueError("metrics must name at least one metric; got none")
    selected: dict[str, Options] = {}
    for name in metrics:
        try:
            known = name in _METRICS
        except TypeError:
            raise ExactaTypeError(f"metrics must hold names; got {shown(name)}, a {type(name).__name__}") from None
        if not known:
            raise ExactaValueError(f"metrics must be names among {', '.join(_METRICS)}; got {shown(name)}")
        if name in selected:
            raise ExactaValueError(f"metrics must name each metric once; got {name!r} twice")
        given = metrics[name] if isinstance(metrics, Mapping) else {}
        if not isinstance(given, Mapping):
            raise ExactaTypeError(f"metrics[{name!r}] must be a mapping of options, {{}} for none; got {shown(given)}")
        defaults = _METRICS[name]["options"]
        for option in given:
            if option not in defaults:
                allowed = ", ".join(defaults) or "none"
                raise ExactaTypeError(f"metrics[{name!r}] must have only the options {allowed}; got {shown(option)}")
        selected[name] = {**defaults, **given}  # type: ignore[dict-item]  # checked by _check_options
    return selected


def _check_options(info: MetricInfo, options: Options, inputs: Inputs) -> None:
    """Check the options of one metric in place; names of surfaces are left for later."""
    surface = info["family"] == "surface"
    for option, value in options.items():
        if option in ("both_empty", "one_empty", "zero_division"):
            options[option] = check_fill(option, value, surface)
        elif option == "convention":
            options[option] = check_choice(option, value, ("taha", "itk"))
        elif option == "absolute":
            options[option] = bool(value)
        elif option == "unit":
            options[option] = check_unit(value, 2 if info["unit"] == "mm2" else 3, inputs)
        elif option == "percentile":
            options[option] = check_percentile(value)
        elif option == "combine":
            options[option] = check_combine(value)
        elif option == "tolerance":
            if value is None:
                raise ExactaValueError('metrics["nsd"] must set tolerance, a distance in the unit of spacing; got None')
            options[option] = check_tolerance(value, inputs.columns)

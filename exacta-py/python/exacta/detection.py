"""Lesions as detections: predictions ranked by confidence, precision-recall and FROC curves.

`LesionDetection` collects cases batch by batch, `lesion_detection` takes one batch as the whole data set. A prediction
is a connected component with a confidence from a map of the same shape; it hits a lesion from an IoU on.

Arrays may come from NumPy, PyTorch, JAX, CuPy, any library with DLPack or the array API, or be nested lists. Curves are
in the library of the first `pred`; of PyTorch, they are on the CPU.

**Errors.** `exacta.ExactaValueError` (a `ValueError`) or `exacta.ExactaTypeError` (a `TypeError`). The constructor
checks `iou_threshold`, `confidence_reduction`, `connectivity`, `input_format` and `backend`; an update, the arrays (as
in `exacta.functional`), `connectivity` against their axes, and `confidence`. `exacta.ExactaRuntimeError` (a
`RuntimeError`) where there is no case.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from . import _native, _plot
from ._arrays import Host, library_of
from ._distributed import exchange, fingerprint
from ._errors import ExactaRuntimeError, ExactaValueError, shown
from ._inputs import prepare
from ._lesions import check_connectivity
from ._options import _numbers, check_backend, check_choice, check_fill
from ._threads import get_num_threads

if TYPE_CHECKING:
    import numpy.typing as npt

    from ._inputs import Inputs
    from ._options import Backend, InputFormat

__all__ = ["DetectionCurve", "DetectionResult", "LesionDetection", "lesion_detection"]

Reduction: TypeAlias = Literal["max", "mean"]


@dataclass(frozen=True, eq=False)
class DetectionCurve:
    """Operating points of one class, in falling order of the threshold.

    The first point accepts no prediction; each different confidence is one point more.
    """

    thresholds: Any
    """float64 (N,): the confidence from which predictions are accepted; infinity first."""
    true_positives: Any
    """int64 (N,): accepted predictions that hit a lesion."""
    false_positives: Any
    """int64 (N,): accepted predictions that hit none."""
    precision: Any
    """float64 (N,): ``tp / (tp + fp)``; 1 where nothing is accepted."""
    recall: Any
    """float64 (N,): ``tp / num_targets``; NaN without targets."""
    false_positives_per_case: Any
    """float64 (N,): ``fp / num_cases``."""
    average_precision: Any
    """float64, 0-d: sum of each step of the recall times the precision after it, without interpolation; NaN without
    targets."""
    num_targets: int
    """Lesions of the reference."""
    num_cases: int
    """Cases."""

    def sensitivity_at(self, fp_per_case: Any) -> Any:
        """Return the largest recall within a budget of false positives a case, as a FROC curve is summarised.

        Parameters
        ----------
        fp_per_case : float or array
            One or more budgets, finite and at least 0.

        Returns
        -------
        array of float64, the shape of `fp_per_case`
            In the library of the curve; NaN without targets.

        Raises
        ------
        ExactaTypeError
            A budget that is no number.
        ExactaValueError
            A negative or infinite budget, or NaN.

        Examples
        --------
        >>> one = [[[0, 1, 1, 0, 1]]]
        >>> curve = lesion_detection(one, one, [[[0.0, 0.9, 0.7, 0.0, 0.5]]], connectivity=1, num_classes=2).curves[0]
        >>> curve.sensitivity_at([0, 1])
        array([1., 1.])
        """
        budgets = _numbers("fp_per_case", fp_per_case)
        if not (np.isfinite(budgets) & (budgets >= 0)).all():
            raise ExactaValueError(f"fp_per_case must be finite and at least 0; got {shown(fp_per_case)}")
        library = library_of(self.recall)
        recall = library.to_host(self.recall, "recall").array
        rates = library.to_host(self.false_positives_per_case, "false_positives_per_case").array
        # Both rise along the curve, and the first point has no false positive.
        found = recall[np.searchsorted(rates, budgets, side="right") - 1]
        return library.from_host(np.asarray(found), self.recall)

    def plot(self, kind: Literal["froc", "precision-recall"] = "froc", *, ax: Any = None) -> Any:
        """Draw the curve with Matplotlib (extra ``plot``).

        Parameters
        ----------
        kind : {"froc", "precision-recall"}, default "froc"
            Sensitivity over false positives per case, or precision over recall.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib.axes.Axes
        """
        return _plot.detection([(self, None)], kind, ax)


@dataclass(frozen=True, eq=False)
class DetectionResult:
    """One curve for each class."""

    class_ids: tuple[int, ...]
    """Labels, or indices of channels: from 1, or from 0 with the background."""
    curves: tuple[DetectionCurve, ...]
    """In the order of `class_ids`."""

    @property
    def average_precision(self) -> Any:
        """float64 (classes,): average precision of each class."""
        values = np.array([float(curve.average_precision) for curve in self.curves])
        if not self.curves:
            return values
        like = self.curves[0].recall
        return library_of(like).from_host(values, like)

    def plot(self, kind: Literal["froc", "precision-recall"] = "froc", *, ax: Any = None) -> Any:
        """Draw the curves of all classes with Matplotlib (extra ``plot``).

        Parameters
        ----------
        kind : {"froc", "precision-recall"}, default "froc"
            Sensitivity over false positives per case, or precision over recall.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib.axes.Axes
        """
        labelled: list[tuple[DetectionCurve, str | None]] = [
            (curve, f"class {name}, AP {float(curve.average_precision):.3f}")
            for name, curve in zip(self.class_ids, self.curves, strict=True)
        ]
        return _plot.detection(labelled, kind, ax)


class _State(NamedTuple):
    """What a process knows of its cases."""

    columns: int | None
    cases: int
    confidences: list[npt.NDArray[np.float64]]
    hits: list[npt.NDArray[np.bool_]]
    targets: npt.NDArray[np.int64]


class LesionDetection:
    """Detection of lesions over a data set, batch by batch.

    Parameters
    ----------
    connectivity : int
        Neighbours of a voxel in a component: 1 to the number of spatial axes, as in `exacta.components`.
    iou_threshold : float, default 0.1
        IoU in (0, 1] from which a prediction hits a lesion.
    confidence_reduction : {"max", "mean"}, default "max"
        The confidence of a component: the largest, or the mean of its voxels.
    input_format, num_classes
        As in `exacta.functional.dice`.
    include_background : bool, default False
        Whether class or channel 0 has a curve. Unlike elsewhere, it has none unless asked for.
    backend : {"auto", "native"}, default "auto"
        What computes; both are the compiled kernels.

    Raises
    ------
    ExactaValueError, ExactaTypeError
        As listed in `exacta.detection`.

    Notes
    -----
    In each case and class, predictions are taken in falling order of confidence, equal ones in order of their numbers;
    each hits the free lesion with the largest IoU of at least the threshold, of equal ones the one with the lowest
    number, and is a false positive if there is none. Predictions of all cases then make one curve.

    References
    ----------
    .. [1] D. P. Chakraborty, L. H. L. Winter, "Free-response methodology", Radiology 174:873-881, 1990.

    Examples
    --------
    >>> metric = LesionDetection(connectivity=1, num_classes=2)
    >>> pred, target = [[[0, 1, 1, 0, 1]]], [[[0, 1, 1, 0, 0]]]
    >>> metric.update(pred, target, [[[0.0, 0.9, 0.7, 0.0, 0.5]]])
    >>> metric.compute().average_precision
    array([1.])
    """

    def __init__(
        self,
        *,
        connectivity: int,
        iou_threshold: float = 0.1,
        confidence_reduction: Reduction = "max",
        input_format: InputFormat = "index",
        num_classes: int | None = None,
        include_background: bool = False,
        backend: Backend = "auto",
    ) -> None:
        self._iou_threshold = check_fill("iou_threshold", iou_threshold)
        if not 0.0 < self._iou_threshold <= 1.0:
            raise ExactaValueError(f"iou_threshold must be within (0, 1]; got {shown(iou_threshold)}")
        self._reduction = check_choice("confidence_reduction", confidence_reduction, ("max", "mean"))
        self._connectivity = check_connectivity("connectivity", connectivity, 3)
        self._input_format = check_choice("input_format", input_format, ("index", "one-hot"))
        check_backend(backend)
        self._num_classes = num_classes
        self._include_background = bool(include_background)
        self.reset()

    def reset(self) -> None:
        """Forget all cases."""
        self._columns: int | None = None
        self._like: Any = None
        self._cases = 0
        self._confidences: list[list[npt.NDArray[np.float64]]] = []
        self._hits: list[list[npt.NDArray[np.bool_]]] = []
        self._targets: npt.NDArray[np.int64] = np.zeros(0, np.int64)

    def update(self, pred: Any, target: Any, confidence: Any) -> None:
        """Add the cases of a batch; a batch that is refused adds nothing.

        Parameters
        ----------
        pred, target : array, (B, *spatial) labels or (B, C, *spatial) channels
            Prediction and reference, 2-D or 3-D, of the same shape.
        confidence : array of floats, the shape of `pred`
            How sure the prediction is of each voxel, in [0, 1]; for channels, of the voxel being of that channel. What
            lies outside the predictions is checked and otherwise not read.

        Raises
        ------
        ExactaValueError, ExactaTypeError
            As listed in `exacta.detection`; another number of classes than before.
        """
        inputs = prepare(pred, target, self._input_format, self._num_classes, self._include_background)
        connectivity = check_connectivity("connectivity", self._connectivity, inputs.ndim)
        values = _check_confidence(confidence, inputs)
        if self._columns not in (None, inputs.columns):
            raise ExactaValueError(
                f"pred must have the {self._columns} reported classes of the updates before; got {inputs.columns}"
            )
        if inputs.channels:
            p, t, layout = inputs.native()
            found, targets = _native.detect(
                p,
                t,
                values,
                layout,
                connectivity=connectivity,
                iou_threshold=self._iou_threshold,
                reduction=self._reduction,
                threads=get_num_threads(),
            )
        else:
            found, targets = [], np.zeros((inputs.batch, 0), np.int64)
        if self._columns is None:
            self._columns = inputs.columns
            self._like = _like(inputs)
            self._confidences = [[] for _ in found]
            self._hits = [[] for _ in found]
            self._targets = np.zeros(len(found), np.int64)
        for column, (confidences, hits) in enumerate(found):
            self._confidences[column].append(confidences)
            self._hits[column].append(hits)
        self._targets = self._targets + targets.sum(axis=0)
        self._cases += inputs.batch

    def compute(self) -> DetectionResult:
        """Build the curves of all cases so far; the state stays.

        With `torch.distributed` running on several processes, cases of all of them; every process must call it, also
        one without cases, and each gets the same result.

        Returns
        -------
        DetectionResult
            One curve for each class.

        Raises
        ------
        ExactaRuntimeError
            If there is no case.
        ExactaValueError
            If processes were given different settings or numbers of classes.
        """
        settings = {
            "metric": "LesionDetection",
            "connectivity": self._connectivity,
            "iou_threshold": self._iou_threshold,
            "confidence_reduction": self._reduction,
            "include_background": self._include_background,
        }
        return self._result(exchange(fingerprint(settings), self._state()))

    def _state(self) -> _State:
        confidences = [np.concatenate([np.zeros(0), *parts]) for parts in self._confidences]
        hits = [np.concatenate([np.zeros(0, np.bool_), *parts]) for parts in self._hits]
        return _State(self._columns, self._cases, confidences, hits, self._targets)

    def _result(self, states: list[_State]) -> DetectionResult:
        """Build the curves of all cases of some states."""
        parts = [state for state in states if state.cases]
        if not parts:
            raise ExactaRuntimeError("there is no case to compute from; call update first")
        columns = parts[0].columns or 0
        for part in parts:
            if part.columns != columns:
                raise ExactaValueError(
                    f"every process must have the same number of classes; got {columns} and {part.columns}"
                )
        cases = sum(part.cases for part in parts)
        like = np.zeros(0) if self._like is None else self._like
        back = library_of(like).from_host
        curves = []
        for column in range(columns):
            targets = sum(int(part.targets[column]) for part in parts)
            points = _native.detection_curve(
                np.concatenate([part.confidences[column] for part in parts]),
                np.concatenate([part.hits[column] for part in parts]),
                targets,
                cases,
            )
            thresholds, tp, fp, precision, recall, rates, average = (back(np.asarray(v), like) for v in points)
            curves.append(DetectionCurve(thresholds, tp, fp, precision, recall, rates, average, targets, cases))
        first = 0 if self._include_background else 1
        return DetectionResult(tuple(range(first, first + len(curves))), tuple(curves))


def lesion_detection(
    pred: Any,
    target: Any,
    confidence: Any,
    *,
    connectivity: int,
    iou_threshold: float = 0.1,
    confidence_reduction: Reduction = "max",
    input_format: InputFormat = "index",
    num_classes: int | None = None,
    include_background: bool = False,
    backend: Backend = "auto",
) -> DetectionResult:
    """Build the curves of one batch, taken as the whole data set.

    Parameters
    ----------
    pred, target, confidence
        As in `LesionDetection.update`.
    connectivity, iou_threshold, confidence_reduction, input_format, num_classes, include_background, backend
        As in `LesionDetection`.

    Returns
    -------
    DetectionResult
        One curve for each class.

    Raises
    ------
    ExactaValueError, ExactaTypeError, ExactaRuntimeError
        As listed in `exacta.detection`.

    Examples
    --------
    >>> pred, target = [[[0, 1, 1, 0, 1]]], [[[0, 1, 1, 0, 0]]]
    >>> found = lesion_detection(pred, target, [[[0.0, 0.9, 0.7, 0.0, 0.5]]], connectivity=1, num_classes=2)
    >>> found.curves[0].thresholds
    array([inf, 0.9, 0.5])
    """
    metric = LesionDetection(
        connectivity=connectivity,
        iou_threshold=iou_threshold,
        confidence_reduction=confidence_reduction,
        input_format=input_format,
        num_classes=num_classes,
        include_background=include_background,
        backend=backend,
    )
    metric.update(pred, target, confidence)
    # Whole in itself: other processes, if there are any, are not asked.
    return metric._result([metric._state()])


def _check_confidence(confidence: Any, inputs: Inputs) -> npt.NDArray[Any]:
    """Return the map as float32 or float64, in place where it is one of them; its values are checked by the kernels."""
    host: Host = library_of(confidence).to_host(confidence, "confidence")
    array = host.array
    if host.half == "float16":
        array = array.view(np.float16).astype(np.float32)
    elif host.half is not None:
        array = (array.astype(np.uint32) << 16).view(np.float32)
    if array.dtype.kind != "f":
        raise ExactaValueError(f"confidence must be floating, in [0, 1]; got dtype {array.dtype}")
    if array.shape != inputs.shape:
        raise ExactaValueError(f"confidence must have the shape of pred, {inputs.shape}; got {array.shape}")
    if host.device != inputs.device:
        raise ExactaValueError("confidence must be on the device of pred; move one of them first")
    return array


def _like(inputs: Inputs) -> Any:
    """Return an empty array of the library of `pred`, of PyTorch on the CPU."""
    empty = inputs.returned(np.zeros(0))
    torch = sys.modules.get("torch")
    return empty.cpu() if torch is not None and isinstance(empty, torch.Tensor) else empty

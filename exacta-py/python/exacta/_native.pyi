from typing import Any, Literal, TypeAlias, TypedDict, type_check_only

import numpy as np
import numpy.typing as npt

__all__ = [
    "METRICS",
    "SCORE_METRICS",
    "__version__",
    "brats_regions",
    "component_statistics",
    "count",
    "detect",
    "detection_curve",
    "distance_maps",
    "distance_transform",
    "evaluate",
    "evaluate_scores",
    "filter_components",
    "histogram_curve",
    "instance_scores",
    "label_components",
    "lesion_scores",
    "loss_backward",
    "loss_forward",
    "loss_from_statistics",
    "loss_statistics",
    "nearest",
    "of_counts",
    "rank_curves",
    "rank_histograms",
    "reliability_sums",
    "reliability_values",
    "selected_scores",
    "signed_distance",
    "simd_level",
    "skeletonize",
    "soft_skeleton",
]

__version__: str

@type_check_only
class MetricInfo(TypedDict):
    name: str
    family: Literal["overlap", "size", "surface", "topology", "probability", "ranking"]
    unit: str
    better: Literal["higher", "lower", "near zero", "none"]
    options: dict[str, float | bool | str | None]
    range: tuple[float, float]
    symmetric: bool

METRICS: tuple[MetricInfo, ...]
SCORE_METRICS: tuple[MetricInfo, ...]

@type_check_only
class Scored(TypedDict):
    pred: npt.NDArray[Any]
    target: npt.NDArray[Any]
    mask: npt.NDArray[np.bool_] | None
    pred_half: str | None
    target_half: str | None
    multilabel: bool
    from_logits: bool
    ignore_index: int | None
    threads: int

_Floats: TypeAlias = npt.NDArray[np.float64]
_Curve: TypeAlias = tuple[_Floats, _Floats, _Floats, _Floats, float, float]

def evaluate_scores(
    scored: Scored, name: str, given: dict[str, float | bool | str | list[float]], *, first: int = 0
) -> _Floats: ...
def reliability_sums(scored: Scored, *, bins: int, mode: str) -> _Floats: ...
def reliability_values(sums: _Floats) -> tuple[npt.NDArray[np.int64], _Floats, _Floats, _Floats]: ...
def rank_curves(scored: Scored, *, first: int = 0) -> list[_Curve]: ...
def rank_histograms(scored: Scored, *, bins: int, first: int = 0) -> npt.NDArray[np.int64]: ...
def histogram_curve(histogram: npt.NDArray[np.int64]) -> _Curve: ...
def selected_scores(scored: Scored, *, first: int = 0) -> list[tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]]: ...

@type_check_only
class Layout(TypedDict):
    input_format: str
    num_classes: int
    include_background: bool
    pred_half: str | None
    target_half: str | None

@type_check_only
class LesionChoices(TypedDict):
    matching: str
    score: str
    threshold: float
    strict: bool
    connectivity: int
    dilation: int
    dilation_connectivity: int
    min_target_volume: float
    surface: str
    missed_distance: float
    both_empty: float
    both_empty_distance: float

def brats_regions(
    labels: npt.NDArray[Any], out: npt.NDArray[np.uint8], *, half: str | None = None, threads: int = 1
) -> list[int]: ...
def lesion_scores(
    pred: npt.NDArray[Any],
    target: npt.NDArray[Any],
    layout: Layout,
    choices: LesionChoices | str,
    *,
    spacing: npt.NDArray[np.float64] | None = None,
    rows: bool = False,
    threads: int = 1,
) -> tuple[
    list[npt.NDArray[np.float64]],
    tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], npt.NDArray[np.int64], npt.NDArray[np.int64]] | None,
]: ...
def instance_scores(
    pred: npt.NDArray[Any],
    target: npt.NDArray[Any],
    *,
    matching: str,
    score: str,
    threshold: float,
    strict: bool,
    both_empty: float,
    pred_half: str | None = None,
    target_half: str | None = None,
    threads: int = 1,
) -> list[npt.NDArray[np.float64]]: ...
def detect(
    pred: npt.NDArray[Any],
    target: npt.NDArray[Any],
    confidence: npt.NDArray[Any],
    layout: Layout,
    *,
    connectivity: int,
    iou_threshold: float,
    reduction: str,
    threads: int = 1,
) -> tuple[list[tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]], npt.NDArray[np.int64]]: ...
def detection_curve(
    confidences: npt.NDArray[np.float64], hits: npt.NDArray[np.bool_], targets: int, cases: int
) -> tuple[
    npt.NDArray[np.float64],
    npt.NDArray[np.int64],
    npt.NDArray[np.int64],
    npt.NDArray[np.float64],
    npt.NDArray[np.float64],
    npt.NDArray[np.float64],
    float,
]: ...
def distance_transform(
    mask: npt.NDArray[Any],
    spacing: list[float],
    *,
    features: str,
    border: str,
    squared: bool,
    half: str | None = None,
    threads: int = 1,
) -> npt.NDArray[np.float64]: ...
def signed_distance(
    mask: npt.NDArray[Any],
    spacing: list[float],
    *,
    border: str,
    half: str | None = None,
    threads: int = 1,
) -> npt.NDArray[np.float64]: ...
def nearest(
    mask: npt.NDArray[Any],
    spacing: list[float],
    *,
    features: str,
    half: str | None = None,
    threads: int = 1,
) -> npt.NDArray[np.int64]: ...
def simd_level() -> str: ...
def label_components(
    mask: npt.NDArray[Any],
    out: npt.NDArray[np.int32],
    *,
    connectivity: int,
    half: str | None = None,
    zeroed: bool = False,
    threads: int = 1,
) -> tuple[int, list[int]]: ...
def filter_components(
    mask: npt.NDArray[Any],
    out: npt.NDArray[np.uint8],
    *,
    connectivity: int,
    min_size: int | None = None,
    half: str | None = None,
    zeroed: bool = False,
    threads: int = 1,
) -> list[int]: ...
def component_statistics(
    mask: npt.NDArray[Any],
    *,
    connectivity: int,
    half: str | None = None,
    threads: int = 1,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], npt.NDArray[np.int64]]: ...
def skeletonize(
    mask: npt.NDArray[Any],
    out: npt.NDArray[np.uint8],
    *,
    thinning: str,
    half: str | None = None,
    zeroed: bool = False,
    threads: int = 1,
) -> list[int]: ...
def count(
    pred: npt.NDArray[Any],
    target: npt.NDArray[Any],
    *,
    input_format: str,
    num_classes: int,
    include_background: bool,
    ignore_index: int | None = None,
    mask: npt.NDArray[np.bool_] | None = None,
    pred_half: str | None = None,
    target_half: str | None = None,
    threads: int = 1,
) -> npt.NDArray[np.int64]: ...
def of_counts(
    counts: npt.NDArray[np.int64],
    metrics: list[tuple[str, dict[str, float | bool | str | list[float]]]],
) -> npt.NDArray[np.float64]: ...
def evaluate(
    pred: npt.NDArray[Any],
    target: npt.NDArray[Any],
    metrics: list[tuple[str, dict[str, float | bool | str | list[float]]]],
    *,
    input_format: str,
    num_classes: int,
    include_background: bool,
    ignore_index: int | None = None,
    mask: npt.NDArray[np.bool_] | None = None,
    spacing: npt.NDArray[np.float64] | None = None,
    pred_half: str | None = None,
    target_half: str | None = None,
    pred_skeleton: npt.NDArray[Any] | None = None,
    target_skeleton: npt.NDArray[Any] | None = None,
    threads: int = 1,
) -> list[npt.NDArray[np.float64]]: ...
def loss_forward(
    name: str,
    params: dict[str, float | bool | str | list[float] | None],
    input: npt.NDArray[Any],
    target: npt.NDArray[Any],
    *,
    mask: npt.NDArray[Any] | None = None,
    map: npt.NDArray[Any] | None = None,
    input_half: str | None = None,
    target_half: str | None = None,
    threads: int = 1,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[Any] | None]: ...
def loss_backward(
    name: str,
    params: dict[str, float | bool | str | list[float] | None],
    input: npt.NDArray[Any],
    target: npt.NDArray[Any],
    saved: npt.NDArray[np.float64],
    grad_output: npt.NDArray[np.float64],
    grad_input: npt.NDArray[Any],
    *,
    kept: npt.NDArray[Any] | None = None,
    mask: npt.NDArray[Any] | None = None,
    map: npt.NDArray[Any] | None = None,
    input_half: str | None = None,
    target_half: str | None = None,
    threads: int = 1,
) -> None: ...
def loss_statistics(
    name: str,
    params: dict[str, float | bool | str | list[float] | None],
    input: npt.NDArray[Any],
    target: npt.NDArray[Any],
    *,
    mask: npt.NDArray[Any] | None = None,
    input_half: str | None = None,
    target_half: str | None = None,
    threads: int = 1,
) -> npt.NDArray[np.float64]: ...
def loss_from_statistics(
    name: str,
    params: dict[str, float | bool | str | list[float] | None],
    statistics: npt.NDArray[np.float64],
    *,
    channels: int,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]: ...
def soft_skeleton(
    probs: npt.NDArray[Any],
    iterations: int,
    *,
    gradient: npt.NDArray[Any] | None = None,
    half: str | None = None,
    threads: int = 1,
) -> npt.NDArray[Any]: ...
def distance_maps(
    masks: npt.NDArray[np.uint8], spacing: list[list[float]], *, signed: bool, threads: int = 1
) -> npt.NDArray[np.float64]: ...

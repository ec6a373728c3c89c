from typing import Any, Literal, TypedDict, type_check_only

import numpy as np
import numpy.typing as npt

__all__ = [
    "METRICS",
    "__version__",
    "brats_regions",
    "component_statistics",
    "detect",
    "detection_curve",
    "distance_transform",
    "evaluate",
    "filter_components",
    "instance_scores",
    "label_components",
    "lesion_scores",
    "nearest",
    "signed_distance",
    "simd_level",
]

__version__: str

@type_check_only
class MetricInfo(TypedDict):
    name: str
    family: Literal["overlap", "size", "surface"]
    unit: str
    better: Literal["higher", "lower", "near zero", "none"]
    options: dict[str, float | bool | str | None]
    range: tuple[float, float]
    symmetric: bool

METRICS: tuple[MetricInfo, ...]

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
    labels: npt.NDArray[Any], *, half: str | None = None, threads: int = 1
) -> tuple[npt.NDArray[np.uint8], list[int]]: ...
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
    threads: int = 1,
) -> list[npt.NDArray[np.float64]]: ...

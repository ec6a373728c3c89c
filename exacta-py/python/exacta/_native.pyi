from typing import Any, Literal, TypedDict, type_check_only

import numpy as np
import numpy.typing as npt

__all__ = [
    "METRICS",
    "__version__",
    "component_statistics",
    "distance_transform",
    "evaluate",
    "filter_components",
    "label_components",
    "loss_backward",
    "loss_forward",
    "loss_from_statistics",
    "loss_statistics",
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

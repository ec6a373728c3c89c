"""MONAI: the functions of `monai.metrics`, on channel-first one-hot tensors."""

from __future__ import annotations

import numpy as np
import torch
from monai.metrics import (
    compute_average_surface_distance,
    compute_confusion_matrix_metric,
    compute_dice,
    compute_hausdorff_distance,
    compute_iou,
    compute_surface_dice,
    get_confusion_matrix,
)
from store import attempt

CONFUSION = (
    "sensitivity",
    "specificity",
    "precision",
    "negative predictive value",
    "miss rate",
    "fall out",
    "false discovery rate",
    "false omission rate",
    "prevalence threshold",
    "threat score",
    "accuracy",
    "balanced accuracy",
    "f1 score",
    "matthews correlation coefficient",
    "fowlkes mallows index",
    "informedness",
    "markedness",
)


def _values(pred: torch.Tensor, target: torch.Tensor, spacing: list, background: bool) -> dict:
    """Keys that pairs and batches share, as thunks: most cost a distance transform."""
    common = {"include_background": background}
    spaced = {**common, "spacing": spacing}

    def hd(p: torch.Tensor, t: torch.Tensor, **options: object) -> torch.Tensor:
        return compute_hausdorff_distance(p, t, **common, **options)

    return {
        "dice": lambda: compute_dice(pred, target, **common, ignore_empty=False),
        "dice_ignore_empty": lambda: compute_dice(pred, target, **common, ignore_empty=True),
        "iou": lambda: compute_iou(pred, target, **common, ignore_empty=False),
        "iou_ignore_empty": lambda: compute_iou(pred, target, **common, ignore_empty=True),
        "hd": lambda: hd(pred, target, spacing=spacing),
        "hd95": lambda: hd(pred, target, spacing=spacing, percentile=95),
        "hd50": lambda: hd(pred, target, spacing=spacing, percentile=50),
        "hd_pred_to_target": lambda: hd(pred, target, spacing=spacing, directed=True),
        "hd_target_to_pred": lambda: hd(target, pred, spacing=spacing, directed=True),
        "hd95_pred_to_target": lambda: hd(pred, target, spacing=spacing, percentile=95, directed=True),
        "hd95_target_to_pred": lambda: hd(target, pred, spacing=spacing, percentile=95, directed=True),
        "hd_chessboard": lambda: hd(pred, target, distance_metric="chessboard"),
        "hd_taxicab": lambda: hd(pred, target, distance_metric="taxicab"),
        "asd": lambda: compute_average_surface_distance(pred, target, **spaced, symmetric=False),
        "asd_pred_to_target": lambda: compute_average_surface_distance(pred, target, **spaced, symmetric=False),
        "asd_target_to_pred": lambda: compute_average_surface_distance(target, pred, **spaced, symmetric=False),
        "assd": lambda: compute_average_surface_distance(pred, target, **spaced, symmetric=True),
        "confusion_tp_fp_tn_fn": lambda: get_confusion_matrix(pred, target, **common),
    }


def _surface_dice(
    pred: torch.Tensor, target: torch.Tensor, taus: list, spacing: list, background: bool, sub: bool
) -> torch.Tensor:
    return compute_surface_dice(pred, target, taus, include_background=background, spacing=spacing, use_subvoxels=sub)


def pair(pred: np.ndarray, target: np.ndarray, spacing: tuple, taus: list, wanted: frozenset[str]) -> dict:
    """Metrics of one pair of masks, as a batch of one case and one channel."""
    p, t = (torch.from_numpy(m[None, None].astype(np.float32)) for m in (pred, target))
    h = list(spacing)
    values = {k: attempt(lambda f=f: f().item()) for k, f in _values(p, t, h, True).items() if k in wanted - {"asd"}}
    for key, sub in (("nsd", False), ("nsd_subvoxels", True)):
        if key in wanted:
            values[key] = {
                str(tau): attempt(lambda tau=tau, sub=sub: _surface_dice(p, t, [tau], h, True, sub).item())
                for tau in taus
            }
    if "confusion" in wanted:
        matrix = get_confusion_matrix(p, t)
        values["confusion"] = {
            name: attempt(lambda name=name: compute_confusion_matrix_metric(name, matrix).item()) for name in CONFUSION
        }
    return values


def batch(pred: np.ndarray, target: np.ndarray, row: dict, include_background: bool, wanted: frozenset[str]) -> dict:
    """Metrics of a batch of label maps, per case and class."""

    def one_hot(labels: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(np.stack([labels == c for c in range(row["classes"])], axis=1).astype(np.float32))

    p, t, h = one_hot(pred), one_hot(target), list(row["spacing"])
    values = {k: attempt(f) for k, f in _values(p, t, h, include_background).items() if k in wanted}
    taus = [row["tau"]] * (row["classes"] - (not include_background))
    for key, sub in (("nsd", False), ("nsd_subvoxels", True)):
        if key in wanted:
            values[key] = attempt(_surface_dice, p, t, taus, h, include_background, sub)
    return values

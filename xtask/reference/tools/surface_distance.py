"""DeepMind's surface-distance, published as `surface-distance-based-measures`. Its first mask is the ground truth."""

from __future__ import annotations

import importlib

import numpy as np
from store import attempt

# The release is older than NumPy 2, which removed these names.
for name, value in (("NaN", np.nan), ("Inf", np.inf)):
    setattr(np, name, value)
surface_distance = importlib.import_module("surface_distance")

# How far a quantile or a tolerance is moved to see whether the value hangs on a tie.
PERCENTILE_STEP = 1e-4
TOLERANCE_STEP = 1e-5


def pair(pred: np.ndarray, target: np.ndarray, spacing: tuple, taus: list, wanted: frozenset[str]) -> dict:
    """Surface-element metrics of one pair of masks."""
    values = {"dice": attempt(surface_distance.compute_dice_coefficient, target, pred)}
    if wanted <= values.keys():
        return values
    found = surface_distance.compute_surface_distances(target, pred, spacing)

    def hd(percentile: float) -> object:
        return attempt(surface_distance.compute_robust_hausdorff, found, percentile)

    def nsd(tau: float) -> object:
        return attempt(surface_distance.compute_surface_dice_at_tolerance, found, tau)

    averages = attempt(surface_distance.compute_average_surface_distance, found)
    values |= {"hd": hd(100), "hd95": hd(95), "hd50": hd(50)}
    values["asd_target_to_pred"], values["asd_pred_to_target"] = averages
    values["area_target"] = float(found["surfel_areas_gt"].sum())
    values["area_pred"] = float(found["surfel_areas_pred"].sum())
    values["nsd"] = {str(tau): nsd(tau) for tau in taus}
    values["overlap_target_pred"] = {
        str(tau): attempt(surface_distance.compute_surface_overlap_at_tolerance, found, tau) for tau in taus
    }
    for key, q in (("hd95", 95), ("hd50", 50)):
        values[f"{key}_range"] = [hd(q - PERCENTILE_STEP), hd(q + PERCENTILE_STEP)]
    values["nsd_range"] = {str(tau): [nsd(tau * (1 - TOLERANCE_STEP)), nsd(tau * (1 + TOLERANCE_STEP))] for tau in taus}
    return values

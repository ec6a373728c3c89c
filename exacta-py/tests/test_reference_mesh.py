"""The pairs of masks, measured on meshes by VTK and by two versions of MeshMetrics.

Where an answer hangs on a tie (equal areas that reach the percentile exactly, a distance equal to the tolerance), the
fixture holds the range of right answers.
"""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from exacta import functional

FIXTURES = Path(__file__).parent / "fixtures"
MASKS = np.load(FIXTURES / "pairs.npz")
PAIRS = json.loads((FIXTURES / "pairs.json").read_text())
MESH = json.loads((FIXTURES / "mesh.json").read_text())

CALLS = {
    "hd": ("hausdorff_distance", {}),
    "hd95": ("hd95", {}),
    "hd50": ("hausdorff_distance", {"percentile": 50}),
    "masd": ("masd", {}),
    "assd": ("assd", {}),
    "nsd": ("nsd", {}),
}


def values(name, surface):
    """Our value for each stored one: (key, tolerance or None) to number."""
    packed = MASKS[name][None]
    arguments = {"num_classes": 2, "include_background": False, "spacing": PAIRS[name]["spacing"], "surface": surface}
    masks = (packed & 1).astype(np.uint8), (packed >> 1 & 1).astype(np.uint8)
    for key, (function, options) in CALLS.items():
        for tau in PAIRS[name]["taus"] if key == "nsd" else [None]:
            tolerance = {} if tau is None else {"tolerance": tau}
            got = getattr(functional, function)(*masks, **arguments, **options, **tolerance)
            yield key, tau, got.item()


def check(name, tool, surface, slack):
    stored, faults = MESH[name][tool], []
    for key, tau, got in values(name, surface):
        want, bounds = (
            (stored[key], stored.get(f"{key}_range"))
            if tau is None
            else (
                stored[key][str(tau)],
                stored.get(f"{key}_range", {}).get(str(tau)),
            )
        )
        want = float(want)
        low, high = (min(bounds), max(bounds)) if bounds else (want, want)
        agrees = math.isnan(got) if math.isnan(want) else low - slack <= got <= high + slack
        if not agrees:
            faults.append(f"{key} {tau or ''}: {got!r}, want {want!r} {bounds or ''}")
    assert not faults, "\n".join(faults)


def extent(name):
    """The longest physical length of an image."""
    return max(n * h for n, h in zip(PAIRS[name]["shape"], PAIRS[name]["spacing"], strict=True))


@pytest.mark.parametrize("name", MESH)
def test_vtk(name):
    # VTK in double, also at the spacing (1e-3, 1e3, 1), where it is known to be right to 1e-14 of the extent.
    digits = 1e-14 if "aniso3" in name else 1e-12
    check(name, "vtk", "mesh", digits * max(extent(name), 1.0))


VOLUMES = [name for name in MESH if name.startswith("3d")]


@pytest.mark.parametrize("name", VOLUMES)
def test_mesh_metrics_first_version(name):
    check(name, "meshmetrics_v0.1.0", "mesh", 1e-6 * max(extent(name), 1.0))


@pytest.mark.parametrize("name", VOLUMES)
def test_mesh_metrics_of_today(name):
    if "both_empty" in name:
        assert MESH[name]["meshmetrics_head"]["hd"] == 0.0
        assert all(math.isnan(got) for _, _, got in values(name, "faces"))
        return
    check(name, "meshmetrics_head", "faces", 1e-6 * max(extent(name), 1.0))


def test_sizes():
    """The area of a mesh, as nsd of a mask against another tells it."""
    row = MESH["3d_blob_aniso0"]["vtk"]
    packed = MASKS["3d_blob_aniso0"][None]
    pred, target = (packed & 1).astype(np.uint8), (packed >> 1 & 1).astype(np.uint8)
    far = np.zeros((1, 200, *pred.shape[2:]), np.uint8)
    far[0, : pred.shape[1]] = pred[0]
    other = np.zeros_like(far)
    other[0, -target.shape[1] :] = target[0]
    # Within the tolerance lie all of the two far surfaces, or none; a bigger one lies half within.
    arguments = {"num_classes": 2, "include_background": False, "spacing": PAIRS["3d_blob_aniso0"]["spacing"]}
    same = functional.nsd(far, far + other, surface="mesh", tolerance=1, **arguments).item()
    total = row["size_pred"] + row["size_target"]
    assert same == pytest.approx(2 * row["size_pred"] / (row["size_pred"] + total), rel=1e-12)

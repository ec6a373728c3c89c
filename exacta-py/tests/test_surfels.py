"""`surface="surfels"`: examples of the specification, values of other tools, errors, threads and memory layouts.

Percentiles are DeepMind's to the last bit. `hd_range` and the like hold what a tool gives just beside a tie of its own.
"""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import exacta
from exacta import functional

nan, inf = math.nan, math.inf
FIXTURES = Path(__file__).parent / "fixtures"
PAIRS = json.loads((FIXTURES / "pairs_surfels.json").read_text())


def measured(function, pred, target, **options):
    arguments = {"spacing": 1, "num_classes": 2, "include_background": False, "surface": "surfels", **options}
    return getattr(functional, function)(pred, target, **arguments)[0, -1].item()


def statistics(pred, target, spacing, tolerances):
    return [
        measured("hausdorff_distance", pred, target, spacing=spacing),
        measured("hd95", pred, target, spacing=spacing),
        measured("assd", pred, target, spacing=spacing),
        *(measured("nsd", pred, target, spacing=spacing, tolerance=tau) for tau in tolerances),
    ]


def filled(shape, *boxes):
    mask = np.zeros((1, *shape), np.uint8)
    for box in boxes:
        mask[(0, *(slice(*ends) for ends in box))] = 1
    return mask


ROW = (filled((1, 5), ((0, 1), (1, 3))), filled((1, 5), ((0, 1), (2, 4))))
CUBES = (filled((4, 4, 4), *[((1, 3),) * 3]), filled((4, 4, 4), ((1, 3), (1, 3), (1, 4))))
VOXELS = tuple(filled((3, 3, 4), ((1, 2), (1, 2), (at, at + 1))) for at in (1, 2))
PLANE = (filled((6, 6, 6), *[((1, 5),) * 3]), filled((6, 6, 6), ((1, 4), (1, 5), (1, 5))))


@pytest.mark.parametrize(
    ("pair", "spacing", "tolerances", "want"),
    [
        (ROW, 1, (0, 1), (1.0, 1.0, 0.29289321881345254, 0.7071067811865474, 1.0)),
        (ROW, (1, 2), (0, 1), (2.0, 2.0, 0.5278640450004206, 0.7360679774997897, 0.7360679774997897)),
        (CUBES, 1, (0.8,), (1.0, 1.0, 0.1450332185436457, 0.8549667814563544)),
        (CUBES, (1.5, 0.8, 0.8), (0.8,), (0.8, 0.8, 0.12773927607295238, 1.0)),
        (VOXELS, 1, (0, 0.5, 1), (1.0, 1.0, 0.5, 0.5, 0.5, 1.0)),
        (VOXELS, (2, 1, 3), (0, 0.5, 1), (3.0, 3.0, 1.5, 0.5, 0.5, 0.5)),
        (PLANE, 1, (0,), (1.0, 1.0, 0.18537306442402707, 0.8146269355759728)),
    ],
)
def test_examples(pair, spacing, tolerances, want):
    """E1, E3, E4, E7. Sums run in another order than theirs: a few roundings."""
    got = statistics(*pair, spacing, tolerances)
    assert got[:2] == list(want[:2])
    assert got[2:] == pytest.approx(want[2:], rel=1e-14, abs=0)
    # The other order of axes in memory.
    assert statistics(*(np.asfortranarray(mask) for mask in pair), spacing, tolerances) == got


@pytest.mark.parametrize(
    ("function", "options", "want"),
    [
        ("hausdorff_distance", {"combine": "max"}, 2.8284271247461903),
        ("hausdorff_distance", {"combine": "mean"}, 1.9142135623730951),
        ("hausdorff_distance", {"combine": "pooled"}, 2.8284271247461903),
        ("hausdorff_distance", {"percentile": 0}, 0.0),
        ("hd95", {"combine": "max"}, 2.23606797749979),
        ("hd95", {"combine": "mean"}, 1.618033988749895),
        ("hd95", {"combine": "pooled"}, 2.23606797749979),
        ("assd", {"combine": "max"}, 0.8255429317462106),
        ("assd", {"combine": "mean"}, 0.6301209815026376),
        ("assd", {"combine": "pooled"}, 0.676967088735436),
        ("masd", {}, 0.6301209815026376),
        ("nsd", {"tolerance": 0}, 0.4503528315626162),
        ("nsd", {"tolerance": 1}, 0.8758820789065405),
        ("nsd", {"tolerance": 1.5}, 0.9255292473439243),
    ],
)
def test_e2_combine(function, options, want):
    p, t = filled((6, 6), ((1, 4), (1, 4))), filled((6, 6), ((1, 5), (1, 5)), ((5, 6), (5, 6)))
    got = measured(function, p, t, **options)
    exact = function in ("hausdorff_distance", "hd95")
    assert got == (want if exact else pytest.approx(want, rel=1e-14, abs=0))


def test_e1_percentile_50_pooled():
    assert measured("hausdorff_distance", *ROW, percentile=50, combine="pooled") == 0.0


def test_e9_identical_masks():
    for shape in ((7, 6, 9), (9, 8)):
        p = np.random.default_rng(9).integers(0, 2, (1, *shape), dtype=np.uint8)
        spacing = (1.1, 0.7, 0.9)[: len(shape)]
        assert statistics(p, p, spacing, (0,)) == [0.0, 0.0, 0.0, 1.0]
        whole = np.ones_like(p)
        assert statistics(whole, whole, spacing, (0,)) == [0.0, 0.0, 0.0, 1.0]


def test_p49_surface_dice_weighs_surface_elements():
    p, t = filled((12, 12), ((2, 8), (2, 8))), filled((12, 12), ((2, 8), (4, 10)))
    got = [measured("nsd", p, t, tolerance=tau) for tau in (0, 1, 2)]
    assert got == pytest.approx([0.4123899, 0.5876101, 1.0], abs=5e-8)
    assert [measured("nsd", p, t, tolerance=tau, surface="voxels") for tau in (0, 1, 2)] == [0.4, 0.6, 1.0]


def agree(got, want, relative, bounds=None):
    want = float(want)
    if math.isnan(want) or math.isinf(want):
        return got == want or (math.isnan(got) and math.isnan(want))
    return abs(got - want) <= relative * abs(want) or bool(bounds and min(bounds) <= got <= max(bounds))


@pytest.mark.parametrize("name", PAIRS)
def test_other_tools(name):
    """DeepMind: percentiles to the last bit, averages and shares to 1e-14. MONAI: to single precision."""
    packed = np.load(FIXTURES / "pairs.npz")[name][None]
    p, t = (packed & 1).astype(bool), (packed >> 1 & 1).astype(bool)
    row, faults = PAIRS[name], []
    spacing, deepmind, monai = row["spacing"], row["deepmind"], row["monai"]

    def compare(what, got, want, relative, bounds=None):
        if not agree(got, want, relative, bounds):
            faults.append(f"{what}: {got!r}, want {want!r}")

    # Both empty is inf there, as a distance: here nothing was measured.
    fill = {"both_empty": inf}
    for key, q in (("hd", 100), ("hd95", 95), ("hd50", 50)):
        got = measured("hausdorff_distance", p, t, spacing=spacing, percentile=q, **fill)
        compare(key, got, deepmind[key], 0.0)
    averages = [float(deepmind[key]) for key in ("asd_target_to_pred", "asd_pred_to_target")]
    if p.any() and t.any():
        compare("masd", measured("masd", p, t, spacing=spacing), sum(averages) / 2, 1e-14)
        compare("assd max", measured("assd", p, t, spacing=spacing, combine="max"), max(averages), 1e-14)
    else:
        # A surface without another to measure to is NaN or inf there, by direction.
        assert not any(map(math.isfinite, averages))
        assert not math.isfinite(measured("masd", p, t, spacing=spacing))
    for tau in map(str, row["taus"]):
        got = measured("nsd", p, t, spacing=spacing, tolerance=float(tau))
        compare(f"nsd {tau}", got, deepmind["nsd"][tau], 1e-14, deepmind.get("nsd_range", {}).get(tau))
        bounds = monai.get("nsd_subvoxels_range", {}).get(tau)
        compare(f"MONAI nsd {tau}", got, monai["nsd_subvoxels"][tau], 1e-6, bounds)
    assert not faults, "\n".join(faults)


def noisy(shape, seed, classes=3):
    random = np.random.default_rng(seed)
    labels = random.integers(0, classes, (2, *(max(1, n // 4) for n in shape)))
    for axis in range(1, labels.ndim):
        labels = labels.repeat(4, axis)
    return labels[(slice(None), *(slice(n) for n in shape))].astype(np.int64)


METRICS = {
    "hausdorff_distance": {"percentile": 50.0, "surface": "surfels"},
    "hd95": {"surface": "surfels", "combine": "pooled"},
    "assd": {"surface": "surfels"},
    "masd": {"surface": "surfels"},
    "nsd": {"surface": "surfels", "tolerance": 1.2},
}


@pytest.mark.parametrize("shape", [(33, 70), (20, 21, 66), (1, 40, 40), (40, 1, 64)])
def test_threads_layouts_and_company(shape):
    """The same bits for each thread count and memory layout, alone and together."""
    p, t = noisy(shape, 3), noisy(shape, 4)
    spacing = (1.5, 0.8, 0.7)[: len(shape)]
    options = {"spacing": spacing, "num_classes": 3}
    want = functional.evaluate(p, t, metrics=METRICS, **options)
    reverse = tuple(range(p.ndim - 1, -1, -1))
    layouts = [(p, t), (p.astype(np.uint8), t), (np.asfortranarray(p), t)]
    layouts.append(tuple(np.ascontiguousarray(a.transpose(reverse)).transpose(reverse) for a in (p, t)))
    layouts.append(tuple(a[..., ::-1].copy()[..., ::-1] for a in (p, t)))
    before = exacta.get_num_threads()
    try:
        for threads in (1, 2, 5):
            exacta.set_num_threads(threads)
            for pred, target in layouts:
                got = functional.evaluate(pred, target, metrics=METRICS, **options)
                assert all(np.array_equal(got[name], want[name], equal_nan=True) for name in METRICS)
    finally:
        exacta.set_num_threads(before)
    for name, given in METRICS.items():
        assert np.array_equal(getattr(functional, name)(p, t, **given, **options), want[name], equal_nan=True)
    one_hot = [np.stack([a == c for c in range(3)], 1) for a in (p, t)]
    got = functional.evaluate(*one_hot, metrics=METRICS, spacing=spacing, input_format="one-hot")
    assert all(np.array_equal(got[name], want[name], equal_nan=True) for name in METRICS)


@pytest.mark.parametrize("scale", [1e-50, 1e50])
def test_spacing_at_the_ends_of_its_range(scale):
    *distances, score = statistics(*CUBES, scale, (scale / 2,))
    *want, want_score = statistics(*CUBES, 1, (0.5,))
    assert distances == pytest.approx([value * scale for value in want], rel=1e-12, abs=0)
    assert score == pytest.approx(want_score, rel=1e-12, abs=0)


@pytest.mark.parametrize("value", [0.99e-50, 1.01e50, 1e-100])
def test_spacing_beyond_its_range(value):
    p, t = CUBES
    functional.hd95(p, t, spacing=value, num_classes=2)  # voxels have no areas
    for call in (
        lambda: functional.hd95(p, t, spacing=value, num_classes=2, surface="surfels"),
        lambda: functional.evaluate(
            p, t, spacing=value, num_classes=2, metrics={"assd": {}, "hd95": {"surface": "surfels"}}
        ),
    ):
        with pytest.raises(exacta.ExactaValueError, match=r'within \[1e-50, 1e\+50\] for surface="surfels"'):
            call()


def test_order_of_checks():
    p, t = CUBES
    bad = {"percentile": 101, "surface": "skin", "spacing": 1e60, "backend": "cuda", "num_classes": 2}
    good = {"percentile": 95, "surface": "surfels", "spacing": 1}
    for key in ("percentile", "surface", "spacing", "backend"):
        with pytest.raises(exacta.ExactaValueError, match=key):
            functional.hausdorff_distance(p, t, **bad)
        if key in good:
            bad[key] = good[key]
    with pytest.raises(exacta.ExactaValueError, match="tolerance"):
        functional.nsd(p, t, tolerance=-1, surface="skin", spacing=1e60, num_classes=2)


def test_empty_arrays():
    for shape in ((0, 4, 4), (2, 0, 5), (1, 3, 0, 4)):
        empty = np.zeros(shape, np.uint8)
        got = functional.hd95(empty, empty, spacing=1, num_classes=2, surface="surfels")
        assert got.shape == (shape[0], 2)
        assert np.isnan(got).all()

"""surface="mesh" and surface="faces": worked examples, and laws that any mesh obeys."""

import math

import numpy as np
import pytest

import exacta
from exacta import functional
from exacta.functional import assd, evaluate, hausdorff_distance, hd95, masd, nsd

BINARY = {"num_classes": 2, "include_background": False}


def row(text):
    return np.array([[[int(digit) for digit in text]]], np.uint8)


P1, T1 = row("01100"), row("00110")

P2, T2 = np.zeros((1, 6, 6), np.uint8), np.zeros((1, 6, 6), np.uint8)
P2[0, 1:4, 1:4] = T2[0, 1:5, 1:5] = T2[0, 5, 5] = 1

P3, T3 = np.zeros((1, 4, 4, 4), np.uint8), np.zeros((1, 4, 4, 4), np.uint8)
P3[0, 1:3, 1:3, 1:3] = T3[0, 1:3, 1:3, 1:4] = 1


def close(got, want):
    assert got.item() == pytest.approx(want, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize(
    ("spacing", "hd", "p50", "average", "at_1"),
    [
        (1, 0.7905694150420949, 0.3535533905932738, 0.45122233477723683, 1.0),
        ((1, 2), 1.5206906325745548, 0.4472135954999579, 0.6784875778777474, 0.7360679774997897),
    ],
)
def test_one_row(spacing, hd, p50, average, at_1):
    keys = {**BINARY, "spacing": spacing, "surface": "mesh"}
    close(hausdorff_distance(P1, T1, **keys), hd)
    close(hd95(P1, T1, **keys), hd)
    close(hausdorff_distance(P1, T1, percentile=50, combine="pooled", **keys), p50)
    close(assd(P1, T1, **keys), average)
    close(nsd(P1, T1, tolerance=0, **keys), 0.0)
    close(nsd(P1, T1, tolerance=1, **keys), at_1)


@pytest.mark.parametrize(
    ("combine", "hd", "at_95", "average"),
    [
        ("max", 2.8284271247461903, 2.4748737341529163, 0.9096302501278208),
        ("mean", 2.039213562373095, 1.8624368670764582, 0.6966525039712934),
        ("pooled", 2.8284271247461903, 2.4748737341529163, 0.7477070468320772),
    ],
)
def test_two_squares(combine, hd, at_95, average):
    keys = {**BINARY, "spacing": 1, "surface": "mesh", "combine": combine}
    close(hausdorff_distance(P2, T2, **keys), hd)
    close(hd95(P2, T2, **keys), at_95)
    close(assd(P2, T2, **keys), average)
    close(hausdorff_distance(P2, T2, percentile=0, **keys), 0.0)


def test_two_squares_within():
    for tau, want in ((0, 0.3304939641876626), (1, 0.7808467957502786), (1.5, 0.9007056631252323)):
        close(nsd(P2, T2, tolerance=tau, spacing=1, surface="mesh", **BINARY), want)


@pytest.mark.parametrize(
    ("spacing", "hd", "at_95", "average", "within"),
    [
        (1, 1.0, 0.8498365855987976, 0.19717224940025874, 0.9130426710442507),
        ((1.5, 0.8, 0.8), 0.8, 0.8, 0.1795936645945032, 1.0),
    ],
)
def test_two_boxes(spacing, hd, at_95, average, within):
    keys = {**BINARY, "spacing": spacing, "surface": "mesh"}
    close(hausdorff_distance(P3, T3, **keys), hd)
    close(hd95(P3, T3, **keys), at_95)
    close(assd(P3, T3, **keys), average)
    close(nsd(P3, T3, tolerance=0.8, **keys), within)


def test_faces_by_hand():
    # Two voxels against three in a row. A face is two triangles, with centres a third and two thirds along its sides.
    keys = {"num_classes": 2, "include_background": False, "spacing": 1, "surface": "faces"}
    pred, target = np.zeros((1, 3, 3, 5), np.uint8), np.zeros((1, 3, 3, 5), np.uint8)
    pred[0, 1, 1, 1:3] = target[0, 1, 1, 1:4] = 1
    close(hausdorff_distance(pred, target, **keys), 1.0)
    # All of the 10 faces but an end, and of the 14 all but five, are shared.
    close(nsd(pred, target, tolerance=0, **keys), (9 + 9) / 24)
    # The end lies within the longer one, a third from its sides; four sides go on from 0 to 1; the other end is 1 away.
    close(masd(pred, target, **keys), (1 / 3 / 10 + (4 * 0.5 + 1) / 14) / 2)
    # A row of pixels: sides of length 1, all at their middles.
    close(hausdorff_distance(P1, T1, **keys), 1.0)


NOISE = np.random.default_rng(5)


def masks(*shape, share=0.4):
    return (NOISE.random((2, 1, *shape)) < share).astype(np.uint8)


@pytest.mark.parametrize("surface", ["mesh", "faces"])
@pytest.mark.parametrize("shape", [(9, 11), (7, 8, 9), (1, 8, 9), (5, 1, 6)])
@pytest.mark.parametrize("spacing", [1.0, 0.3, 1e-50, 1e50])
def test_identical_masks_agree_to_the_last_bit(surface, shape, spacing):
    mask = masks(*shape)[0]
    keys = {"num_classes": 2, "spacing": spacing, "surface": surface}
    assert (hausdorff_distance(mask, mask, **keys) == 0).all()
    assert (nsd(mask, mask, tolerance=0, **keys) == 1).all()


@pytest.mark.parametrize("surface", ["mesh", "faces"])
@pytest.mark.parametrize("shape", [(20, 23), (12, 13, 14)])
def test_together_as_apart_in_every_layout_and_format(surface, shape):
    pred, target = masks(*shape)
    keys = {"spacing": (2.5, 0.4, 1.1)[: len(shape)]}
    wanted = evaluate(
        pred,
        target,
        num_classes=2,
        metrics={
            "hd95": {"surface": surface},
            "assd": {"surface": surface},
            "nsd": {"surface": surface, "tolerance": 0.5},
        },
        **keys,
    )
    for name, options in (("hd95", {}), ("assd", {}), ("nsd", {"tolerance": 0.5})):
        function = getattr(functional, name)
        alone = function(pred, target, num_classes=2, surface=surface, **options, **keys)
        np.testing.assert_array_equal(alone, wanted[name])
        swapped = function(target, pred, num_classes=2, surface=surface, **options, **keys)
        np.testing.assert_allclose(swapped, wanted[name], rtol=1e-14)
        fortran = function(
            np.asfortranarray(pred),
            target[..., ::-1].copy()[..., ::-1],
            num_classes=2,
            surface=surface,
            **options,
            **keys,
        )
        np.testing.assert_array_equal(fortran, wanted[name])
        channels = [np.stack([1 - mask, mask], 1) for mask in (pred, target)]
        one_hot = function(*channels, input_format="one-hot", surface=surface, **options, **keys)
        np.testing.assert_array_equal(one_hot, wanted[name])


@pytest.mark.parametrize("surface", ["mesh", "faces"])
def test_threads_change_no_bit(surface):
    grid = np.meshgrid(*[np.linspace(-1, 1, 60)] * 3, indexing="ij", sparse=True)
    pred = (sum(g**2 for g in grid) < 0.6).astype(np.uint8)[None]
    target = (sum((g - 0.06) ** 2 for g in grid) < 0.5).astype(np.uint8)[None]
    target[0, :3, :3, :3] = 1
    before, values = exacta.get_num_threads(), []
    try:
        for threads in (1, 2, 5):
            exacta.set_num_threads(threads)
            keys = {**BINARY, "spacing": (1.5, 0.8, 0.8), "surface": surface}
            values.append(
                [hd95(pred, target, **keys), hausdorff_distance(pred, target, **keys), assd(pred, target, **keys)]
            )
    finally:
        exacta.set_num_threads(before)
    np.testing.assert_array_equal(values[0], values[1])
    np.testing.assert_array_equal(values[0], values[2])


@pytest.mark.parametrize("surface", ["mesh", "faces"])
def test_missing_structures(surface):
    pred, target = np.zeros((1, 4, 5, 6), np.uint8), np.zeros((1, 4, 5, 6), np.uint8)
    target[0, 1:3, 1:3, 1:3] = 1
    keys = {"num_classes": 3, "include_background": False, "spacing": 1, "surface": surface}
    found = hd95(pred, target, **keys)
    assert math.isinf(found[0, 0])
    assert math.isnan(found[0, 1])
    assert nsd(pred, target, tolerance=1, **keys)[0, 0] == 0.0
    assert hd95(pred, target, one_empty=9.0, both_empty=0.0, **keys).tolist() == [[9.0, 0.0]]


@pytest.mark.parametrize("surface", ["mesh", "faces"])
def test_spacing_of_areas(surface):
    keys = {**BINARY, "surface": surface}
    for spacing in (1e-51, 1e51, (1, 9e-51)):
        with pytest.raises(exacta.ExactaValueError, match="1e-50"):
            hd95(P1, T1, spacing=spacing, **keys)
        with pytest.raises(exacta.ExactaValueError, match="1e-50"):
            evaluate(P1, T1, spacing=spacing, metrics={"hd95": {"surface": surface}}, **BINARY)
    # Scaled by a power of two, every bit stays.
    scale = 2.0**-160
    small, unit = (
        hd95(P3, T3, spacing=scale * np.array(h), **keys)
        for h in ((1.5, 0.8, 0.8), (1.5 / scale, 0.8 / scale, 0.8 / scale))
    )
    assert small.item() == unit.item() * scale


@pytest.mark.parametrize("name", ["hd95", "assd", "masd", "nsd", "hausdorff_distance"])
def test_unknown_backend(name):
    options = {"tolerance": 1} if name == "nsd" else {}
    with pytest.raises(exacta.ExactaValueError, match="backend"):
        getattr(functional, name)(P3, T3, spacing=1, surface="mesh", backend="opencl", **options, **BINARY)

"""Skeletons and centreline Dice: scikit-image's values, worked examples, every input that is refused."""

import functools
import json
import math
from pathlib import Path

import numpy as np
import pytest

import exacta
from exacta import components
from exacta.functional import cldice, evaluate, skeletonize

nan = math.nan
FIXTURES = Path(__file__).parent / "fixtures"
SKELETONS = json.loads((FIXTURES / "skeleton.json").read_text())
BINARY = {"num_classes": 2, "include_background": False}


@functools.cache
def stored(file):
    return dict(np.load(FIXTURES / file))


def box(shape, *ranges):
    mask = np.zeros(shape, np.uint8)
    mask[ranges] = 1
    return mask


# ---------------------------------------------------------------- scikit-image


@pytest.mark.parametrize("name", SKELETONS)
def test_skeletons_and_cldice_of_scikit_image(name):
    packed, thinned, row = stored("pairs.npz")[name], stored("skeleton.npz")[name], SKELETONS[name]
    masks = [(packed >> bit & 1).astype(bool) for bit in (0, 1)]
    for bit, mask in enumerate(masks):
        expected = (thinned >> bit & 1).astype(bool)
        np.testing.assert_array_equal(skeletonize(mask), expected)
        np.testing.assert_array_equal(skeletonize(np.asfortranarray(mask)), expected)
    pred, target = (mask[None] for mask in masks)
    value = cldice(pred, target, **BINARY)[0, 0]
    assert value == pytest.approx(float(row["cldice_lee"]), rel=1e-15, nan_ok=True) or (
        # Without a voxel of a skeleton the counts say 0/0; two masks of which one has voxels do not agree.
        math.isnan(float(row["cldice_lee"])) and value == 0 and (pred.any() or target.any())
    )
    if row.get("same_as_zhang", pred.ndim == 4) and not math.isnan(float(row["cldice_repository"])):
        assert value == pytest.approx(float(row["cldice_repository"]), abs=1e-12)


# ---------------------------------------------------------------- worked examples


ROW = box((1, 3, 7), 0, 1)
HALF = box((1, 3, 7), 0, 1, slice(0, 4))
ALL = box((1, 3, 7), 0)
UPPER = box((1, 3, 7), 0, 0)
NOTHING = np.zeros((1, 3, 7), np.uint8)
CUBE = np.ones((1, 2, 2, 2), np.uint8)


@pytest.mark.parametrize(
    ("pred", "target", "expected"),
    [
        (ROW, HALF, 32 / 44),
        (ROW, ALL, 1.0),
        (ROW, UPPER, 0.0),
        (ROW, NOTHING, 0.0),
        (NOTHING, NOTHING, nan),
        (box((1, 5, 9), 0, slice(1, 4), slice(1, 8)), box((1, 5, 9), 0, slice(1, 4), slice(2, 9)), 6 / 7),
        (CUBE, CUBE, 0.0),
    ],
)
def test_worked_examples(pred, target, expected):
    np.testing.assert_array_equal(cldice(pred, target, **BINARY), [[expected]])
    np.testing.assert_array_equal(cldice(target, pred, **BINARY), [[expected]])
    one_hot = [np.stack([1 - mask, mask], axis=1) for mask in (pred, target)]
    np.testing.assert_array_equal(cldice(*one_hot, input_format="one-hot", include_background=False), [[expected]])
    scores = evaluate(pred, target, metrics={"cldice": {}, "dice": {}}, **BINARY)
    np.testing.assert_array_equal(scores["cldice"], [[expected]])


def test_background_and_fills():
    np.testing.assert_array_equal(cldice(ROW, HALF, num_classes=2), [[0.8421052631578947, 0.7272727272727273]])
    np.testing.assert_array_equal(cldice(NOTHING, NOTHING, **BINARY, both_empty=1), [[1.0]])
    np.testing.assert_array_equal(cldice(CUBE, CUBE, **BINARY, thinning="keep-components"), [[1.0]])
    assert cldice(np.zeros((0, 3, 3)), np.zeros((0, 3, 3)), num_classes=3).shape == (0, 3)
    assert cldice(np.zeros((2, 0, 3, 3)), np.zeros((2, 0, 3, 3)), input_format="one-hot").shape == (2, 0)
    np.testing.assert_array_equal(cldice(np.zeros((1, 0, 3)), np.zeros((1, 0, 3)), num_classes=2), [[nan, nan]])


def test_skeletons_that_are_known():
    given = {"pred_skeleton": ROW[:, None], "target_skeleton": HALF[:, None].astype(np.float16)}
    np.testing.assert_array_equal(cldice(ROW, HALF, **BINARY, **given), [[32 / 44]])
    empty = NOTHING[:, None].astype(bool)
    np.testing.assert_array_equal(cldice(ROW, ROW, **BINARY, pred_skeleton=empty), [[0.0]])
    both = np.stack([1 - HALF, HALF], axis=1)
    np.testing.assert_array_equal(cldice(HALF, HALF, num_classes=2, target_skeleton=np.asfortranarray(both)), [[1, 1]])


@pytest.mark.parametrize(
    ("skeleton", "says"),
    [
        (ROW, "shape"),
        (np.stack([ROW, ROW], axis=1), "shape"),
        (2 * ROW[:, None], "0 and 1"),
        (0.5 * ROW[:, None], "0 and 1"),
        (ALL[:, None], "within its mask"),
        (1j * ROW[:, None], "imaginary"),
    ],
)
@pytest.mark.parametrize("argument", ["pred_skeleton", "target_skeleton"])
def test_skeletons_that_are_refused(skeleton, says, argument):
    with pytest.raises(exacta.ExactaValueError, match=says) as caught:
        cldice(ROW, ROW, **BINARY, **{argument: skeleton})
    assert argument in str(caught.value)


def test_options_that_are_refused():
    with pytest.raises(TypeError, match="both_empty"):
        cldice(ROW, ROW, **BINARY, both_empty="1")
    with pytest.raises(ValueError, match="thinning"):
        cldice(ROW, ROW, **BINARY, thinning="zhang")
    with pytest.raises(ValueError, match="labels"):
        cldice(2 * ROW, ROW, **BINARY)
    for removed in ({"ignore_index": 0}, {"mask": ROW > 0}):
        with pytest.raises(ValueError, match="cldice"):
            evaluate(ROW, ROW, metrics=["cldice"], **BINARY, **removed)
    with pytest.raises(TypeError):
        cldice(ROW, ROW, **BINARY, mask=ROW > 0)


@pytest.mark.parametrize("mask", [np.zeros(3), np.zeros((1, 1, 3, 3)), np.array([[0, 2]]), np.array([[0.0, nan]]), 1])
def test_masks_that_are_refused(mask):
    with pytest.raises(exacta.ExactaValueError, match="mask"):
        skeletonize(mask)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint16, np.int64, np.uint64, np.float16, np.float32, complex])
def test_every_dtype_and_layout(dtype):
    mask = box((9, 8, 70), slice(1, 6), slice(2, 7), slice(3, 66))
    expected = skeletonize(mask)
    assert expected.dtype == bool
    assert expected.any()
    np.testing.assert_array_equal(skeletonize(mask.astype(dtype)), expected)
    np.testing.assert_array_equal(skeletonize(np.asfortranarray(mask.astype(dtype))), expected)
    np.testing.assert_array_equal(skeletonize(np.repeat(mask.astype(dtype), 2, axis=2)[..., ::2]), expected)
    np.testing.assert_array_equal(skeletonize(mask[::-1].copy().astype(dtype)[::-1]), expected)
    assert skeletonize(np.zeros((0, 3), dtype)).shape == (0, 3)


def test_results_are_in_the_library_of_the_mask():
    torch = pytest.importorskip("torch")
    mask = torch.ones((3, 5), dtype=torch.bfloat16)
    result = skeletonize(mask)
    assert isinstance(result, torch.Tensor)
    assert result.dtype is torch.bool
    assert result.tolist() == [[False] * 5, [True] * 5, [False] * 5]
    scores = cldice(torch.from_numpy(ROW), HALF, **BINARY, target_skeleton=torch.from_numpy(HALF)[:, None])
    assert scores.tolist() == [[32 / 44]]


def test_a_skeleton_keeps_its_components_where_asked():
    # The bar of the pitfalls, and bars of width 2.
    for mask in (
        box((12, 12, 20), slice(3, 7), slice(3, 7)),
        box((6, 6, 9), slice(2, 4), slice(2, 4)),
        box((6, 6, 9), slice(2, 4), slice(0, 6), slice(5, 7)),
        box((9, 9), slice(2, 4)),
    ):
        kept = skeletonize(mask, thinning="keep-components")
        assert components.label(kept, connectivity=mask.ndim)[1] == 1
        assert not (kept & (mask == 0)).any()


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_change_nothing(threads):
    rng = np.random.default_rng(5)
    pred, target = (rng.integers(0, 4, (2, 20, 30, 40)) for _ in range(2))
    pairs = list(zip(pred, target, strict=True))
    expected = [[cldice(p[None] == c, t[None] == c, **BINARY)[0, 0] for c in range(4)] for p, t in pairs]
    exacta.set_num_threads(threads)
    np.testing.assert_array_equal(cldice(pred, target, num_classes=4), expected)

"""What is accepted, what is counted, and in which order mistakes are reported."""

import numpy as np
import pytest

import naive
from exacta.functional import (
    area_error,
    assd,
    dice,
    evaluate,
    hausdorff_distance,
    hd95,
    nsd,
    precision,
    predicted_area,
    predicted_volume,
    specificity,
    volume_similarity,
)

nan, inf = np.nan, np.inf
T, F = True, False
P = np.array([[[0, 1], [1, 2]]])
K3 = {"num_classes": 3}


def check(result, expected):
    assert result.dtype == np.float64
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize(
    ("function", "pred", "target", "options", "expected"),
    [
        # ignored voxels
        (dice, P, [[[0, -1], [2, 2]]], {**K3, "ignore_index": -1}, [[1, 0, 2 / 3]]),
        (dice, P, [[[0, 1], [2, 2]]], {**K3, "ignore_index": 0}, [[nan, 2 / 3, 2 / 3]]),
        (dice, P, [[[0, 1], [2, 2]]], {**K3, "ignore_index": 2}, [[1, 1, nan]]),
        (specificity, P, [[[0, 1], [2, 2]]], {**K3, "ignore_index": 2}, [[1, 1, 1]]),
        (dice, P, [[[-1, -1], [-1, -1]]], {**K3, "ignore_index": -1}, [[nan, nan, nan]]),
        (dice, P, [[[-1, -1], [-1, -1]]], {**K3, "ignore_index": -1, "both_empty": 1}, [[1, 1, 1]]),
        (specificity, P, [[[-1, -1], [-1, -1]]], {**K3, "ignore_index": -1, "zero_division": 0.5}, [[0.5] * 3]),
        (dice, [[[0, 99], [1, 2]]], [[[0, 255], [1, 2]]], {**K3, "ignore_index": 255}, [[1, 1, 1]]),
        (dice, P, [[[0, 1], [2, 2]]], {**K3, "ignore_index": 2**62}, [[1, 2 / 3, 2 / 3]]),
        (dice, P, [[[0, 1], [2, 2]]], {**K3, "ignore_index": np.int8(-5)}, [[1, 2 / 3, 2 / 3]]),
        (dice, P, np.array([[[0, 1], [2, 2]]], np.uint8), {**K3, "ignore_index": 256}, [[1, 2 / 3, 2 / 3]]),
        # masks
        (dice, P, [[[0, 1], [2, 2]]], {**K3, "mask": [[[T, T], [F, T]]]}, [[1, 1, 1]]),
        (dice, P, [[[0, 1], [2, 2]]], {**K3, "mask": [[[[T, T], [F, T]]]]}, [[1, 1, 1]]),
        (dice, P, [[[0, 1], [2, 2]]], {**K3, "mask": np.array([[[1, 1], [0, 1]]], np.uint8)}, [[1, 1, 1]]),
        (dice, P, [[[0, -1], [2, 2]]], {**K3, "mask": [[[T, T], [F, T]]], "ignore_index": -1}, [[1, nan, 1]]),
        (dice, [[[0, 99], [1, 2]]], [[[0, -5], [1, 2]]], {**K3, "mask": [[[T, F], [T, T]]]}, [[1, 1, 1]]),
        (dice, [[[0, nan], [1, 2]]], [[[0, 0.5], [1, 2]]], {**K3, "mask": [[[T, F], [T, T]]]}, [[1, 1, 1]]),
        (predicted_area, P, [[[0, 1], [2, 2]]], {**K3, "mask": [[[T, F], [T, T]]], "spacing": 1}, [[1, 1, 1]]),
        (predicted_area, P, [[[-1, -1], [-1, -1]]], {**K3, "ignore_index": -1, "spacing": 1}, [[nan] * 3]),
        # the number of classes
        (dice, P, [[[0, 1], [2, 2]]], {"num_classes": 5}, [[1, 2 / 3, 2 / 3, nan, nan]]),
        (dice, P, [[[0, 1], [2, 2]]], {"num_classes": 5, "both_empty": -7}, [[1, 2 / 3, 2 / 3, -7, -7]]),
        (dice, P, [[[0, 1], [2, 2]]], {"num_classes": np.uint8(3)}, [[1, 2 / 3, 2 / 3]]),
        (dice, P, [[[0, 1], [2, 2]]], {"num_classes": np.array(3)}, [[1, 2 / 3, 2 / 3]]),
        (dice, P, [[[0, 1], [2, 2]]], {**K3, "include_background": 0}, [[2 / 3, 2 / 3]]),
        (dice, P, [[[0, 1], [2, 2]]], {**K3, "include_background": "no"}, [[1, 2 / 3, 2 / 3]]),
        (dice, [[[T, F]]], [[[T, T]]], {"num_classes": 2}, [[0, 2 / 3]]),
        (dice, [[[0, 0]]], [[[0, 0]]], {"num_classes": 1}, [[1]]),
        # empties
        (precision, [[[0, 0]]], [[[0, 1]]], {"num_classes": 2}, [[0.5, nan]]),
        (dice, [[[0, 1]]], [[[0, 0]]], {"num_classes": 2, "both_empty": 7}, [[2 / 3, 0]]),
        (nsd, [[[0, 1]]], [[[0, 0]]], {"num_classes": 3, "tolerance": 1, "spacing": 1}, [[1, 0, nan]]),
        (hd95, [[[0, 1]]], [[[0, 0]]], {"num_classes": 3, "spacing": 1}, [[0.95, inf, nan]]),
        (hd95, [[[0, 1]]], [[[0, 0]]], {**K3, "spacing": 1, "one_empty": 9, "both_empty": T}, [[0.95, 9, 1]]),
    ],
)
def test_counted_voxels(function, pred, target, options, expected):
    check(function(pred, target, **options), expected)


def test_one_hot_channels_are_independent():
    a = np.array([[[[1, 1], [0, 0]], [[1, 0], [1, 0]]]])
    b = np.array([[[[1, 1], [1, 1]], [[0, 0], [0, 0]]]])
    one_hot = {"input_format": "one-hot"}
    check(dice(a, b, **one_hot), [[2 / 3, 0]])
    check(precision(a, b, **one_hot), [[1, 0]])
    check(specificity(a, b, **one_hot), [[nan, 0.5]])
    check(dice(a, b, **one_hot, num_classes=2.0), [[2 / 3, 0]])
    check(dice(a, b, **one_hot, include_background=False), [[0]])
    excluded = np.array([[[False, True], [True, True]]])
    x, y = a.astype(float), b.astype(float)
    x[..., 0, 0], y[..., 0, 0] = nan, 9
    check(dice(x, y, **one_hot, mask=excluded), naive.measure("dice", a, b, **one_hot, mask=excluded))
    complex_x = x.copy().astype(complex)
    complex_x[..., 0, 0] = 1j
    check(dice(complex_x, y, **one_hot, mask=excluded), naive.measure("dice", a, b, **one_hot, mask=excluded))
    check(dice(-0.0 * a, b, **one_hot), [[0, nan]])


@pytest.mark.parametrize("name", [*naive.OVERLAP, "predicted_area", "area_error", *naive.SURFACE])
def test_sizes_of_zero(name):
    options = {} if name in naive.OVERLAP else {"spacing": 2.0}
    if name == "nsd":
        options["tolerance"] = 1.0
    from exacta import functional

    function = getattr(functional, name)
    surface = name in naive.SURFACE
    for mask in ({},) if surface else ({}, {"mask": np.zeros((0, 4, 5), bool)}):
        assert function(np.zeros((0, 4, 5)), np.zeros((0, 4, 5)), num_classes=3, **options, **mask).shape == (0, 3)
        empty = np.zeros((0, 2, 4, 5))
        assert function(empty, empty, input_format="one-hot", **options, **mask).shape == (0, 2)
    check(function(np.zeros((2, 0, 5)), np.zeros((2, 0, 5)), num_classes=3, **options), np.full((2, 3), nan))
    no_channels = np.zeros((2, 0, 4, 5))
    if surface:
        with pytest.raises(ValueError, match="channel"):
            function(no_channels, no_channels, input_format="one-hot", **options)
    else:
        assert function(no_channels, no_channels, input_format="one-hot", **options).shape == (2, 0)
    with pytest.raises(ValueError, match="include_background"):
        function(no_channels, no_channels, input_format="one-hot", include_background=False, **options)


VOLUME = np.zeros((2, 3, 4, 5), np.uint8)
VOLUME[:, 1:, 1:3, 1:4] = 1


@pytest.mark.parametrize(
    ("spacing", "expected"),
    [
        (2, 8.0),
        (0.5, 0.125),
        (True, 1.0),
        (np.float32(0.1), 0.0010000000447034842),
        (np.array(2.0), 8.0),
        ((1, 2, 3), 6.0),
        ([1, 2.5, np.float32(2)], 5.0),
        (np.array([1, 2, 3], np.uint8), 6.0),
        (np.array([1, 2, 3], ">f4"), 6.0),
        (np.array([3, 2, 1])[::-1], 6.0),
        (np.array([1, 2, 4], np.float16), 8.0),
        ([[1, 2, 3], [1, 1, 2]], [6.0, 2.0]),
        (1e-100, 1e-300),
        (1e100, 1e300),
    ],
)
def test_spacing_forms(spacing, expected):
    voxels = int(VOLUME[0].sum())
    result = predicted_volume(VOLUME, VOLUME, num_classes=2, spacing=spacing)[:, 1] / voxels
    np.testing.assert_allclose(result, np.broadcast_to(expected, 2), rtol=1e-15)


def test_spacing_of_torch():
    torch = pytest.importorskip("torch")
    for spacing in (
        torch.tensor([1.0, 2.0, 3.0], requires_grad=True),
        torch.tensor([1, 2, 3], dtype=torch.bfloat16),
        torch.tensor([[1.0, 2.0, 3.0]] * 2, dtype=torch.float64),
        [torch.tensor(1.0), torch.tensor(2.0, requires_grad=True), 3],
        torch.tensor([6.0]).pow(1 / 3)[0],
    ):
        result = predicted_volume(VOLUME, VOLUME, num_classes=2, spacing=spacing)[:, 1]
        np.testing.assert_allclose(result, 6.0 * VOLUME[0].sum(), rtol=1e-6)
    with pytest.raises(TypeError, match="spacing"):
        predicted_volume(VOLUME, VOLUME, num_classes=2, spacing=torch.tensor(1j))


def test_length_equal_to_the_batch_is_the_shared_form():
    x = np.zeros((3, 2, 2, 2), np.uint8)
    x[:, 0, 0, 0] = 1
    y = np.roll(x, 1, axis=3)
    check(hd95(x, y, num_classes=2, include_background=False, spacing=(1, 2, 3)), [[3], [3], [3]])


def test_axis_order_of_spacing():
    x, y, z = np.zeros((3, 1, 3, 3, 3), np.uint8)
    x[0, 0, 0, 0] = y[0, 1, 0, 0] = z[0, 0, 0, 1] = 1
    options = {"num_classes": 2, "include_background": False, "spacing": (5, 1, 1)}
    check(hausdorff_distance(x, y, **options), [[5]])
    check(hausdorff_distance(x, z, **options), [[1]])


def test_tolerance_forms():
    x, y = np.array([[[0, 1, 1, 0, 2]]]), np.array([[[0, 0, 1, 1, 2]]])
    common = {"num_classes": 3, "spacing": (1, 2), "include_background": False}
    check(nsd(x, y, tolerance=0, **common), [[0.5, 1]])
    check(nsd(x, y, tolerance=[2, 0], **common), [[1, 1]])
    check(nsd(x, y, tolerance=np.array([2, 0], np.float32), **common), [[1, 1]])
    check(nsd(x, y, tolerance=True, **common), [[0.5, 1]])
    check(nsd(x, y, tolerance=np.float64(2), **common), [[1, 1]])


# Each call breaks several rules; the one that comes first is reported.
A = np.array([[[0, 1], [1, 2]]])
BAD_MASK = np.ones(A.shape)


class Unreadable:
    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("no data")


@pytest.mark.parametrize(
    ("call", "error", "argument"),
    [
        (lambda: dice(None, A[0], input_format="x"), TypeError, "pred"),
        (lambda: dice(Unreadable(), A), TypeError, "pred"),
        (lambda: dice(A[0], [[[0], [1, 2]]]), ValueError, "target"),
        (lambda: dice(A.astype(complex), A[:, :1], num_classes=0, input_format="x"), ValueError, "same shape"),
        (lambda: dice(A[0], A[0], num_classes=None), ValueError, "axes"),
        (lambda: dice(A.astype(complex), A, num_classes=None), ValueError, "num_classes"),
        (lambda: dice(A.astype(complex), A, num_classes=True), TypeError, "num_classes"),
        (lambda: dice(A.astype(complex), A, num_classes=1, include_background=False), TypeError, "pred"),
        (lambda: dice(A, A.astype(complex), num_classes=1, include_background=False), TypeError, "target"),
        (lambda: dice(A[0], A[0], input_format="x", include_background=False), ValueError, "input_format"),
        (lambda: dice(A, A, num_classes=1, include_background=False, ignore_index=1.5), ValueError, "background"),
        (lambda: dice(A[None], A[None], input_format="one-hot", num_classes=9, ignore_index=0), ValueError, "channels"),
        (lambda: dice(A[None], A[None], input_format="one-hot", ignore_index=True), TypeError, "ignore_index"),
        (lambda: dice(A[None], A[None], input_format="one-hot", ignore_index=2**63), ValueError, "64-bit"),
        (lambda: dice(A[None], A[None], input_format="one-hot", ignore_index=0, mask=3), ValueError, "ignore_index"),
        (lambda: dice(A, A, **K3, ignore_index="1", mask=BAD_MASK), TypeError, "ignore_index"),
        (lambda: dice(A, A, **K3, mask=BAD_MASK[0]), TypeError, "mask"),
        (lambda: dice(A, A, **K3, mask=BAD_MASK[0] > 0, both_empty=None), ValueError, "mask"),
        (lambda: dice(A + 9, A, **K3, both_empty=None), TypeError, "both_empty"),
        (lambda: volume_similarity(A, A, **K3, convention="x", zero_division=None), ValueError, "convention"),
        (lambda: predicted_volume(A, A, **K3, unit="x", spacing=None), ValueError, "3 spatial axes"),
        (lambda: predicted_area(A[None], A[None], **K3, unit="x", spacing=None), ValueError, "2 spatial axes"),
        (lambda: area_error(A, A, **K3, unit="mm3", spacing=None), ValueError, "unit"),
        (lambda: predicted_area(A, A, **K3, spacing=None), ValueError, "spacing"),
        (lambda: hausdorff_distance(None, A, spacing=None, percentile=101, combine="x"), ValueError, "percentile"),
        (lambda: hausdorff_distance(None, A, spacing=None, combine="x"), ValueError, "combine"),
        (lambda: assd(None, A, spacing=None, combine="x"), ValueError, "combine"),
        (lambda: nsd(A, A, spacing=None, tolerance=-1), ValueError, "num_classes"),
        (lambda: nsd(A, A, **K3, spacing=None, tolerance=-1, surface="x"), ValueError, "tolerance"),
        (lambda: nsd(A, A, **K3, spacing=None, tolerance=1, surface="x"), ValueError, "surface"),
        (lambda: hd95(A, A, **K3, spacing=None, backend="x"), ValueError, "spacing"),
        (lambda: hd95(A, A, **K3, spacing=1, backend="x"), ValueError, "backend"),
        (lambda: evaluate(A, A, metrics=["hd95", "x"], mask=1), ValueError, "metrics"),
        (lambda: evaluate(None, A, metrics=["dice", "hd95"], mask=1), ValueError, "mask must be None"),
        (lambda: evaluate(None, A, metrics=["dice", "hd95"], ignore_index=1), ValueError, "ignore_index must be None"),
        (
            lambda: evaluate(A, A, **K3, metrics={"hd95": {"combine": 1}, "predicted_area": {"unit": 1}}),
            ValueError,
            "unit",
        ),
        (
            lambda: evaluate(A, A, **K3, metrics={"predicted_area": {}, "dice": {"both_empty": "x"}}),
            ValueError,
            "spacing",
        ),
        (
            lambda: evaluate(A, A, **K3, metrics={"hd95": {"surface": 1}, "nsd": {"tolerance": -1}}),
            ValueError,
            "tolerance",
        ),
        (lambda: evaluate(A, A, **K3, metrics={"hd95": {"surface": "x"}}, backend="x"), ValueError, "surface"),
        (lambda: evaluate(A, A, **K3, metrics=["hd95"], backend="x"), ValueError, "spacing"),
        (lambda: evaluate(A, A, **K3, metrics=["hd95"], spacing=1, backend="x"), ValueError, "backend"),
    ],
)
def test_order_of_checks(call, error, argument):
    with pytest.raises(error, match=argument):
        call()


def test_what_is_not_needed_is_not_looked_at():
    check(evaluate(A, A, **K3, metrics=["dice"], spacing=-1, backend="x")["dice"], [[1, 1, 1]])


HINTS = [
    (lambda: dice(A[0], A[0], **K3), r"pred\[None\]"),
    (lambda: dice(A[None, None], A[None, None], **K3), "one-hot"),
    (lambda: dice(A[None], A, **K3), "batch axis"),
    (lambda: dice(np.zeros((2, 3, 4, 5)), np.zeros((2, 4, 5)), **K3), "argmax"),
    (lambda: dice(np.zeros((2, 4, 5)), np.zeros((2, 1, 4, 5)), **K3), r"target\[:, 0\]"),
    (lambda: dice(np.zeros((1, 4, 5)), np.zeros((1, 5, 4)), **K3), "axis orders"),
    (lambda: predicted_volume(np.zeros((4, 5, 6)), np.zeros((4, 5, 6)), **K3, spacing=1), r"pred\[None\]"),
    (lambda: hd95(np.zeros((4, 5, 6)), np.zeros((4, 5, 6)), **K3, spacing=(1, 2, 3)), r"pred\[None\]"),
    (lambda: hd95(np.zeros((1, 3, 5, 6)), np.zeros((1, 3, 5, 6)), **K3, spacing=(1, 2)), "one-hot"),
    (lambda: predicted_area(np.zeros((1, 3, 5, 6)), np.zeros((1, 3, 5, 6)), **K3, spacing=1), "one-hot"),
    (lambda: hd95(np.zeros((1, 4, 5, 6)), np.zeros((1, 4, 5, 6)), **K3, spacing=(1, 2)), "GetSpacing"),
    (lambda: dice(A, A, **K3, mask=np.full(A.shape, 255, np.uint8)), "255.*mask > 0"),
    (lambda: dice(A, A, **K3, mask=np.ones(A.shape[1:], bool)), r"mask\[None\]"),
    (lambda: dice(np.ma.masked_array(A), A, **K3), "mask="),
    (lambda: dice([np.ma.masked_array(A[0])], A, **K3), "mask="),
    (lambda: dice(A, A.astype(object), **K3), "convert"),
    (lambda: evaluate(A, A, **K3, metrics="dice"), r"\['dice'\]"),
]


@pytest.mark.parametrize(("call", "hint"), HINTS)
def test_likely_mistakes_are_named(call, hint):
    with pytest.raises((ValueError, TypeError), match=hint):
        call()


def test_wrong_length_of_spacing_states_both_numbers():
    for shape, spacing in (((1, 4, 4, 4), (1, 1)), ((1, 4, 4), (1, 1, 1))):
        with pytest.raises(ValueError, match=f"(?s){len(shape) - 1}.*{len(spacing)}") as caught:
            hd95(np.zeros(shape), np.zeros(shape), num_classes=2, spacing=spacing)
        assert "spacing" in str(caught.value)

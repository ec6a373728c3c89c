"""The worked examples of the specification, digit for digit: counts, overlap, sizes, `evaluate`, surface distances.

Equality is exact, NaN equal to NaN, except where an example prints rounded digits.
"""

import math

import numpy as np
import pytest

from exacta import functional

nan, inf = math.nan, math.inf
T, F = True, False

# Fixture A: TP, FP, FN, TN are (1, 0, 0, 3), (1, 1, 0, 2), (1, 0, 1, 2) for classes 0, 1, 2.
PRED = [[[0, 1], [1, 2]]]
TARGET = [[[0, 1], [2, 2]]]
A = (PRED, TARGET)
A3 = ([PRED], [TARGET])
COUNTS = [(1, 0, 0, 3), (1, 1, 0, 2), (1, 0, 1, 2)]


def check(got, want):
    assert isinstance(got, np.ndarray)
    assert got.dtype == np.float64
    np.testing.assert_array_equal(got, np.array(want, np.float64), strict=True)


def labels(values):
    return np.array(values)


def call(function, pair, **options):
    return getattr(functional, function)(labels(pair[0]), labels(pair[1]), **options)


def test_counts():
    tp, fp, fn, tn = np.array(COUNTS, np.float64).T
    options = {"num_classes": 3, "spacing": 1}
    check(call("predicted_area", A, **options), [tp + fp])
    check(call("target_area", A, **options), [tp + fn])
    check(call("area_error", A, **options), [fp - fn])
    options = {"num_classes": 3}
    check(call("sensitivity", A, **options), [tp / (tp + fn)])
    check(call("precision", A, **options), [tp / (tp + fp)])
    check(call("specificity", A, **options), [tn / (tn + fp)])
    check(call("iou", A, **options), [tp / (tp + fp + fn)])


TWO = 0.6666666666666666
TAHA = 0.6666666666666667  # 1 - 1/3: two roundings

OVERLAP = [
    ("dice", A, {}, [[1.0, TWO, TWO]]),
    ("iou", A, {}, [[1.0, 0.5, 0.5]]),
    ("sensitivity", A, {}, [[1.0, 1.0, 0.5]]),
    ("precision", A, {}, [[1.0, 0.5, 1.0]]),
    ("specificity", A, {}, [[1.0, TWO, 1.0]]),
    ("volume_similarity", A, {}, [[1.0, TAHA, TAHA]]),
    ("volume_similarity", A, {"convention": "itk"}, [[0.0, TWO, -TWO]]),
    ("relative_volume_difference", A, {}, [[0.0, 1.0, -0.5]]),
    ("relative_volume_difference", A, {"absolute": True}, [[0.0, 1.0, 0.5]]),
    ("dice", A, {"num_classes": 5}, [[1.0, TWO, TWO, nan, nan]]),
    ("dice", A, {"num_classes": 5, "both_empty": -7}, [[1.0, TWO, TWO, -7.0, -7.0]]),
    ("dice", A, {"include_background": False}, [[TWO, TWO]]),
    ("sensitivity", A, {"num_classes": 4, "zero_division": 0.0}, [[1.0, 1.0, 0.5, 0.0]]),
    (
        "dice",
        ([[[0, 1], [1, 1]], [[0, 0], [0, 0]]], [[[0, 1], [0, 1]], [[0, 0], [0, 1]]]),
        {"num_classes": 2},
        [[TWO, 0.8], [0.8571428571428571, 0.0]],
    ),
    ("specificity", ([[[1, 1]]], [[[1, 1]]]), {"num_classes": 2}, [[1.0, nan]]),
    ("specificity", ([[[1, 1]]], [[[1, 1]]]), {"num_classes": 2, "zero_division": 1.0}, [[1.0, 1.0]]),
    ("precision", ([[[0, 0]]], [[[0, 1]]]), {"num_classes": 2}, [[0.5, nan]]),
    ("relative_volume_difference", ([[[0, 1]]], [[[0, 0]]]), {"num_classes": 2}, [[-0.5, nan]]),
    ("volume_similarity", ([[[0, 1]]], [[[0, 0]]]), {"num_classes": 2}, [[TAHA, 0.0]]),
    ("volume_similarity", ([[[0, 1]]], [[[0, 0]]]), {"num_classes": 2, "convention": "itk"}, [[-TWO, 2.0]]),
    ("volume_similarity", ([[[0, 0]]], [[[0, 1]]]), {"num_classes": 2, "convention": "itk"}, [[TWO, -2.0]]),
    ("dice", ([[[0, 1]]], [[[0, 0]]]), {"num_classes": 2, "both_empty": 7}, [[TWO, 0.0]]),
    ("dice", ([[[F, T], [T, F]]], [[[F, T], [F, F]]]), {"num_classes": 2}, [[0.8, TWO]]),
]


@pytest.mark.parametrize(("function", "pair", "options", "want"), OVERLAP)
def test_overlap(function, pair, options, want):
    check(call(function, pair, **{"num_classes": 3, **options}), want)
    # Nested lists are NumPy arrays too.
    check(getattr(functional, function)(*pair, **{"num_classes": 3, **options}), want)


IGNORED = ([[[0, 1], [1, 2]]], [[[0, -1], [2, 2]]])
ALL_IGNORED = (PRED, [[[-1, -1], [-1, -1]]])
MASK = np.array([[[T, T], [F, T]]])
GARBAGE = np.array([[[T, F], [T, T]]])

COUNTED = [
    ("dice", IGNORED, {"ignore_index": -1}, [[1.0, 0.0, TWO]]),
    ("dice", A, {"ignore_index": 0}, [[nan, TWO, TWO]]),
    ("dice", A, {"ignore_index": 2}, [[1.0, 1.0, nan]]),
    ("specificity", A, {"ignore_index": 2}, [[1.0, 1.0, 1.0]]),
    ("dice", ALL_IGNORED, {"ignore_index": -1}, [[nan, nan, nan]]),
    ("dice", ALL_IGNORED, {"ignore_index": -1, "both_empty": 1}, [[1.0, 1.0, 1.0]]),
    ("specificity", ALL_IGNORED, {"ignore_index": -1, "zero_division": 0.5}, [[0.5, 0.5, 0.5]]),
    ("dice", A, {"mask": MASK}, [[1.0, 1.0, 1.0]]),
    ("dice", IGNORED, {"mask": MASK, "ignore_index": -1}, [[1.0, nan, 1.0]]),
    ("dice", ([[[0, 99], [1, 2]]], [[[0, -5], [1, 2]]]), {"mask": GARBAGE}, [[1.0, 1.0, 1.0]]),
    ("dice", ([[[0, 99], [1, 2]]], [[[0, 255], [1, 2]]]), {"ignore_index": 255}, [[1.0, 1.0, 1.0]]),
]


@pytest.mark.parametrize(("function", "pair", "options", "want"), COUNTED)
def test_mask_and_ignore_index(function, pair, options, want):
    check(call(function, pair, num_classes=3, **options), want)


def test_ignore_index_does_not_excuse_the_prediction():
    with pytest.raises(ValueError, match="255"):
        call("dice", ([[[0, 255], [1, 2]]], [[[0, 1], [1, 2]]]), num_classes=3, ignore_index=255)


def test_ignore_index_is_compared_in_64_bits():
    target = np.array([[[0, 255], [2, 2]]], np.uint8)
    with pytest.raises(ValueError, match="255"):
        functional.dice(labels(PRED), target, num_classes=3, ignore_index=-1)


ONE_HOT = (np.array([[[[1, 1], [0, 0]], [[1, 0], [1, 0]]]]), np.array([[[[1, 1], [1, 1]], [[0, 0], [0, 0]]]]))


@pytest.mark.parametrize(
    ("function", "options", "want"),
    [
        ("dice", {}, [[TWO, 0.0]]),
        ("iou", {}, [[0.5, 0.0]]),
        ("sensitivity", {}, [[0.5, nan]]),
        ("precision", {}, [[1.0, 0.0]]),
        ("specificity", {}, [[nan, 0.5]]),
        ("relative_volume_difference", {}, [[-0.5, nan]]),
        ("relative_volume_difference", {"zero_division": inf}, [[-0.5, inf]]),
        ("volume_similarity", {}, [[TAHA, 0.0]]),
        ("volume_similarity", {"convention": "itk"}, [[-TWO, 2.0]]),
    ],
)
def test_one_hot(function, options, want):
    check(getattr(functional, function)(*ONE_HOT, input_format="one-hot", **options), want)


def test_one_hot_values_that_are_not_counted():
    pred, target = (m.astype(np.float64) for m in ONE_HOT)
    pred[0, 1, 1, 1], target[0, 0, 1, 1] = nan, 9
    mask = np.array([[[T, T], [T, F]]])
    got = functional.dice(pred, target, input_format="one-hot", mask=mask)
    # Without that voxel: channel 0 has 2 of 3 in common, channel 1 has 2 and 0.
    check(got, [[2 * 2 / (2 + 3), 0.0]])
    with pytest.raises(ValueError, match="pred"):
        functional.dice(pred, target, input_format="one-hot")


SIZE = [
    ("predicted_volume", A3, {"spacing": (2, 1, 0.5)}, [[1.0, 2.0, 1.0]]),
    ("target_volume", A3, {"spacing": (2, 1, 0.5)}, [[1.0, 1.0, 2.0]]),
    ("volume_error", A3, {"spacing": (2, 1, 0.5)}, [[0.0, 1.0, -1.0]]),
    ("volume_error", A3, {"spacing": (2, 1, 0.5), "absolute": True}, [[0.0, 1.0, 1.0]]),
    ("predicted_volume", A3, {"spacing": 10, "unit": "ml"}, [[1.0, 2.0, 1.0]]),
    (
        "predicted_volume",
        A3,
        {"spacing": (0.1, 0.2, 0.3)},
        [[0.006000000000000001, 0.012000000000000002, 0.006000000000000001]],
    ),
    (
        "predicted_volume",
        A3,
        {"spacing": (0.1, 0.2, 0.3), "unit": "ml"},
        [[6.000000000000001e-06, 1.2000000000000002e-05, 6.000000000000001e-06]],
    ),
    (
        "predicted_volume",
        (2 * A3[0], 2 * A3[1]),
        {"spacing": [[1, 2, 3], [1, 1, 1]]},
        [[6.0, 12.0, 6.0], [1.0, 2.0, 1.0]],
    ),
    (
        "predicted_volume",
        A3,
        {"spacing": 1e-100, "unit": "ml"},
        [[1.0000000000000001e-303, 2.0000000000000002e-303, 1.0000000000000001e-303]],
    ),
    ("predicted_area", A, {"spacing": (2, 3)}, [[6.0, 12.0, 6.0]]),
    ("predicted_area", A, {"spacing": (2, 3), "unit": "cm2"}, [[0.06, 0.12, 0.06]]),
    ("area_error", A, {"spacing": (2, 3)}, [[0.0, 6.0, -6.0]]),
    (
        "predicted_area",
        ([[[1, 1]], [[1, 0]]], [[[1, 0]], [[1, 0]]]),
        {"num_classes": 2, "spacing": [[1, 2], [3, 4]]},
        [[0.0, 4.0], [12.0, 12.0]],
    ),
    (
        "volume_error",
        ([[[[1, 1]]]], [[[[0, -1]]]]),
        {"num_classes": 2, "ignore_index": -1, "spacing": (2, 2, 2)},
        [[-8.0, 8.0]],
    ),
    ("predicted_area", A, {"spacing": 1, "mask": GARBAGE}, [[1.0, 1.0, 1.0]]),
    ("predicted_area", ALL_IGNORED, {"spacing": 1, "ignore_index": -1}, [[nan, nan, nan]]),
    ("target_area", ALL_IGNORED, {"spacing": 1, "ignore_index": -1}, [[nan, nan, nan]]),
    ("area_error", ALL_IGNORED, {"spacing": 1, "ignore_index": -1}, [[nan, nan, nan]]),
]


@pytest.mark.parametrize(("function", "pair", "options", "want"), SIZE)
def test_size(function, pair, options, want):
    check(call(function, pair, **{"num_classes": 3, **options}), want)


def test_size_of_channels():
    ones, zeros = np.ones((1, 2, 1, 2)), np.zeros((1, 2, 1, 2))
    got = functional.predicted_area(ones, zeros, input_format="one-hot", spacing=(0.5, 2.0))
    check(got, [[2.0, 2.0]])


def test_single_precision_spacing_keeps_its_value():
    got = functional.predicted_volume(labels(A3[0]), labels(A3[1]), num_classes=3, spacing=np.float32(0.1))
    assert got[0, 0] == 0.0010000000447034842


def evaluated(got, want):
    assert list(got) == list(want)
    for name, value in want.items():
        check(got[name], value)


def test_evaluate_names():
    got = call("evaluate", A, num_classes=3, metrics=["dice", "iou"])
    evaluated(got, {"dice": [[1.0, TWO, TWO]], "iou": [[1.0, 0.5, 0.5]]})


def test_evaluate_options():
    metrics = {"dice": {"both_empty": 1.0}, "volume_similarity": {"convention": "itk"}}
    got = call("evaluate", A, num_classes=4, metrics=metrics)
    evaluated(got, {"dice": [[1.0, TWO, TWO, 1.0]], "volume_similarity": [[0.0, TWO, -TWO, nan]]})


def test_evaluate_keeps_the_order():
    got = call("evaluate", A, num_classes=3, spacing=1, metrics=["hd95", "dice", "predicted_area"])
    hd95 = [[0.0, 1.3435028842544403, 0.95]]
    evaluated(got, {"hd95": hd95, "dice": [[1.0, TWO, TWO]], "predicted_area": [[1.0, 2.0, 1.0]]})


def test_evaluate_with_a_mask():
    got = call("evaluate", A, num_classes=3, spacing=1, metrics=["dice", "predicted_area"], mask=GARBAGE)
    evaluated(got, {"dice": [[1.0, 0.0, TWO]], "predicted_area": [[1.0, 1.0, 1.0]]})


def test_evaluate_with_a_spacing_per_case():
    pair = (2 * PRED, 2 * TARGET)
    got = call("evaluate", pair, num_classes=3, spacing=[[1, 1], [2, 2]], metrics=["predicted_area", "hd95"])
    hd95 = np.array([0.0, 1.3435028842544403, 0.95])
    evaluated(got, {"predicted_area": [[1.0, 2.0, 1.0], [4.0, 8.0, 4.0]], "hd95": [hd95, 2 * hd95]})


# Surface distances, `surface="voxels"`.


def row(digits):
    return np.array([[[int(d) for d in digits]]])


def foreground(function, pred, target, **options):
    arguments = {"spacing": 1, "num_classes": 2, "include_background": False, "surface": "voxels", **options}
    return getattr(functional, function)(pred, target, **arguments)[:, 0].tolist()


@pytest.mark.parametrize(
    ("spacing", "want"), [(1, (1.0, 0.95, 0.5, 0.5, 0.5, 1.0)), ((1, 2), (2.0, 1.9, 1.0, 1.0, 0.5, 0.5))]
)
def test_e1_one_row(spacing, want):
    p, t = row("01100"), row("00110")
    got = [
        foreground("hausdorff_distance", p, t, spacing=spacing),
        foreground("hd95", p, t, spacing=spacing),
        foreground("hausdorff_distance", p, t, spacing=spacing, percentile=50, combine="pooled"),
        foreground("assd", p, t, spacing=spacing),
        foreground("nsd", p, t, spacing=spacing, tolerance=0),
        foreground("nsd", p, t, spacing=spacing, tolerance=1),
    ]
    assert got == [[value] for value in want]


@pytest.mark.parametrize(
    ("function", "options", "want"),
    [
        ("hausdorff_distance", {"combine": "max"}, 2.8284271247461903),
        ("hausdorff_distance", {"combine": "mean"}, 1.9142135623730951),
        ("hausdorff_distance", {"combine": "pooled"}, 2.8284271247461903),
        ("hd95", {"combine": "max"}, 1.9798989873223312),
        ("hd95", {"combine": "mean"}, 1.4899494936611655),
        ("hd95", {"combine": "pooled"}, 1.4142135623730951),
        ("assd", {"combine": "max"}, 0.7878954374707141),
        ("assd", {"combine": "mean"}, 0.581447718735357),
        ("assd", {"combine": "pooled"}, 0.6306019374818707),
        ("masd", {}, 0.581447718735357),
        ("nsd", {"tolerance": 0}, 0.47619047619047616),
        ("nsd", {"tolerance": 1}, 0.9047619047619048),
        ("nsd", {"tolerance": 1.5}, 0.9523809523809523),
        ("hausdorff_distance", {"percentile": 0}, 0.0),
    ],
)
def test_e2_combine(function, options, want):
    p, t = np.zeros((1, 6, 6), int), np.zeros((1, 6, 6), int)
    p[0, 1:4, 1:4] = t[0, 1:5, 1:5] = t[0, 5, 5] = 1
    got = foreground(function, p, t, **options)[0]
    if function in ("assd", "masd"):
        # The order of a sum is ours: one rounding more or less.
        assert got == pytest.approx(want, rel=1e-15, abs=0)
    else:
        assert got == want


def e3():
    p, t = np.zeros((1, 4, 4, 4), int), np.zeros((1, 4, 4, 4), int)
    p[0, 1:3, 1:3, 1:3] = t[0, 1:3, 1:3, 1:4] = 1
    return p, t


@pytest.mark.parametrize(("spacing", "want"), [(1, (1.0, 1.0, 0.2, 0.8)), ((1.5, 0.8, 0.8), (0.8, 0.8, 0.16, 1.0))])
def test_e3_a_volume(spacing, want):
    p, t = e3()
    got = [
        foreground("hausdorff_distance", p, t, spacing=spacing),
        foreground("hd95", p, t, spacing=spacing),
        foreground("assd", p, t, spacing=spacing),
        foreground("nsd", p, t, spacing=spacing, tolerance=0.8),
    ]
    assert got == [[value] for value in want]


def test_e3_background_and_empty():
    p, t = e3()
    check(functional.hausdorff_distance(p, t, spacing=1, num_classes=2), [[1.0, 1.0]])
    check(functional.hausdorff_distance(p, t, spacing=1, num_classes=3), [[1.0, 1.0, nan]])
    none = np.zeros_like(p)
    assert foreground("hausdorff_distance", p, none) == [inf]
    assert foreground("nsd", p, none, tolerance=1) == [0.0]
    assert math.isnan(foreground("hausdorff_distance", none, none)[0])
    assert math.isnan(foreground("nsd", none, none, tolerance=1)[0])
    assert foreground("hausdorff_distance", none, none, both_empty=0.0) == [0.0]
    assert foreground("hausdorff_distance", p, none, one_empty=373.0) == [373.0]


@pytest.mark.parametrize(("spacing", "distance", "scores"), [(1, 1.0, [0, 0, 1]), ((2, 1, 3), 3.0, [0, 0, 0])])
def test_e4_two_voxels(spacing, distance, scores):
    p, t = np.zeros((1, 3, 3, 4), int), np.zeros((1, 3, 3, 4), int)
    p[0, 1, 1, 1] = t[0, 1, 1, 2] = 1
    for function in ("hausdorff_distance", "hd95", "assd", "masd"):
        assert foreground(function, p, t, spacing=spacing) == [distance]
    assert [foreground("nsd", p, t, spacing=spacing, tolerance=tau)[0] for tau in (0, 0.5, 1)] == scores


def test_e5_a_batch_of_several_classes():
    p, t = (np.concatenate([row(a), row(b)]) for a, b in (("011220", "000030"), ("011122", "010030")))
    options = {"num_classes": 4, "include_background": False, "spacing": [[1, 1], [1, 2]]}
    check(functional.hausdorff_distance(p, t, **options), [[1, 1, nan], [inf, nan, 0]])
    check(functional.nsd(p, t, tolerance=[0, 1, 2], **options), [[0.8, 1, nan], [0, nan, 1]])


def test_e6_one_slice():
    p, t = np.zeros((1, 5, 5), int), np.zeros((1, 5, 5), int)
    p[0, 1:4, 1:4] = t[0, 2, 2] = 1
    assert foreground("assd", p, t)[0] == pytest.approx(1.18409492, abs=5e-9)
    assert foreground("assd", p[None], t[None])[0] == pytest.approx(0.96568542, abs=5e-9)
    for pair in ((p, t), (p[None], t[None])):
        assert foreground("hausdorff_distance", *pair) == [math.sqrt(2)]


def test_e7_a_plane_less():
    p = np.zeros((1, 6, 6, 6), int)
    p[0, 1:5, 1:5, 1:5] = 1
    t = p.copy()
    t[0, 4] = 0
    assert foreground("hausdorff_distance", p, t) == foreground("hd95", p, t) == [1.0]
    assert foreground("assd", p, t) == [0.2]
    assert foreground("nsd", p, t, tolerance=0) == [0.8]


def test_e8_a_tolerance_equal_to_a_distance():
    p, t = np.zeros((1, 2, 2), int), np.zeros((1, 2, 2), int)
    p[0, 0, 0] = t[0, 1, 1] = 1
    distance = 0.9899494936611665
    assert foreground("hausdorff_distance", p, t, spacing=0.7) == [distance]
    assert foreground("nsd", p, t, spacing=0.7, tolerance=distance) == [1.0]
    assert foreground("nsd", p, t, spacing=0.7, tolerance=np.nextafter(distance, 0)) == [0.0]


def test_e9_identical_masks():
    p = np.random.default_rng(9).integers(0, 2, (1, 7, 6, 9))
    for function, want in (("hausdorff_distance", 0.0), ("hd95", 0.0), ("assd", 0.0), ("masd", 0.0)):
        assert foreground(function, p, p, spacing=(1.1, 0.7, 0.9)) == [want]
    assert foreground("nsd", p, p, spacing=(1.1, 0.7, 0.9), tolerance=0) == [1.0]


def test_e10_a_spacing_per_case():
    p, t = (np.concatenate([m, m]) for m in e3())
    assert foreground("hd95", p, t, spacing=[[1, 1, 1], [1, 1, 3]]) == [1.0, 3.0]


def test_boundary_voxels_of_full_images():
    """16 in a 5x5 image, 98 in a 5x5x5 one, 25 in a 1x5x5 one: one of them alone scores 2 / (n + 1) at tolerance 0."""
    for shape, surface in (((5, 5), 16), ((5, 5, 5), 98), ((1, 5, 5), 25)):
        p = np.ones((1, *shape), int)
        t = np.zeros_like(p)
        t.flat[0] = 1
        assert foreground("nsd", p, t, tolerance=0) == [2 / (surface + 1)]

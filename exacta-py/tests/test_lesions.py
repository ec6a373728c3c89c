"""Lesion scores: the worked examples, the known pitfalls, every argument and every error."""

import dataclasses
import math

import numpy as np
import pytest

import exacta
from exacta import lesions

nan, inf = math.nan, math.inf
FIELDS = [field.name for field in dataclasses.fields(lesions.LesionScores)]
COMMON = {"num_classes": 2, "include_background": False}


def row(text):
    return np.array([[[int(digit) for digit in text]]])


def line(*ranges, length):
    """One row with ones in half-open ranges."""
    out = np.zeros((1, 1, length), np.uint8)
    for start, end in ranges:
        out[..., start:end] = 1
    return out


def evaluate(pred, target, **options):
    return lesions.evaluate(pred, target, **{"connectivity": 1, "spacing": 1.0, **COMMON, **options})


def check(scores, **wanted):
    for name, value in wanted.items():
        np.testing.assert_array_equal(getattr(scores, name), [[value]], name)


L1 = (row("0011110011011000000"), row("0111100011110000110"))
L2 = (row("111011111111111000"), row("111111111101111000"))
L3 = (row("0111111110"), row("0111001110"))
third = 0.6666666666666666
ONE_TO_ONE = {
    "tp": 2, "fp": 1, "fn": 1, "precision": third, "recall": third, "f1": third, "sq_iou": 0.55,
    "sq_dice": 0.7083333333333333, "pq_iou": 0.3666666666666667, "pq_dice": 0.47222222222222215,
    "lesion_dice": 0.35416666666666663,
}  # fmt: skip
MERGED = {
    "tp": 2, "fp": 0, "fn": 1, "precision": 1, "recall": third, "f1": 0.8, "sq_iou": 0.6, "sq_dice": 0.75,
    "pq_iou": 0.48, "pq_dice": 0.6000000000000001, "lesion_dice": 0.5,
}  # fmt: skip
HUNDRED = {"missed_distance": 100.0}
EXAMPLES = {
    "L1 greedy": (L1, {"matching": "greedy"}, ONE_TO_ONE),
    "L1 greedy 0.25": (L1, {"matching": "greedy", "threshold": 0.25}, ONE_TO_ONE),
    "L1 hungarian": (L1, {"matching": "hungarian"}, ONE_TO_ONE),
    "L1 merge": (L1, {"matching": "merge"}, MERGED),
    "L1 overlap": (L1, {"matching": "overlap"}, MERGED),
    "L1 distances": (L1, {"matching": "greedy", "missed_distance": 374.0}, {"lesion_hd95": 187.675}),
    "L1 missed": (L1, {"matching": "greedy"}, {"lesion_hd95": inf}),
    "L1 0.6": (L1, {"matching": "greedy", "threshold": 0.6}, {"tp": 1, "fp": 2, "fn": 2}),
    "L1 strict": (L1, {"matching": "greedy", "threshold": 0.6, "strict": True}, {"tp": 0, "fp": 3, "fn": 3, "f1": 0}),
    "L1 dice": (L1, {"matching": "greedy", "score": "dice", "threshold": 0.75}, {"tp": 1, "fp": 2, "fn": 2}),
    "L2 greedy": (
        L2,
        {"matching": "greedy", "threshold": 0.25, **HUNDRED},
        {"tp": 1, "fp": 1, "fn": 1, "f1": 0.5, "sq_iou": 0.4, "sq_dice": 0.5714285714285714}
        | {"lesion_dice": 0.19047619047619047, "lesion_hd95": 68.16666666666667},
    ),
    "L2 hungarian": (
        L2,
        {"matching": "hungarian", "threshold": 0.25, **HUNDRED},
        {"tp": 2, "fp": 0, "fn": 0, "f1": 1, "sq_iou": 0.3318181818181818, "sq_dice": 0.49743589743589745}
        | {"lesion_dice": 0.49743589743589745, "lesion_hd95": 6.5249999999999995},
    ),
    "L2 merge": (
        L2,
        {"matching": "merge", "threshold": 0.25, **HUNDRED},
        {"tp": 1, "fp": 0, "fn": 1, "f1": third, "sq_iou": 0.6, "sq_dice": 0.75}
        | {"lesion_dice": 0.375, "lesion_hd95": 52.175},
    ),
    "L2 overlap": (
        L2,
        {"matching": "overlap", "threshold": 0.25, **HUNDRED},
        {"tp": 2, "fp": 0, "fn": 0, "f1": 1, "sq_iou": 0.4818181818181818, "sq_dice": 0.6416666666666666}
        | {"lesion_dice": 0.6416666666666666, "lesion_hd95": 5.425},
    ),
    **{
        f"L3 {matching}": (
            L3,
            {"matching": matching, "threshold": 0.3, "missed_distance": 9.0},
            {"tp": 1, "fp": 0, "fn": 1, "sq_iou": 0.375, "lesion_dice": 0.2727272727272727}
            | {"lesion_hd95": 6.824999999999999},
        )
        for matching in ("greedy", "hungarian", "merge")
    },
    "L3 overlap": (
        L3,
        {"matching": "overlap", "missed_distance": 9.0},
        {"tp": 2, "fp": 0, "fn": 0, "sq_iou": 0.375, "lesion_dice": 0.5454545454545454}
        | {"lesion_hd95": 4.6499999999999995},
    ),
    "L4": (
        (row("0001100000"), row("0110000000")),
        {"matching": "overlap", **HUNDRED},
        {"tp": 0, "fp": 1, "fn": 1, "lesion_hd95": 100},
    ),
    "L4 dilated": (
        (row("0001100000"), row("0110000000")),
        {"matching": "overlap", "dilation": 1, "dilation_connectivity": 1, **HUNDRED},
        {"tp": 1, "f1": 1, "sq_dice": 0, "lesion_dice": 0, "lesion_hd95": 1.95},
    ),
    "L5": (
        (row("0110000000"), row("0110011000")),
        {"matching": "overlap", **HUNDRED},
        {"tp": 1, "fp": 0, "fn": 1, "lesion_dice": 0.5, "lesion_hd95": 50},
    ),
    "L5 dilated": (
        (row("0110000000"), row("0110011000")),
        {"matching": "overlap", "dilation": 1, "dilation_connectivity": 1, **HUNDRED},
        {"tp": 1, "fp": 0, "fn": 0, "lesion_dice": third, "lesion_hd95": 3.8499999999999996},
    ),
    **{
        f"L6 {volume}": (
            (row("0111000000"), row("0110011111")),
            {"matching": "overlap", "min_target_volume": volume, **HUNDRED},
            wanted,
        )
        for volume, wanted in {
            1.9: {"tp": 1, "fp": 0, "fn": 1, "lesion_dice": 0.4, "lesion_hd95": 50.45},
            2.0: {"tp": 0, "fp": 0, "fn": 1, "precision": nan, "recall": 0, "f1": 0},
            5.0: {"tp": 0, "fp": 0, "fn": 0, "f1": nan, "lesion_dice": nan},
        }.items()
    },
    "L6 greedy": (
        (row("0100000000"), row("0110011111")),
        {"matching": "greedy", "threshold": 0.9, "min_target_volume": 2.0},
        {"tp": 0, "fp": 1, "fn": 1},
    ),
    "L7 no prediction": (
        (L1[0] * 0, L1[1]),
        {"matching": "greedy", "missed_distance": 374.0},
        {"tp": 0, "fp": 0, "fn": 3, "precision": nan, "recall": 0, "f1": 0, "lesion_dice": 0, "lesion_hd95": 374},
    ),
    "L7 no target": (
        (L1[0], L1[1] * 0),
        {"matching": "greedy", "missed_distance": 374.0},
        {"tp": 0, "fp": 3, "fn": 0, "precision": 0, "recall": nan, "f1": 0, "lesion_dice": 0, "lesion_hd95": 374},
    ),
    "L7 nothing": (
        (L1[0] * 0, L1[1] * 0),
        {"matching": "merge"},
        {"tp": 0, "fp": 0, "fn": 0} | dict.fromkeys(FIELDS[3:], nan),
    ),
    "L7 nothing, filled": (
        (L1[0] * 0, L1[1] * 0),
        {"matching": "overlap", "both_empty": 1, "both_empty_distance": 0},
        {"lesion_dice": 1, "lesion_hd95": 0} | dict.fromkeys(FIELDS[3:10], nan),
    ),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_worked_examples(name):
    (pred, target), options, wanted = EXAMPLES[name]
    check(evaluate(pred, target, **options), **wanted)


def test_without_spacing_volumes_are_voxels_and_distances_are_not_measured():
    pred, target, options, wanted = *EXAMPLES["L6 1.9"][0], EXAMPLES["L6 1.9"][1], EXAMPLES["L6 1.9"][2]
    check(evaluate(pred, target, **options, spacing=None), **{**wanted, "lesion_hd95": nan})


def brats_pair(size, *boxes):
    pred, target = (np.zeros((1, size, size, size), np.int16) for _ in range(2))
    for image, (z, y, x) in zip((target, target, pred)[-len(boxes) :], boxes, strict=True):
        image[:, z[0] : z[1], y[0] : y[1], x[0] : x[1]] = 3
    return lesions.brats_regions(pred), lesions.brats_regions(target)


TWO = brats_pair(16, ((2, 6),) * 3, ((2, 6), (2, 6), (10, 14)), ((2, 6), (2, 6), (3, 7)))
SMALL = brats_pair(12, ((4, 7),) * 3, ((4, 7), (4, 7), (4, 8)))
MERGES = {"tp": 1, "fp": 0, "fn": 0, "f1": 1, "lesion_dice": 0.5, "lesion_hd95": 7.0}
APART = {"tp": 1, "fp": 0, "fn": 1, "f1": third, "lesion_dice": 0.375, "lesion_hd95": 187.5}
BRATS = {
    **{f"two lesions, {name}": (TWO, name, 1.0, MERGES) for name in ("GLI", "SSA", "PED")},
    **{f"two lesions, {name}": (TWO, name, 1.0, APART) for name in ("MEN", "MET")},
    "anisotropic": (TWO, "GLI", (1.5, 0.8, 0.8), {**MERGES, "lesion_hd95": 5.6000000000000005}),
    "too small": (
        SMALL,
        "GLI",
        1.0,
        {"tp": 0, "fp": 0, "fn": 0, "f1": nan, "lesion_dice": 1, "lesion_hd95": 0},
    ),
    "large enough": (
        SMALL,
        "MET",
        1.0,
        {"tp": 1, "fp": 0, "fn": 0, "sq_iou": 0.75, "lesion_dice": 0.8571428571428571, "lesion_hd95": 1.0},
    ),
}


@pytest.mark.parametrize("name", BRATS)
def test_brats_examples(name):
    (pred, target), challenge, spacing, wanted = BRATS[name]
    scores = lesions.brats2023(pred, target, challenge=challenge, spacing=spacing)
    for field, value in wanted.items():
        np.testing.assert_array_equal(getattr(scores, field), [[value] * 3], field)


def test_brats_without_spacing():
    scores = lesions.brats2023(*TWO, challenge="MEN", spacing=None)
    np.testing.assert_array_equal(scores.lesion_dice, [[0.375] * 3])
    assert np.isnan(scores.lesion_hd95).all()


@pytest.mark.parametrize(
    "dtype", ["uint8", "int8", "int16", "uint16", "int32", "uint64", "float16", "float32", "float64"]
)
def test_regions_of_any_dtype_and_layout(dtype):
    labels = np.arange(2 * 3 * 70 * 5).reshape(2, 3, 70, 5) % 7
    labels = np.where(labels == 6, 257 if np.dtype(dtype).itemsize > 1 else 100, labels).astype(dtype)
    if np.dtype(dtype).kind == "f":
        labels[0, 0, :3, 0] = [nan, inf, 2.5]
    want = np.stack([np.isin(labels, values) for values in ([1, 2, 3], [1, 3], [3])], axis=1)
    for array in (labels, np.asfortranarray(labels), np.moveaxis(labels, 0, -1).copy().transpose(3, 0, 1, 2)):
        found = lesions.brats_regions(array)
        assert found.dtype == bool
        np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize("labels", [np.zeros(3), np.zeros((1, 2, 2, 2, 2)), np.zeros((1, 2), complex)])
def test_regions_refuse(labels):
    with pytest.raises(exacta.ExactaError, match="labels must"):
        lesions.brats_regions(labels)


# Known pitfalls


def test_empty_masks_never_raise():  # P10
    one = line((2, 5), length=9)
    check(evaluate(one * 0, one, matching="greedy"), tp=0, fp=0, fn=1, f1=0, pq_iou=0)
    check(evaluate(one * 0, one * 0, matching="greedy"), tp=0, fp=0, fn=0, f1=nan, pq_iou=nan)


def test_a_mean_over_lesions_states_its_rule():  # P18
    target = line((0, 1), (20, 21), (40, 41), length=60)
    pred = line((0, 5), (20, 29), length=60)
    found = lesions.report(pred, target, matching="overlap", connectivity=1, spacing=0.625, **COMMON)
    distances = [lesion.hd95 for lesion in found.lesions]
    assert distances[:2] == [2.375, 4.75]
    assert math.isnan(distances[2])
    assert found.scores.lesion_hd95 == inf
    penalised = evaluate(pred, target, matching="overlap", spacing=0.625, missed_distance=374.0)
    check(penalised, lesion_hd95=(2.375 + 4.75 + 374) / 3, tp=2, fn=1, fp=0)


def test_instances_cost_no_volume_each():  # P23
    rng = np.random.default_rng(5)
    target, pred = (np.zeros((155, 240, 240), np.uint8) for _ in range(2))
    for z, y, x in (rng.permutation(19 * 30 * 30)[:500, None] // [900, 30, 1] % [19, 30, 30] * 8 + 1).tolist():
        target[z : z + 3, y : y + 3, x : x + 3] = 1
        pred[z : z + 3, y : y + 3, x + 1 : x + 4] = 1
    scores = evaluate(pred[None], target[None], matching="greedy", connectivity=3)
    check(scores, tp=500, fp=0, fn=0, sq_iou=0.5, lesion_hd95=1.0)


@pytest.mark.parametrize("blob", [5, 500])
def test_a_false_positive_counts_once_whatever_its_size(blob):  # P55
    target, pred = (np.zeros((1, 20, 20, 30), np.uint8) for _ in range(2))
    for image in (target, pred):
        image[:, 1:4, 1:4, 1:4] = image[:, 8:11, 1:4, 1:4] = 1
    pred[:, 2 : 2 + (1 if blob == 5 else 10), 10 : 10 + (1 if blob == 5 else 5), 15 : 15 + (5 if blob == 5 else 10)] = 1
    options = {"matching": "overlap", "connectivity": 3, **COMMON}
    found = lesions.report(pred, target, **options)
    np.testing.assert_allclose(found.scores.lesion_dice, [[0.6667]], atol=5e-5)
    want = {5: 0.9557522, 500: 0.1776316}[blob]
    np.testing.assert_allclose(exacta.functional.dice(pred, target, **COMMON), [[want]], atol=5e-8)
    assert [prediction.voxels for prediction in found.predictions if not prediction.matched] == [blob]


@pytest.mark.parametrize(
    ("pred", "target", "options", "wanted"),
    [
        # P29: ties and the comparison.
        ([1, 1, 1, 1], [1, 1, 2, 2], {}, (1, 0, 1)),
        ([1, 1, 1, 1], [1, 1, 2, 2], {"strict": True}, (0, 1, 2)),
        # P30: labels are identities.
        ([0, 7112614941, 7112614941], [0, 3, 3], {}, (1, 0, 0)),
        # P56: one pair of IoU 0.5.
        ([1, 1, 0, 0, 0], [1, 1, 0, 1, 1], {}, (1, 0, 0)),
        # P58: the threshold acts, and so does the matcher.
        ([1] * 8 + [0] * 2, [1] * 10, {"threshold": 0.75}, (1, 0, 0)),
        ([1] * 8 + [0] * 2, [1] * 10, {"threshold": 0.9}, (0, 1, 1)),
        ([2] * 3 + [1] * 11 + [0] * 6, [1] * 10 + [2] * 10, {"threshold": 0.2}, (1, 1, 1)),
        ([2] * 3 + [1] * 11 + [0] * 6, [1] * 10 + [2] * 10, {"threshold": 0.2, "matching": "hungarian"}, (2, 0, 0)),
    ],
)
def test_instances(pred, target, options, wanted):
    pred, target = (np.array([labels], np.uint64) for labels in (pred, target))
    scores = lesions.evaluate_instances(pred, target, **{"matching": "greedy", **options})
    assert (scores.tp.item(), scores.fp.item(), scores.fn.item()) == wanted


@pytest.mark.parametrize("score", ["iou", "dice"])
@pytest.mark.parametrize("seed", range(25))
def test_hungarian_finds_the_optimum_of_scipy(seed, score):
    optimize = pytest.importorskip("scipy.optimize")
    rng = np.random.default_rng(seed)
    number, threshold = int(rng.integers(2, 40)), float(rng.choice([0.0, 0.02, 0.1, 0.3]))
    # Cells of random points: every object meets several others.
    pixels = np.stack(np.meshgrid(np.arange(40), np.arange(50), indexing="ij"), -1)
    pred, target = (
        ((pixels[:, :, None] - rng.uniform(0, 50, (number, 2))) ** 2).sum(-1).argmin(-1) + (rng.random((40, 50)) < 0.9)
        for _ in range(2)
    )
    shared = np.zeros((number + 1, number + 1))
    np.add.at(shared, (target, pred), 1)
    t, p = shared.sum(1)[1:, None], shared.sum(0)[None, 1:]
    shared = shared[1:, 1:]
    with np.errstate(invalid="ignore"):
        iou, dice = shared / (t + p - shared), 2 * shared / (t + p)
    value = iou if score == "iou" else dice
    cost = np.where((shared > 0) & (value >= threshold), 1 - value, 1 + 1e-6)
    rows, columns = optimize.linear_sum_assignment(cost)
    kept = cost[rows, columns] < 1
    found = lesions.evaluate_instances(pred[None], target[None], matching="hungarian", score=score, threshold=threshold)
    assert found.tp.item() == kept.sum()
    want = value[rows, columns][kept].sum()
    quality = found.sq_iou if score == "iou" else found.sq_dice
    assert quality.item() * kept.sum() == pytest.approx(want, rel=1e-9)


def test_masks_and_instances_are_told_apart():  # P56
    pred, target = line((0, 2), length=5), line((0, 2), (3, 5), length=5)
    semantic = evaluate(pred, target, matching="greedy")
    check(semantic, tp=1, fn=1, sq_iou=1, pq_iou=0.6666666666666666)
    instances = lesions.evaluate_instances(pred[0], target[0], matching="greedy")
    check(instances, tp=1, fn=0, sq_iou=0.5, pq_iou=0.5)


@pytest.mark.parametrize(
    ("pred", "target", "message"),
    [
        ([[0, 1]], [[0, 1, 2]], "same shape"),
        ([0, 1], [0, 1], "batch axis"),
        ([[0, -1]], [[0, 1]], "pred must hold instance numbers, 0 and above; found -1"),
        ([[0, 1.0]], [[0, 0.5]], "target must hold whole numbers"),
        ([[1j]], [[1]], "pred must hold instance numbers; got dtype complex"),
    ],
)
def test_instance_errors(pred, target, message):
    with pytest.raises(exacta.ExactaError, match=message):
        lesions.evaluate_instances(pred, target, matching="greedy")


def test_a_report_names_lesions_and_predictions():
    pred, target = np.zeros((2, 8, 8), int), np.zeros((2, 8, 8), int)
    target[1, 1:3, 1:3], target[1, 5:8, 5:8], target[1, 0, 7] = 2, 2, 2
    pred[1, 1:3, 2:4], pred[1, 7, 0] = 2, 2
    found = lesions.report(
        pred, target, matching="greedy", connectivity=1, threshold=0.3, min_target_volume=1, spacing=1.0, num_classes=3
    )
    background = [lesion for lesion in found.lesions if lesion.class_id == 0]
    assert [(lesion.case, lesion.voxels) for lesion in background] == [(0, 64), (1, 50)]
    assert [lesion for lesion in found.lesions if lesion.class_id == 2] == [
        lesions.Lesion(1, 2, 1, 1, False, (), 0, 0, 0.0, 0.0, pytest.approx(nan, nan_ok=True)),
        lesions.Lesion(1, 2, 2, 4, True, (1,), 4, 2, 1 / 3, 0.5, 1.0),
        lesions.Lesion(1, 2, 3, 9, True, (), 0, 0, 0.0, 0.0, pytest.approx(nan, nan_ok=True)),
    ]
    assert [tuple(prediction) for prediction in found.predictions if prediction.class_id == 2] == [
        (1, 2, 1, 4, True),
        (1, 2, 2, 1, False),
    ]
    np.testing.assert_array_equal(found.scores.tp[1], [1, 0, 1])


# Inputs


def test_results_follow_the_library_of_pred():
    torch = pytest.importorskip("torch")
    pred, target = L1
    scores = evaluate(torch.from_numpy(pred), target, matching="greedy")
    assert all(isinstance(getattr(scores, name), torch.Tensor) for name in FIELDS)
    assert scores.tp.dtype == torch.float64
    regions = lesions.brats_regions(torch.from_numpy(pred))
    assert (regions.dtype, regions.shape) == (torch.bool, (1, 3, 1, 19))
    assert isinstance(evaluate(pred, torch.from_numpy(target), matching="greedy").tp, np.ndarray)
    with pytest.raises(dataclasses.FrozenInstanceError):
        scores.tp = 0


def test_one_hot_and_index_agree():
    rng = np.random.default_rng(3)
    pred, target = rng.integers(0, 3, (2, 2, 6, 7, 8)).astype(np.uint16)
    channels = [np.moveaxis(np.eye(3)[labels], -1, 1) for labels in (pred, target)]
    options = {"matching": "merge", "connectivity": 2, "spacing": (1.0, 2.0, 0.5), "threshold": 0.1}
    index = lesions.evaluate(pred, target, num_classes=3, **options)
    hot = lesions.evaluate(*channels, input_format="one-hot", **options)
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(index, name), getattr(hot, name))


@pytest.mark.parametrize("shape", [(0, 4, 5), (2, 0, 5), (1, 4, 0, 5)])
def test_nothing_to_read(shape):
    image = np.zeros(shape, np.uint8)
    scores = lesions.evaluate(image, image, matching="overlap", connectivity=1, dilation=2, dilation_connectivity=2,
                              spacing=1.0, num_classes=3)  # fmt: skip
    assert scores.tp.shape == (shape[0], 3)
    assert not scores.fn.any()


ONES = np.ones((1, 4, 4), np.int64)
VALID = {"matching": "overlap", "connectivity": 1, "num_classes": 2}
WRONG = [
    ({"matching": "best"}, ValueError, "matching must be one of"),
    ({"matching": None}, ValueError, "matching must be one of"),
    ({"score": "f1"}, ValueError, "score must be one of"),
    ({"num_classes": None}, ValueError, "num_classes must be given"),
    ({"connectivity": 3}, ValueError, r"connectivity must be an integer in \[1, 2\]"),
    ({"connectivity": 1.0}, ValueError, "connectivity must be an integer"),
    ({"dilation": -1}, ValueError, "dilation must be at least 0"),
    ({"dilation": 1.5}, TypeError, "dilation must be a whole number"),
    ({"dilation": 1}, ValueError, "dilation_connectivity must be given"),
    ({"dilation": 1, "dilation_connectivity": 3}, ValueError, "dilation_connectivity must be an integer"),
    ({"dilation": 1, "dilation_connectivity": 1, "matching": "greedy"}, ValueError, "dilation must be 0 with"),
    ({"threshold": nan}, ValueError, "threshold must be a number"),
    ({"threshold": "0.5"}, TypeError, "threshold must be one real number"),
    ({"min_target_volume": nan}, ValueError, "min_target_volume must be a number"),
    ({"missed_distance": None}, TypeError, "missed_distance must be one real number"),
    ({"both_empty": "nan"}, TypeError, "both_empty must be one real number"),
    ({"surface": "faces of cubes"}, ValueError, "surface must be"),
    ({"spacing": (1.0, 1.0, 1.0)}, ValueError, "spacing must have one value per spatial axis"),
    ({"surface": "surfels", "spacing": 1e-60}, ValueError, "spacing must be finite, above 0 and within"),
    ({"backend": "triton"}, ValueError, "backend must be one of"),
    ({"num_classes": 1}, ValueError, r"labels must lie in \[0, 1\)"),
]


@pytest.mark.parametrize(("options", "kind", "message"), WRONG, ids=[str(row[0]) for row in WRONG])
def test_errors(options, kind, message):
    for function in (lesions.evaluate, lesions.report):
        with pytest.raises(kind, match=message) as caught:
            function(ONES, ONES, **{**VALID, **options})
        assert isinstance(caught.value, exacta.ExactaError)


def test_brats_errors():
    flat = np.zeros((1, 3, 4, 4))
    for arguments, message in [
        ({"challenge": "GLIOMA", "spacing": 1.0}, "challenge must be one of"),
        ({"challenge": "GLI", "spacing": 1.0}, "pred must have 3 spatial axes"),
    ]:
        with pytest.raises(exacta.ExactaValueError, match=message):
            lesions.brats2023(flat, flat, **arguments)
    with pytest.raises(TypeError):
        lesions.brats2023(flat, flat, challenge="GLI")


def test_threads_change_nothing():
    rng = np.random.default_rng(8)
    pred, target = (rng.random((2, 1, 30, 40, 70)) < 0.02).astype(np.uint8)
    results = []
    for threads in (1, 2, 4):
        exacta.set_num_threads(threads)
        found = lesions.report(pred, target | pred, matching="merge", connectivity=2, threshold=0.1, spacing=0.7,
                               **COMMON)  # fmt: skip
        results.append((found.lesions, found.predictions))
    exacta.set_num_threads(None)
    assert repr(results[0]) == repr(results[1]) == repr(results[2])

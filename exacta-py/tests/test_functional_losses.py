"""`exacta.functional_losses` without a framework: known values, exclusions, dtypes, layouts, threads."""

from __future__ import annotations

import numpy as np
import pytest

import exacta
from exacta import functional_losses as losses

NAN, INF = float("nan"), float("inf")
ZA = np.array(
    [[[1.0, -0.5, 0.25], [0.0, 1.5, -1.0], [-1.0, 0.5, 2.0]], [[0.2, -0.3, 0.8], [1.1, 0.4, -0.6], [-0.7, 0.9, 0.1]]]
)
YA = np.array([[0, 1, 2], [2, 1, 1]])


def value(loss: str, *args: object, **settings: object) -> float:
    return float(losses.value(loss, *args, **settings))


@pytest.mark.parametrize(
    ("loss", "settings", "expected"),
    [
        ("dice", {}, 0.575072188223),
        ("dice", {"batch_dice": True}, 0.546593673335),
        ("dice", {"squared_pred": True}, 0.458598312816),
        ("tversky", {"alpha": 0.3, "beta": 0.7}, 0.580499246594),
        ("focal_tversky", {}, 0.646629690368),
        ("generalized_dice", {}, 0.582224348181),
        ("focal", {}, 0.646030573944),
        ("focal", {"alpha": 0.25}, 0.165314126733),
        ("dice_ce", {}, 1.63688321581),
        ("dice_ce", {"include_background": False, "class_weight": [0.2, 1, 2]}, 1.71831477981),
        ("generalized_dice_ce", {}, 1.64403537577),
        ("dice_focal", {"include_background": False, "alpha": 0.25, "lambda_focal": 0.5}, 0.620581296949),
    ],
)
def test_worked_examples(loss: str, settings: dict[str, object], expected: float) -> None:
    assert value(loss, ZA, YA, **settings) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize(("gamma", "expected"), [(0.5, 0.3616324), (2.0, 0.1003933)])
def test_focal_of_one_sigmoid_channel(gamma: float, expected: float) -> None:
    options = {"activation": "sigmoid", "target_format": "one-hot", "gamma": gamma}
    assert value("focal", np.full((1, 1, 1), 0.3), np.ones((1, 1, 1)), **options) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("gamma", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_focal_of_a_sure_prediction_is_nothing(gamma: float, dtype: type) -> None:
    options = {"activation": "sigmoid", "target_format": "one-hot", "gamma": gamma}
    got, grad = losses.value_and_grad("focal", np.full((1, 1, 4), 1000, dtype), np.ones((1, 1, 4)), **options)
    assert got == 0
    assert not grad.any()
    x = np.stack([np.full((1, 4), 1000), np.full((1, 4), -1000)], 1).astype(dtype)
    got, grad = losses.value_and_grad("focal", x, np.zeros((1, 4), np.uint8), gamma=gamma)
    assert got == 0
    assert not grad.any()


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_half_precision_sums_are_wide(name: str) -> None:
    ones = np.ones((1, 1, 512, 512), np.float16)
    if name == "bfloat16":
        ones = pytest.importorskip("ml_dtypes").bfloat16(1) * np.ones((1, 1, 512, 512), np.float32)
        ones = ones.astype(pytest.importorskip("ml_dtypes").bfloat16)
    got, grad = losses.value_and_grad("dice", ones, ones, activation="none", target_format="one-hot")
    assert got == 0
    assert np.isfinite(grad.astype(np.float32)).all()


def test_ignored_voxels_are_not_averaged() -> None:
    logits = np.array([[2, 0, 0.5, 3], [0, 1, 0.5, -1]])[None]
    labels = np.array([[0, 1, 255, 255]], np.uint8)
    assert value("cross_entropy", logits, labels, ignore_index=255) == pytest.approx(0.2200948, abs=1e-7)
    for loss in ("dice", "cross_entropy", "focal", "dice_ce", "generalized_dice", "tversky", "focal_tversky"):
        got, grad = losses.value_and_grad(loss, logits, np.full_like(labels, 255), ignore_index=255)
        assert got == 0, loss
        assert not grad.any(), loss


def test_labels_out_of_range_are_named() -> None:
    with pytest.raises(exacta.ExactaValueError, match=r"\[0, 3\).*minimum 0 and maximum 255"):
        losses.value("dice", ZA, np.where(YA == 1, 255, YA))
    with pytest.raises(exacta.ExactaValueError, match="minimum -1"):
        losses.value("cross_entropy", ZA, YA - 1)
    assert np.isfinite(value("dice", ZA, YA.astype(np.int8) - 1, mask=YA > 0))


@pytest.mark.parametrize(("weights", "expected"), [("square", 0.3185988), ("simple", 0.1943574), ("uniform", 0.04)])
def test_generalized_dice_sums_before_it_divides(weights: str, expected: float) -> None:
    volumes, predicted, overlap = (90, 9, 1), (88, 10, 2), (87, 8, 1)
    g = np.zeros((1, 3, 300))
    p = np.zeros((1, 3, 300))
    for c in range(3):
        g[0, c, : volumes[c]] = 1
        start = volumes[c] - overlap[c]
        p[0, c, start : start + predicted[c]] = 1
    options = {"activation": "none", "target_format": "one-hot", "smooth": 0.0, "weight_type": weights}
    assert value("generalized_dice", p, g, **options) == pytest.approx(expected, abs=1e-7)


def test_a_class_absent_from_the_target_takes_the_largest_weight() -> None:
    g = np.zeros((1, 2, 15))
    g[0, 0] = 1
    p = np.zeros((1, 2, 15))
    p[0, 0, :12], p[0, 1, 12:] = 1, 1
    options = {"activation": "none", "target_format": "one-hot", "smooth": 0.0}
    got, grad = losses.value_and_grad("generalized_dice", p, g, **options)
    assert got == pytest.approx(0.2)
    assert np.isfinite(grad).all()


def test_one_class_weight_for_all_and_a_wrong_length_is_told() -> None:
    for loss in ("dice", "tversky", "focal_tversky", "cross_entropy", "focal", "dice_ce", "generalized_dice_ce"):
        options = {} if loss in ("cross_entropy", "focal") else {"include_background": False}
        assert np.isfinite(value(loss, ZA, YA, class_weight=[0.2, 1, 2], **options))
        with pytest.raises(exacta.ExactaValueError, match=r"class_weight must have 3 values.*got 2"):
            losses.value(loss, ZA, YA, class_weight=[1.0, 2.0], **options)


def test_focal_alpha_by_class() -> None:
    logits, label = np.zeros((1, 3, 1)), np.array([[2]])
    assert value("focal", logits, label, alpha=[0.1, 0.3, 0.6]) == pytest.approx(0.2929633, abs=1e-7)
    assert value("focal", logits, label) == pytest.approx(0.4882721, abs=1e-7)


@pytest.mark.parametrize(("p", "expected"), [([1] * 6, 0.1304348), ([0, 1, 0, 1, 0, 0], 0.4117647)])
def test_tversky_alpha_weighs_false_positives(p: list[int], expected: float) -> None:
    t = np.array([0, 1, 0, 1, 1, 1])[None, None]
    options = {"activation": "none", "target_format": "one-hot", "smooth": 0.0, "alpha": 0.3, "beta": 0.7}
    assert value("tversky", np.array(p, float)[None, None], t, **options) == pytest.approx(expected, abs=1e-7)


def test_a_mask_acts_after_the_activation() -> None:
    logits, target = np.array([[[2, -1, 3, 0.5]]]), np.array([[[1, 0, 0, 1]]])
    options = {"activation": "sigmoid", "target_format": "one-hot", "smooth": 0.0}
    got = value("dice", logits, target, mask=np.array([[True, True, False, False]]), **options)
    assert got == pytest.approx(0.1805542, abs=1e-7)


@pytest.mark.parametrize(("smooth", "expected"), [([1, 1], 0), ([0, 1], 1), ([0, 0], 0)])
def test_smoothing_of_numerator_and_denominator(smooth: list[float], expected: float) -> None:
    zeros = np.zeros((1, 1, 4, 4))
    options = {"activation": "none", "target_format": "one-hot"}
    got, grad = losses.value_and_grad("dice", zeros, zeros, smooth=smooth, **options)
    assert got == expected
    assert np.isfinite(grad).all()
    assert np.isnan(value("dice", zeros, zeros, smooth=0.0, **options))


@pytest.mark.parametrize("loss", ["dice", "dice_ce", "dice_focal", "generalized_dice_ce", "focal_tversky", "focal"])
@pytest.mark.parametrize("activation", ["softmax", "sigmoid"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_extreme_logits(loss: str, activation: str, dtype: type) -> None:
    rng = np.random.default_rng(0)
    x = rng.choice([-1e4, 1e4, 0, 1], (2, 4, 7, 9)).astype(dtype)
    y = rng.integers(0, 4, (2, 7, 9))
    mask = rng.random((2, 7, 9)) < 0.8
    got, grad = losses.value_and_grad(loss, x, y, mask=mask, activation=activation)
    assert np.isfinite(got)
    assert np.isfinite(grad).all()
    wild = np.where(mask[:, None], x, rng.choice([INF, -INF, NAN], x.shape)).astype(dtype)
    again, other = losses.value_and_grad(loss, wild, y, mask=mask, activation=activation)
    assert again == got
    np.testing.assert_array_equal(other, grad)
    assert not grad[np.broadcast_to(~mask[:, None], grad.shape)].any()
    # A class ruled out everywhere is no harm where it is not the label.
    x[:, 3] = -INF
    got, grad = losses.value_and_grad(loss, x, np.minimum(y, 2), mask=mask, activation=activation)
    assert np.isfinite(got)
    assert np.isfinite(grad).all()


def test_index_and_one_hot_targets_agree() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((2, 5, 6, 7)), rng.integers(0, 5, (2, 6, 7))
    hot = np.moveaxis(np.eye(5)[y], -1, 1)
    for loss in ("dice", "tversky", "focal_tversky", "generalized_dice", "cross_entropy", "focal", "dice_ce"):
        for activation in ("softmax", "sigmoid"):
            a = losses.value_and_grad(loss, x, y, activation=activation)
            for target in (hot, hot.astype(np.uint8), hot.astype(bool), hot.astype(np.float16)):
                b = losses.value_and_grad(loss, x, target, activation=activation, target_format="one-hot")
                np.testing.assert_allclose(b[0], a[0], rtol=1e-13)
                np.testing.assert_allclose(b[1], a[1], rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"])
def test_labels_of_any_dtype_and_layout(dtype: str) -> None:
    rng = np.random.default_rng(2)
    x, y = rng.standard_normal((2, 3, 5, 6, 4)).astype(np.float32), rng.integers(0, 3, (2, 5, 6, 4))
    want = losses.value_and_grad("dice_focal", x, y)
    last = np.ascontiguousarray(np.moveaxis(x, 1, -1))
    for logits in (x, np.moveaxis(last, -1, 1), np.asfortranarray(x), x[:, :, ::-1][:, :, ::-1]):
        for labels in (y.astype(dtype), np.asfortranarray(y.astype(dtype)), y.astype(dtype)[:, None]):
            got = losses.value_and_grad("dice_focal", logits, labels)
            assert got[0] == want[0]
            np.testing.assert_array_equal(got[1], want[1])


def test_threads_change_no_bit() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((2, 4, 40, 41, 17)).astype(np.float32), rng.integers(0, 4, (2, 40, 41, 17))
    before = exacta.get_num_threads()
    try:
        results = []
        for threads in (1, 2, 3):
            exacta.set_num_threads(threads)
            results.append(losses.value_and_grad("dice_ce", x, y, class_weight=[0.1, 1, 2, 3]))
    finally:
        exacta.set_num_threads(before)
    for got, grad in results[1:]:
        assert got == results[0][0]
        np.testing.assert_array_equal(grad, results[0][1])


def test_an_empty_batch() -> None:
    x, y = np.zeros((0, 3, 4)), np.zeros((0, 4), int)
    assert np.isnan(value("dice", x, y))
    assert value("dice", x, y, batch_dice=True) == 0
    assert np.isnan(value("focal", x, y))
    assert value("cross_entropy", x, y, class_weight=[1, 1, 1]) == 0
    assert value("dice_ce", x, y, mask=np.zeros((0, 4), bool)) == 0
    assert losses.value_and_grad("dice_ce", x, y)[1].shape == x.shape


def test_options_that_are_wrong() -> None:
    for settings, message in [
        ({"smooth": -1.0}, "smooth must be finite and not negative"),
        ({"activation": "tanh"}, "activation must be one of"),
        ({"gama": 1.0}, "have options among"),
        ({"target_format": "labels"}, "target_format must be"),
    ]:
        with pytest.raises(exacta.ExactaValueError, match=message):
            losses.value("dice", ZA, YA, **settings)
    with pytest.raises(exacta.ExactaValueError, match=r"target must have shape \(B, \*spatial\)"):
        losses.value("dice", ZA, YA[:, :2])
    with pytest.raises(exacta.ExactaValueError, match="include_background"):
        losses.value("dice", ZA[:, :1], np.zeros_like(YA), include_background=False)

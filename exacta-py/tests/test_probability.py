"""Brier, NLL and calibration: worked examples, values of other tools, what breaks which rule."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from exacta import ExactaTypeError, ExactaValueError, functional

nan, inf = math.nan, math.inf
FIXTURES = Path(__file__).parent / "fixtures"
MAPS = json.loads((FIXTURES / "probability.json").read_text())
T, F = True, False

P = np.array([[[[0.9, 0.2], [0.6, 0.4]]]])
PT = np.array([[[1, 0], [0, 1]]])
P2 = np.concatenate([1 - P, P], axis=1)
LOGITS = np.array([[[[2, -1], [0, 0.5]]]])
THREE = np.array([[[[0.7, 0.2]], [[0.2, 0.5]], [[0.1, 0.3]]]])
M = np.array([[[[0.9, 0.2]], [[0.6, 0.4]]]])
MT = np.array([[[[1, 0]], [[0, 1]]]])
ML = np.array([[[[2, -1]], [[0, 0.5]]]])
ONE_MASKED = np.array([[[[T, F]], [[T, T]]]])
FIRST_MASKED = np.array([[[[F, F]], [[T, T]]]])

brier, nll = functional.brier_score, functional.negative_log_likelihood
ece, diagram = functional.expected_calibration_error, functional.reliability_diagram


@pytest.mark.parametrize(
    ("function", "pred", "target", "options", "expected"),
    [
        (brier, P, PT, {}, [[0.1925]]),
        (brier, P2, PT, {}, [[0.385]]),
        (brier, P.astype(np.float16), PT, {}, [[0.19255860149860382]]),
        (brier, P, PT, {"ignore_index": 1}, [[0.2]]),
        (brier, P, [[[1, 2], [0, 1]]], {"ignore_index": 2}, [[0.24333333333333332]]),
        (brier, P, [[[1, 77], [0, 1]]], {"mask": [[[T, F], [T, T]]]}, [[0.24333333333333332]]),
        (brier, P, PT - 1, {"ignore_index": -1}, [[0.485]]),
        (brier, P, PT, {"mask": np.zeros((1, 2, 2), bool)}, [[nan]]),
        (brier, LOGITS, PT, {"from_logits": True}, [[0.11976894533591881]]),
        (nll, P, PT, {}, [[0.5402713826800865]]),
        (nll, P2, PT, {}, [[0.5402713826800865]]),
        (nll, LOGITS, PT, {"from_logits": True}, [[0.40185346582531184]]),
        (nll, [[[[0.0]]]], [[[1]]], {}, [[inf]]),
        (nll, [[[[1000.0]]]], [[[0]]], {"from_logits": True}, [[1000.0]]),
        (nll, [[[[1000.0]], [[0.0]]]], [[[1]]], {"from_logits": True}, [[1000.0]]),
        (nll, [[[[1e-20]]]], [[[0]]], {}, [[0.0]]),
        (nll, [[[[1e-20]]]], [[[[0]]]], {"multilabel": True}, [[1e-20]]),
        (brier, [[[[0.5, nan], [0.5, 7.0]]]], PT, {"mask": [[[T, F], [T, F]]]}, [[0.25]]),
        (ece, P, PT, {"bins": 2}, [[0.225]]),
        (ece, P, PT, {}, [[0.375]]),
        (ece, P, PT, {"bins": 4}, [[0.375]]),
        (ece, P, PT, {"bins": 4, "mode": "classwise"}, [[0.375]]),
        (brier, THREE, [[[0, 2]]], {}, [[0.46]]),
        (nll, THREE, [[[0, 2]]], {}, [[0.7803238741323343]]),
        (ece, THREE, [[[0, 2]]], {"bins": 5}, [[0.4]]),
        (ece, THREE, [[[0, 2]]], {"bins": 5, "mode": "classwise"}, [[0.25, 0.35, 0.4]]),
        (brier, M, MT, {"multilabel": True}, [[0.025, 0.36]]),
        (brier, M, MT, {"multilabel": True, "average": "macro"}, [[0.1925]]),
        (brier, M, MT, {"multilabel": True, "average": "micro"}, [[0.1925]]),
        (nll, M, MT, {"multilabel": True}, [[0.16425203348601802, 0.916290731874155]]),
        (nll, M, MT, {"multilabel": True, "average": "macro"}, [[0.5402713826800865]]),
        (ece, M, MT, {"multilabel": True, "bins": 4}, [[0.15, 0.6]]),
        (ece, M, MT, {"multilabel": True, "bins": 4, "average": "macro"}, [[0.375]]),
        (ece, M, MT, {"multilabel": True, "bins": 1}, [[0.05, 0.0]]),
        (ece, M, MT, {"multilabel": True, "bins": 1, "average": "micro"}, [[0.025]]),
        (brier, ML, MT, {"multilabel": True, "from_logits": True}, [[0.04326941237356216, 0.19626847829827546]]),
        (nll, ML, MT, {"multilabel": True, "from_logits": True}, [[0.2200948492805977, 0.5836120823700259]]),
        (brier, M, MT, {"multilabel": True, "mask": ONE_MASKED}, [[0.01, 0.36]]),
        (brier, M, MT, {"multilabel": True, "mask": ONE_MASKED, "average": "macro"}, [[0.185]]),
        (brier, M, MT, {"multilabel": True, "mask": ONE_MASKED, "average": "micro"}, [[0.24333333333333332]]),
        (brier, M, MT, {"multilabel": True, "mask": FIRST_MASKED}, [[nan, 0.36]]),
        (brier, M, MT, {"multilabel": True, "mask": FIRST_MASKED, "average": "macro"}, [[0.36]]),
        (brier, M, MT, {"multilabel": True, "mask": FIRST_MASKED & F, "average": "macro"}, [[nan]]),
        (ece, M, MT, {"multilabel": True, "mask": FIRST_MASKED & F, "average": "micro"}, [[nan]]),
        (brier, M.astype(np.float16), MT, {"multilabel": True}, [[0.025000005960464478, 0.36011719703674316]]),
        (ece, np.full((1, 2, 1, 2), 0.8), [[[[1, 1]], [[1, 0]]]], {"multilabel": True, "bins": 5}, [[0.2, 0.3]]),
        (
            ece,
            np.full((1, 2, 1, 2), 0.8),
            [[[[1, 1]], [[1, 0]]]],
            {"multilabel": True, "bins": 5, "average": "micro"},
            [[0.05]],
        ),
    ],
)
def test_examples(function, pred, target, options, expected):
    result = function(pred, target, **options)
    assert result.dtype == np.float64
    np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-15)


def test_single_precision_terms():
    np.testing.assert_allclose(brier(P.astype(np.float32), PT), [[0.1925000089686364]], rtol=1e-12)


def test_p36_averages_run_over_valid_voxels():
    logits = np.array([[[[2, 0, 0.5, 3]], [[0, 1, 0.5, -1]]]])
    target = np.array([[[0, 1, 255, 255]]], np.uint8)
    np.testing.assert_allclose(nll(logits, target, from_logits=True, ignore_index=255), [[0.2200948]], atol=1e-7)
    assert np.isnan(nll(logits, target * 0 + 255, from_logits=True, ignore_index=255)).all()


def test_empty_batches_and_images():
    for average, columns in (("none", 2), ("macro", 1), ("micro", 1)):
        assert brier(M[:0], MT[:0], multilabel=True, average=average).shape == (0, columns)
    assert brier(P[:0], PT[:0]).shape == (0, 1)
    assert ece(THREE[:0], np.zeros((0, 1, 2), int), mode="classwise").shape == (0, 3)
    np.testing.assert_equal(brier(P[..., :0], PT[..., :0]), [[nan]])
    assert diagram(P[:0], PT[:0], bins=3).counts.shape == (0, 1, 3)


@pytest.mark.parametrize(
    ("pred", "target", "options", "counts", "confidence", "accuracy", "gap"),
    [
        (P, PT, {"bins": 4}, [0, 0, 2, 2], [nan, nan, 0.6, 0.85], [nan, nan, 0, 1], 0.375),
        (P, PT, {"bins": 4, "mode": "classwise"}, [1, 1, 1, 1], [0.2, 0.4, 0.6, 0.9], [0, 1, 0, 1], 0.375),
        ([[[[0.5]], [[0.5]]]], [[[0]]], {"bins": 2}, [0, 1], [nan, 0.5], [nan, 1.0], 0.5),
        ([[[[0.5]], [[0.5]]]], [[[1]]], {"bins": 2}, [0, 1], [nan, 0.5], [nan, 0.0], 0.5),
        ([[[[0.5]]]], [[[0]]], {"bins": 2}, [0, 1], [nan, 0.5], [nan, 1.0], 0.5),
    ],
)
def test_diagrams(pred, target, options, counts, confidence, accuracy, gap):
    result = diagram(pred, target, **options)
    assert list(vars(result)) == ["counts", "confidence", "accuracy", "edges", "ece"]
    assert result.counts.dtype == np.int64
    np.testing.assert_equal(result.counts, [[counts]])
    np.testing.assert_allclose(result.confidence, [[confidence]], rtol=1e-12)
    np.testing.assert_equal(result.accuracy, [[accuracy]])
    np.testing.assert_allclose(result.edges, np.arange(options["bins"] + 1) / options["bins"])
    np.testing.assert_allclose(result.ece, [[gap]], rtol=1e-12)
    with pytest.raises(AttributeError):
        result.ece = 0


def test_bins_are_a_product():
    assert diagram([[[[0.29]]]], [[[1]]], bins=100, mode="classwise").counts[0, 0, 28] == 1
    assert diagram([[[[1.0]]]], [[[1]]], bins=10).counts[0, 0, 9] == 1
    np.testing.assert_equal(diagram(M, MT, bins=4, multilabel=True).counts, [[[1, 0, 0, 1], [0, 1, 1, 0]]])


@pytest.mark.parametrize("name", MAPS)
def test_other_tools(name):
    arrays = np.load(FIXTURES / "probability.npz")
    prob, target = arrays[f"{name}/prob"][None], arrays[f"{name}/target"][None].astype(np.int64)
    if prob.shape[1] == 1:  # scikit-learn's Brier score of a positive class
        prob = prob.astype(np.float64)
    want = MAPS[name]["sklearn"]
    wanted_nll = inf if name == "coarse2d" else want["log_loss"]
    np.testing.assert_allclose(nll(prob, target), [[wanted_nll]], rtol=1e-12)
    brier_key = "brier" if "brier" in want else "brier_sum_over_classes"
    np.testing.assert_allclose(brier(prob, target), [[want[brier_key]]], rtol=1e-12)
    aps, areas = np.atleast_1d(want["average_precision"]), np.atleast_1d(want["roc_auc"])
    np.testing.assert_allclose(functional.average_precision(prob, target), [aps], rtol=1e-12)
    np.testing.assert_allclose(functional.auroc(prob, target), [areas], rtol=1e-12)
    for bins, value in MAPS[name].get("torchmetrics_top_label_ece", {}).items():
        np.testing.assert_allclose(ece(prob, target, bins=int(bins)), [[value]], atol=1e-6)
    for bins, value in MAPS[name].get("monai_classwise_ece", {}).items():
        np.testing.assert_allclose(ece(prob, target, bins=int(bins), mode="classwise"), [value], atol=1e-6)
    for bins, value in MAPS[name].get("torchmetrics_binary_ece", {}).items():
        np.testing.assert_allclose(ece(prob, target, bins=int(bins), mode="classwise"), [[value]], atol=1e-6)


def sums(x):
    """Two channels that sum to `x`."""
    return np.array([[[[x / 2]], [[x / 2]]]])


@pytest.mark.parametrize(
    ("error", "match", "pred", "target", "options"),
    [
        (ExactaTypeError, "multilabel", P, PT, {"multilabel": 1}),
        (ExactaValueError, "average", P, PT, {"average": "macro"}),
        (ExactaValueError, "average", P, PT, {"average": None}),
        (ExactaValueError, "ignore_index", M, MT, {"multilabel": True, "ignore_index": 1}),
        (ExactaTypeError, "ignore_index", P, PT, {"ignore_index": True}),
        (ExactaValueError, "ignore_index", P, PT, {"ignore_index": 2**63}),
        (ExactaTypeError, "floating", PT[:, None], PT, {}),
        (ExactaTypeError, "floating", PT[:, None] > 0, PT, {}),
        (ExactaTypeError, "floating", P + 0j, PT, {}),
        (ExactaTypeError, "target", P, PT > 0, {}),
        (ExactaTypeError, "target", P, PT.astype(float), {}),
        (ExactaTypeError, "target", P, PT.astype(np.uint16), {}),
        (ExactaValueError, "drop the channel", P, PT[:, None], {}),
        (ExactaValueError, "argmax", P2, P2.astype(int), {}),
        (ExactaValueError, "batch axis", P[0], PT[0], {}),
        (ExactaValueError, "axes", P[..., None, None], PT[..., None, None], {}),
        (ExactaValueError, "channel", P[0, 0], PT, {}),
        (ExactaValueError, r"\[0, 2\)", P, PT + 1, {}),
        (ExactaValueError, "ignore_index=255", P, PT * 255, {}),
        (ExactaValueError, "finite", P * nan, PT, {}),
        (ExactaValueError, "finite", P * inf, PT, {"from_logits": True}),
        (ExactaValueError, "from_logits", P * 2, PT, {}),
        (ExactaValueError, "from_logits", -P, PT, {}),
        (ExactaValueError, "sum", sums(1.0011), [[[0]]], {}),
        (ExactaValueError, "sum", sums(0.9), [[[0]]], {}),
        (ExactaTypeError, "mask", P, PT, {"mask": PT.astype(np.int64)}),
        (ExactaValueError, "mask", P, PT, {"mask": np.ones((2, 2), bool)}),
        (ExactaValueError, "mask", P2, PT, {"mask": np.ones(P2.shape, bool)}),
        (ExactaValueError, "0 and 1", M, MT * 2, {"multilabel": True}),
        (ExactaValueError, "0 and 1", M * 9, MT * 0.1, {"multilabel": True}),
        (ExactaValueError, "0 and 1", M, MT * nan, {"multilabel": True}),
        (ExactaTypeError, "real", M, MT + 0j, {"multilabel": True}),
        (ExactaValueError, "shape", M, MT[:, 0], {"multilabel": True}),
    ],
)
def test_errors(error, match, pred, target, options):
    for function in (brier, nll, ece):
        with pytest.raises(error, match=match):
            function(pred, target, **options)


@pytest.mark.parametrize("total", [1.0009, 1.001, 0.9991])
def test_sums_within_the_tolerance(total):
    assert np.isfinite(brier(sums(total), [[[0]]])).all()


@pytest.mark.parametrize("bins", [0, -1, 1.5, True, "3", None])
def test_bins_that_are_no_number_of_bins(bins):
    for function in (ece, diagram):
        with pytest.raises(ExactaValueError, match="bins"):
            function(P, PT, bins=bins)


def test_modes():
    for options in ({"mode": "nope"}, {"mode": "top-label", "multilabel": True}):
        with pytest.raises(ExactaValueError, match="mode"):
            ece(M, MT, **options)


def test_order_of_checks():
    bad = {"bins": 0, "mode": "nope", "average": "nope", "multilabel": True, "ignore_index": 1}
    with pytest.raises(ExactaValueError, match="average"):
        ece(P[0, 0], PT, **bad)
    with pytest.raises(ExactaValueError, match="bins"):
        diagram(P[0, 0], PT, bins=0, multilabel=1)
    with pytest.raises(ExactaValueError, match="bins"):
        ece(P[0, 0], PT, bins=0, mode="nope")
    with pytest.raises(ExactaTypeError, match="mask"):
        brier(P, PT > 0, mask=PT, ignore_index=True)
    with pytest.raises(ExactaTypeError, match="ignore_index"):
        brier(P[0, 0], PT > 0, ignore_index=True)
    with pytest.raises(ExactaTypeError, match="target"):
        brier(P, PT[0] > 0)
    with pytest.raises(ExactaValueError, match="target"):
        brier(P * nan, PT + 7)


def test_torch_bfloat16_softmax_is_a_distribution():
    """Channels rounded to bfloat16 sum to 1 within their own rounding."""
    torch = pytest.importorskip("torch")
    x = torch.randn((1, 30, 32, 32), generator=torch.Generator().manual_seed(0)).softmax(1)
    target = torch.zeros((1, 32, 32), dtype=torch.int64)
    result = brier(x.to(torch.bfloat16), target)
    assert isinstance(result, torch.Tensor)
    torch.testing.assert_close(result, brier(x, target), rtol=2e-2, atol=0)
    assert diagram(x, target).edges.dtype == torch.float64

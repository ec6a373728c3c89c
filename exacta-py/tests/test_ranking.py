"""Average precision, AUROC and curves: worked examples, the definition, layouts and dtypes, drawings."""

import math

import numpy as np
import pytest

import exacta
from exacta import ExactaTypeError, ExactaValueError, _native, functional
from exacta._scores import prepare_scores

nan, inf = math.nan, math.inf
R = np.array([[[[0.9, 0.8, 0.8, 0.3, 0.1]]]])
RT = np.array([[[1, 0, 1, 1, 0]]])
R2 = np.concatenate([1 - R, R], axis=1)
OTHER, OTHER_T = np.array([[[[0.05, 0.35, 0.45, 0.65, 0.95]]]]), np.array([[[0, 1, 0, 1, 1]]])
M = np.array([[[[0.9, 0.2]], [[0.6, 0.4]]]])
MT = np.array([[[[1, 0]], [[0, 1]]]])
THREE = np.array([[[[0.7, 0.2]], [[0.2, 0.5]], [[0.1, 0.3]]]])


@pytest.mark.parametrize(
    ("pred", "target", "options", "precision", "area"),
    [
        (R, RT, {}, [0.8055555555555556], [0.75]),
        (R, RT, {"bins": 4}, [0.6944444444444444], [0.6666666666666666]),
        (np.log(R / (1 - R)), RT, {"from_logits": True}, [0.8055555555555556], [0.75]),
        (np.log(R / (1 - R)), RT, {"from_logits": True, "bins": 4}, [0.6944444444444444], [0.6666666666666666]),
        (R2, RT, {}, [0.75, 0.8055555555555556], [0.75, 0.75]),
        (R2, RT, {"include_background": False}, [0.8055555555555556], [0.75]),
        (R, RT * 0, {}, [nan], [nan]),
        (R, RT * 0 + 1, {}, [1.0], [nan]),
        (R * 0 + 0.5, RT, {}, [0.6], [0.5]),
        (R, [[[1, -1, 1, 1, 0]]], {"ignore_index": -1}, [1.0], [1.0]),
        (R, RT, {"mask": RT > 5}, [nan], [nan]),
        (OTHER, OTHER_T, {}, [0.9166666666666666], [0.8333333333333333]),
        (OTHER, OTHER_T, {"bins": 2}, [0.8666666666666667], [0.8333333333333333]),
        (M, MT, {"multilabel": True}, [1.0, 0.5], [1.0, 0.0]),
        (M, MT, {"multilabel": True, "include_background": False}, [0.5], [0.0]),
        (THREE, [[[0, 2]]], {}, [1.0, nan, 1.0], [1.0, nan, 1.0]),
        ([[[[0.9, nan, 0.1]]]], [[[1, 7, 0]]], {"mask": [[[True, False, True]]]}, [1.0], [1.0]),
        ([[[[1e30, -1e30]]]], [[[1, 0]]], {"from_logits": True}, [1.0], [1.0]),
    ],
)
def test_examples(pred, target, options, precision, area):
    np.testing.assert_allclose(functional.average_precision(pred, target, **options), [precision], rtol=1e-12)
    np.testing.assert_allclose(functional.auroc(pred, target, **options), [area], rtol=1e-12)
    result = functional.voxel_ranking(pred, target, **options)
    np.testing.assert_allclose(result.average_precision, [precision], rtol=1e-12)
    np.testing.assert_allclose(result.auroc, [area], rtol=1e-12)
    assert result.bins == options.get("bins")


def test_curves():
    result = functional.voxel_ranking(R, RT)
    assert list(vars(result)) == ["average_precision", "auroc", "curves", "bins"]
    curve = result.curves[0][0]
    assert list(vars(curve)) == ["thresholds", "precision", "recall", "fpr", "tpr"]
    np.testing.assert_equal(curve.thresholds, [inf, 0.9, 0.8, 0.3, 0.1])
    np.testing.assert_allclose(curve.precision, [1, 1, 2 / 3, 0.75, 0.6])
    np.testing.assert_allclose(curve.recall, [0, 1 / 3, 2 / 3, 1, 1])
    np.testing.assert_equal(curve.tpr, curve.recall)
    np.testing.assert_equal(curve.fpr, [0, 0, 0.5, 0.5, 1])
    binned = functional.voxel_ranking(R, RT, bins=4).curves[0][0]
    np.testing.assert_equal(binned.thresholds, [inf, 0.75, 0.5, 0.25, 0])
    np.testing.assert_allclose(binned.precision, [1, 2 / 3, 2 / 3, 0.75, 0.6])
    np.testing.assert_allclose(binned.recall, [0, 2 / 3, 2 / 3, 1, 1])
    logs = functional.voxel_ranking(np.log(R2), RT, from_logits=True).curves[0][1].thresholds
    np.testing.assert_allclose(logs, [inf, *np.log([0.9, 0.8, 0.3, 0.1])], rtol=1e-12)
    single = functional.voxel_ranking(R.astype(np.float32), RT).curves[0][0].thresholds
    np.testing.assert_equal(single[1:], np.array([0.9, 0.8, 0.3, 0.1], np.float32).astype(np.float64))
    missing = functional.voxel_ranking(R, RT * 0).curves[0][0]
    np.testing.assert_equal(missing.precision, [1, 0, 0, 0, 0])
    np.testing.assert_allclose(missing.fpr, [0, 0.2, 0.6, 0.8, 1])
    assert np.isnan(missing.recall).all()


def test_nothing_counted():
    nothing = RT > 5
    assert functional.voxel_ranking(R, RT, mask=nothing).curves[0][0].precision.tolist() == [1.0]
    binned = functional.voxel_ranking(R, RT, mask=nothing, bins=3).curves[0][0]
    np.testing.assert_equal(binned.precision, [1.0] * 4)
    np.testing.assert_equal(binned.fpr, [nan] * 4)
    empty = functional.voxel_ranking(R2[:0], RT[:0])
    assert (empty.auroc.shape, empty.curves) == ((0, 2), ())
    assert functional.auroc(R2[:0], RT[:0], include_background=False).shape == (0, 1)


@pytest.mark.parametrize("bins", [1, 0, True, 2.0, "2"])
def test_bins_that_are_no_number_of_bins(bins):
    for function in (functional.auroc, functional.average_precision, functional.voxel_ranking):
        with pytest.raises(ExactaValueError, match="bins"):
            function(R[0, 0], RT, bins=bins, multilabel=1)


def test_errors():
    with pytest.raises(ExactaTypeError, match="multilabel"):
        functional.auroc(R, RT, multilabel=1)
    with pytest.raises(ExactaValueError, match="ignore_index"):
        functional.auroc(M, MT, multilabel=True, ignore_index=0)
    with pytest.raises(ExactaValueError, match="include_background"):
        functional.auroc(R, RT, include_background=False)
    with pytest.raises(ExactaValueError, match=r"\[0, 1\]"):  # values come first
        functional.auroc(R * 3, RT, include_background=False)
    with pytest.raises(ExactaValueError, match=r"\[0, 1\]"):
        functional.voxel_ranking(np.nextafter(R * 0 + 1, 2, dtype=np.float32), RT)


# ---------------------------------------------------------------- the definition


def by_definition(scores, positives):
    """AP and AUROC from all pairs and thresholds."""
    pos, neg = scores[positives], scores[~positives]
    if not pos.size:
        return nan, nan
    ap = sum((pos >= s).sum() / (scores >= s).sum() for s in pos) / pos.size
    if not neg.size:
        return ap, nan
    wins = (pos[:, None] > neg).sum() + (pos[:, None] == neg).sum() / 2
    return ap, wins / (pos.size * neg.size)


def draw(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 9, rng.integers(2, 4)))
    batch, channels = int(rng.integers(1, 3)), int(rng.integers(1, 5))
    x = rng.standard_normal((batch, channels, *shape)) * 2
    if rng.random() < 0.5:
        x = np.round(x)
        x[x == 0] *= rng.choice([-1, 1], (x == 0).sum())  # zeros of both signs
    target = rng.integers(0, max(channels, 2), (batch, *shape)) * (rng.random((batch, *shape)) < rng.choice([0.1, 0.9]))
    mask = rng.random((batch, *shape)) < 0.8
    return x.astype(rng.choice([np.float32, np.float64])), target, mask


@pytest.mark.parametrize("seed", range(24))
def test_the_definition(seed):
    x, target, mask = draw(seed)
    for multilabel in (True, False) if x.shape[1] > 1 else (False,):
        labels = np.stack([target == c for c in range(x.shape[1])], 1) if multilabel else target
        if not multilabel and x.shape[1] > 1:
            x = np.exp(x - x.max(1, keepdims=True))
            x /= x.sum(1, keepdims=True)
        options = {"from_logits": multilabel or x.shape[1] == 1, "multilabel": multilabel, "mask": mask}
        ap = functional.average_precision(x, labels, **options)
        area = functional.auroc(x, labels, **options)
        curves = functional.voxel_ranking(x, labels, **options)
        np.testing.assert_array_equal(curves.average_precision, ap)
        np.testing.assert_array_equal(curves.auroc, area)
        for case in range(x.shape[0]):
            for column in range(x.shape[1]):
                positive = target[case] == (column if x.shape[1] > 1 else 1)
                want = by_definition(x[case, column][mask[case]], positive[mask[case]])
                np.testing.assert_allclose((ap[case, column], area[case, column]), want, rtol=1e-13)


@pytest.mark.parametrize("seed", range(6))
def test_layouts_threads_and_libraries(seed):
    x, target, mask = draw(seed + 100)
    calls = [
        lambda p, t, m: functional.brier_score(p, t, from_logits=True, mask=m),
        lambda p, t, m: functional.expected_calibration_error(p, t, from_logits=True, mask=m, mode="classwise"),
        lambda p, t, m: functional.negative_log_likelihood(p, t, from_logits=True, mask=m),
        lambda p, t, m: functional.auroc(p, t, from_logits=True, mask=m),
        lambda p, t, m: functional.average_precision(p, t, from_logits=True, mask=m),
        lambda p, t, m: functional.auroc(p, t, from_logits=True, mask=m, bins=9),
    ]
    exacta.set_num_threads(1)
    wanted = [call(x, target, mask) for call in calls]
    for threads in (1, 2):
        exacta.set_num_threads(threads)
        for change in (
            np.asfortranarray,
            lambda a: a[..., ::-1].copy()[..., ::-1],
            lambda a: np.stack([a, a], -1)[..., 0],
        ):
            for call, want in zip(calls, wanted, strict=True):
                np.testing.assert_array_equal(call(change(x), target.astype(np.int16), change(mask)), want)
    torch = pytest.importorskip("torch")
    for call, want in zip(calls, wanted, strict=True):
        got = call(torch.from_numpy(x).requires_grad_(), target, torch.from_numpy(mask))
        assert isinstance(got, torch.Tensor) and not got.requires_grad  # noqa: PT018
        np.testing.assert_array_equal(got.numpy(), want)


def test_half_precision_ties():
    x = np.random.default_rng(0).random((1, 1, 40, 40)).astype(np.float16)
    target = (np.random.default_rng(1).random((1, 40, 40)) < 0.3).astype(np.int8)
    want = by_definition(x[0, 0].ravel(), target.ravel() > 0)
    got = functional.average_precision(x, target)[0, 0], functional.auroc(x, target)[0, 0]
    np.testing.assert_allclose(got, want, rtol=1e-13)


def test_pooling_selected_scores():
    """What a ranking over several batches is made of: scores as they are ranked, and whether each is a positive."""
    pred, target = np.array([[[[0.9, 0.1]]], [[[0.6, 0.4]]]]), np.array([[[1, 0]], [[0, 1]]])
    pairs = _native.selected_scores(prepare_scores(pred, target, False, False).scored)
    scores, positives = (np.concatenate(part)[None, None, None] for part in zip(*pairs, strict=True))
    pooled = functional.voxel_ranking(scores, positives, multilabel=True, from_logits=True)
    np.testing.assert_allclose((pooled.average_precision, pooled.auroc), ([[5 / 6]], [[0.75]]))


# ---------------------------------------------------------------- drawings


def test_drawings(tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    rng = np.random.default_rng(3)
    target = rng.integers(0, 3, (1, 20, 20))
    logits = rng.standard_normal((1, 3, 20, 20)) + 2 * np.moveaxis(np.eye(3)[target], -1, 1)
    result = functional.voxel_ranking(logits, target, from_logits=True)
    figure, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
    assert functional.reliability_diagram(logits, target, from_logits=True).plot(ax=axes[0]) is axes[0]
    result.plot(ax=axes[1])
    result.plot("roc", ax=axes[2])
    assert len(axes[1].lines) == 3
    assert [axis.get_xlabel() for axis in axes] == ["confidence", "recall", "false positive rate"]
    assert result.curves[0][1].plot("roc").get_ylabel() == "true positive rate"
    with pytest.raises(ExactaValueError, match="kind"):
        result.plot("pr", ax=axes[0])
    figure.savefig(tmp_path / "curves.png")
    assert (tmp_path / "curves.png").stat().st_size > 10_000
    plt.close("all")

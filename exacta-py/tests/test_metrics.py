"""Stateful metrics in one process: worked examples, states, names, errors, and every class against its function."""

import copy
import inspect
import math
import pickle
import subprocess
import sys

import numpy as np
import pytest

import exacta
from exacta import functional, metrics

nan, inf = math.nan, math.inf
A = np.array([[[0, 1], [1, 2]]]), np.array([[[0, 1], [2, 2]]])
PROBABILITIES = np.array([[[[0.9, 0.2], [0.6, 0.4]]]]), np.array([[[1, 0], [0, 1]]])
SCORES = np.array([[[[0.9, 0.8, 0.8, 0.3, 0.1]]]]), np.array([[[1, 0, 1, 1, 0]]])

# Class, its function, what its constructor is given.
CLASSES = {
    "Dice": ("dice", {"both_empty": 1.0}),
    "IoU": ("iou", {}),
    "Sensitivity": ("sensitivity", {"zero_division": 0.0}),
    "Precision": ("precision", {}),
    "Specificity": ("specificity", {}),
    "VolumeSimilarity": ("volume_similarity", {"convention": "itk"}),
    "RelativeVolumeDifference": ("relative_volume_difference", {"absolute": True}),
    "PredictedArea": ("predicted_area", {"spacing": (1, 2)}),
    "TargetArea": ("target_area", {"spacing": 2.0, "unit": "cm2"}),
    "AreaError": ("area_error", {"spacing": 2.0, "absolute": True}),
    "PredictedVolume": ("predicted_volume", {"spacing": 2.0}),
    "TargetVolume": ("target_volume", {"spacing": 2.0, "unit": "ml"}),
    "VolumeError": ("volume_error", {"spacing": (1, 2, 3)}),
    "HausdorffDistance": ("hausdorff_distance", {"spacing": 1.0, "percentile": 50}),
    "HD95": ("hd95", {"spacing": 1.0, "combine": "pooled"}),
    "ASSD": ("assd", {"spacing": 1.0}),
    "MASD": ("masd", {"spacing": 1.0, "one_empty": 5}),
    "NSD": ("nsd", {"spacing": 1.0, "tolerance": [1.0, 0.0, 2.0]}),
    "ClDice": ("cldice", {}),
    "BrierScore": ("brier_score", {}),
    "NegativeLogLikelihood": ("negative_log_likelihood", {"from_logits": True}),
    "ExpectedCalibrationError": ("expected_calibration_error", {"bins": 4}),
    "AveragePrecision": ("average_precision", {}),
    "AUROC": ("auroc", {"bins": 5}),
}
SCORED = ("BrierScore", "NegativeLogLikelihood", "ExpectedCalibrationError", "AveragePrecision", "AUROC")
POOLED = ("Calibration", "VoxelRanking")


def exact(found, expected):
    np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))


def make(name):
    """A metric, and two batches for it."""
    function, options = CLASSES.get(name, (None, {}))
    rng = np.random.default_rng(3)
    if name in (*SCORED, *POOLED):
        batches = [(rng.random((b, 1, 4, 5)), rng.integers(0, 2, (b, 4, 5))) for b in (2, 1)]
    else:
        volume = "Volume" in name and name not in ("VolumeSimilarity", "RelativeVolumeDifference")
        shape = (3, 4, 5) if volume else (4, 5)
        batches = [tuple(rng.integers(0, 3, (b, *shape)) for _ in range(2)) for b in (2, 1)]
        options = {"num_classes": 3, **options}
    return (lambda: getattr(metrics, name)(**options)), batches, function, options


def values(result):
    """All arrays of a result, one after the other."""
    names = [name for name in result.__dataclass_fields__ if name not in ("curves", "case_ids", "bins")]
    return [np.asarray(getattr(result, name)) for name in names]


def same(first, second):
    for a, b in zip(values(first), values(second), strict=True):
        exact(a, b)


# ---------------------------------------------------------------- worked examples


def test_means_skip_nan_and_say_how_many_cases_they_hold():
    metric = metrics.Dice(num_classes=3)
    metric.update(np.zeros((1, 2, 2), int), np.ones((1, 2, 2), int))
    metric.update(np.full((1, 2, 2), 2), np.full((1, 2, 2), 2))
    result = metric.compute()
    exact(result.per_case, [[0, 0, nan], [nan, nan, 1]])
    exact(result.per_class, [0, 0, 1])
    exact(result.mean, 1 / 3)
    exact(result.count, [1, 1, 1])
    assert result.mean.shape == ()
    assert result.count.dtype == np.int64
    metric = metrics.Dice(num_classes=4)
    metric.update(*A)
    metric.update(*A)
    exact(metric.compute().per_class, [1, 2 / 3, 2 / 3, nan])
    exact(metric.compute().mean, 0.7777777777777777)
    exact(metric.compute().count, [2, 2, 2, 0])


def test_infinite_distances_are_not_skipped():
    row = {"01100": [0, 1, 1, 0, 0], "00110": [0, 0, 1, 1, 0], "none": [0] * 5}
    metric = metrics.HD95(num_classes=2, include_background=False)
    for pred, target, spacing in (("01100", "00110", 1), ("01100", "00110", (1, 2)), ("none", "none", 1)):
        metric.update([[row[pred]]], [[row[target]]], spacing)
    np.testing.assert_allclose(metric.compute().per_class, [1.425], rtol=1e-15)
    exact(metric.compute().count, [2])
    metric.update([[row["none"]]], [[row["00110"]]], spacing=1)
    exact(metric.compute().mean, inf)
    exact(metric.compute().count, [3])


def test_a_collection_gives_what_its_parts_give():
    names = {"dice": {}, "predicted_area": {"unit": "cm2"}, "hd95": {"one_empty": 9.0}}
    metric = metrics.MetricCollection(metrics=names, num_classes=3, spacing=1.0)
    names["iou"] = {}
    for spacing in (None, 2):
        scores = metric.update(*A, spacing=spacing)
        assert list(scores) == ["dice", "predicted_area", "hd95"]
    parts = (
        metrics.Dice(num_classes=3),
        metrics.PredictedArea(num_classes=3, unit="cm2", spacing=1.0),
        metrics.HD95(num_classes=3, one_empty=9.0, spacing=1.0),
    )
    for part in parts[1:]:
        part.update(*A)
        part.update(*A, spacing=2)
    parts[0].update(*A)
    parts[0].update(*A)
    for found, part in zip(metric.compute().values(), parts, strict=True):
        same(found, part.compute())
    metric.reset()
    with pytest.raises(RuntimeError, match="update"):
        metric.compute()


def test_pooled_calibration():
    metric = metrics.Calibration(bins=4)
    pred, target = PROBABILITIES
    assert metric.update(pred, target) is None
    metric.update(pred, 1 - target)
    result = metric.compute()
    exact(result.counts, [[[0, 0, 4, 4]]])
    np.testing.assert_allclose(result.confidence, [[[nan, nan, 0.6, 0.85]]], rtol=1e-15)
    exact(result.accuracy, [[[nan, nan, 0.5, 0.5]]])
    np.testing.assert_allclose(result.ece, [[0.225]], rtol=1e-15)
    labels = metrics.Calibration(bins=4, multilabel=True)
    mask = np.array([[[[True, False]], [[True, True]]]])
    labels.update([[[[0.9, 0.2]], [[0.6, 0.4]]]], [[[[1, 0]], [[0, 1]]]], mask=mask)
    exact(labels.compute().counts, [[[0, 0, 0, 1], [0, 1, 1, 0]]])


def test_pooled_ranking():
    metric, mean = metrics.VoxelRanking(), metrics.AUROC()
    pred, target = np.array([[[[0.9, 0.1]]], [[[0.6, 0.4]]]]), np.array([[[1, 0]], [[0, 1]]])
    metric.update(pred, target)
    mean.update(pred, target)
    exact(mean.compute().per_case, [[1.0], [0.0]])
    exact(metric.compute().auroc, [[0.75]])
    np.testing.assert_allclose(metric.compute().average_precision, [[5 / 6]], rtol=1e-15)
    binned = metrics.VoxelRanking(bins=4)
    binned.update(*SCORES)
    binned.update(SCORES[0], 1 - SCORES[1])
    exact(binned.compute().auroc, [[0.5]])
    assert len(binned.compute().curves[0][0].thresholds) == 5
    precise = metrics.VoxelRanking()
    precise.update([[[[0.9]]]], [[[1]]])
    precise.update(np.array([[[[0.9]]]], np.float32), [[[0]]])
    assert len(precise.compute().curves[0][0].thresholds) == 3
    ap = metrics.AveragePrecision()
    ap.update(*SCORES)
    ap.update(SCORES[0], 0 * SCORES[1])
    np.testing.assert_allclose(ap.compute().per_case, [[0.8055555555555556], [nan]], rtol=1e-15)
    exact(ap.compute().count, [1])


# ---------------------------------------------------------------- every class


def test_the_list_is_whole():
    others = {"MetricCollection", "MetricResult", "PerCaseMetric", "PooledOverlap", "PooledResult", *POOLED}
    assert set(metrics.__all__) == {*CLASSES, *others}
    for name in metrics.__all__:
        assert inspect.getdoc(getattr(metrics, name)), name


@pytest.mark.parametrize("name", CLASSES)
def test_each_class_is_its_function(name):
    new, batches, function, options = make(name)
    metric = new()
    expected = []
    for pred, target in batches:
        scores = metric.update(pred, target)
        expected.append(getattr(functional, function)(pred, target, **options))
        exact(scores, expected[-1])
        scores[...] = 99
    result = metric.compute()
    exact(result.per_case, np.concatenate(expected))
    result.per_case[...] = 99
    exact(metric.compute().per_case, np.concatenate(expected))
    parameters = inspect.signature(getattr(metrics, name)).parameters.values()
    assert all(parameter.kind is parameter.KEYWORD_ONLY for parameter in parameters)
    own = inspect.signature(getattr(functional, function)).parameters
    updates = inspect.signature(metric.update).parameters
    assert {p.name for p in parameters} | set(updates) - {"case_ids"} == set(own)


@pytest.mark.parametrize("name", [*CLASSES, *POOLED])
def test_states(name):
    new, batches, *_ = make(name)
    with pytest.raises(exacta.ExactaRuntimeError, match="update"):
        new().compute()
    whole, first, second = new(), new(), new()
    for batch in batches:
        whole.update(*batch)
    first.update(*batches[0])
    second.update(*batches[1])
    kept = copy.deepcopy(first)
    assert first.merge(second) is first
    same(first.compute(), whole.compute())
    same(pickle.loads(pickle.dumps(whole)).compute(), whole.compute())
    # An exported state goes through pickle, and replaces what was there.
    second.load_state_dict(pickle.loads(pickle.dumps(kept.state_dict())))
    same(second.compute(), kept.compute())
    # A failing update leaves everything.
    with pytest.raises(ValueError, match="shape"):
        second.update(batches[0][0], batches[0][1][:, :2])
    same(second.compute(), kept.compute())
    second.reset()
    with pytest.raises(RuntimeError, match="update"):
        second.compute()


@pytest.mark.parametrize("name", [*CLASSES, *POOLED])
def test_names(name):
    new, batches, *_ = make(name)
    plain, named = new(), new()
    for batch in batches:
        plain.update(*batch)
    named.update(*batches[1], case_ids=np.array([3]))
    named.update(*batches[0], case_ids=["b", "a"][::-1])
    named.update(*(side[:1] for side in batches[0]), case_ids=("a",))
    if name in POOLED:
        same(named.compute(), plain.compute())
    else:
        result = named.compute()
        assert result.case_ids == (3, "a", "b")
        exact(result.per_case, np.asarray(plain.compute().per_case)[[2, 0, 1]])
        same(result, metrics.MetricResult(result.per_case, *values(plain.compute())[1:]))
    with pytest.raises(exacta.ExactaValueError, match="case_ids"):
        named.update(*batches[1])
    with pytest.raises(exacta.ExactaValueError, match="case_ids"):
        plain.update(*batches[1], case_ids=[1])
    for ids in ("ab", 5, [1.5], [True], [None]):
        with pytest.raises(exacta.ExactaTypeError, match="case_ids"):
            new().update(*batches[1], case_ids=ids)
    with pytest.raises(exacta.ExactaValueError, match="case_ids"):
        new().update(*batches[0], case_ids=["a"])
    with pytest.raises(exacta.ExactaValueError, match="'a' came again"):
        send_again(named, batches[1])


def send_again(metric, batch):
    metric.update(*batch, case_ids=["a"])
    metric.compute()


@pytest.mark.parametrize("name", [*CLASSES, *POOLED])
def test_torch_in_torch_out(name):
    torch = pytest.importorskip("torch")
    new, batches, *_ = make(name)
    plain, metric = new(), new()
    for batch in batches:
        expected, found = plain.update(*batch), metric.update(*map(torch.from_numpy, batch))
        if expected is not None:
            assert isinstance(found, torch.Tensor)
            exact(found, expected)
    result = metric.compute()
    assert all(isinstance(getattr(result, field), torch.Tensor) for field in list(result.__dataclass_fields__)[:2])
    same(result, plain.compute())
    restored = new()
    restored.load_state_dict(metric.state_dict())
    assert type(getattr(restored.compute(), next(iter(result.__dataclass_fields__)))) is torch.Tensor


# ---------------------------------------------------------------- splits, sizes of zero


def test_no_split_changes_a_bit():
    rng = np.random.default_rng(0)
    pred, target = (rng.integers(0, 4, (23, 6, 7)) for _ in range(2))
    scores, labels = rng.random((23, 1, 6, 7)), rng.integers(0, 2, (23, 6, 7))
    for new, arrays in (
        (lambda: metrics.Dice(num_classes=4), (pred, target)),
        (lambda: metrics.Calibration(bins=5), (scores, labels)),
        (lambda: metrics.VoxelRanking(), (scores, labels)),
    ):
        whole = new()
        whole.update(*arrays)
        for size in (1, 5):
            split = new()
            for start in range(0, 23, size):
                split.update(*(array[start : start + size] for array in arrays))
            same(split.compute(), whole.compute())
    reverse = metrics.Dice(num_classes=4)
    reverse.update(pred[::-1], target[::-1])
    whole = metrics.Dice(num_classes=4)
    whole.update(pred, target)
    exact(reverse.compute().per_class, whole.compute().per_class)


def test_pooled_counts_and_means_over_cases_are_different_numbers():
    # (TP, FP, FN) is (0, 0, 1) in the first case and (98, 1, 1) in the second.
    pred, target = np.zeros((2, 1, 120), int), np.zeros((2, 1, 120), int)
    target[0, 0, 0] = 1
    pred[1, 0, :99], target[1, 0, 1:100] = 1, 1
    layout = {"num_classes": 3, "include_background": False}
    mean, pooled = metrics.Dice(**layout), metrics.PooledOverlap(metrics={"dice": {}, "sensitivity": {}}, **layout)
    for metric in (mean, pooled):
        metric.update(pred, target)
    np.testing.assert_allclose(mean.compute().mean, 0.4949495, atol=1e-7)
    result = pooled.compute()
    exact(result.values["dice"], [196 / 199, nan])
    exact(result.values["sensitivity"], [98 / 100, nan])
    exact(result.counts, [[98, 1, 2, 139], [0, 0, 0, 240]])
    split, named = (metrics.PooledOverlap(metrics={"dice": {}, "sensitivity": {}}, **layout) for _ in range(2))
    for case in (1, 0):
        split.update(pred[case : case + 1], target[case : case + 1])
        named.update(pred[::-1], target[::-1], case_ids=["b", "a"])
    exact(split.compute().counts, result.counts)
    exact(named.compute().counts, result.counts)
    exact(pooled.merge(split).compute().counts, 2 * np.asarray(result.counts))
    with pytest.raises(RuntimeError, match="update"):
        metrics.PooledOverlap(metrics=["dice"], **layout).compute()
    for chosen in (["hd95"], ["cldice"], ["predicted_volume"], ["nope"]):
        with pytest.raises(ValueError, match="metrics"):
            metrics.PooledOverlap(metrics=chosen, **layout)


def test_a_class_that_is_missed_once_and_absent_elsewhere():
    metric = metrics.Dice(num_classes=3, include_background=False)
    for case in range(10):
        metric.update(np.zeros((1, 2, 2), int), np.full((1, 2, 2), int(case == 0)))
    exact(metric.compute().per_class, [0.0, nan])
    exact(metric.compute().count, [1, 0])


def test_identical_perfect_batches_and_unequal_ones():
    metric = metrics.Dice(num_classes=2, include_background=False)
    for _ in range(3):
        metric.update([[[0, 1]]], [[[0, 1]]])
    metric.update([[[1, 0]]], [[[0, 1]]])
    exact(metric.compute().per_class, [0.75])


def test_empty_batches_count_as_updates():
    metric = metrics.Dice(num_classes=3)
    metric.update(np.zeros((0, 4, 4), int), np.zeros((0, 4, 4), int), case_ids=[])
    result = metric.compute()
    assert result.per_case.shape == (0, 3)
    exact(result.per_class, [nan] * 3)
    exact(result.mean, nan)
    exact(result.count, [0, 0, 0])
    empty = np.zeros((0, 1, 4, 4)), np.zeros((0, 4, 4), int)
    calibration, exactly, binned = metrics.Calibration(bins=3), metrics.VoxelRanking(), metrics.VoxelRanking(bins=3)
    for metric in (calibration, exactly, binned):
        metric.update(*empty)
    exact(calibration.compute().counts, [[[0, 0, 0]]])
    exact(calibration.compute().ece, [[nan]])
    for metric, points in ((exactly, 1), (binned, 4)):
        exact(metric.compute().auroc, [[nan]])
        assert len(metric.compute().curves[0][0].recall) == points


def test_sums_beyond_float64_and_infinities_of_both_signs():
    class Given(metrics.PerCaseMetric):
        def scores(self, pred, target):
            return pred

    metric = Given()
    metric.update(np.array([[1e308, inf], [1e308, -inf], [1e308, 0.0]]), None)
    exact(metric.compute().per_class, [1e308, nan])
    with pytest.raises(exacta.ExactaValueError, match="batch, classes"):
        metric.update(np.zeros(3), None)
    with pytest.raises(NotImplementedError):
        metrics.PerCaseMetric().update(*A)


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("name", "options", "error"),
    [
        ("Dice", {"ignore_index": True}, TypeError),
        ("Dice", {"ignore_index": 2**63}, ValueError),
        ("Dice", {"ignore_index": 1, "input_format": "one-hot"}, ValueError),
        ("Dice", {"num_classes": 0}, ValueError),
        ("Dice", {"input_format": "labels"}, ValueError),
        ("Dice", {"both_empty": "1"}, TypeError),
        ("Sensitivity", {"foo": 1}, TypeError),
        ("VolumeSimilarity", {"convention": "dice"}, ValueError),
        ("PredictedArea", {"unit": "mm3"}, ValueError),
        ("PredictedVolume", {"unit": "mm2"}, ValueError),
        ("HD95", {"percentile": 95.0}, TypeError),
        ("HausdorffDistance", {"percentile": 101}, ValueError),
        ("ASSD", {"combine": "sum"}, ValueError),
        ("HD95", {"backend": "gpu"}, ValueError),
        ("NSD", {}, TypeError),
        ("MetricCollection", {}, TypeError),
        ("MetricCollection", {"metrics": "dice"}, TypeError),
        ("MetricCollection", {"metrics": []}, ValueError),
        ("MetricCollection", {"metrics": ["nope"]}, ValueError),
        ("MetricCollection", {"metrics": ["dice", "dice"]}, ValueError),
        ("MetricCollection", {"metrics": {"dice": {"smooth": 1}}}, TypeError),
        ("MetricCollection", {"metrics": ["dice"], "ignore_index": "1"}, TypeError),
        ("BrierScore", {"average": "macro"}, ValueError),
        ("BrierScore", {"multilabel": True, "ignore_index": 1}, ValueError),
        ("Calibration", {"multilabel": 1}, TypeError),
        ("Calibration", {"bins": 0}, ValueError),
        ("Calibration", {"mode": "top-label", "multilabel": True}, ValueError),
        ("VoxelRanking", {"multilabel": 1}, TypeError),
        ("VoxelRanking", {"bins": 1}, ValueError),
        ("AUROC", {"multilabel": True, "ignore_index": 0}, ValueError),
    ],
)
def test_settings_that_are_refused(name, options, error):
    with pytest.raises(error):
        getattr(metrics, name)(**options)


def test_updates_that_are_refused():
    with pytest.raises(ValueError, match="num_classes"):
        metrics.Dice().update(*A)
    with pytest.raises(ValueError, match="spacing"):
        metrics.HD95(num_classes=3).update(*A)
    with pytest.raises(ValueError, match="tolerance"):
        metrics.NSD(num_classes=3, tolerance=[1, 2], spacing=1).update(*A)
    with pytest.raises(ValueError, match="mask"):
        metrics.MetricCollection(metrics=["cldice"], num_classes=3).update(*A, mask=A[0] > 0)
    metric = metrics.Dice(input_format="one-hot")
    metric.update(np.zeros((1, 2, 3, 3)), np.zeros((1, 2, 3, 3)))
    with pytest.raises(exacta.ExactaValueError, match="classes"):
        metric.update(np.zeros((1, 3, 3, 3)), np.zeros((1, 3, 3, 3)))
    exact(metric.compute().count, [0, 0])
    for new in (metrics.VoxelRanking, lambda **k: metrics.Calibration(bins=3, **k)):
        metric = new(multilabel=True)
        metric.update(np.zeros((1, 2, 3, 3)), np.zeros((1, 2, 3, 3)))
        with pytest.raises(exacta.ExactaValueError, match="columns"):
            metric.update(np.zeros((1, 3, 3, 3)), np.zeros((1, 3, 3, 3)))


def test_states_that_are_refused():
    metric = metrics.Dice(num_classes=3)
    metric.update(*A)
    with pytest.raises(TypeError, match="IoU"):
        metric.merge(metrics.IoU(num_classes=3))
    with pytest.raises(ValueError, match="itself"):
        metric.merge(metric)
    with pytest.raises(ValueError, match="both_empty"):
        metric.merge(metrics.Dice(num_classes=3, both_empty=0.0))
    state = metric.state_dict()
    with pytest.raises(ValueError, match="metric"):
        metrics.IoU(num_classes=3).load_state_dict(state)
    with pytest.raises(TypeError, match="state"):
        metric.load_state_dict([])
    broken = ({}, {**state, "format": 0}, {**state, "state": {}}, {**state, "state": {**state["state"], "rows": [1]}})
    for other in broken:
        with pytest.raises(ValueError, match="state"):
            metric.load_state_dict(other)
    exact(metric.compute().per_case, functional.dice(*A, num_classes=3))


def test_results_are_frozen():
    metric = metrics.Dice(num_classes=3)
    metric.update(*A)
    with pytest.raises(AttributeError):
        metric.compute().mean = 1


def test_no_framework_is_imported():
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import numpy as np, exacta.metrics as m\n"
        "x = np.array([[[0, 1]]])\n"
        "d = m.MetricCollection(metrics=['dice', 'cldice'], num_classes=2); d.update(x, x); d.compute()\n"
        "r = m.VoxelRanking(); r.update(np.array([[[[.5, .1]]]]), x); r.compute()\n"
        "c = m.Calibration(); c.update(np.array([[[[.5, .1]]]]), x); c.merge(m.Calibration()); c.compute()\n"
        "del sys.modules['torch']; print(sorted({'torch', 'jax', 'scipy'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (0, "[]\n", "")

"""Lesion detection: the worked examples, curves over several batches, state, and every error."""

import copy
import math
import pickle
import subprocess
import sys

import numpy as np
import pytest

import exacta
from exacta import detection

nan, inf = math.nan, math.inf


def row(text):
    return np.array([[[int(digit) for digit in text]]])


P, T = row("0110110011"), row("0111000011")
C = np.array([[[0, 0.9, 0.2, 0.7, 0.5, 0.5, 0.1, 0, 0.6, 0.6]]])
two_thirds = 0.6666666666666666
EXAMPLES = {
    "max": (
        (P, T, C),
        {},
        [inf, 0.9, 0.6, 0.5], [0, 1, 2, 2], [0, 0, 0, 1], [1, 1, 1, two_thirds], [0, 0.5, 1, 1], 1.0,
    ),
    "mean": (
        (P, T, C),
        {"confidence_reduction": "mean"},
        [inf, 0.6, 0.55, 0.5], [0, 1, 2, 2], [0, 0, 0, 1], [1, 1, 1, two_thirds], [0, 0.5, 1, 1], 1.0,
    ),
    "ties": ((P, T, C * 0 + 0.5), {}, [inf, 0.5], [0, 2], [0, 1], [1, two_thirds], [0, 1], two_thirds),
    "threshold": (
        (P, T, C),
        {"iou_threshold": 0.9},
        [inf, 0.9, 0.6, 0.5], [0, 0, 1, 1], [0, 1, 1, 2], [1, 0, 0.5, 1 / 3], [0, 0, 0.5, 0.5], 0.25,
    ),
    "no targets": (
        (P, T * 0, C), {}, [inf, 0.9, 0.6, 0.5], [0, 0, 0, 0], [0, 1, 2, 3], [1, 0, 0, 0], [nan] * 4, nan
    ),
    "no predictions": ((P * 0, T, C), {}, [inf], [0], [0], [1], [0], 0.0),
    "float16": (
        (P, T, C.astype(np.float16)),
        {},
        [inf, 0.89990234375, 0.60009765625, 0.5],
        [0, 1, 2, 2], [0, 0, 0, 1], [1, 1, 1, two_thirds], [0, 0.5, 1, 1], 1.0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EXAMPLES)
def test_worked_examples(name):
    arrays, options, thresholds, tp, fp, precision, recall, average = EXAMPLES[name]
    found = detection.lesion_detection(*arrays, connectivity=1, num_classes=2, **options)
    assert found.class_ids == (1,)
    (curve,) = found.curves
    np.testing.assert_array_equal(curve.thresholds, thresholds)
    np.testing.assert_array_equal(curve.true_positives, tp)
    np.testing.assert_array_equal(curve.false_positives, fp)
    np.testing.assert_array_equal(curve.precision, precision)
    np.testing.assert_array_equal(curve.recall, recall)
    np.testing.assert_array_equal(curve.average_precision, average)
    np.testing.assert_array_equal(found.average_precision, [average])
    assert curve.true_positives.dtype == np.int64
    assert (curve.num_targets, curve.num_cases) == (0 if name == "no targets" else 2, 1)


def test_two_cases_and_budgets():
    metric = detection.LesionDetection(connectivity=1, num_classes=2)
    metric.update(P, T, C)
    first = metric.compute()
    metric.update(P * 0, T, C)
    (curve,) = metric.compute().curves
    np.testing.assert_array_equal(curve.recall, [0, 0.25, 0.5, 0.5])
    np.testing.assert_array_equal(curve.false_positives_per_case, [0, 0, 0, 0.5])
    assert curve.average_precision == 0.5
    np.testing.assert_array_equal(curve.sensitivity_at([[0, 0.25, 0.5]]), [[0.5, 0.5, 0.5]])
    assert curve.sensitivity_at(9).shape == ()
    assert first.average_precision == [1.0]
    for copied in (copy.deepcopy(metric), pickle.loads(pickle.dumps(metric))):
        assert copied.compute().average_precision == [0.5]
    metric.reset()
    with pytest.raises(exacta.ExactaRuntimeError, match="no case"):
        metric.compute()


@pytest.mark.parametrize("split", [1, 2, 3])
def test_batches_do_not_matter(split):
    rng = np.random.default_rng(4)
    pred, target = rng.integers(0, 3, (2, 6, 9, 10))
    confidence = np.round(rng.random(pred.shape) * 8) / 8
    options = {"connectivity": 1, "num_classes": 3, "include_background": True, "confidence_reduction": "mean"}
    whole = detection.lesion_detection(pred, target, confidence, **options)
    metric = detection.LesionDetection(**options)
    for i in range(0, 6, split):
        metric.update(pred[i : i + split], target[i : i + split], confidence[i : i + split])
    parts = metric.compute()
    assert parts.class_ids == whole.class_ids == (0, 1, 2)
    for a, b in zip(parts.curves, whole.curves, strict=True):
        np.testing.assert_array_equal(a.thresholds, b.thresholds)
        np.testing.assert_array_equal(a.recall, b.recall)
        assert a.average_precision == b.average_precision


def test_layouts_and_channels_agree():
    rng = np.random.default_rng(6)
    pred, target = rng.integers(0, 3, (2, 2, 5, 6, 70))
    confidence = rng.random(pred.shape)
    options = {"connectivity": 2, "num_classes": 3, "confidence_reduction": "mean"}
    plain = detection.lesion_detection(pred, target, confidence, **options).curves
    fortran = detection.lesion_detection(*map(np.asfortranarray, (pred, target, confidence)), **options).curves
    channels = [np.moveaxis(np.eye(3, dtype=bool)[labels], -1, 1) for labels in (pred, target)]
    repeated = np.repeat(confidence[:, None], 3, axis=1)
    hot = detection.lesion_detection(*channels, repeated, input_format="one-hot", **options).curves
    for other in (fortran, hot):
        for a, b in zip(plain, other, strict=True):
            np.testing.assert_array_equal(a.thresholds, b.thresholds)
            np.testing.assert_array_equal(a.true_positives, b.true_positives)


def test_curves_follow_the_library_of_pred():
    torch = pytest.importorskip("torch")
    found = detection.lesion_detection(torch.from_numpy(P), T, C, connectivity=1, num_classes=2)
    (curve,) = found.curves
    assert isinstance(curve.thresholds, torch.Tensor)
    assert curve.true_positives.dtype == torch.int64
    assert (curve.average_precision.ndim, found.average_precision.dtype) == (0, torch.float64)
    assert isinstance(curve.sensitivity_at(torch.tensor([1.0])), torch.Tensor)


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"iou_threshold": 0.0}, ValueError, r"iou_threshold must be within \(0, 1\]"),
        ({"iou_threshold": nan}, ValueError, r"iou_threshold must be within \(0, 1\]"),
        ({"iou_threshold": "0.1"}, TypeError, "iou_threshold must be one real number"),
        ({"confidence_reduction": "median"}, ValueError, "confidence_reduction must be one of"),
        ({"connectivity": 0}, ValueError, "connectivity must be an integer"),
        ({"input_format": "onehot"}, ValueError, "input_format must be one of"),
        ({"backend": "triton"}, ValueError, "backend must be one of"),
    ],
)
def test_constructor_errors(options, kind, message):
    with pytest.raises(kind, match=message) as caught:
        detection.LesionDetection(**{"connectivity": 1, "num_classes": 2, **options})
    assert isinstance(caught.value, exacta.ExactaError)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ((P, T[..., :5], C), "same shape"),
        ((P, T, C[..., :5]), "confidence must have the shape of pred"),
        ((P, T, P), "confidence must be floating"),
        ((P, T, C + 0.5), r"confidence must lie in \[0, 1\]; found 1\.4"),
        ((P, T, C * nan), "confidence must lie in"),
        ((P + 7, T, C), r"labels must lie in \[0, 2\)"),
    ],
)
def test_a_refused_update_adds_nothing(arrays, message):
    metric = detection.LesionDetection(connectivity=1, num_classes=2)
    metric.update(P, T, C)
    with pytest.raises(exacta.ExactaValueError, match=message):
        metric.update(*arrays)
    assert metric.compute().curves[0].num_cases == 1


def test_the_number_of_classes_stays():
    metric = detection.LesionDetection(connectivity=1, input_format="one-hot", include_background=True)
    metric.update(P[:, None], T[:, None], C[:, None])
    with pytest.raises(exacta.ExactaValueError, match="1 reported classes of the updates before; got 2"):
        metric.update(*(np.repeat(x[:, None], 2, axis=1) for x in (P, T, C)))
    empty = detection.LesionDetection(connectivity=1, num_classes=2)
    empty.update(P[:0], T[:0], C[:0])
    with pytest.raises(exacta.ExactaRuntimeError):
        empty.compute()


@pytest.mark.parametrize(("budget", "kind"), [(-1, ValueError), (inf, ValueError), ("1", TypeError), (None, TypeError)])
def test_budget_errors(budget, kind):
    (curve,) = detection.lesion_detection(P, T, C, connectivity=1, num_classes=2).curves
    with pytest.raises(kind, match="fp_per_case"):
        curve.sensitivity_at(budget)


WORKER = """
import sys
import numpy as np, torch
from exacta import detection
rank, address = int(sys.argv[1]), sys.argv[2]
torch.distributed.init_process_group("gloo", init_method=f"file://{address}", rank=rank, world_size=2)
rng = np.random.default_rng(7)
pred, target = rng.integers(0, 2, (2, 3, 6, 7))
confidence = rng.random(pred.shape)
threshold = 0.2 if sys.argv[3] == "same" else 0.2 + rank / 10
metric = detection.LesionDetection(connectivity=1, num_classes=2, iou_threshold=threshold)
if rank == 0:  # one process alone: nobody else is waited for
    assert detection.lesion_detection(pred, target, confidence, connectivity=1, num_classes=2).curves[0].num_cases == 3
if rank == 0 or sys.argv[3] != "same":
    metric.update(pred, target, confidence)
try:
    curve = metric.compute().curves[0]
    print(repr(np.asarray(curve.recall).tolist()), float(curve.average_precision), curve.num_cases)
except ValueError as error:
    print(type(error).__name__, error)
torch.distributed.destroy_process_group()
"""


@pytest.mark.parametrize("settings", ["same", "different"])
def test_processes(tmp_path, settings):
    """One process has all cases and the other none; or they were given different thresholds."""
    pytest.importorskip("torch.distributed")
    command = [sys.executable, "-c", WORKER]
    address = str(tmp_path / "meeting")
    processes = [
        subprocess.Popen([*command, str(rank), address, settings], stdout=subprocess.PIPE, text=True)
        for rank in range(2)
    ]
    outputs = [process.communicate(timeout=120)[0] for process in processes]
    assert outputs[0] == outputs[1]
    if settings == "different":
        assert outputs[0].startswith(
            "ExactaValueError every process must compute the same metric with the same settings"
        )
        assert 'iou_threshold is "0.2" on process 0' in outputs[0]
        return
    rng = np.random.default_rng(7)
    pred, target = rng.integers(0, 2, (2, 3, 6, 7))
    (curve,) = detection.lesion_detection(
        pred, target, rng.random(pred.shape), connectivity=1, num_classes=2, iou_threshold=0.2
    ).curves
    assert outputs[0].strip() == f"{curve.recall.tolist()} {float(curve.average_precision)} 3"


def test_curves_are_drawn():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    confidence = np.array([[[0.0, 0.9, 0.2, 0.7, 0.5, 0.5, 0.1, 0.0, 0.6, 0.6]]])
    pred = np.array([[[0, 1, 1, 0, 1, 1, 0, 0, 1, 1]]])
    target = np.array([[[0, 1, 1, 1, 0, 0, 0, 0, 1, 1]]])
    result = detection.lesion_detection(pred, target, confidence, connectivity=1, num_classes=2)
    figure, axes = plt.subplots(1, 2)
    assert result.plot(ax=axes[0]) is axes[0]
    line = axes[0].lines[0]
    assert line.get_xdata().tolist() == result.curves[0].false_positives_per_case.tolist()
    assert line.get_ydata().tolist() == result.curves[0].recall.tolist()
    assert axes[0].get_legend().get_texts()[0].get_text() == "class 1, AP 1.000"
    assert result.curves[0].plot("precision-recall", ax=axes[1]).get_ylabel() == "precision"
    with pytest.raises(ValueError, match="kind must be one of 'froc', 'precision-recall'; got 'roc'"):
        result.plot("roc")
    plt.close(figure)

"""Six batches of label maps, measured per case and class by other tools. Some classes are absent on purpose.

Values are those that one call of ours gives for the whole batch. MONAI's `asd` is the directed mean from prediction to
target; our `combine` is symmetric, so it is compared with both directed means, which `combine="max"` and `"mean"` hold.
"""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from exacta import functional

nan, inf = math.nan, math.inf
FIXTURES = Path(__file__).parent / "fixtures"
BATCHES = json.loads((FIXTURES / "multiclass.json").read_text())
BACKGROUND = {"with_background": True, "without_background": False}
LARGEST = 1.7976931348623157e308


def load(name):
    masks = np.load(FIXTURES / "multiclass.npz")
    return masks[f"{name}/pred"], masks[f"{name}/target"], BATCHES[name]


def numbers(rows):
    return np.array([[float(v) for v in row] for row in rows])


def presence(pred, target, classes):
    """Which classes each case has in the prediction and in the target, as two `(B, classes)` arrays."""
    return (np.array([[(case == c).any() for c in range(classes)] for case in labels]) for labels in (pred, target))


def assert_close(got, want, relative):
    """Same NaN, same infinities, and finite values within `relative` of the wanted ones."""
    assert got.shape == want.shape
    finite = np.isfinite(want)
    np.testing.assert_array_equal(got[~finite], want[~finite])
    np.testing.assert_allclose(got[finite], want[finite], rtol=relative, atol=0)


# name of MONAI's value: function, options, agreement, what an empty prediction or target gives there, both empty there
MONAI = {
    "dice": ("dice", {}, 1e-6, 0.0, 1.0),
    "iou": ("iou", {}, 1e-6, 0.0, 1.0),
    "hd": ("hausdorff_distance", {}, 2e-7, inf, nan),
    "hd95": ("hd95", {}, 1e-5, nan, nan),
    "assd": ("assd", {}, 1e-6, inf, nan),
    "nsd": ("nsd", {}, 1e-6, 0.0, nan),
    "nsd_subvoxels": ("nsd", {"surface": "surfels"}, 1e-6, 0.0, nan),
}
# What we give there: 0/0 is NaN, a missed or spurious structure is infinitely far or scores 0.
ONE_EMPTY = {"dice": 0.0, "iou": 0.0, "hd": inf, "hd95": inf, "assd": inf, "nsd": 0.0, "nsd_subvoxels": 0.0}


@pytest.mark.parametrize("background", BACKGROUND)
@pytest.mark.parametrize("key", MONAI)
@pytest.mark.parametrize("name", BATCHES)
def test_monai(name, key, background):
    pred, target, row = load(name)
    function, options, relative, theirs_one, theirs_both = MONAI[key]
    if key not in ("dice", "iou"):
        options = {**options, "spacing": row["spacing"]}
    if function == "nsd":
        options["tolerance"] = row["tau"]
    arguments = {"num_classes": row["classes"], "include_background": BACKGROUND[background], **options}
    got = getattr(functional, function)(pred, target, **arguments)
    want = numbers(row["monai"][background][key])

    in_pred, in_target = presence(pred, target, row["classes"])
    if not BACKGROUND[background]:
        in_pred, in_target = in_pred[:, 1:], in_target[:, 1:]
    one, both = in_pred ^ in_target, ~in_pred & ~in_target
    np.testing.assert_array_equal(want[one], np.full(one.sum(), theirs_one))
    np.testing.assert_array_equal(want[both], np.full(both.sum(), theirs_both))
    np.testing.assert_array_equal(got[one], np.full(one.sum(), ONE_EMPTY[key]))
    np.testing.assert_array_equal(got[both], np.full(both.sum(), nan))
    rest = ~one & ~both
    assert rest.any()
    assert_close(got[rest], want[rest], relative)

    # The options that give MONAI's values in one call.
    if key in ("dice", "iou"):
        arguments["both_empty"] = theirs_both
    else:
        arguments |= {"both_empty": theirs_both, "one_empty": theirs_one}
    assert_close(getattr(functional, function)(pred, target, **arguments), want, relative)


@pytest.mark.parametrize("background", BACKGROUND)
@pytest.mark.parametrize("key", ["dice", "iou"])
@pytest.mark.parametrize("name", BATCHES)
def test_monai_ignore_empty(name, key, background):
    """`ignore_empty=True` is NaN wherever the target is empty; ours only where the prediction is empty too."""
    pred, target, row = load(name)
    include = BACKGROUND[background]
    got = getattr(functional, key)(pred, target, num_classes=row["classes"], include_background=include)
    want = numbers(row["monai"][background][f"{key}_ignore_empty"])
    in_pred, in_target = presence(pred, target, row["classes"])
    if not include:
        in_pred, in_target = in_pred[:, 1:], in_target[:, 1:]
    assert np.isnan(want[~in_target]).all()
    np.testing.assert_array_equal(got[in_pred & ~in_target], np.zeros((in_pred & ~in_target).sum()))
    assert_close(got[in_target], want[in_target], 1e-6)
    assert_close(np.where(in_target, got, nan), want, 1e-6)


@pytest.mark.parametrize("background", BACKGROUND)
@pytest.mark.parametrize("name", BATCHES)
def test_monai_directed_mean(name, background):
    pred, target, row = load(name)
    arguments = {
        "num_classes": row["classes"],
        "include_background": BACKGROUND[background],
        "spacing": row["spacing"],
    }
    largest, mean = (functional.assd(pred, target, combine=c, **arguments) for c in ("max", "mean"))
    want = numbers(row["monai"][background]["asd"])
    measured = np.isfinite(want)
    np.testing.assert_array_equal(largest[~measured], want[~measured])
    largest, mean, want = largest[measured], mean[measured], want[measured]
    directed = np.stack([largest, 2 * mean - largest])
    assert (np.abs(directed - want) <= 1e-6 * want).any(axis=0).all()


def counts(pred, target, classes, include_background=True):
    """TP, FP, TN, FN of each case and class as voxels of masked images, `(B, K, 4)` in MONAI's order."""
    size = "volume" if pred.ndim == 4 else "area"
    columns = []
    for c in range(0 if include_background else 1, classes):
        p, t = pred == c, target == c
        arguments = {"num_classes": classes, "spacing": 1}
        column = []
        for side, mask in (("predicted", t), ("predicted", ~t), (None, ~t), ("target", ~p)):
            if side:
                column.append(getattr(functional, f"{side}_{size}")(pred, target, mask=mask, **arguments)[:, c])
            else:
                binary = getattr(functional, f"predicted_{size}")(~p, ~t, mask=mask, num_classes=2, spacing=1)
                column.append(binary[:, 1])
        # No counted voxel is NaN, not 0: that is a size of nothing.
        columns.append(np.nan_to_num(np.stack(column, axis=-1), nan=0.0))
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("background", BACKGROUND)
@pytest.mark.parametrize("name", BATCHES)
def test_monai_counts(name, background):
    pred, target, row = load(name)
    got = counts(pred, target, row["classes"], BACKGROUND[background])
    want = np.array(row["monai"][background]["confusion_tp_fp_tn_fn"])
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", BATCHES)
def test_simpleitk(name):
    pred, target, row = load(name)
    arguments = {"num_classes": row["classes"], "include_background": False}
    tp, fp, tn, fn = np.moveaxis(counts(pred, target, row["classes"], False), -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        got = {
            "DiceCoefficient": functional.dice(pred, target, **arguments),
            "JaccardCoefficient": functional.iou(pred, target, **arguments),
            "VolumeSimilarity": functional.volume_similarity(pred, target, convention="itk", **arguments),
            "FalseNegativeError": fn / (fn + tp),
            "FalsePositiveError": fp / (fp + tn),
            "FalseDiscoveryRate": fp / (fp + tp),
        }
    for case, labels in enumerate(row["simpleitk"]):
        for label, values in labels.items():
            k = int(label) - 1
            in_pred, in_target = tp[case, k] + fp[case, k] > 0, tp[case, k] + fn[case, k] > 0
            for key, want in values.items():
                have = got[key][case, k]
                if not in_pred and not in_target:
                    # A label that ITK does not know scores 0 everywhere; here it was not measured.
                    assert want == 0.0
                    assert have == 0.0 if key == "FalsePositiveError" else math.isnan(have)
                elif want == LARGEST:
                    # ITK divides by a tiny number where a side is empty: FP/(FP+TN) too, though it is 0 there.
                    assert not (in_pred and in_target)
                    assert have == 0.0 if key == "FalsePositiveError" else math.isnan(have)
                elif key == "DiceCoefficient":
                    assert abs(have - want) <= np.spacing(want)
                else:
                    assert have == want, (case, label, key)


@pytest.mark.parametrize("name", BATCHES)
def test_sklearn(name):
    """Over all voxels of the batch, which is then one case."""
    pred, target, row = load(name)
    pred, target = (m.reshape(1, -1, *m.shape[2:]) for m in (pred, target))
    confusion = np.array(row["sklearn"]["confusion_rows_target"])
    tp, fp, tn, fn = np.moveaxis(counts(pred, target, row["classes"])[0], -1, 0)
    np.testing.assert_array_equal(tp, confusion.diagonal())
    np.testing.assert_array_equal(tp + fp, confusion.sum(axis=0))
    np.testing.assert_array_equal(tp + fn, confusion.sum(axis=1))
    np.testing.assert_array_equal(tp + fp + tn + fn, np.full(row["classes"], confusion.sum()))
    for key, function in (("f1_per_class", functional.dice), ("jaccard_per_class", functional.iou)):
        assert_close(function(pred, target, num_classes=row["classes"])[0], np.array(row["sklearn"][key]), 1e-12)


@pytest.mark.parametrize("name", BATCHES)
def test_one_hot_is_index(name):
    """The same values from channels, and from one `evaluate` call."""
    pred, target, row = load(name)
    one_hot = [np.stack([m == c for c in range(row["classes"])], axis=1) for m in (pred, target)]
    metrics = {
        "dice": {},
        "iou": {},
        "hausdorff_distance": {},
        "hd95": {},
        "assd": {},
        "nsd": {"tolerance": row["tau"]},
    }
    arguments = {"metrics": metrics, "spacing": row["spacing"]}
    got = functional.evaluate(*one_hot, input_format="one-hot", **arguments)
    want = functional.evaluate(pred, target, num_classes=row["classes"], **arguments)
    assert list(got) == list(want) == list(metrics)
    for key in metrics:
        np.testing.assert_array_equal(got[key], want[key])

"""Lesion scores of Panoptica 2.1.7 and of the published script of BraTS 2023, on stored masks."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from exacta import functional, lesions

nan = math.nan
FIXTURES = Path(__file__).parent / "fixtures"
PANOPTICA = json.loads((FIXTURES / "lesions.json").read_text())
BRATS = json.loads((FIXTURES / "brats.json").read_text())
MATCHERS = {"naive": "greedy", "bipartite": "hungarian", "merge": "merge"}
SCORES = {"iou": "iou", "dsc": "dice"}
# name there: name here
FIELDS = {
    "tp": "tp", "fp": "fp", "fn": "fn", "rq": "f1", "sq": "sq_iou", "sq_dsc": "sq_dice", "pq": "pq_iou",
    "pq_dsc": "pq_dice", "prec": "precision", "rec": "recall",
}  # fmt: skip


def load(file, name):
    masks = np.load(FIXTURES / f"{file}.npz")
    return masks[f"{name}/pred"][None], masks[f"{name}/target"][None]


def settings():
    for name, row in PANOPTICA.items():
        for key in row["panoptica"]:
            if key.split("/")[0] in MATCHERS:
                yield pytest.param(name, key, id=f"{name} {key}")


def check(scores, want):
    for theirs, ours in FIELDS.items():
        # 0/0 is refused there, or infinite or 0 by its settings; here it is NaN.
        value = want[theirs]
        found = float(np.ravel(getattr(scores, ours))[0])
        if math.isnan(found):
            denominator = {"prec": want["tp"] + want["fp"], "rec": want["tp"] + want["fn"]}
            assert denominator.get(theirs, want["tp"] + want["fp"] + want["fn"]) == 0, theirs
        else:
            assert found == pytest.approx(value, rel=1e-12, abs=0), theirs


@pytest.mark.parametrize(("name", "key"), list(settings()))
def test_panoptica(name, key):
    pred, target = load("lesions", name)
    row = PANOPTICA[name]
    matcher, score, threshold = key.split("/")
    options = {"matching": MATCHERS[matcher], "score": SCORES[score], "threshold": float(threshold)}
    want = row["panoptica"][key]
    if row["kind"] == "instances":
        return check(lesions.evaluate_instances(pred, target, **options), want)
    options["connectivity"] = 3 if pred.ndim == 4 else 1
    found = lesions.report(
        pred > 0, target > 0, num_classes=2, include_background=False, spacing=row["spacing"], **options
    )
    check(found.scores, want)
    matched = [lesion for lesion in found.lesions if lesion.predictions]
    np.testing.assert_allclose([lesion.iou for lesion in matched], want.get("each_iou", []), rtol=1e-12)
    np.testing.assert_allclose([lesion.dice for lesion in matched], want.get("each_dsc", []), rtol=1e-12)
    return None


REGIONS = ("WT", "TC", "ET")
WHOLE = {"Legacy_Dice": "dice", "Sensitivity": "sensitivity", "Specificity": "specificity"}


@pytest.mark.parametrize("challenge", ["GLI", "SSA", "MEN", "PED", "MET"])
@pytest.mark.parametrize("name", BRATS)
def test_brats(name, challenge):
    pred, target = (lesions.brats_regions(labels) for labels in load("brats", name))
    scores = lesions.brats2023(pred, target, challenge=challenge, spacing=BRATS[name]["spacing"])
    want = BRATS[name][f"BraTS-{challenge}"]
    for theirs, ours in {
        "Num_TP": scores.tp,
        "Num_FP": scores.fp,
        "Num_FN": scores.fn,
        "LesionWise_Score_Dice": scores.lesion_dice,
        "LesionWise_Score_HD95": scores.lesion_hd95,
    }.items():
        np.testing.assert_allclose(ours[0], [want[region][theirs] for region in REGIONS], rtol=1e-12, err_msg=theirs)


@pytest.mark.parametrize("name", BRATS)
def test_brats_lesions_before_the_volume_threshold(name):
    pred, target = (lesions.brats_regions(labels) for labels in load("brats", name))
    for key, want in BRATS[name]["lesions"].items():
        region, dilation = key.split("/dilation")
        channel = slice(REGIONS.index(region), REGIONS.index(region) + 1)
        found = lesions.report(
            pred[:, channel], target[:, channel], matching="overlap", connectivity=3, dilation=int(dilation),
            dilation_connectivity=2, spacing=BRATS[name]["spacing"], surface="surfels", input_format="one-hot",
        )  # fmt: skip
        rows = want["each_target_lesion"]
        assert [lesion.voxels * np.prod(BRATS[name]["spacing"]) for lesion in found.lesions] == [
            pytest.approx(row["volume"], rel=1e-12) for row in rows
        ]
        assert [len(lesion.predictions) for lesion in found.lesions] == [row["pred_components"] for row in rows]
        assert sum(not prediction.matched for prediction in found.predictions) == want["fp_pred_components"]
        assert [lesion.dice for lesion in found.lesions] == [pytest.approx(row["dice"], rel=1e-12) for row in rows]
        distances = [math.inf if math.isnan(lesion.hd95) else lesion.hd95 for lesion in found.lesions]
        assert distances == [pytest.approx(float(row["hd95"]), rel=1e-12) for row in rows]


@pytest.mark.parametrize("name", BRATS)
def test_brats_whole_regions(name):
    pred, target = (lesions.brats_regions(labels) for labels in load("brats", name))
    want = BRATS[name]["BraTS-GLI"]
    for theirs, function in WHOLE.items():
        found = getattr(functional, function)(pred, target, input_format="one-hot")[0]
        for value, region in zip(found, REGIONS, strict=True):
            if not math.isnan(value):
                assert value == pytest.approx(want[region][theirs], rel=1e-12), (theirs, region)

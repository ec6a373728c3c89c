"""What is wrong with one case is said of that case; the others are measured."""

import os

import numpy as np
import pytest

CASES = {
    "size": "size differs",
    "spacing": "spacing differs: (1, 1, 2) in PRED, (1, 1, 1) in TARGET",
    "origin": "origin differs",
    "direction": "direction differs",
    "rank": "PRED is 2-D and TARGET 3-D",
    "four": "PRED has 4 dimensions",
    "vector": "PRED has 2 numbers per voxel",
    "fraction": "PRED holds the value 0.5",
    "nan": "TARGET holds the value nan",
    "infinite": "TARGET holds the value inf",
    "garbage": "TARGET cannot be read",
    "cut": "PRED cannot be read",
    "unmatched": "no image of this name in TARGET",
    "grey": "different labels: an image of grey values?",
}


@pytest.fixture
def folders(tmp_path, box, save):
    pred, target = tmp_path / "pred", tmp_path / "target"
    good = box((1, 3), (1, 5), (1, 5))
    for name in (*CASES, "good", "whole"):
        save(good, pred / f"{name}.nrrd")
        save(good, target / f"{name}.nrrd")
    save(good[:-1], pred / "size.nrrd")
    save(good, pred / "spacing.nrrd", spacing=(2, 1, 1))
    save(good, pred / "origin.nrrd", origin=(0, 0, 0.5))
    save(good, pred / "direction.nrrd", direction=(-1, 0, 0, 0, -1, 0, 0, 0, 1))
    save(good[0], pred / "rank.nrrd")
    save(np.zeros((2, 2, 3, 4), np.uint8), pred / "four.nrrd")
    save(np.zeros((6, 12, 12, 2), np.float32), pred / "vector.nrrd", vector=True)
    for side, name, value in ((pred, "fraction", 0.5), (target, "nan", np.nan), (target, "infinite", np.inf)):
        save(box((1, 3), (1, 5), (1, 5), value=value, dtype=np.float32), side / f"{name}.nrrd")
    (target / "garbage.nrrd").write_bytes(b"no image")
    whole = (pred / "cut.nrrd").read_bytes()
    (pred / "cut.nrrd").write_bytes(whole[: len(whole) // 2])
    (target / "unmatched.nrrd").unlink()
    save(np.arange(6 * 12 * 12 * 2, dtype=np.int16).reshape(12, 12, 12), pred / "grey.nrrd")
    save(np.zeros((12, 12, 12), np.uint8), target / "grey.nrrd")
    # What a NIfTI reader gives for labels with a scale factor: floating, but whole.
    save(good.astype(np.float64), pred / "whole.nrrd")
    return pred, target


def test_each_reason_is_given_and_the_others_are_measured(folders, measure):
    result = measure(*folders, "--metrics", "dice,hd95")
    assert result.exit_code == 1
    for name, reason in CASES.items():
        for metric in ("dice", "hd95"):
            row = result.rows[name, "1", metric]
            assert (row["status"], row["value"]) == ("error", None)
            assert reason in row["reason"], name
            assert "\n" not in row["reason"]
        assert f"exacta: {name}: " in result.stderr
    for name in ("good", "whole"):
        assert result.rows[name, "1", "dice"]["value"] == 1.0
        assert result.rows[name, "1", "dice"]["status"] == "ok"
    assert f"{len(CASES)} of {len(CASES) + 2} cases could not be measured" in result.stderr
    # Failed cases are in no mean, and the summary counts them.
    assert f"{len(CASES)} error" in result.stdout


def test_errors_have_rows_for_the_labels_asked_for_even_when_nothing_could_be_measured(tmp_path, box, save, measure):
    save(box((1, 2), (1, 2), (1, 2)), tmp_path / "pred.nii")
    (tmp_path / "target.nii").write_bytes(b"no image")
    result = measure(tmp_path / "pred.nii", tmp_path / "target.nii", "--labels", "1-2", "--metrics", "dice")
    assert result.exit_code == 1
    assert [(row["label"], row["status"]) for row in result.rows.values()] == [("1", "error"), ("2", "error")]
    result = measure(tmp_path / "pred.nii", tmp_path / "target.nii", "--metrics", "dice")
    assert [(row["label"], row["status"]) for row in result.rows.values()] == [("", "error")]


@pytest.mark.parametrize(
    ("difference", "fits"),
    [
        ({"origin": (1e-4, 0, 0)}, True),
        ({"origin": (1e-2, 0, 0)}, False),
        ({"spacing": 1.0001}, True),
        ({"spacing": 1.01}, False),
    ],
)
def test_rounding_in_a_header_is_no_difference(tmp_path, box, save, measure, difference, fits):
    good = box((1, 3), (1, 5), (1, 5))
    pred = save(good, tmp_path / "pred.nrrd", **difference)
    target = save(good, tmp_path / "target.nrrd")
    assert measure(pred, target, "--metrics", "dice").exit_code == (0 if fits else 1)


def test_oblique_geometry_survives_a_change_of_format(tmp_path, box, save, measure):
    # NIfTI keeps a rotation as float32 quaternion, which is at its worst near half turns.
    angle = np.deg2rad(179.9)
    cos, sin = float(np.cos(angle)), float(np.sin(angle))
    geometry = {"direction": (cos, -sin, 0, sin, cos, 0, 0, 0, 1), "origin": (123.456789, -98.7654321, 1234.56789)}
    good = box((1, 3), (1, 5), (1, 5))
    pred = save(good, tmp_path / "pred.nii.gz", spacing=(3, 0.4296875, 0.4296875), **geometry)
    target = save(good, tmp_path / "target.nrrd", spacing=(3, 0.4296875, 0.4296875), **geometry)
    result = measure(pred, target, "--metrics", "dice")
    assert (result.exit_code, result.stderr) == (0, "")


def test_a_metric_of_the_wrong_rank_is_an_error_of_the_case(tmp_path, box, save, measure):
    for side in ("pred", "target"):
        save(box((1, 3), (1, 5), shape=(6, 12)), tmp_path / side / "flat.mha")
        save(box((1, 3), (1, 5), (1, 5)), tmp_path / side / "full.mha")
    result = measure(tmp_path / "pred", tmp_path / "target", "--metrics", "target_volume,dice")
    assert result.exit_code == 1
    assert result.rows["flat", "1", "dice"]["status"] == "error"
    assert result.rows["full", "1", "target_volume"]["value"] == 32.0


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may read every file")
def test_a_file_without_permission_is_an_error_of_the_case(tmp_path, box, save, measure):
    for side in ("pred", "target"):
        save(box((1, 3), (1, 5), (1, 5)), tmp_path / side / "a.nii")
    (tmp_path / "pred" / "a.nii").chmod(0)
    assert measure(tmp_path / "pred", tmp_path / "target").exit_code == 1

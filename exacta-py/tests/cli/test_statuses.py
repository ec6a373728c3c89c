"""What is said of each case and label, and what enters a mean."""

import math

import pytest


def test_every_case_and_label_has_a_status_and_the_value_of_the_library(four_cases, measure):
    result = measure(*four_cases, "--metrics", "dice,hd95,nsd:tolerance=1")
    assert result.exit_code == 0
    found = {key: (row["status"], row["value"]) for key, row in result.rows.items()}
    assert len(found) == 4 * 2 * 3
    assert found["a", "1", "dice"] == ("ok", 1.0)
    assert found["a", "2", "hd95"] == ("ok", 0.0)
    assert found["b", "2", "dice"] == ("missed", 0.0)
    assert found["b", "2", "hd95"] == ("missed", math.inf)
    assert found["b", "2", "nsd(tolerance=1)"] == ("missed", 0.0)
    assert found["c", "2", "dice"] == ("spurious", 0.0)
    assert found["c", "2", "hd95"] == ("spurious", math.inf)
    for metric in ("dice", "hd95", "nsd(tolerance=1)"):
        for label in "12":
            status, value = found["d", label, metric]
            assert status == "both empty"
            assert math.isnan(value)


def summary_line(text, *words):
    return next(line for line in text.partition("Summary")[2].splitlines() if all(word in line for word in words))


def test_a_missed_structure_is_in_the_mean(four_cases, run):
    # Label 2: ok 1.0, missed 0.0, spurious 0.0; its distances 0, inf, inf.
    text = run(*four_cases, "--labels", "2", "--metrics", "dice,hd95").stdout
    assert "0.3333" in summary_line(text, "dice")
    assert "1 ok, 1 missed, 1 spurious" in summary_line(text, "dice")
    assert "1 both empty" in summary_line(text, "dice")
    label, metric, unit, mean, infinite, finite_mean = summary_line(text, "hd95").split()[:6]
    assert (label, metric, unit) == ("2", "hd95", "[mm]")
    assert (mean, infinite, finite_mean) == ("inf", "2", "0.0000")


def test_a_class_missed_in_its_only_case_scores_zero_and_an_absent_one_nothing(tmp_path, box, save, run):
    # Pitfall P8: ten samples, label 1 only in the first and missed there, label 2 nowhere.
    empty = box((0, 0), (0, 0), (0, 0))
    for index in range(10):
        save(empty, tmp_path / "pred" / f"{index}.nii")
        save(empty if index else box((1, 2), (1, 2), (1, 2)), tmp_path / "target" / f"{index}.nii")
    result = run(tmp_path / "pred", tmp_path / "target", "--labels", "1,2", "--metrics", "dice")
    assert summary_line(result.stdout, "dice", "1 missed").split()[:3] == ["1", "dice", "0.0000"]
    assert summary_line(result.stdout, "dice", "10 both empty").split()[:3] == ["2", "dice", "nan"]
    assert "label 2 occurs in no image" in result.stderr


def test_a_value_that_does_not_exist_is_counted_as_left_out(four_cases, run):
    # Nothing was predicted, so precision is 0/0 in the missed case: said, not hidden.
    text = run(*four_cases, "--labels", "2", "--metrics", "precision").stdout
    line = summary_line(text, "precision")
    assert "1 ok, 1 spurious" in line
    assert "1 missed, 1 both empty" in line


def test_labels_of_other_cases_are_filled_with_the_values_of_both_empty(tmp_path, box, save, measure):
    # Without --labels, a case is measured for its own labels; the others have the library's values for an absent label.
    for name, value in (("a", 1), ("b", 200)):
        for side in ("pred", "target"):
            save(box((1, 3), (1, 4), (1, 4), value=value), tmp_path / side / f"{name}.nii")
    result = measure(tmp_path / "pred", tmp_path / "target", "--metrics", "dice:both_empty=1,specificity,target_volume")
    for case, label in (("a", "200"), ("b", "1")):
        found = {key[2]: row for key, row in result.rows.items() if key[:2] == (case, label)}
        assert {row["status"] for row in found.values()} == {"both empty"}
        assert found["dice(both_empty=1)"]["value"] == 1.0
        assert found["specificity"]["value"] == 1.0
        assert found["target_volume"]["value"] == 0.0


def test_images_without_any_label(tmp_path, box, save, measure):
    for side in ("pred", "target"):
        save(box((0, 0), (0, 0), (0, 0)), tmp_path / f"{side}.nii")
    result = measure(tmp_path / "pred.nii", tmp_path / "target.nii")
    assert (result.exit_code, result.rows) == (0, {})


@pytest.mark.parametrize("extension", ["nii", "nii.gz", "nrrd", "nhdr", "mha", "mhd"])
@pytest.mark.parametrize(("other", "expected"), [((1, 0, 0), 5.0), ((0, 0, 1), 1.0)])
def test_spacing_follows_the_axes_of_the_array(tmp_path, box, save, measure, extension, other, expected):
    # Pitfall P1.
    def voxel(*at):
        return box(*((index, index + 1) for index in at), shape=(3, 3, 3))

    pred = save(voxel(0, 0, 0), tmp_path / f"pred.{extension}", spacing=(5, 1, 1))
    target = save(voxel(*other), tmp_path / f"target.{extension}", spacing=(5, 1, 1))
    result = measure(pred, target, "--metrics", "hausdorff_distance")
    assert result.rows["pred", "1", "hausdorff_distance"]["value"] == expected


def test_spacing_of_the_caller(tmp_path, box, save, measure):
    pred = save(box((0, 1), (0, 1), (0, 1)), tmp_path / "pred.nii", spacing=9)
    target = save(box((1, 2), (0, 1), (0, 1)), tmp_path / "target.nii", spacing=7)
    for given, expected in (("5,1,1", 5.0), ("3", 3.0)):
        result = measure(pred, target, "--metrics", "hausdorff_distance", "--spacing", given)
        assert result.rows["pred", "1", "hausdorff_distance"]["value"] == expected
    # Pitfall P2: both numbers are stated.
    result = measure(pred, target, "--metrics", "hausdorff_distance", "--spacing", "1,1")
    assert result.exit_code == 1
    assert "3 spatial axes" in result.stderr
    assert "2 values" in result.stderr


def test_images_keep_their_axes(tmp_path, box, save, measure):
    # Pitfall P47: a single slice is measured as the volume that it is.
    for name, shape, expected in (("flat", (12, 12), 0.4642857), ("slice", (1, 12, 12), 0.1181102)):
        lead = [(0, 1)] * (len(shape) - 2)
        pred = save(box(*lead, (2, 10), (2, 10), shape=shape), tmp_path / f"{name}.mha")
        target = save(box(*lead, (3, 10), (2, 11), shape=shape), tmp_path / f"{name}_target.mha")
        result = measure(pred, target, "--metrics", "assd")
        assert result.rows[name, "1", "assd"]["value"] == pytest.approx(expected, abs=5e-8)

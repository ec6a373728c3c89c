"""`--labels`, and labels of any value and dtype."""

import json
import math

import numpy as np
import pytest

from exacta.cli._encode import encode, label_values
from exacta.cli._labels import disjoint_groups, parse_labels
from exacta.cli._records import CaseError, Label


@pytest.mark.parametrize(
    ("text", "values"),
    [("1", [1]), ("1,2,5-7", [1, 2, 5, 6, 7]), (" 3 , 0-1 ", [3, 0, 1]), ("-1,7112", [-1, 7112]), ("-2--1", [-2, -1])],
)
def test_numbers_and_ranges(text, values):
    labels, ignore = parse_labels(text)
    assert [label.values for label in labels] == [(value,) for value in values]
    assert ignore is None


@pytest.mark.parametrize("text", ["", "1,,2", "7-5", "1-100000", "1,1", "a", "1.5", "no/such.json"])
def test_wrong_numbers(text, run, tmp_path):
    with pytest.raises(ValueError, match=r"label|backwards|neither"):
        parse_labels(text)
    assert run(tmp_path, tmp_path, "--labels", text).exit_code == 2


@pytest.mark.parametrize(
    ("content", "expected", "ignored"),
    [
        ({"kidney": 1, "tumour": 2}, [("1", "kidney"), ("2", "tumour")], None),
        ({"labels": {"background": 0, "kidney": 1}, "numTraining": 3}, [("1", "kidney")], None),
        ({"labels": {"0": "background", "1": "kidney"}}, [("1", "kidney")], None),
        ({"labels": {"background": "0", "kidney": "1"}}, [("1", "kidney")], None),
        ({"labels": {"background": 0, "whole": [1, 2], "core": 2}}, [("1+2", "whole"), ("2", "core")], None),
        ({"labels": {"background": 0, "kidney": 1, "ignore": 2}}, [("1", "kidney")], 2),
        ([1, 5], [("1", ""), ("5", "")], None),
        ({"air": 0, "kidney": 1}, [("0", "air"), ("1", "kidney")], None),
    ],
)
def test_json_files(tmp_path, content, expected, ignored):
    path = tmp_path / "dataset.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    labels, ignore = parse_labels(str(path))
    assert [(label.key, label.name) for label in labels] == expected
    assert ignore == ignored


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"background": 0},
        {"a": 1, "b": 1},
        {"a": 1.5},
        {"a": True},
        {"a": []},
        {"a": "b"},
        "a",
        3,
        {"ignore": [1, 2]},
        {"a": [1, 2], "ignore": 2},
    ],
)
def test_wrong_json_files(tmp_path, content):
    path = tmp_path / "labels.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(ValueError, match=r"labels\.json|occurs twice"):
        parse_labels(str(path))


def test_text_that_is_no_json(tmp_path):
    (tmp_path / "labels.json").write_text("kidney: 1", encoding="utf-8")
    with pytest.raises(ValueError, match="no readable JSON"):
        parse_labels(str(tmp_path / "labels.json"))


def test_groups_hold_no_value_twice():
    labels = [Label((1, 2, 3)), Label((2, 3)), Label((3,)), Label((4,))]
    assert disjoint_groups(labels) == [[0, 3], [1], [2]]


def test_names_are_in_the_rows(tmp_path, four_cases, measure):
    path = tmp_path / "labels.json"
    path.write_text('{"labels": {"background": 0, "left [L]": 1, "right": 2}}', encoding="utf-8")
    result = measure(*four_cases, "--labels", path, "--metrics", "dice")
    assert {(row["label"], row["name"]) for row in result.rows.values()} == {("1", "left [L]"), ("2", "right")}
    assert "1 left [L]" in result.stdout


def test_regions_are_unions_and_may_overlap(tmp_path, box, save, measure):
    inner, outer = box((2, 3), (2, 4), (2, 4), value=3), box((1, 4), (1, 6), (1, 6))
    nested = np.where(inner > 0, inner, outer)
    pred = save(nested, tmp_path / "pred.nii")
    target = save(np.where(nested == 3, 2, nested).astype(np.uint8), tmp_path / "target.nii")
    path = tmp_path / "regions.json"
    path.write_text('{"labels": {"whole": [1, 2, 3], "core": [2, 3], "two": 2}}', encoding="utf-8")
    result = measure(pred, target, "--labels", path, "--metrics", "dice,hd95")
    found = {key[1:]: (row["status"], row["value"]) for key, row in result.rows.items()}
    assert found["1+2+3", "dice"] == ("ok", 1.0)
    assert found["2+3", "hd95"] == ("ok", 0.0)
    assert found["2", "dice"] == ("missed", 0.0)
    assert found["2", "hd95"] == ("missed", math.inf)


def test_voxels_of_the_ignore_label_do_not_count(tmp_path, box, save, measure):
    target = box((0, 6), (0, 6), (0, 12)) + box((0, 6), (6, 12), (0, 12), value=9)
    pred = save(box((0, 6), (0, 12), (0, 12)), tmp_path / "pred.nii")
    path = tmp_path / "dataset.json"
    path.write_text('{"labels": {"background": 0, "kidney": 1, "other": 2, "ignore": 9}}', encoding="utf-8")
    target = save(target, tmp_path / "target.nii")
    result = measure(pred, target, "--labels", path, "--metrics", "dice,iou")
    assert result.rows["pred", "1", "dice"]["value"] == 1.0
    assert result.rows["pred", "2", "dice"]["status"] == "both empty"
    # No distance is defined across voxels that do not count.
    result = measure(pred, target, "--labels", path, "--metrics", "dice,hd95")
    assert result.exit_code == 1
    assert "mask" in result.rows["pred", "1", "hd95"]["reason"]


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        (np.uint8, 255),
        (np.int16, 7112),
        (np.uint16, 65535),
        (np.int32, 2**31 - 1),
        (np.uint32, 2**32 - 1),
        (np.int64, 2**62 + 1),
        (np.uint64, 2**63 + 5),
        (np.float32, 7112),
        (np.float64, 2**40),
    ],
)
def test_labels_of_any_value(tmp_path, box, save, measure, dtype, value):
    # Pitfalls P16, P30 and P62: a label is an identity; a mask of 0 and 255 is a mask.
    pred = save(box((1, 3), (1, 5), (1, 5), value=value, dtype=dtype), tmp_path / "pred.nrrd")
    target = save(box((1, 3), (1, 5), (2, 6), value=value, dtype=dtype), tmp_path / "target.nrrd")
    for options in ((), ("--labels", value)):
        result = measure(pred, target, "--metrics", "dice,hausdorff_distance", *options)
        assert result.exit_code == 0
        assert result.rows["pred", str(value), "dice"]["value"] == 0.75
        assert result.rows["pred", str(value), "hausdorff_distance"]["value"] == 1.0


def test_negative_labels_and_the_background_can_be_asked_for(tmp_path, box, save, measure):
    array = box((1, 3), (1, 5), (1, 5), value=-7, dtype=np.int16)
    pred, target = save(array, tmp_path / "pred.nii"), save(array, tmp_path / "target.nii")
    result = measure(pred, target, "--labels", "-7,0", "--metrics", "target_volume")
    assert result.rows["pred", "-7", "target_volume"]["value"] == 32.0
    assert result.rows["pred", "0", "target_volume"]["value"] == 6 * 12 * 12 - 32.0


def test_other_labels_count_as_background_and_are_told(four_cases, measure):
    result = measure(*four_cases, "--labels", "1,7", "--metrics", "dice")
    assert result.exit_code == 0
    assert {key[1] for key in result.rows} == {"1", "7"}
    assert "label 7 occurs in no image" in result.stderr
    assert "labels that were not asked for count as background: 2" in result.stderr


@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int16", "uint16", "int32", "int64", "uint64", "float32", "float64"]
)
def test_values_and_codes_equal_the_naive_ones(dtype):
    rng = np.random.default_rng(3)
    wide = np.dtype(dtype).itemsize > 2
    for low, high in ((0, 5), (-100 if dtype[0] != "u" else 0, 100), (0, 2**24 if wide else 120)):
        # More than one slab, so that their seams are met.
        array = rng.choice(rng.integers(low, high, size=300), size=(3, 700, 701)).astype(dtype)
        values = label_values(array, "PRED")
        unique = np.unique(array)
        assert values == {int(value) for value in unique}
        codes = {int(value): index % 200 + 1 for index, value in enumerate(unique[::2])}
        expected = np.array([codes.get(int(value), 0) for value in unique], np.uint8)[np.searchsorted(unique, array)]
        np.testing.assert_array_equal(encode(array, values, codes, np.uint8), expected)


@pytest.mark.parametrize("value", [0.5, -0.25, math.nan, math.inf, 1e-30])
def test_fractional_values_are_found_wherever_they_are(value):
    array = np.zeros((3, 700, 701), np.float64)
    array[2, 699, 700] = value
    with pytest.raises(CaseError, match="TARGET holds the value"):
        label_values(array, "TARGET")

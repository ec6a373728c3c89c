"""`--metrics`: names, options and their titles."""

import pytest

from exacta.cli._metrics import parse_metrics, rounds


def test_titles_carry_what_differs_from_the_default():
    metrics = parse_metrics(
        "dice, hd95:combine=pooled,nsd:tolerance=1.0:one_empty=0,volume_error:absolute=true;unit=ml,"
        "cldice:thinning=keep-components"
    )
    assert [metric.title for metric in metrics] == [
        "dice",
        "hd95(combine=pooled)",
        "nsd(tolerance=1)",
        "volume_error(absolute=true, unit=ml)",
        "cldice(thinning=keep-components)",
    ]
    assert [metric.unit for metric in metrics] == ["", "mm", "", "ml", ""]
    assert metrics[2].options == {"tolerance": 1.0, "one_empty": 0.0}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no metric"),
        (" , ", "no metric"),
        ("dise", "'dise' is no metric; there are .*dice"),
        ("nsd", "nsd needs a tolerance"),
        ("nsd:tolerance=-1", "tolerance"),
        ("nsd:tolerance=wide", "tolerance is a number"),
        ("nsd:1.0", "option=value"),
        ("hd95:combine=", "option=value"),
        ("hd95:percentile=90", "has no option 'percentile'"),
        ("hd95:combine=median", "combine"),
        ("hd95:combine=max:combine=max", "sets combine twice"),
        ("hd95:surface=skin", "surface"),
        ("cldice:thinning=zhang", "thinning"),
        ("hausdorff_distance:percentile=101", "percentile"),
        ("volume_error:absolute=maybe", "true or false"),
        ("target_volume:unit=litre", "unit"),
        ("dice,dice", "dice is asked for twice"),
        ("hd95,hd95:combine=max", "hd95 is asked for twice"),
        ("lesion_f1:matching=nearest", "matching must be one of"),
        ("lesion_f1:connectivity=2.5", "connectivity must be an integer"),
        ("lesion_f1:tau=1", "has no option 'tau'"),
        ("target_volume,target_area", "areas are of 2-D and volumes of 3-D"),
    ],
)
def test_wrong_metrics_are_told_before_anything_is_measured(text, message, run, tmp_path):
    with pytest.raises(ValueError, match=message):
        parse_metrics(text)
    assert run(tmp_path, tmp_path, "--metrics", text).exit_code == 2


def test_a_metric_may_be_asked_for_with_several_options(tmp_path, box, save, measure):
    metrics = parse_metrics("nsd:tolerance=0,dice,nsd:tolerance=1")
    assert rounds(metrics) == [[0, 1], [2]]
    pred = save(box((0, 1), (0, 1), (0, 1)), tmp_path / "pred.nii")
    target = save(box((1, 2), (0, 1), (0, 1)), tmp_path / "target.nii")
    result = measure(pred, target, "--metrics", "nsd:tolerance=0,dice,nsd:tolerance=1")
    assert {key[2]: row["value"] for key, row in result.rows.items()} == {
        "nsd(tolerance=0)": 0.0,
        "dice": 0.0,
        "nsd(tolerance=1)": 1.0,
    }


def test_values_are_those_of_the_library(tmp_path, box, save, measure):
    from exacta.functional import evaluate

    pred, target = box((1, 4), (2, 9), (1, 7)), box((1, 5), (2, 8), (3, 8))
    expected = evaluate(
        pred[None],
        target[None],
        metrics={"dice": {}, "hd95": {"combine": "pooled"}, "assd": {}, "nsd": {"tolerance": 1.0}, "volume_error": {}},
        spacing=(2.5, 0.75, 0.5),
        num_classes=2,
        include_background=False,
    )
    result = measure(
        save(pred, tmp_path / "pred.nii", spacing=(2.5, 0.75, 0.5)),
        save(target, tmp_path / "target.mha", spacing=(2.5, 0.75, 0.5)),
        "--metrics",
        "dice,hd95:combine=pooled,assd,nsd:tolerance=1,volume_error",
    )
    # To the last bit: the file holds every digit.
    assert [row["value"] for row in result.rows.values()] == [values.item() for values in expected.values()]
    assert [row["unit"] for row in result.rows.values()] == ["", "mm", "mm", "", "mm3"]


def test_surfaces_by_name(tmp_path, box, save, measure):
    from exacta.functional import hd95

    pred, target = box((1, 4), (2, 9), (1, 7)), box((1, 5), (2, 8), (3, 8))
    paths = [save(pred, tmp_path / "pred.nii"), save(target, tmp_path / "target.nii")]
    kinds = ["voxels", "surfels", "mesh", "faces"]
    result = measure(*paths, "--metrics", ",".join(f"hd95:surface={kind}" for kind in kinds))
    keys = {"spacing": 1, "num_classes": 2, "include_background": False}
    wanted = [hd95(pred[None], target[None], surface=kind, **keys).item() for kind in kinds]
    assert [row["value"] for row in result.rows.values()] == wanted


def test_lesion_scores_are_those_of_the_library(tmp_path, box, save, measure):
    from exacta import lesions

    pred = box((1, 4), (2, 9), (1, 7)) | box((0, 1), (10, 12), (10, 12))
    target = box((1, 5), (2, 8), (3, 8)) | box((5, 6), (0, 2), (0, 2))
    options = {"matching": "overlap", "dilation": 1, "dilation_connectivity": 3, "missed_distance": 50.0}
    expected = lesions.evaluate(
        pred[None], target[None], connectivity=3, spacing=2.5, num_classes=2, include_background=False, **options
    )
    written = "matching=overlap:dilation=1:missed_distance=50"
    result = measure(
        save(pred, tmp_path / "pred.nii", spacing=2.5),
        save(target, tmp_path / "target.nii", spacing=2.5),
        "--metrics",
        f"lesion_f1:{written},dice,lesion_hd95:{written},lesion_fp",
    )
    rows = list(result.rows.values())
    assert [rows[0]["value"], rows[2]["value"]] == [expected.f1.item(), expected.lesion_hd95.item()]
    assert [row["unit"] for row in rows] == ["", "", "mm", ""]
    assert [row["metric"] for row in rows] == [
        "lesion_f1(matching=overlap, dilation=1, missed_distance=50)",
        "dice",
        "lesion_hd95(matching=overlap, dilation=1, missed_distance=50)",
        "lesion_fp",
    ]
    greedy = lesions.evaluate(
        pred[None], target[None], connectivity=3, matching="greedy", num_classes=2, include_background=False
    )
    assert rows[3]["value"] == greedy.fp.item() != expected.fp.item()


def test_lesions_refuse_ignored_voxels(tmp_path, box, save, run):
    target = box((1, 3), (1, 5), (1, 5)) + box((5, 6), (6, 10), (6, 10), value=2)
    pred, target = save(box((1, 3), (1, 5), (1, 5)), tmp_path / "pred.nii"), save(target, tmp_path / "target.nii")
    names = tmp_path / "labels.json"
    names.write_text('{"labels": {"background": 0, "lesion": 1, "ignore": 2}}', encoding="utf-8")
    result = run(pred, target, "--metrics", "lesion_f1", "--labels", names)
    assert result.exit_code == 1
    assert "lesions with ignored voxels are not defined" in result.stderr

"""Files, tables and summary; and what is left when something fails on the way."""

import json
import math

import pytest

from exacta.cli import _rows, _run, _tables
from exacta.cli._records import CaseResult, Label, Measured, Metric
from exacta.cli._summary import summarise

HEADER = ["case", "label", "name", "metric", "value", "unit", "status", "reason"]


def test_csv_is_tidy_and_in_the_order_of_the_cases(four_cases, run, rows, tmp_path):
    out = tmp_path / "made" / "results.csv"
    assert run(*four_cases, "--out", out, "--metrics", "dice,assd").exit_code == 0
    assert out.read_text(encoding="utf-8").splitlines()[0] == ",".join(HEADER)
    keys = [(row["case"], row["label"], row["metric"]) for row in rows(out)]
    assert keys == [(case, label, metric) for case in "abcd" for label in "12" for metric in ("dice", "assd")]
    assert list(out.parent.iterdir()) == [out]


def test_json_holds_the_same_in_strict_json(four_cases, run, rows, tmp_path):
    for name in ("results.csv", "results.json"):
        run(*four_cases, "--out", tmp_path / name, "--metrics", "dice,hd95")

    def refuse(constant):
        raise AssertionError(constant)

    records = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"), parse_constant=refuse)
    expected = rows(tmp_path / "results.csv")
    assert [list(record) for record in records] == [HEADER] * len(expected)
    for record, row in zip(records, expected, strict=True):
        value = row.pop("value")
        written = record.pop("value")
        assert record == row
        assert written == (None if math.isnan(value) else "Infinity" if math.isinf(value) else value)


@pytest.mark.parametrize("name", ["results.txt", "results", "folder.csv"])
def test_a_file_that_cannot_be_written_is_told_first(four_cases, run, tmp_path, name):
    (tmp_path / "folder.csv").mkdir()
    assert run(*four_cases, "--out", tmp_path / name).exit_code == 2


def test_tables_are_not_cut_in_a_pipe(tmp_path, box, save, run):
    name = "a_case_with_a_very_long_name_" * 6
    for side in ("pred", "target"):
        save(box((1, 3), (1, 5), (1, 5)), tmp_path / side / f"{name}.nii")
    metrics = "dice,iou,hd95:combine=pooled,hausdorff_distance:percentile=99.5,assd,masd,nsd:tolerance=1,target_volume"
    text = run(tmp_path / "pred", tmp_path / "target", "--metrics", metrics).stdout
    row = next(line for line in text.splitlines() if name in line)
    assert "ok" in row
    assert "32.0000" in row
    assert "hausdorff_distance(percentile=99.5) [mm]" in text
    assert "…" not in text


def test_a_narrow_terminal_folds_but_cuts_nothing(four_cases, run, monkeypatch):
    real = _tables._console
    monkeypatch.setattr(_tables, "_console", lambda width=None: real(30 if width is None else width))
    monkeypatch.setenv("FORCE_COLOR", "1")
    text = run(*four_cases).stdout
    assert "…" not in text
    for word in ("empty", "spurious", "0.3333", "nsd(tolerance=1)"):
        assert word in text


def test_quiet_prints_problems_only(four_cases, run, tmp_path):
    result = run(*four_cases, "--quiet", "--out", tmp_path / "results.csv")
    assert (result.exit_code, result.output) == (0, "")
    (four_cases[0] / "a.nii.gz").unlink()
    result = run(*four_cases, "--quiet")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "exacta: a: no image of this name in PRED" in result.stderr


def test_a_long_table_is_shortened_when_the_rest_is_in_a_file(four_cases, run, tmp_path, monkeypatch):
    monkeypatch.setattr(_tables, "LONGEST", 4)
    cases = run(*four_cases, "--out", tmp_path / "results.csv").stdout.partition("Cases per label")[0]
    assert "missed" in cases
    assert " ok " not in cases
    assert "6 more rows are in" in cases
    assert " ok " in run(*four_cases).stdout.partition("Cases per label")[0]


def results_of(*entries):
    label = Label((1,))
    return [CaseResult(str(i), (Measured(label, status, values),)) for i, (status, values) in enumerate(entries)]


def test_summary_of_infinite_values():
    metric = Metric("hd95", "hd95", "mm")
    (summary,) = summarise(results_of(("ok", (1.0,)), ("ok", (3.0,)), ("missed", (math.inf,)), ("error", ())), [metric])
    assert summary.mean == math.inf
    assert (summary.infinite, summary.finite_mean) == (1, 2.0)
    assert (summary.median, summary.minimum, summary.maximum) == (3.0, 1.0, math.inf)
    assert math.isnan(summary.std)
    assert summary.counted == {"ok": 2, "missed": 1}
    assert summary.left_out == {"error": 1}


def test_summary_of_finite_values_and_of_none():
    metric = Metric("dice", "dice", "")
    (summary,) = summarise(results_of(("ok", (0.5,)), ("missed", (0.0,)), ("ok", (1.0,))), [metric])
    assert (summary.mean, summary.std, summary.median) == (0.5, 0.5, 0.5)
    (summary,) = summarise(results_of(("both empty", (math.nan,)), ("error", ())), [metric])
    assert math.isnan(summary.mean)
    assert summary.counted == {}
    (summary,) = summarise(results_of(("ok", (math.inf,)), ("ok", (-math.inf,))), [metric])
    assert math.isnan(summary.mean)


@pytest.mark.parametrize("extension", ["csv", "json"])
def test_each_case_is_on_disk_before_the_next_is_measured(four_cases, run, tmp_path, monkeypatch, extension):
    out = tmp_path / f"results.{extension}"
    seen = []
    measure = _run.measure

    def watch(case, plan):
        text = out.read_text(encoding="utf-8")
        whole = len(json.loads(text)) if extension == "json" else text.count("\n") - 1
        seen.append(whole)
        return measure(case, plan)

    monkeypatch.setattr(_run, "measure", watch)
    run(*four_cases, "--out", out, "--labels", "1-2", "--metrics", "dice")
    assert seen == [0, 2, 4, 6]


def test_an_interruption_keeps_what_is_measured_and_names_what_is_not(four_cases, run, rows, tmp_path, monkeypatch):
    measure = _run.measure

    def interrupted(case, plan):
        if case.name == "c":
            raise KeyboardInterrupt
        return measure(case, plan)

    monkeypatch.setattr(_run, "measure", interrupted)
    result = run(*four_cases, "--out", tmp_path / "results.csv", "--metrics", "dice")
    assert result.exit_code == 130
    found = [(row["case"], row["label"], row["status"]) for row in rows(tmp_path / "results.csv")]
    assert found == [
        ("a", "1", "ok"),
        ("a", "2", "ok"),
        ("b", "1", "ok"),
        ("b", "2", "missed"),
        ("c", "1", "error"),
        ("c", "2", "error"),
        ("d", "1", "error"),
        ("d", "2", "error"),
    ]
    assert "Summary" in result.stdout


class FullDisk(_rows.CsvSink):
    def add(self, rows):
        raise OSError(28, "No space left on device")


class FullForGood(FullDisk):
    def finish(self, rows):
        raise OSError(28, "No space left on device")


def test_a_full_disk_stops_nothing(four_cases, run, rows, tmp_path, monkeypatch):
    monkeypatch.setattr(_rows, "CsvSink", FullDisk)
    result = run(*four_cases, "--out", tmp_path / "results.csv", "--metrics", "dice")
    # There was room again at the end.
    assert result.exit_code == 0
    assert "No space left" in result.stderr
    assert len(rows(tmp_path / "results.csv")) == 8


def test_values_that_cannot_be_written_are_printed_whole(four_cases, run, tmp_path, monkeypatch):
    monkeypatch.setattr(_rows, "CsvSink", FullForGood)
    monkeypatch.setattr(_tables, "LONGEST", 1)
    result = run(*four_cases, "--out", tmp_path / "results.csv", "--metrics", "dice")
    assert result.exit_code == 1
    assert "cannot finish" in result.stderr
    cases = result.stdout.partition("Cases per label")[0]
    assert [
        line.split()[0] for line in cases.splitlines() if line.strip()[:2] in {f"{case} " for case in "abcd"}
    ] == list("aabbccdd")

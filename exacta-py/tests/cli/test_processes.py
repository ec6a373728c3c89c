"""The command line as its users start it: as a process, with worker processes, interrupted and killed."""

import os
import signal
import subprocess
import sys
import time

import pytest

from exacta.cli import _run
from exacta.cli._records import Case, Plan

POSIX = pytest.mark.skipif(
    not hasattr(os, "mkfifo"), reason="named pipes, which make a case wait, are of POSIX systems"
)


def start(*arguments):
    command = [sys.executable, "-m", "exacta", "evaluate", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")


def test_python_m_exacta(four_cases, tmp_path):
    process = start(*four_cases, "--out", tmp_path / "results.csv")
    stdout, stderr = process.communicate(timeout=120)
    assert (process.returncode, stderr) == (0, "")
    assert "Summary" in stdout


def test_the_number_of_jobs_changes_nothing(four_cases, run, tmp_path):
    (four_cases[1] / "b.nii.gz").unlink()
    made = []
    for jobs in (1, 2):
        out = tmp_path / f"{jobs}.csv"
        result = run(*four_cases, "--jobs", jobs, "--out", out)
        assert result.exit_code == 1
        made.append((out.read_bytes(), result.stdout.replace(str(out), "")))
    assert made[0] == made[1]


def test_a_worker_that_dies_costs_its_own_case_only(tmp_path, monkeypatch):
    (tmp_path / "deadly.py").write_text(
        "import os\n"
        "from exacta.cli._records import CaseResult\n"
        "def measure(case, plan):\n"
        "    if case.name == '3':\n"
        "        os._exit(9)\n"
        "    return CaseResult(case.name)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(_run, "measure", __import__("deadly").measure)
    results = list(_run.measure_all([Case(str(i)) for i in range(6)], Plan(()), jobs=2))
    assert sorted(result.case for result in results) == list("012345")
    assert [(result.case, "ended abruptly" in result.reason) for result in results if result.reason] == [("3", True)]


@pytest.fixture
def endless(tmp_path, box, save):
    """Folders in which case a can be measured, and b and c never end."""
    for side in ("pred", "target"):
        save(box((1, 3), (1, 5), (1, 5)), tmp_path / side / "a.nii")
        for name in "bc":
            os.mkfifo(tmp_path / side / f"{name}.nii")
    return tmp_path / "pred", tmp_path / "target"


def wait_for_rows(path, process):
    end = time.monotonic() + 120
    while not (path.exists() and path.read_text(encoding="utf-8").count("\n") > 1):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.05)


@POSIX
@pytest.mark.parametrize(("sent", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_workers_and_keeps_the_rows(endless, rows, tmp_path, sent, status):
    out = tmp_path / "results.csv"
    process = start(*endless, "--jobs", 2, "--out", out, "--metrics", "dice")
    wait_for_rows(out, process)
    process.send_signal(sent)
    # Communicating ends only when the workers, which share the pipes, have ended too.
    stdout, _ = process.communicate(timeout=60)
    assert process.returncode == status
    assert "interrupted" in stdout
    assert [(row["case"], row["status"], row["value"]) for row in rows(out)] == [
        ("a", "ok", 1.0),
        ("b", "error", None),
        ("c", "error", None),
    ]


@POSIX
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_killed_process_leaves_the_rows_and_no_workers(endless, rows, tmp_path, jobs):
    out = tmp_path / "results.csv"
    process = start(*endless, "--jobs", jobs, "--out", out, "--metrics", "dice")
    wait_for_rows(out, process)
    process.kill()
    process.communicate(timeout=60)
    assert [(row["case"], row["value"]) for row in rows(out)] == [("a", 1.0)]


def run_python(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, **environment},
        check=False,
    )


def test_importing_exacta_imports_nothing_of_the_command_line():
    code = (
        "import sys, exacta, exacta.cli; "
        "sys.exit(','.join({'click', 'rich', 'SimpleITK', 'torch', 'jax'} & set(sys.modules)) or 0)"
    )
    result = run_python(code)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("missing", ["click", "rich", "SimpleITK"])
def test_a_missing_extra_is_one_line_that_says_what_to_install(four_cases, missing):
    pred, target = map(str, four_cases)
    code = (
        f"import sys; sys.modules[{missing!r}] = None; sys.argv = ['exacta', 'evaluate', {pred!r}, {target!r}]; "
        "from exacta.cli import main; main()"
    )
    result = run_python(code)
    assert (result.returncode, result.stdout) == (1, "")
    (line,) = result.stderr.splitlines()
    assert missing in line
    assert "pip install 'exacta[cli]'" in line

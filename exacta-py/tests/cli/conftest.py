"""Small images on disk, and the command line run on them. Without the extra `cli`, these tests are left out."""

import csv
import importlib.util
import warnings

import numpy as np
import pytest

NEEDED = ("click", "rich", "SimpleITK")
MISSING = [name for name in NEEDED if importlib.util.find_spec(name) is None]
if MISSING:
    collect_ignore_glob = ["test_*.py"]
else:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of SWIG, on import
        import SimpleITK  # noqa: F401


def pytest_terminal_summary(terminalreporter):
    if MISSING:
        terminalreporter.write_line(f"tests of the command line were left out: no {', '.join(MISSING)}", yellow=True)


@pytest.fixture
def box():
    """A uint8 volume with one box of a label."""

    def make(*ranges, value=1, shape=(6, 12, 12), dtype=np.uint8):
        array = np.zeros(shape, dtype)
        array[tuple(slice(*limits) for limits in ranges)] = value
        return array

    return make


@pytest.fixture
def save():
    """Write an array as an image; spacing is in the array's axis order, everything else in ITK's."""
    import SimpleITK as sitk  # noqa: N813 - the name in its own manual

    def write(array, path, spacing=1.0, vector=False, **geometry):
        path.parent.mkdir(parents=True, exist_ok=True)
        image = sitk.GetImageFromArray(array, isVector=vector)
        if not vector:
            image.SetSpacing([float(part) for part in np.broadcast_to(spacing, array.ndim)[::-1]])
        for name, value in geometry.items():
            getattr(image, f"Set{name.capitalize()}")(value)
        sitk.WriteImage(image, str(path))
        return path

    return write


@pytest.fixture
def run():
    """Run `exacta evaluate` in this process."""
    from click.testing import CliRunner

    from exacta.cli._app import app

    def invoke(*arguments):
        result = CliRunner().invoke(app, ["evaluate", *map(str, arguments)])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return invoke


@pytest.fixture
def rows():
    """Read a CSV of results: a list of dicts, `value` as a float where there is one."""

    def read(path):
        with path.open(encoding="utf-8", newline="") as file:
            found = list(csv.DictReader(file))
        for row in found:
            row["value"] = float(row["value"]) if row["value"] else None
        return found

    return read


@pytest.fixture
def measure(run, rows, tmp_path):
    """Run, and return the result with its rows by (case, label, metric)."""

    def go(pred, target, *options):
        out = tmp_path / "measured.csv"
        result = run(pred, target, "--out", out, *options)
        result.rows = {(row["case"], row["label"], row["metric"]): row for row in rows(out)} if out.exists() else {}
        return result

    return go


@pytest.fixture
def four_cases(tmp_path, box, save):
    """Folders with one case of each status: both labels ok, 2 missed, 2 spurious, nothing."""
    one, two = box((1, 3), (1, 5), (1, 5)), box((3, 5), (6, 10), (6, 10), value=2)
    pred, target = tmp_path / "pred", tmp_path / "target"
    for name, of_pred, of_target in (
        ("a", one + two, one + two),
        ("b", one, one + two),
        ("c", one + two, one),
        ("d", 0 * one, 0 * one),
    ):
        save(of_pred, pred / f"{name}.nii.gz")
        save(of_target, target / f"{name}.nii.gz")
    return pred, target

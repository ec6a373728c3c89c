"""Recomputes the scores of the script of BraTS 2023 in `brats.json`, and reports what changed.

    python3.10 -m pip install -r brats.txt
    python brats.py SOURCE [--check] [--fixtures DIR]

SOURCE is a checkout of rachitsaluja/BraTS-2023-Metrics or the URL of one: it is on no package index. It needs the old
pandas of its requirements. The new values are written with the commit of SOURCE. With --check nothing is written, and
the exit status is 1 if a value differs.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import nibabel
import numpy as np
from store import load, plain, relative_difference, save, update
from tqdm import tqdm

if TYPE_CHECKING:
    from types import ModuleType

FIXTURES = Path(__file__).resolve().parents[2] / "exacta-py" / "tests" / "fixtures"
BRATS = "rachitsaluja/BraTS-2023-Metrics"
CHALLENGES = ("BraTS-GLI", "BraTS-SSA", "BraTS-MEN", "BraTS-PED", "BraTS-MET")
PACKAGES = ("numpy", "scipy", "pandas", "nibabel", "connected-components-3d")


def checkout(source: str, scratch: Path) -> tuple[Path, str]:
    """The folder of the script, and its commit."""
    folder = Path(source)
    if not folder.is_dir():
        folder = scratch / "checkout"
        subprocess.run(["git", "clone", "--quiet", source, str(folder)], check=True)
    head = ["git", "-C", str(folder), "rev-parse", "HEAD"]
    return folder, subprocess.run(head, check=True, capture_output=True, text=True).stdout.strip()


def script(folder: Path) -> ModuleType:
    """Imports `eval.py`; its distances, `surface_distance`, are a package beside it."""
    sys.path.insert(0, str(folder))
    spec = importlib.util.spec_from_file_location("brats_eval", folder / "eval.py")
    if spec is None or spec.loader is None or not (folder / "eval.py").is_file():
        raise SystemExit(f"{folder} has no eval.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def scores(module: ModuleType, pred: np.ndarray, target: np.ndarray, spacing: list[float], scratch: Path) -> dict:
    """Challenge to region to scores of a pair of label maps."""
    files = {name: str(scratch / f"{name}.nii.gz") for name in ("pred", "target")}
    for name, labels in (("pred", pred), ("target", target)):
        nibabel.save(nibabel.Nifti1Image(labels, np.diag([*spacing, 1.0])), files[name])
    out = {}
    for challenge in CHALLENGES:
        table = module.get_LesionWiseResults(files["pred"], files["target"], challenge)
        out[challenge] = {
            row.pop("Labels"): {key: plain(float(value)) for key, value in row.items()}
            for row in table.to_dict("records")
        }
    return out


def main() -> int:
    """Run; the result is the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", help="checkout or URL")
    parser.add_argument("--check", action="store_true", help="write nothing; exit status 1 if a value differs")
    parser.add_argument("--fixtures", type=Path, default=FIXTURES, help="directory of the fixtures")
    args = parser.parse_args()

    rows, masks, changes = load(args.fixtures / "brats.json"), np.load(args.fixtures / "brats.npz"), []
    with tempfile.TemporaryDirectory() as directory, warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        folder, commit = checkout(args.source, Path(directory))
        module = script(folder)
        for name, row in tqdm(rows.items(), desc="brats", unit="pair"):
            pair = masks[f"{name}/pred"], masks[f"{name}/target"]
            computed = scores(module, *pair, row["spacing"], Path(directory))
            changes += update(row, computed, BRATS, f"brats/{name}")
    for change in changes:
        difference = relative_difference(change.before, change.after)
        print(f"{change.row}: {change.before} -> {change.after} ({difference})")
    print(f"{BRATS} [{commit}]: {len(changes)} values changed")
    if args.check:
        return int(bool(changes))
    if changes:
        save(args.fixtures / "brats.json", rows)
    versions = load(args.fixtures / "versions.json")
    versions["commits"][BRATS] = commit
    versions["packages_for_BraTS"] = {package: importlib.metadata.version(package) for package in PACKAGES}
    save(args.fixtures / "versions.json", versions)
    return 0


if __name__ == "__main__":
    sys.exit(main())

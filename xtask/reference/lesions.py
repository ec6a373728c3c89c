"""Fixtures of lesions: Panoptica's values, and those of the script of BraTS 2023, which is on no package index."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from tools.store import load, plain
from tqdm import tqdm

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from tools import Tool

BRATS = "rachitsaluja/BraTS-2023-Metrics"
CHALLENGES = ("BraTS-GLI", "BraTS-SSA", "BraTS-MEN", "BraTS-PED", "BraTS-MET")


def refresh(directory: Path, tools: list[Tool], seen: set[str], update: Callable) -> tuple[dict, list]:
    """Recomputes `lesions.json`."""
    rows, masks, changes = load(directory / "lesions.json"), np.load(directory / "lesions.npz"), []
    for tool in tools:
        if tool.lesions is None:
            continue
        seen.add(tool.name)
        for name, row in tqdm(rows.items(), desc="lesions", unit="pair"):
            for key, stored in row[tool.name].items():
                computed = tool.lesions(masks[f"{name}/pred"], masks[f"{name}/target"], row["kind"], key)
                changes += update(stored, computed, tool.name, f"lesions/{name}/{key}")
    return rows, changes


def refresh_brats(directory: Path, source: str, update: Callable) -> tuple[dict, list, str]:
    """Recomputes `brats.json` by the script in `source`, a checkout or the URL of one; its commit comes last."""
    rows, masks, changes = load(directory / "brats.json"), np.load(directory / "brats.npz"), []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(source)
        if not folder.is_dir():
            folder = Path(scratch) / "checkout"
            subprocess.run(["git", "clone", "--quiet", source, str(folder)], check=True)
        head = subprocess.run(
            ["git", "-C", str(folder), "rev-parse", "HEAD"], check=True, capture_output=True, text=True
        )
        script = _script(folder)
        for name, row in tqdm(rows.items(), desc="brats", unit="pair"):
            files = [str(Path(scratch) / f"{side}.nii.gz") for side in ("pred", "target")]
            for side, file in zip(("pred", "target"), files, strict=True):
                _write(masks[f"{name}/{side}"], row["spacing"], file)
            for challenge in CHALLENGES:
                table = script.get_LesionWiseResults(*files, challenge)
                computed = {
                    of.pop("Labels"): {k: plain(float(v)) for k, v in of.items()} for of in table.to_dict("records")
                }
                changes += update(row[challenge], computed, BRATS, f"brats/{name}/{challenge}")
    return rows, changes, head.stdout.strip()


def _script(folder: Path) -> ModuleType:
    """Imports `eval.py`, whose distances are a package beside it."""
    sys.path.insert(0, str(folder))
    spec = importlib.util.spec_from_file_location("brats_eval", folder / "eval.py")
    if spec is None or spec.loader is None:
        raise SystemExit(f"{folder} has no eval.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


def _write(labels: np.ndarray, spacing: list[float], file: str) -> None:
    nibabel = importlib.import_module("nibabel")
    nibabel.save(nibabel.Nifti1Image(labels, np.diag([*spacing, 1.0])), file)

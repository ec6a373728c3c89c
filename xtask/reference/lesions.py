"""Fixtures of lesions: Panoptica's values. Those of BraTS 2023 are made by `brats.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from store import load, update
from tqdm import tqdm

if TYPE_CHECKING:
    from pathlib import Path

    from tools import Tool


def refresh(directory: Path, tools: list[Tool], seen: set[str]) -> tuple[dict, list]:
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

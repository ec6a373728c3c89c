"""Fixtures whose values are whole arrays: `<file>.npz` beside the numbers of `<file>.json`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from store import Change, load, plain, same, save
from tqdm import tqdm

if TYPE_CHECKING:
    from pathlib import Path

    from tools import Tool

FILES = ("edt", "components")


def _put(row: dict, path: str, value: object) -> object:
    """Put a number in a row under keys joined by `/`; the number before it."""
    *parents, key = path.split("/")
    for parent in parents:
        row = row[parent]
    before, row[key] = row[key], plain(value)
    return before


def refresh(directory: Path, tools: list[Tool], seen: set[str], *, write: bool) -> list[Change]:
    """Recompute every array and number of these files that a tool makes; with `write`, store those that differ."""
    changes = []
    for file in FILES:
        rows = load(directory / f"{file}.json")
        with np.load(directory / f"{file}.npz") as stored:
            arrays = dict(stored)
        found = []
        for tool in tools:
            compute = tool.maps.get(file)
            if compute is None:
                continue
            seen.add(tool.name)
            for name, row in tqdm(rows.items(), desc=file, unit="mask"):
                for key, value in compute(arrays, name, row):
                    if key in arrays:
                        before, after = arrays[key], np.asarray(value)
                        if not np.array_equal(before, after):
                            arrays[key] = after.astype(before.dtype)
                            elements = f"{(before != after).sum()} of {before.size} elements"
                            found.append(Change(tool.name, f"{file}/{key}", elements, "other values"))
                    elif key.split("/")[0] in row:
                        before = _put(row, key, value)
                        if not same(before, plain(value)):
                            found.append(Change(tool.name, f"{file}/{name}/{key}", before, plain(value)))
        if found and write:
            save(directory / f"{file}.json", rows)
            np.savez_compressed(directory / f"{file}.npz", **arrays)
        changes += found
    return changes

"""Regenerates the reference values of the committed fixtures from the tools themselves and reports what changed.

    python -m pip install -r requirements.txt
    python refresh.py [--check] [--only TOOL ...] [--fixtures DIR]

The masks are never touched. A value is recomputed if the fixture holds it and one of the tools here makes it, so a
fixture decides by its keys which values it wants. Values of other tools (see the README beside the fixtures) stay.
Every difference is printed: tool, version, row, before, after, relative difference. Without --check the new values and
versions are then written. With --check nothing is written, and the exit status is 1 if a value differs.
"""

from __future__ import annotations

import argparse
import collections
import importlib.metadata
import re
import sys
import warnings
from pathlib import Path

import lesions
import maps
import numpy as np
from store import Change, load, relative_difference, save, update
from tools import ALL, Tool
from tqdm import tqdm

HERE = Path(__file__).resolve().parent
FIXTURES = HERE.parents[1] / "exacta-py" / "tests" / "fixtures"
PAIRS = ("pairs.json", "pairs_surfels.json")
BACKGROUND = {"with_background": True, "without_background": False}


def pins() -> dict[str, str]:
    """Package to version, from the requirements file."""
    text = (HERE / "requirements.txt").read_text(encoding="utf-8")
    return dict(re.findall(r"^([\w-]+)==(\S+)$", text, re.MULTILINE))


def versions(tools: list[Tool]) -> dict[str, str]:
    """Installed version of each package that the tools use."""
    return {name: importlib.metadata.version(name) for tool in tools for name in tool.packages}


def refresh_pairs(directory: Path, tools: list[Tool], seen: set[str], file: str) -> tuple[dict, list[Change]]:
    """Recomputes one of the files of values of the masks in `pairs.npz`."""
    rows, masks, changes = load(directory / file), np.load(directory / "pairs.npz"), []
    for name, row in tqdm(rows.items(), desc=file, unit="pair"):
        pred, target = (masks[name] & 1).astype(bool), (masks[name] >> 1 & 1).astype(bool)
        for tool in tools:
            if tool.pair is None or tool.name not in row:
                continue
            seen.add(tool.name)
            computed = tool.pair(pred, target, tuple(row["spacing"]), row["taus"], frozenset(row[tool.name]))
            changes += update(row[tool.name], computed, tool.name, f"{Path(file).stem}/{name}")
    return rows, changes


def refresh_multiclass(directory: Path, tools: list[Tool], seen: set[str]) -> tuple[dict, list[Change]]:
    """Recomputes `multiclass.json`."""
    rows, masks, changes = load(directory / "multiclass.json"), np.load(directory / "multiclass.npz"), []
    for name, row in tqdm(rows.items(), desc="multiclass", unit="batch"):
        pred, target = masks[f"{name}/pred"], masks[f"{name}/target"]
        for tool in tools:
            if tool.name not in row:
                continue
            seen.add(tool.name)
            where, stored = f"multiclass/{name}", row[tool.name]
            if tool.batch is not None:
                for key in stored.keys() & BACKGROUND.keys():
                    computed = tool.batch(pred, target, row, BACKGROUND[key], frozenset(stored[key]))
                    changes += update(stored[key], computed, tool.name, f"{where}/{key}")
            if tool.labels is not None:
                for case, per_label in enumerate(stored):
                    computed = tool.labels(pred[case], target[case], row["classes"])
                    changes += update(per_label, computed, tool.name, f"{where}/case {case}")
    return rows, changes


def report(changes: list[Change], tools: list[Tool], installed: dict[str, str], seen: set[str]) -> None:
    """Prints one line a changed value and one a tool."""
    of = {tool.name: " ".join(f"{p} {installed[p]}" for p in tool.packages) for tool in tools}
    for change in changes:
        difference = relative_difference(change.before, change.after)
        print(f"{change.tool} [{of[change.tool]}] {change.row}: {change.before} -> {change.after} ({difference})")
    count = collections.Counter(change.tool for change in changes)
    for tool in tools:
        state = f"{count[tool.name]} values changed" if tool.name in seen else "no value in these fixtures"
        print(f"{tool.name} [{of[tool.name]}]: {state}")


def main() -> int:
    """Run; the result is the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit status 1 if a value differs")
    parser.add_argument("--only", action="append", choices=[t.name for t in ALL], help="this tool only (repeatable)")
    parser.add_argument("--fixtures", type=Path, default=FIXTURES, help="directory of the fixtures")
    parser.add_argument("--any-version", action="store_true", help="allow versions other than the pinned ones")
    args = parser.parse_args()

    tools = [tool for tool in ALL if not args.only or tool.name in args.only]
    installed = versions(tools)
    wrong = {p: v for p, v in installed.items() if v != pins()[p]}
    if wrong and not args.any_version:
        print("not the pinned versions:", ", ".join(f"{p} {v} (want {pins()[p]})" for p, v in wrong.items()))
        return 2

    seen: set[str] = set()
    with warnings.catch_warnings():
        # The tools warn about every empty mask; what they return for it is the value we want.
        warnings.simplefilter("ignore")
        with np.errstate(all="ignore"):
            done = {
                **{file: refresh_pairs(args.fixtures, tools, seen, file) for file in PAIRS},
                "multiclass.json": refresh_multiclass(args.fixtures, tools, seen),
                "lesions.json": lesions.refresh(args.fixtures, tools, seen),
            }
            of_maps = maps.refresh(args.fixtures, tools, seen, write=not args.check)
    changes = [change for _, found in done.values() for change in found] + of_maps
    report(changes, tools, installed, seen)

    stored_versions = load(args.fixtures / "versions.json")
    newer = {p: v for p, v in installed.items() if stored_versions["packages"].get(p) != v}
    for package, version in newer.items():
        print(f"version of {package}: {stored_versions['packages'].get(package, 'none')} -> {version}")
    if args.check:
        return 1 if changes else 0
    for file, (rows, found) in done.items():
        if found:
            save(args.fixtures / file, rows)
    if newer:
        stored_versions["packages"].update(newer)
        save(args.fixtures / "versions.json", stored_versions)
    return 0


if __name__ == "__main__":
    sys.exit(main())

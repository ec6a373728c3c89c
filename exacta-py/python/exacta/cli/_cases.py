"""Which file belongs to which: cases paired by file name."""

import os
from collections import defaultdict
from pathlib import Path

from exacta.cli._records import Case

# The longest first, so that ".nii.gz" is not read as a ".gz".
SUFFIXES = (".nii.gz", ".nii", ".nrrd", ".nhdr", ".mha", ".mhd")


def stem(path: Path) -> str | None:
    """File name without the extension of an image format, or None when it has none of those."""
    lower = path.name.lower()
    for suffix in SUFFIXES:
        if lower.endswith(suffix) and len(lower) > len(suffix):
            return path.name[: -len(suffix)]
    return None


def find_cases(pred: Path, target: Path) -> list[Case]:
    """Pair two files, or the images of two folders.

    Parameters
    ----------
    pred, target : Path
        Both files, or both folders. In folders, subfolders included, two images belong together when their paths
        within the folder agree up to the extension. Hidden files are left out.

    Returns
    -------
    list of Case
        Sorted by name. An image without partner, or with several, is a case with a problem.

    Raises
    ------
    ValueError
        When one is a file and the other a folder, or a folder holds no image.
    """
    if pred.is_dir() != target.is_dir():
        kinds = ("a folder", "a file") if pred.is_dir() else ("a file", "a folder")
        raise ValueError(f"PRED is {kinds[0]} and TARGET {kinds[1]}: give two files or two folders")
    if not pred.is_dir():
        return [Case(stem(pred) or pred.name, pred, target)]
    preds, targets = _images(pred, "PRED"), _images(target, "TARGET")
    return [_pair(name, preds.get(name, []), targets.get(name, [])) for name in sorted({*preds, *targets})]


def _pair(name: str, preds: list[Path], targets: list[Path]) -> Case:
    for side, paths in (("PRED", preds), ("TARGET", targets)):
        if len(paths) > 1:
            names = ", ".join(path.name for path in paths)
            return Case(name, problem=f"{side} has {len(paths)} images of this name: {names}")
    if not preds:
        return Case(name, target=targets[0], problem=f"no image of this name in PRED (TARGET has {targets[0].name})")
    if not targets:
        return Case(name, pred=preds[0], problem=f"no image of this name in TARGET (PRED has {preds[0].name})")
    return Case(name, preds[0], targets[0])


def _images(folder: Path, side: str) -> dict[str, list[Path]]:
    found: defaultdict[str, list[Path]] = defaultdict(list)
    visited: set[str] = set()
    # Data sets are often trees of links: follow them, but into no folder twice.
    for root, folders, files in os.walk(folder, followlinks=True):
        real = os.path.realpath(root)
        if real in visited:
            folders.clear()
            continue
        visited.add(real)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = Path(root, name)
            short = stem(path)
            if short is not None and not name.startswith("."):
                found[(path.relative_to(folder).parent / short).as_posix()].append(path)
    if not found:
        raise ValueError(f"{side} folder {folder} holds no image ({', '.join(SUFFIXES)})")
    return found

"""``--labels``: numbers, ranges, or a JSON file of names (also nnU-Net's ``dataset.json``)."""

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from exacta.cli._records import Label

LARGEST_COUNT = 10_000
_NUMBERS = re.compile(r"\s*(-?\d+)\s*(?:-\s*(-?\d+)\s*)?")


def parse_labels(text: str) -> tuple[tuple[Label, ...], int | None]:
    """Read the labels to measure.

    Parameters
    ----------
    text : str
        ``1,2,5-7``, or the path of a JSON file: ``{"kidney": 1}``, ``{"1": "kidney"}``, ``{"tumour": [2, 3]}`` for a
        union, ``[1, 2]``, or any of these under the key ``labels``. In a file, ``background`` with value 0 is left out
        and ``ignore`` names the target's label whose voxels do not count, both as nnU-Net has it.

    Returns
    -------
    tuple of Label, int or None
        The labels in the order asked for, and the label to ignore.

    Raises
    ------
    ValueError
        When the text is neither, or a label occurs twice.
    """
    if not _looks_like_numbers(text):
        return _from_file(Path(text))
    labels = tuple(Label((value,)) for value in _numbers(text))
    _refuse_repeats(labels)
    return labels, None


def disjoint_groups(labels: Sequence[Label]) -> list[list[int]]:
    """Split labels into groups without a common value, each of which fits into one label map.

    Returns
    -------
    list of list of int
        Positions in ``labels``; one group unless regions overlap.
    """
    groups: list[tuple[set[int], list[int]]] = []
    for position, label in enumerate(labels):
        for values, members in groups:
            if values.isdisjoint(label.values):
                values.update(label.values)
                members.append(position)
                break
        else:
            groups.append((set(label.values), [position]))
    return [members for _, members in groups]


def _looks_like_numbers(text: str) -> bool:
    return all(_NUMBERS.fullmatch(part) for part in text.split(","))


def _numbers(text: str) -> list[int]:
    values: list[int] = []
    for part in text.split(","):
        match = _NUMBERS.fullmatch(part)
        assert match is not None, "the caller has matched every part"
        first = int(match[1])
        last = first if match[2] is None else int(match[2])
        if last < first:
            raise ValueError(f"{part.strip()!r} runs backwards")
        if len(values) + last - first + 1 > LARGEST_COUNT:
            raise ValueError(f"{part.strip()!r} asks for more than {LARGEST_COUNT} labels")
        values.extend(range(first, last + 1))
    return values


def _from_file(path: Path) -> tuple[tuple[Label, ...], int | None]:
    if not path.is_file():
        raise ValueError(f"{str(path)!r} is neither a list of numbers such as 1,2,5-7 nor a JSON file")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise ValueError(f"{path} is no readable JSON: {error}") from error
    if isinstance(content, dict) and isinstance(content.get("labels"), dict | list):
        content = content["labels"]
    if isinstance(content, list):
        entries: Iterable[tuple[object, object]] = [("", value) for value in content]
    elif isinstance(content, dict):
        entries = [_oriented(path, key, value) for key, value in content.items()]
    else:
        raise ValueError(f"{path} should hold names and labels, as in {{'kidney': 1}}")
    return _collect(path, entries)


def _oriented(path: Path, key: str, value: object) -> tuple[object, object]:
    """Name first: nnU-Net's older files have the number as key, its newer ones as value."""
    if not isinstance(value, str):
        return key, value
    if re.fullmatch(r"-?\d+", key):
        return value, int(key)
    if re.fullmatch(r"-?\d+", value):
        return key, int(value)
    raise ValueError(f"{path}: neither {key!r} nor {value!r} is a label")


def _collect(path: Path, entries: Iterable[tuple[object, object]]) -> tuple[tuple[Label, ...], int | None]:
    labels: list[Label] = []
    ignore: int | None = None
    for name, value in entries:
        given = value if isinstance(value, list) else [value]
        values = [item for item in given if isinstance(item, int) and not isinstance(item, bool)]
        if not values or len(values) < len(given):
            raise ValueError(f"{path}: {name!r} should be an integer or a list of integers, not {value!r}")
        lower = str(name).lower()
        if lower == "background" and values == [0]:
            continue
        if lower == "ignore":
            if len(values) != 1:
                raise ValueError(f"{path}: 'ignore' is one label, not {value!r}")
            ignore = values[0]
            continue
        labels.append(Label(tuple(dict.fromkeys(values)), str(name)))
    if not labels:
        raise ValueError(f"{path} names no label to measure")
    if len(labels) > LARGEST_COUNT:
        raise ValueError(f"{path} names more than {LARGEST_COUNT} labels")
    _refuse_repeats(labels)
    for label in labels:
        if ignore in label.values:
            raise ValueError(f"{path}: {label.title!r} contains the label {ignore} that is to be ignored")
    return tuple(labels), ignore


def _refuse_repeats(labels: Iterable[Label]) -> None:
    seen: dict[frozenset[int], Label] = {}
    for label in labels:
        other = seen.setdefault(frozenset(label.values), label)
        if other is not label:
            raise ValueError(f"label {label.key} occurs twice ({other.title!r} and {label.title!r})")

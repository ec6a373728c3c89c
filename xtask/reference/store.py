"""The file format of the fixtures, and equality of the values in them."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

Value = Any  # a number, "nan", "inf", "-inf", {"error": "Type: message"}, or lists and dicts of these


class Change(NamedTuple):
    """One value that differs."""

    tool: str
    row: str
    before: object
    after: object


def load(path: Path) -> dict:
    """Reads one fixture."""
    return json.loads(path.read_text(encoding="utf-8"))


def save(path: Path, rows: dict) -> None:
    """Writes one fixture, one tool a line, so that a changed value is a changed line."""
    path.write_text(
        _lines(rows, 2 if "pairs" in path.name or "versions" in path.name else 3, 0) + "\n", encoding="utf-8"
    )


def _lines(value: Value, depth: int, indent: int) -> str:
    if depth == 0 or not isinstance(value, dict):
        return json.dumps(value)
    pad = " " * (indent + 1)
    body = ",\n".join(f"{pad}{json.dumps(k)}: {_lines(v, depth - 1, indent + 1)}" for k, v in value.items())
    return "{\n" + body + "\n" + " " * indent + "}"


def plain(value: Value) -> Value:
    """An array, tensor or number as the JSON holds it, with all its digits."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def attempt(call: Callable[..., Value], *args: Value, **kwargs: Value) -> Value:
    """The value of a call, or the error that the tool refuses the input with."""
    try:
        return plain(call(*args, **kwargs))
    except Exception as error:  # whatever a tool raises is its answer
        return {"error": f"{type(error).__name__}: {error}"}


def same(a: Value, b: Value) -> bool:
    """Equal values; 1 and 1.0 are equal, and so are errors of one type (their text changes with every release)."""
    if isinstance(a, dict) and isinstance(b, dict) and "error" in a and "error" in b:
        return a["error"].split(":")[0] == b["error"].split(":")[0]
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


def update(stored: dict, computed: dict, tool: str, row: str) -> Iterator[Change]:
    """Puts the computed values in place of those the fixture holds; yields those that differ."""
    for key, before in stored.items():
        if key not in computed:
            continue
        after = computed[key]
        if isinstance(before, dict) and isinstance(after, dict) and "error" not in before | after:
            yield from update(before, after, tool, f"{row}/{key}")
        elif not same(before, after):
            stored[key] = after
            yield Change(tool, f"{row}/{key}", before, after)


def relative_difference(a: Value, b: Value) -> str:
    """How far two numbers are apart, for people to read; lists by their largest difference."""
    flat = list(zip(_flat(a), _flat(b), strict=False))
    worst = 0.0
    for x, y in flat:
        if isinstance(x, str | dict) or isinstance(y, str | dict):
            if x != y:
                return "not comparable"
        elif x != y:
            worst = max(worst, abs(x - y) / max(abs(x), abs(y)))
    return f"relative difference {worst:.3g}"


def _flat(value: Value) -> list:
    return [item for part in value for item in _flat(part)] if isinstance(value, list) else [value]

"""Results as tidy rows, one per case, label and metric, and the files they are kept in."""

import contextlib
import csv
import json
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple, Protocol

from exacta.cli._records import BOTH_EMPTY, ERROR, CaseResult, Label, Measured, Metric, label_order

FORMATS = (".csv", ".json")


class Row(NamedTuple):
    """One value. ``value`` is None when there is none (status error); NaN is a value."""

    case: str
    label: str
    name: str
    metric: str
    value: float | None
    unit: str
    status: str
    reason: str


def complete(results: Iterable[CaseResult], labels: Sequence[Label] | None) -> list[CaseResult]:
    """Give every case the same labels, in the order of case names.

    Parameters
    ----------
    results : iterable of CaseResult
    labels : sequence of Label or None
        Those asked for; None for all that occur in any case.

    Returns
    -------
    list of CaseResult
        A label that a case was not measured for is "both empty" there, or an error where the case failed.
    """
    ordered = sorted(results, key=lambda result: result.case)
    if labels is None:
        labels = sorted({entry.label for result in ordered for entry in result.measured}, key=label_order)
    filled = []
    for result in ordered:
        entries = {entry.label: entry for entry in result.measured}
        status, values = (ERROR, ()) if result.reason else (BOTH_EMPTY, result.absent)
        measured = tuple(entries.get(label, Measured(label, status, values)) for label in labels)
        filled.append(CaseResult(result.case, measured, result.reason, result.absent, result.others))
    return filled


def rows_of(result: CaseResult, metrics: Sequence[Metric]) -> Iterator[Row]:
    """The rows of one case: one per label and metric, or a single one for a failed case whose labels are unknown."""
    if not result.measured and result.reason:
        yield Row(result.case, "", "", "", None, "", ERROR, result.reason)
    for entry in result.measured:
        values: Sequence[float | None] = entry.values or [None] * len(metrics)
        for metric, value in zip(metrics, values, strict=True):
            label, name = entry.label.key, entry.label.name
            yield Row(result.case, label, name, metric.title, value, metric.unit, entry.status, result.reason)


class Sink(Protocol):
    """Where rows are kept. Each ``add`` leaves a readable file that holds all rows so far."""

    def add(self, rows: Iterable[Row]) -> None:
        """Keep the rows of a case."""

    def finish(self, rows: Iterable[Row]) -> None:
        """Replace everything by the final rows, in one step, and close."""

    def close(self) -> None:
        """Let go of the file, whatever is still unwritten. Once is enough, twice does no harm."""


def open_sink(path: Path) -> Sink:
    """Start a ``.csv`` or ``.json`` file; what it held before is gone.

    Raises
    ------
    OSError
        When it cannot be written.
    ValueError
        For another extension.
    """
    if path.suffix.lower() not in FORMATS:
        raise ValueError(f"{path.name!r} should end in {' or '.join(FORMATS)}")
    path.parent.mkdir(parents=True, exist_ok=True)
    return CsvSink(path) if path.suffix.lower() == ".csv" else JsonSink(path)


class CsvSink:
    """Comma-separated values with a header. No value is an empty field; others read ``nan``, ``inf`` or a number."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("w", encoding="utf-8", newline="")
        self._write(self._file, [], header=True)
        self._file.flush()

    def add(self, rows: Iterable[Row]) -> None:
        """Append rows."""
        self._write(self._file, rows)
        self._file.flush()

    def finish(self, rows: Iterable[Row]) -> None:
        """Replace the file."""
        with _Replacement(self._path, self) as file:
            self._write(file, rows, header=True)

    def close(self) -> None:
        """Close the file."""
        with contextlib.suppress(OSError):
            self._file.close()

    @staticmethod
    def _write(file: IO[str], rows: Iterable[Row], *, header: bool = False) -> None:
        writer = csv.writer(file, lineterminator="\n")
        if header:
            writer.writerow(Row._fields)
        writer.writerows(["" if field is None else field for field in row] for row in rows)


class JsonSink:
    """A list of objects. JSON has no NaN and no infinity: they are null and the string ``"Infinity"``."""

    _END = "\n]\n"

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("w", encoding="utf-8", newline="\n")
        self._empty = True
        self._file.write("[" + self._END)
        self._file.flush()

    def add(self, rows: Iterable[Row]) -> None:
        """Write over the closing bracket, in one piece, so that the file is whole JSON after each case."""
        texts = [_json(row) for row in rows]
        if not texts:
            return
        self._file.seek(self._file.tell() - len(self._END))
        self._file.write(("\n" if self._empty else ",\n") + ",\n".join(texts) + self._END)
        self._file.flush()
        self._empty = False

    def finish(self, rows: Iterable[Row]) -> None:
        """Replace the file."""
        with _Replacement(self._path, self) as file:
            file.write("[\n" + ",\n".join(_json(row) for row in rows) + self._END)

    def close(self) -> None:
        """Close the file."""
        with contextlib.suppress(OSError):
            self._file.close()


def _json(row: Row) -> str:
    record: dict[str, object] = row._asdict()
    if row.value is not None and not math.isfinite(row.value):
        record["value"] = None if math.isnan(row.value) else "Infinity" if row.value > 0 else "-Infinity"
    return json.dumps(record, ensure_ascii=False, allow_nan=False)


class _Replacement:
    """A file written beside another and put in its place when it is whole; until then the other one stays."""

    def __init__(self, path: Path, replaced: Sink) -> None:
        self._path = path
        self._replaced = replaced
        self._beside = path.with_name(f".{path.name}.{os.getpid()}")

    def __enter__(self) -> IO[str]:
        self._file = self._beside.open("w", encoding="utf-8", newline="")
        return self._file

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            self._file.close()
            if kind is None:
                # Before, because not every system replaces an open file.
                self._replaced.close()
                self._beside.replace(self._path)
        finally:
            self._beside.unlink(missing_ok=True)

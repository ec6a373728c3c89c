"""What the parts of the command line hand to each other. Everything here can be pickled, for ``--jobs``."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

OK: Final = "ok"
MISSED: Final = "missed"
SPURIOUS: Final = "spurious"
BOTH_EMPTY: Final = "both empty"
ERROR: Final = "error"
STATUSES: Final = (OK, MISSED, SPURIOUS, BOTH_EMPTY, ERROR)


class CaseError(Exception):
    """Why one case cannot be measured; the other cases are."""


@dataclass(frozen=True)
class Case:
    """One pair of files, or the reason why there is no pair."""

    name: str
    pred: Path | None = None
    target: Path | None = None
    problem: str = ""


@dataclass(frozen=True)
class Metric:
    """One requested metric: a name of ``exacta.functional.evaluate`` with the options that were written out."""

    name: str
    title: str
    unit: str
    options: Mapping[str, float | bool | str] = field(default_factory=dict)


@dataclass(frozen=True)
class Label:
    """One requested structure: a label, or the union of several (a region)."""

    values: tuple[int, ...]
    name: str = ""

    @property
    def key(self) -> str:
        """The label as it is written in tables: ``7``, or ``1+2`` for a region."""
        return "+".join(map(str, self.values))

    @property
    def title(self) -> str:
        """Key and name, for reading."""
        return f"{self.key} {self.name}" if self.name else self.key


@dataclass(frozen=True)
class Plan:
    """What to measure in every case.

    ``labels`` is None when each case is measured for the labels that occur in it. ``spacing`` replaces the header's.
    """

    metrics: tuple[Metric, ...]
    labels: tuple[Label, ...] | None = None
    ignore: int | None = None
    spacing: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Measured:
    """The values of one label in one case, in the order of ``Plan.metrics``; empty when the status is an error."""

    label: Label
    status: str
    values: tuple[float, ...] = ()


@dataclass(frozen=True)
class CaseResult:
    """One case, measured or failed.

    ``absent`` holds the values of a label that occurs in neither image; ``others`` the labels that were not asked for.
    """

    case: str
    measured: tuple[Measured, ...] = ()
    reason: str = ""
    absent: tuple[float, ...] = ()
    others: tuple[int, ...] = ()


def label_order(label: Label) -> tuple[int, ...]:
    """Sort key: labels by value, regions after their first label."""
    return label.values

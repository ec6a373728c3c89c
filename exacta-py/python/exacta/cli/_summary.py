"""The summary per label and metric: which cases a mean is taken over, and which it is not."""

import math
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from exacta.cli._records import STATUSES, CaseResult, Label, Metric


@dataclass(frozen=True)
class Summary:
    """Statistics of one label and metric over cases.

    They are over every value that is not NaN, infinite ones included: one missed structure makes a mean distance
    infinite. ``finite_mean`` is over the finite values. ``std`` is of the sample (n - 1), and NaN when a value is
    infinite or there are fewer than two. ``counted`` and ``left_out`` say by status how many cases have a value and
    how many have none (NaN, or an error).
    """

    label: Label
    metric: Metric
    mean: float
    std: float
    median: float
    minimum: float
    maximum: float
    infinite: int
    finite_mean: float
    counted: dict[str, int]
    left_out: dict[str, int]


def summarise(results: Sequence[CaseResult], metrics: Sequence[Metric]) -> list[Summary]:
    """Summarise completed results.

    Parameters
    ----------
    results : sequence of CaseResult
        All with the same labels, as :func:`exacta.cli._rows.complete` makes them.
    metrics : sequence of Metric

    Returns
    -------
    list of Summary
        By label, then metric.
    """
    labels = [entry.label for entry in results[0].measured] if results else []
    return [
        _one(label, metric, [_value(result, row, column) for result in results])
        for row, label in enumerate(labels)
        for column, metric in enumerate(metrics)
    ]


def count_statuses(results: Sequence[CaseResult]) -> dict[Label, dict[str, int]]:
    """How many cases have each status, for every label of completed results."""
    counts: dict[Label, Counter[str]] = {}
    for result in results:
        for entry in result.measured:
            counts.setdefault(entry.label, Counter())[entry.status] += 1
    return {label: _in_order(count) for label, count in counts.items()}


def _value(result: CaseResult, row: int, column: int) -> tuple[str, float]:
    entry = result.measured[row]
    return entry.status, entry.values[column] if entry.values else math.nan


def _one(label: Label, metric: Metric, values: Sequence[tuple[str, float]]) -> Summary:
    numbers = [value for _, value in values if not math.isnan(value)]
    finite = [value for value in numbers if math.isfinite(value)]
    whole = len(finite) == len(numbers)
    return Summary(
        label=label,
        metric=metric,
        mean=_mean(finite) if whole else sum(value for value in numbers if math.isinf(value)),
        std=statistics.stdev(finite) if whole and len(finite) > 1 else math.nan,
        median=_median(numbers),
        minimum=min(numbers, default=math.nan),
        maximum=max(numbers, default=math.nan),
        infinite=len(numbers) - len(finite),
        finite_mean=_mean(finite),
        counted=_in_order(Counter(status for status, value in values if not math.isnan(value))),
        left_out=_in_order(Counter(status for status, value in values if math.isnan(value))),
    )


def _mean(values: Sequence[float]) -> float:
    # fsum: the same mean whatever the order of the cases.
    return math.fsum(values) / len(values) if values else math.nan


def _median(values: Sequence[float]) -> float:
    return statistics.median(values) if values else math.nan


def _in_order(counts: Counter[str]) -> dict[str, int]:
    return {status: counts[status] for status in STATUSES if counts[status]}

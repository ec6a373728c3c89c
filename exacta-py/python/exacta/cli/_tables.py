"""Tables for people. Nothing is cut off: texts fold on a narrow terminal, and a file or pipe gets the full width."""

import math
import sys
from collections.abc import Iterable, Mapping, Sequence

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table

from exacta.cli._records import ERROR, MISSED, OK, SPURIOUS, STATUSES, CaseResult, Metric
from exacta.cli._summary import Summary, count_statuses, summarise

# A longer table of cases is shortened to what needs a look, when the rest is in a file.
LONGEST = 100
_WIDEST = 100_000
_STYLES = {OK: "green", MISSED: "red", SPURIOUS: "red", ERROR: "bold red"}


def print_report(results: Sequence[CaseResult], metrics: Sequence[Metric], saved_in: str = "") -> None:
    """Print cases, counts and summary of completed results on stdout.

    Parameters
    ----------
    results : sequence of CaseResult
        As :func:`exacta.cli._rows.complete` makes them.
    metrics : sequence of Metric
    saved_in : str
        The file that holds every row; empty when there is none.
    """
    _print_cases(results, metrics, saved_in)
    counts = count_statuses(results)
    if not counts:
        return
    table = _table("Cases per label", ["label"], [*STATUSES, "all"])
    for label, count in counts.items():
        table.add_row(label.title, *(str(count.get(status, 0)) for status in STATUSES), str(sum(count.values())))
    _print(table)
    _print_summary(summarise(results, metrics))


def _print_cases(results: Sequence[CaseResult], metrics: Sequence[Metric], saved_in: str) -> None:
    lines = list(_case_lines(results))
    shown = lines
    if saved_in and len(lines) > LONGEST:
        shown = [line for line in lines if line[2] in (MISSED, SPURIOUS, ERROR)][:LONGEST]
    if shown:
        reasons = any(reason for *_, reason in shown)
        table = _table(
            "Cases",
            ["case", "label", "status"],
            [_heading(metric) for metric in metrics],
            ["reason"] if reasons else [],
        )
        for case, label, status, values, reason in shown:
            cells = [number(value) for value in values] or ["-"] * len(metrics)
            table.add_row(case, label, status, *cells, *([reason] if reasons else []), style=_STYLES.get(status))
        _print(table)
    if len(shown) < len(lines):
        print(f"{len(lines) - len(shown)} more rows are in {saved_in}\n")


def _case_lines(results: Iterable[CaseResult]) -> Iterable[tuple[str, str, str, tuple[float, ...], str]]:
    for result in results:
        if result.reason:
            yield result.case, "all", ERROR, (), result.reason
            continue
        for entry in result.measured:
            yield result.case, entry.label.title, entry.status, entry.values, ""


def _print_summary(summaries: Sequence[Summary]) -> None:
    infinite = any(summary.infinite for summary in summaries)
    table = _table(
        "Summary",
        ["label", "metric"],
        ["mean", *(["infinite", "finite mean"] if infinite else []), "std", "median", "min", "max"],
        ["in the mean", "left out"],
    )
    label = None
    for summary in summaries:
        if label not in (None, summary.label):
            table.add_section()
        label = summary.label
        extra = (str(summary.infinite), _if_defined(summary.finite_mean)) if infinite else ()
        numbers = (summary.median, summary.minimum, summary.maximum)
        table.add_row(
            label.title,
            _heading(summary.metric),
            number(summary.mean),
            *extra,
            _if_defined(summary.std),
            *map(number, numbers),
            _counts(summary.counted),
            _counts(summary.left_out),
        )
    _print(table)
    print("in the mean, left out: cases by status; those left out are NaN or failed; std is of the sample (n - 1)")
    if infinite:
        print("mean, median, min and max are over infinite values too; finite mean leaves those out; no std with them")


def number(value: float) -> str:
    """A value with four decimals, or six digits where those would hide it."""
    if not math.isfinite(value):
        return str(value)
    return f"{value:.4f}" if value == 0 or 1e-3 <= abs(value) < 1e6 else f"{value:.6g}"


def _if_defined(value: float) -> str:
    return "-" if math.isnan(value) else number(value)


def _heading(metric: Metric) -> str:
    return f"{metric.title} [{metric.unit}]" if metric.unit else metric.title


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {status}" for status, count in counts.items()) or "-"


def _table(title: str, texts: Sequence[str], numbers: Sequence[str], last: Sequence[str] = ()) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in texts:
        table.add_column(name, overflow="fold")
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    for name in last:
        table.add_column(name, overflow="fold")
    return table


def _print(table: Table) -> None:
    wide = _console(_WIDEST)
    if wide.is_terminal:
        _narrow(table, wide.measure(table).maximum - _console().width)
    wide.print(table, crop=False)


def _narrow(table: Table, excess: int) -> None:
    """Fold the texts of a table between words, the longest first, to lose ``excess`` columns.

    Rich itself would break words and numbers. What is still too wide then, the terminal wraps.
    """
    texts = []
    for column in table.columns:
        if column.justify != "right":
            cells = [str(column.header), *map(str, column.cells)]
            widest = max(cell_len(cell) for cell in cells)
            texts.append((widest, max(cell_len(word) for cell in cells for word in cell.split()), column))
    for widest, narrowest, column in sorted(texts, key=lambda text: text[1] - text[0]):
        taken = max(0, min(excess, widest - narrowest))
        column.width = widest - taken
        excess -= taken


def _console(width: int | None = None) -> Console:
    return Console(file=sys.stdout, width=width, markup=False, highlight=False, emoji=False)

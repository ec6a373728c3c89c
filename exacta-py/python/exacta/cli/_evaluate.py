"""``exacta evaluate`` once its options are understood: measure, keep, report."""

import signal
import sys
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from types import FrameType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from exacta.cli._records import BOTH_EMPTY, ERROR, Case, CaseResult, Plan
from exacta.cli._rows import Sink, complete, rows_of
from exacta.cli._run import measure_all
from exacta.cli._tables import print_report

INTERRUPTED = 128 + signal.SIGINT
TERMINATED = 128 + signal.SIGTERM
_LISTED = 20


class _Terminated(KeyboardInterrupt):
    """SIGTERM, which batch systems send before they kill: treated as an interruption from the keyboard."""


def evaluate_cases(
    cases: Sequence[Case], plan: Plan, *, jobs: int, sink: Sink | None = None, saved_in: str = "", quiet: bool = False
) -> int:
    """Measure cases, keep the rows of each as soon as it is done, and print tables.

    Parameters
    ----------
    cases : sequence of Case
    plan : Plan
    jobs : int
        Processes.
    sink : Sink, optional
        Where rows are kept.
    saved_in : str
        The sink's name, for messages.
    quiet : bool
        Print problems only.

    Returns
    -------
    int
        Exit status: 0, 1 when a case failed or rows could not be kept, 130 or 143 after an interruption.
    """
    keeper = _Keeper(sink, saved_in)
    results: list[CaseResult] = []
    with _measuring(cases, plan, jobs) as stream:
        status = _collect(stream, results, plan, keeper, total=len(cases), quiet=quiet)
    done = {result.case for result in results}
    results += [CaseResult(case.name, reason="not measured: interrupted") for case in cases if case.name not in done]
    final = complete(results, plan.labels)
    keeper.finish(final, plan)
    if not quiet:
        print_report(final, plan.metrics, keeper.saved_in)
    _note_labels(final, plan)
    failed = sum(1 for result in final if result.reason)
    if failed:
        _complain(f"{failed} of {len(final)} cases could not be measured; their status is {ERROR}")
    if keeper.problem:
        _complain(keeper.problem)
    return status or int(bool(failed or keeper.problem))


@contextmanager
def _measuring(cases: Sequence[Case], plan: Plan, jobs: int) -> Iterator[Generator[CaseResult, None, None]]:
    def terminate(_signal: int, _frame: FrameType | None) -> None:
        raise _Terminated

    # Only the main thread may set handlers; anywhere else SIGTERM keeps its meaning.
    main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, terminate) if main else None
    try:
        with closing(measure_all(cases, plan, jobs)) as stream:
            yield stream
    finally:
        if main:
            signal.signal(signal.SIGTERM, before)


def _collect(
    stream: Generator[CaseResult, None, None],
    results: list[CaseResult],
    plan: Plan,
    keeper: "_Keeper",
    *,
    total: int,
    quiet: bool,
) -> int:
    console = Console(stderr=True, markup=False, highlight=False, emoji=False)
    columns = (
        TextColumn("measuring"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    try:
        with Progress(*columns, console=console, disable=quiet or not console.is_terminal) as progress:
            task = progress.add_task("", total=total)
            for result in stream:
                results.append(result)
                keeper.add(result, plan)
                if result.reason:
                    console.print(f"exacta: {result.case}: {result.reason}", soft_wrap=True, style="red")
                progress.advance(task)
    except _Terminated:
        return TERMINATED
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


class _Keeper:
    """A sink whose failure (a full disk) costs neither the cases to come nor those measured: they are printed whole."""

    def __init__(self, sink: Sink | None, saved_in: str) -> None:
        self._sink = sink
        self._name = saved_in
        self._unsaved = False
        self.saved_in = ""
        self.problem = ""

    def add(self, result: CaseResult, plan: Plan) -> None:
        if self._sink is None or self._unsaved:
            return
        try:
            self._sink.add(rows_of(result, plan.metrics))
        except OSError as error:
            # The end is tried again; until then, appending could only leave a broken file.
            self._unsaved = True
            _complain(f"cannot write {self._name}: {error}; going on")

    def finish(self, results: Sequence[CaseResult], plan: Plan) -> None:
        if self._sink is None:
            return
        try:
            self._sink.finish(row for result in results for row in rows_of(result, plan.metrics))
            self.saved_in = self._name
        except OSError as error:
            kept = "it lacks rows that the table above has" if self._unsaved else "it holds the rows in another order"
            self.problem = f"cannot finish {self._name}: {error}; {kept}"
        finally:
            self._sink.close()


def _note_labels(results: Sequence[CaseResult], plan: Plan) -> None:
    """Say what is likely a slip: a label that was asked for and occurs nowhere, and labels nobody asked for."""
    if plan.labels is None or not any(result.measured and not result.reason for result in results):
        return
    for position, label in enumerate(plan.labels):
        if all(result.reason or result.measured[position].status == BOTH_EMPTY for result in results):
            _complain(f"label {label.title} occurs in no image")
    others = sorted({value for result in results for value in result.others})
    if others:
        listed = ", ".join(map(str, others[:_LISTED])) + (", ..." if len(others) > _LISTED else "")
        _complain(f"labels that were not asked for count as background: {listed}")


def _complain(text: str) -> None:
    print(f"exacta: {text}", file=sys.stderr)

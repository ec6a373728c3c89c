"""Measuring many cases: one after the other, or in worker processes, a few volumes in memory for each."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool

from exacta.cli._measure import measure
from exacta.cli._records import Case, CaseResult, Plan


def measure_all(cases: Sequence[Case], plan: Plan, jobs: int) -> Generator[CaseResult, None, None]:
    """Measure cases.

    Parameters
    ----------
    cases : sequence of Case
    plan : Plan
    jobs : int
        Processes. The cores are shared out among them. Results do not depend on it.

    Yields
    ------
    CaseResult
        One per case, as they become ready.
    """
    jobs = min(jobs, len(cases))
    if jobs <= 1:
        return (measure(case, plan) for case in cases)
    return _in_processes(cases, plan, jobs)


def usable_cores() -> int:
    """The number of cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _in_processes(cases: Sequence[Case], plan: Plan, jobs: int) -> Generator[CaseResult, None, None]:
    waiting = list(reversed(cases))
    while waiting:
        # A process that ends abruptly takes the cases of its siblings along. Alone, each shows whether it was the one.
        for case in (yield from _until_broken(waiting, plan, jobs)):
            if (yield from _until_broken([case], plan, 1)):
                yield CaseResult(case.name, reason="the process that measured it ended abruptly (out of memory?)")


def _until_broken(waiting: list[Case], plan: Plan, jobs: int) -> Generator[CaseResult, None, list[Case]]:
    """Measure until ``waiting`` is empty or a process ends abruptly; return the cases that were lost by that."""
    siblings = set(multiprocessing.active_children())
    # Spawned, because a fork would copy the parent's threads in whatever state they are.
    pool = ProcessPoolExecutor(
        jobs,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start_worker,
        initargs=(max(1, usable_cores() // jobs),),
    )
    running: dict[Future[CaseResult], Case] = {}
    lost: list[Case] = []
    finished = False
    try:
        while running or (waiting and not lost):
            # No more than one case per process is under way, so that few are lost.
            while waiting and not lost and len(running) < jobs:
                case = waiting.pop()
                try:
                    running[pool.submit(measure, case, plan)] = case
                except BrokenProcessPool:
                    lost.append(case)
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                case = running.pop(future)
                try:
                    result = future.result()
                except BrokenProcessPool:
                    lost.append(case)
                else:
                    yield result
        finished = True
        return lost
    finally:
        pool.shutdown(wait=finished, cancel_futures=True)
        if not finished:
            for child in set(multiprocessing.active_children()) - siblings:
                child.terminate()


def _start_worker(threads: int) -> None:
    import exacta

    exacta.set_num_threads(threads)
    # Ctrl-C reaches the whole process group: end at once, the parent tells what was interrupted.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)

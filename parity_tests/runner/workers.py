"""Run cells in this process or in several; tracing a program keeps only one core busy."""

import collections
import concurrent.futures
import contextlib
import dataclasses
import functools
import itertools
import multiprocessing
import os
import signal
import threading
from collections.abc import Generator, Iterator, Sequence

import jax.monitoring

from parity_tests.case import load
from parity_tests.runner import engine
from parity_tests.runner.selection import Cell
from parity_tests.runner.settings import configure


MANY = 100  # cells; with fewer, starting another process takes longer than it saves
AT_MOST = 8  # processes; each grows to 2 GiB


def enough(cells: Sequence[Cell]) -> int:
    """Return how many processes to use: one per core for many cells, otherwise one.

    A GPU or TPU cannot be shared by processes, and a case that is not registered cannot be sent
    to another process; both need a single process.
    """
    known = load()
    here = any(cell.device != "cpu" or cell.case is not known.get(cell.case.id) for cell in cells)
    return 1 if here or len(cells) < MANY else cores()


def cores() -> int:
    return min(os.cpu_count() or 1, AT_MOST)


Finished = dict[int, engine.Result]  # by the index of the cell


def results(
    cells: Sequence[Cell], seed: int, workers: int, finished: Finished
) -> Generator[engine.Result]:
    """Yield the result of every cell in order, each as soon as it is available.

    Args:
        cells: The cells from `selection.grid`; cells of one case run in the same process.
        seed: The seed for `engine.run`.
        workers: Number of processes; with 1, run in this process.
        finished: Gets every result as soon as its case is finished. After an interruption it also
            has the cases that other processes finished before an earlier one.
    """
    if workers == 1:
        for index, cell in enumerate(cells):
            finished[index] = _run(cell, seed)
            yield finished[index]
        return
    numbered = itertools.groupby(enumerate(cells), lambda pair: pair[1].case.id)
    groups = [list(group) for _, group in numbered]
    with contextlib.ExitStack() as stack:
        processes = [stack.enter_context(pool(1)) for _ in range(workers)]
        schedule = Schedule([group[0][1].case.theme for group in groups])
        stack.callback(schedule.clear)
        for batch in _started(processes, groups, schedule, seed, finished):
            yield from batch.result()


class Schedule:
    """The cases that no process has begun, each by its index.

    A process goes on with the theme that it is at, because the cases of a theme share small
    programs, which each process compiles or loads once. All begin with the first theme, so that its
    results come early, and at the end a process helps with another's theme.
    """

    def __init__(self, themes: Sequence[str]):
        self.left: dict[str, collections.deque[int]] = {}
        for index, theme in enumerate(themes):
            self.left.setdefault(theme, collections.deque()).append(index)
        self.first, *others = self.left
        self.unbegun = collections.deque(others)
        self.lock = threading.Lock()

    def take(self, theme: str) -> tuple[str, int] | None:
        """Return the next theme and case for a process that was at `theme`, or None at the end."""
        with self.lock:
            if not self.left.get(theme) and self.unbegun:
                theme = self.unbegun.popleft()
            if self.left.get(theme):
                return theme, self.left[theme].popleft()
            theme = max(self.left, key=lambda name: len(self.left[name]), default="")
            return (theme, self.left[theme].pop()) if self.left.get(theme) else None

    def clear(self) -> list[int]:
        """Let no further case begin, and return the cases that have not begun."""
        with self.lock:
            waiting = [index for cases in self.left.values() for index in cases]
            self.left.clear()
            self.unbegun.clear()
        return waiting


Batch = concurrent.futures.Future[list[engine.Result]]


def _started(
    processes: Sequence[concurrent.futures.Executor],
    groups: Sequence[list[tuple[int, Cell]]],
    schedule: Schedule,
    seed: int,
    finished: Finished,
) -> list[Batch]:
    """Start the processes, and return the future results of each group of numbered cells."""
    batches = [Batch() for _ in groups]

    def go_on(process: concurrent.futures.Executor, theme: str) -> None:
        if (taken := schedule.take(theme)) is None:
            return
        theme, index = taken
        named = [(cell.case.id, *cell[1:]) for _, cell in groups[index]]

        def done(batch: Batch) -> None:
            if batch.cancelled():
                return
            if error := batch.exception():  # the process died
                for never in (index, *schedule.clear()):
                    batches[never].set_exception(error)
                return
            numbers = [number for number, _ in groups[index]]
            finished.update(zip(numbers, batch.result(), strict=True))
            batches[index].set_result(batch.result())
            go_on(process, theme)

        process.submit(_run_named, seed, named).add_done_callback(done)

    with interrupts_blocked():
        for process in processes:
            go_on(process, schedule.first)
    return batches


@contextlib.contextmanager
def interrupts_blocked() -> Iterator[None]:
    """Block Ctrl-C in processes that start here, which cannot ignore it before their imports end.

    They inherit the signal mask of this thread.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def pool(workers: int) -> Iterator[concurrent.futures.ProcessPoolExecutor]:
    """Yield an executor whose processes use the suite's settings, and stop them at the end."""
    executor = concurrent.futures.ProcessPoolExecutor(
        workers, multiprocessing.get_context("spawn"), initializer=_start
    )  # spawned, because a fork would not copy JAX's threads
    try:
        yield executor
    finally:
        for process in multiprocessing.active_children():  # an orderly exit takes seconds
            process.terminate()
        # Call `shutdown` once, with `wait=True`: only then is the executor's thread joined. If the
        # thread outlives the executor and drops the last reference to it, Python 3.13 deadlocks.
        executor.shutdown(wait=True, cancel_futures=True)


def _start() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process handles Ctrl-C
    threading.Thread(target=_end_with_parent, daemon=True).start()
    configure()


def _end_with_parent() -> None:
    """End this process when its parent is killed; otherwise it would wait for work for ever."""
    if parent := multiprocessing.parent_process():
        parent.join()
        os._exit(1)


def _run_named(seed: int, cells: Sequence[tuple[str, str, str, str]]) -> list[engine.Result]:
    return [_run(Cell(load()[id], *rest), seed) for id, *rest in cells]


@functools.cache
def _compilations() -> list[float]:
    """Return a list to which JAX adds the seconds of each compilation in this process."""
    seconds: list[float] = []

    def listen(event: str, duration_secs: float, **kwargs: object) -> None:
        del kwargs
        if event.endswith("backend_compile_duration"):
            seconds.append(duration_secs)

    jax.monitoring.register_event_duration_secs_listener(listen)
    return seconds


def _run(cell: Cell, seed: int) -> engine.Result:
    """Run one cell and add the seconds of XLA compilation to its phases."""
    seconds = _compilations()
    seconds.clear()
    result = engine.run(cell.case, cell.dtype, cell.mode, seed=seed, device=cell.device)
    return dataclasses.replace(result, phases={**result.phases, "compilation": sum(seconds)})

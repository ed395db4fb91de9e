"""Run cells in this process or in several; tracing a program keeps only one core busy."""

import concurrent.futures
import contextlib
import dataclasses
import functools
import itertools
import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence

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


def results(cells: Sequence[Cell], seed: int, workers: int) -> Iterator[engine.Result]:
    """Yield the result of every cell in order, each as soon as it is available.

    Args:
        cells: The cells from `selection.grid`; cells of one case run in the same process.
        seed: The seed for `engine.run`.
        workers: Number of processes; with 1, run in this process.
    """
    if workers == 1:
        for cell in cells:
            yield _run(cell, seed)
        return
    groups = [list(group) for _, group in itertools.groupby(cells, lambda cell: cell.case.id)]
    named = [[(cell.case.id, *cell[1:]) for cell in group] for group in groups]
    with pool(workers) as processes:
        for batch in processes.map(functools.partial(_run_named, seed), named):
            yield from batch


@contextlib.contextmanager
def pool(workers: int) -> Iterator[concurrent.futures.ProcessPoolExecutor]:
    """Yield an executor whose processes use the suite's settings, and stop them at the end."""
    executor = concurrent.futures.ProcessPoolExecutor(
        workers, multiprocessing.get_context("spawn"), initializer=_start
    )  # spawned, because a fork would not copy JAX's threads
    try:
        yield executor
    finally:
        executor.shutdown(wait=False, cancel_futures=True)
        for process in multiprocessing.active_children():  # an orderly exit takes seconds
            process.terminate()
        executor.shutdown()


def _start() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process handles Ctrl-C
    configure()


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

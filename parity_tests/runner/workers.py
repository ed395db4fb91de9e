"""Cells run here or in several processes: a grid is many programs, each traced on one core."""

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


MANY = 100  # cells; for fewer the start of another process does not pay
AT_MOST = 8  # processes, each of which grows to 2 GiB


def enough(cells: Sequence[Cell]) -> int:
    """How many processes these cells are worth: one a core where they are many.

    One alone holds a GPU or a TPU, and what makes cases of its own cannot hand them on.
    """
    known = load()
    here = any(cell.device != "cpu" or cell.case is not known.get(cell.case.id) for cell in cells)
    return 1 if here or len(cells) < MANY else cores()


def cores() -> int:
    return min(os.cpu_count() or 1, AT_MOST)


def results(cells: Sequence[Cell], seed: int, workers: int) -> Iterator[engine.Result]:
    """The result of every cell, in order, as soon as those before it are there.

    Args:
      cells: From `selection.grid`; those of one case stay in one process.
      seed: As in `engine.run`.
      workers: Processes; 1 is this one.
    """
    if workers == 1:
        for cell in cells:
            yield _run(cell, seed)
        return
    groups = [list(group) for _, group in itertools.groupby(cells, lambda cell: cell.case.id)]
    named = [[(cell.case.id, *cell[1:]) for cell in group] for group in groups]
    with pool(workers) as processes:
        for found in processes.map(functools.partial(_run_named, seed), named):
            yield from found


@contextlib.contextmanager
def pool(workers: int) -> Iterator[concurrent.futures.ProcessPoolExecutor]:
    """Processes with the suite's settings, which end with what is done here, or fails."""
    made = concurrent.futures.ProcessPoolExecutor(
        workers, multiprocessing.get_context("spawn"), initializer=_start
    )  # spawned: JAX has threads, which a fork would leave behind
    try:
        yield made
    finally:
        made.shutdown(wait=False, cancel_futures=True)
        for process in multiprocessing.active_children():  # to free what they hold takes seconds
            process.terminate()
        made.shutdown()


def _start() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent says when to stop
    configure()


def _run_named(seed: int, cells: Sequence[tuple[str, str, str, str]]) -> list[engine.Result]:
    return [_run(Cell(load()[id], *rest), seed) for id, *rest in cells]


def _run(cell: Cell, seed: int) -> engine.Result:
    """One cell; its phases also say what XLA took."""
    seconds: list[float] = []

    def listen(event: str, duration_secs: float, **kwargs: object) -> None:
        del kwargs
        if event.endswith("backend_compile_duration"):
            seconds.append(duration_secs)

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        result = engine.run(cell.case, cell.dtype, cell.mode, seed=seed, device=cell.device)
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)
    return dataclasses.replace(result, phases={**result.phases, "compilation": sum(seconds)})

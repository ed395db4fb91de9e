"""A second process that compiles beside this one: XLA keeps little more than one core busy."""

from __future__ import annotations

import multiprocessing
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any

import jax
from jax.experimental.compilation_cache import compilation_cache


Wait = Callable[[], object]


@contextmanager
def second_process() -> Iterator[Callable[..., Wait]]:
    """What starts a function there; what it compiles is in this process' cache after the wait.

    On a GPU, whose memory two processes of JAX would fight over, nothing is started.
    """
    with tempfile.TemporaryDirectory() as folder:
        _use_cache(folder)
        spawn = multiprocessing.get_context("spawn")
        try:
            with ProcessPoolExecutor(1, spawn, _use_cache, (folder,)) as pool:
                yield (
                    lambda fun, *args: (
                        pool.submit(_run, fun, *args).result
                        if jax.default_backend() == "cpu"
                        else lambda: None
                    )
                )
        finally:
            _use_cache(None)


def _run(fun: Callable[..., Any], *args: Any) -> None:
    fun(*args)  # a compiled program does not travel; the cache does


def _use_cache(folder: str | None) -> None:
    jax.config.update("jax_compilation_cache_dir", folder)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    compilation_cache.reset_cache()  # it would stay where it was first

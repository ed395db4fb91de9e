"""Compile programs in a second process, because XLA's compiler uses little more than one core."""

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
    """Yield a function that runs another function in a second process and returns a wait function.

    Once the wait function returns, the compiled programs are in an on-disk cache that this process
    reads. On a GPU no process is started, because two JAX processes cannot share its memory.
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
    fun(*args)  # compiled programs cannot be sent between processes, but they share the cache


def _use_cache(folder: str | None) -> None:
    jax.config.update("jax_compilation_cache_dir", folder)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    compilation_cache.reset_cache()  # otherwise JAX keeps using the first cache folder

"""The settings under which torch and JAX are compared; every entry point calls `configure`."""

import contextlib
import gc
import os
import pathlib

import jax


# torch runs float64 depthwise convolutions as thousands of small parallel regions, whose threads
# spin when cores are shared: on two busy cores a single thread is seven times faster. The variable
# must be set before torch is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

DEVICES = 8  # virtual CPU devices for programs that use several; idle devices cost nothing
ROOT = pathlib.Path(__file__).resolve().parents[2]


def configure() -> None:
    """Enable float64, eight CPU devices and an on-disk compilation cache."""
    gc.set_threshold(100_000, 20, 20)  # tracing allocates many small objects but little garbage
    jax.config.update("jax_enable_x64", True)
    with contextlib.suppress(RuntimeError):  # too late once JAX is initialized
        jax.config.update("jax_num_cpu_devices", DEVICES)
    cache = os.environ.get("JAX_COMPILATION_CACHE_DIR", str(ROOT / ".cache" / "jax"))
    jax.config.update("jax_compilation_cache_dir", cache)
    # The suite consists of many small programs, and each is worth caching.
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)

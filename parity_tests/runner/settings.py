"""The settings under which frameworks are compared; every way in calls `configure` first."""

import contextlib
import gc
import os
import pathlib

import jax


# torch runs its float64 depthwise convolutions as thousands of small parallel regions, which spin
# where cores are shared: one thread is seven times faster on two busy cores. Before torch loads.
os.environ.setdefault("OMP_NUM_THREADS", "1")

DEVICES = 8  # of the CPU, for programs of several devices; without work they cost nothing
ROOT = pathlib.Path(__file__).resolve().parents[2]


def configure() -> None:
    """float64 on, eight CPU devices, and a cache on disk so that only the first run compiles."""
    gc.set_threshold(100_000, 20, 20)  # tracing makes many small objects and little garbage
    jax.config.update("jax_enable_x64", True)
    with contextlib.suppress(RuntimeError):  # JAX has started: it has the devices it has
        jax.config.update("jax_num_cpu_devices", DEVICES)
    cache = os.environ.get("JAX_COMPILATION_CACHE_DIR", str(ROOT / ".cache" / "jax"))
    jax.config.update("jax_compilation_cache_dir", cache)
    # The suite is many small programs: each is worth keeping.
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)

"""The settings under which torch and JAX are compared; every entry point calls `configure`."""

import contextlib
import gc
import os
import pathlib
import warnings
from collections.abc import Mapping
from typing import Any

import jax


# torch runs float64 depthwise convolutions as thousands of small parallel regions, whose threads
# spin when cores are shared: on two busy cores a single thread is seven times faster. The variable
# must be set before torch is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

DEVICES = 8  # virtual CPU devices for programs that use several; idle devices cost nothing
ROOT = pathlib.Path(__file__).resolve().parents[2]

# XLA's defaults, for programs whose rounding or fusions a test compares; they undo `QUICK`.
USUAL: dict[str, Any] = {
    "xla_backend_optimization_level": 3,
    "xla_llvm_disable_expensive_passes": False,
}
if jax.__version_info__ < (0, 11):  # JAX 0.11 removed this option
    USUAL["xla_cpu_use_fusion_emitters"] = True

# For heavy programs, which without optimization take longer to run than to compile.
OPTIMIZED: dict[str, Any] = {"xla_backend_optimization_level": 3}

# Options for a run of many cells, which spends most of its time in XLA: half the time of XLA's
# defaults. The expensive passes change no bits; the emitters change the rounding of a few cells.
LIGHT: dict[str, Any] = {
    "xla_llvm_disable_expensive_passes": True,
    "xla_cpu_parallel_codegen_split_count": 1,
}
if jax.__version_info__ < (0, 11):
    LIGHT["xla_cpu_use_fusion_emitters"] = False


def configure() -> None:
    """Enable float64, eight CPU devices and an on-disk compilation cache."""
    gc.set_threshold(1_000_000, 20, 20)  # tracing allocates many small objects but little garbage
    jax.config.update("jax_enable_x64", True)
    with contextlib.suppress(RuntimeError):  # too late once JAX is initialized
        jax.config.update("jax_num_cpu_devices", DEVICES)
    cache = os.environ.get("JAX_COMPILATION_CACHE_DIR", str(ROOT / ".cache" / "jax"))
    jax.config.update("jax_compilation_cache_dir", cache)
    # The suite consists of many small programs, and each is worth caching.
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    # While another process writes an entry, JAX warns and compiles the program itself.
    warnings.filterwarnings("ignore", "Error reading persistent compilation cache entry")


def compile_with(options: Mapping[str, Any]) -> None:
    """Compile every program of this process and of its children with XLA options.

    XLA reads its flags once, so this must be called before the first array is created. An option
    that the environment variable XLA_FLAGS sets keeps its value.
    """
    present = os.environ.get("XLA_FLAGS", "")
    missing = {name: value for name, value in options.items() if f"--{name}=" not in present}
    flags = [f"--{name}={str(value).lower()}" for name, value in missing.items()]
    os.environ["XLA_FLAGS"] = " ".join([*flags, present]).strip()

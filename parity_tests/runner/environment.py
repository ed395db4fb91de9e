"""Describe the machine (versions, processor, threads, flags) and check which devices exist."""

import importlib.metadata
import os
import platform
import subprocess
import time
from typing import Any

import jax
import jax.extend

from parity_tests.runner.settings import ROOT


class DeviceMissing(Exception):
    """The requested device does not exist here; the message lists the available devices."""


def versions(seed: int = 0, device: str = "cpu") -> dict[str, Any]:
    """Return everything a reader needs to reproduce a run."""
    import torch

    names = ("jaxgrad", "jax", "jaxlib", "optax", "numpy")
    packages = {name: _version(name) for name in names}
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        **packages,
        "machine": platform.machine(),
        "cpu": _cpu(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "cores": os.cpu_count(),
        "torch_threads": torch.get_num_threads(),
        "device": device,
        "device_kind": jax.devices(device)[0].device_kind,
        "devices": [str(d) for d in jax.devices()],
        "x64": jax.dtypes.canonicalize_dtype("float64") == "float64",
        "matmul_precision": "highest",
        "xla_flags": os.environ.get("XLA_FLAGS", ""),
        "seed": seed,
        "commit": _commit(),
        "date": time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime()),
    }


def require_device(device: str) -> None:
    """Check that both frameworks can use a device (for a TPU, torch runs on the CPU).

    Raises:
        DeviceMissing: JAX or torch cannot use the device.
    """
    import torch

    present = sorted(
        {d.platform for d in jax.extend.backend.backends().values() for d in d.devices()}
    )
    try:
        jax.devices(device)
    except RuntimeError:
        raise DeviceMissing(f"JAX finds no {device} here, only {', '.join(present)}") from None
    if device == "gpu" and not torch.cuda.is_available():
        raise DeviceMissing(f"torch {torch.__version__} finds no CUDA device here, only the CPU")


def torch_device(device: str) -> str:
    """Return the device on which torch runs beside JAX's: a TPU has none, so it is the CPU."""
    return "cuda" if device == "gpu" else "cpu"


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _cpu() -> str:
    try:
        with open("/proc/cpuinfo") as lines:
            return next(x.split(":", 1)[1].strip() for x in lines if x.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown"


def _commit() -> str:
    try:
        out = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True
        )
    except OSError:
        return "unknown"
    return out.stdout.strip() or "unknown"

"""Run the torch reference of a cell, its float64 oracle, and reruns that measure its rounding."""

import contextlib
import dataclasses
import functools
import math
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxgrad.parity import interop
from jaxgrad.parity.compare import flatten
from jaxgrad.parity.ulp import epsilon
from parity_tests.case import Case
from parity_tests.inputs import draw, nudge
from parity_tests.runner.environment import torch_device


RERUNS = 4
REDRAWS = 5
SHOWN = "shown"  # the top-level key for values that are displayed but not compared


@dataclasses.dataclass(frozen=True)
class TorchRun:
    """The inputs and torch's results of a cell, shared by eager and jit."""

    inputs: Any
    observed: Any
    oracle: Any
    reruns: tuple[Any, ...]
    redraws: int


@functools.lru_cache(maxsize=2)
def run_torch(case: Case, dtype: str, seed: int, device: str) -> TorchRun:
    """Sample the inputs and run torch; resample if rounding makes torch take a different branch."""
    chosen: TorchRun | None = None
    for attempt in range(REDRAWS + 1):
        inputs = interop.cast(draw(case.inputs, case.seed_name, seed, attempt), jnp.dtype(dtype))
        if chosen is not None and _same(chosen.inputs, inputs):
            break  # all inputs are fixed, so there is nothing to resample
        observed = run_reference(case, inputs, dtype, device)
        if dtype == "float64":  # float64 is its own oracle
            return TorchRun(inputs, observed, None, (), attempt)
        wide = interop.cast(inputs, np.float64)
        oracle, _ = split(run_reference(case, wide, "float64", device))
        branched = _branched(split(observed)[0], oracle, dtype)
        if chosen is None or not branched:
            chosen = TorchRun(inputs, observed, oracle, (), attempt)
        if not branched:
            break
    assert chosen is not None
    moved = [
        run_reference(case, near, dtype, device) for near in nudged_inputs(case, chosen.inputs)
    ]
    return dataclasses.replace(chosen, reruns=tuple(split(run)[0] for run in moved))


def nudged_inputs(case: Case, inputs: Any) -> Iterator[Any]:
    """Yield several copies of the inputs perturbed by one ULP, since one may round luckily."""
    for salt in range(RERUNS):
        yield nudge(case.inputs, inputs, salt)


def _same(left: Any, right: Any) -> bool:
    pairs = zip(flatten(left).values(), flatten(right).values(), strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)


def _branched(observed: Any, oracle: Any, dtype: str) -> bool:
    """Whether rounding made torch take a different branch than in float64 (say, at a tie)."""
    if isinstance(observed, BaseException) or isinstance(oracle, BaseException):
        return isinstance(observed, BaseException) != isinstance(oracle, BaseException)
    left, right = flatten(observed), flatten(oracle)
    if left.keys() != right.keys():
        return True
    # A leaf smaller than this is rounding error after a cancellation, even in float64.
    noise = 1e3 * epsilon("float64") * max((_scale(y) for y in right.values()), default=0.0)
    for path, x in left.items():
        y = right[path]
        if not isinstance(x, np.ndarray) or not isinstance(y, np.ndarray):
            if (x is None) != (y is None):
                return True
        elif x.dtype.kind in "biu":
            if not np.array_equal(x, y):
                return True
        elif x.shape == y.shape and x.size:
            wide, scale = x.astype(y.dtype), _scale(y)
            off = np.abs(wide - y)[np.isfinite(y) & np.isfinite(wide)]
            if (
                scale > noise
                and float(np.max(off, initial=0.0)) > math.sqrt(epsilon(dtype)) * scale
            ):
                return True
    return False


def _scale(leaf: Any) -> float:
    """Return the largest finite magnitude of a leaf, or 0 if there is none."""
    if not isinstance(leaf, np.ndarray) or leaf.dtype.kind not in "fc":
        return 0.0
    return float(np.max(np.abs(leaf), where=np.isfinite(leaf), initial=0.0))


def run_reference(case: Case, inputs: Any, dtype: str, device: str = "cpu") -> Any:
    """Run the torch reference on copies of numpy inputs; return its observation or exception."""
    with _torch_settings(dtype, device):
        try:
            return interop.to_numpy(case.reference(**interop.to_torch(inputs)))
        except Exception as error:
            return error


@contextlib.contextmanager
def _torch_settings(dtype: str, device: str) -> Iterator[None]:
    import torch

    before = torch.get_default_dtype()
    tf32 = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
    torch.set_default_dtype(getattr(torch, dtype))
    if device == "gpu":
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.manual_seed(0)
    try:
        with torch.device(torch_device(device)), torch.enable_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch warns when a program reads a None .grad
            yield
    finally:
        torch.set_default_dtype(before)
        if device == "gpu":
            torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = tf32


def split(observation: Any) -> tuple[Any, Any]:
    """Split an observation into compared values and values that are only shown."""
    if isinstance(observation, Mapping) and SHOWN in observation:
        rest = {key: value for key, value in observation.items() if key != SHOWN}
        return rest, observation[SHOWN]
    return observation, None

"""Jobs: a call in one dtype, with its arrays separated from its options, and its cotangents."""

import dataclasses
import zlib
from typing import Any

import jax
import ml_dtypes
import numpy as np

from jaxgrad.parity.ulp import is_inexact_dtype
from parity_tests.operators import Operator, Sample
from parity_tests.operators._harness.draw import drawn, fuzz_seed


WIDE = ("float64", "complex128")


@dataclasses.dataclass(frozen=True)
class Job:
    """One call in one dtype."""

    label: str
    arrays: list[np.ndarray]
    names: list[str]
    static: Any
    """The call, with a placeholder for each array."""
    second_order: bool
    """Whether second derivatives and forward mode are compared too."""
    dtype: str
    point: bool = False
    options: tuple[tuple[str, Any], ...] = ()
    infinite_cotangents: bool = False
    """Whether every second cotangent is infinite, as an earlier layer may make it.

    Gradients that torch masks then stay 0, and JAX's must too.
    """

    @property
    def differentiable(self) -> list[int]:
        return [i for i, x in enumerate(self.arrays) if is_inexact_dtype(x.dtype)]

    def rebuild(self, arrays: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the call's arguments with its arrays replaced."""
        rest = iter(arrays)
        leaves, treedef = self.static
        filled = [next(rest) if leaf is _HOLE else leaf for leaf in leaves]
        return jax.tree.unflatten(treedef, filled)


_HOLE = object()


def jobs(record: Operator, every: int = 1) -> list[Job]:
    """Return the jobs of a record.

    Drawn calls run in the first dtype; the largest of them also runs in the other dtypes.

    Args:
        record: The record.
        every: Of the drawn calls, each `every`-th runs. Those written by hand all run. If it is
            more than 1, points have no second derivative, and float16, which rounds less than
            bfloat16, is left out beside it.
    """
    first, *others = record.dtypes
    if every > 1 and "bfloat16" in others:
        others = [dtype for dtype in others if dtype != "float16"]
    calls = drawn(record)
    option = (("torch_gradient", True),) if record.torch_gradient else ()
    some = list(enumerate(calls))[::every]
    result = [job(f"drawn {i} {s}", s, first, options=option) for i, s in some]
    if first == "float64" and record.invariant is None:
        masked = job(f"infinite {calls[0]}", calls[0], first, options=option)
        result.append(dataclasses.replace(masked, second_order=False, infinite_cotangents=True))
    points = [job(f"point {s}", s, None, point=True, options=option) for s in record.points]
    result += [dataclasses.replace(p, second_order=every == 1) for p in points]
    for pinned in record.differences:
        at = job(f"pinned {pinned.sample}", pinned.sample, None, point=True)
        result.append(dataclasses.replace(at, second_order=pinned.second_order))
    largest = sorted(calls, key=lambda s: -sum(x.size for x in _arrays(s)))
    wide = largest[: 2 if fuzz_seed() else 1]
    result += [job(f"{dtype} {s}", s, dtype, options=option) for dtype in others for s in wide]
    return result


def job(
    label: str, sample: Sample, dtype: str | None, *, point: bool = False, options: Any = ()
) -> Job:
    """Return the job that runs a call in a dtype; with None its arrays keep their dtypes."""
    paths, treedef = jax.tree.flatten_with_path(
        (sample.args, sample.kwargs), is_leaf=lambda x: x is None
    )
    arrays, names, leaves = [], [], []
    for path, leaf in paths:
        if isinstance(leaf, np.ndarray):
            arrays.append(as_dtype(leaf, dtype))
            names.append(
                ".".join(str(getattr(key, "idx", getattr(key, "key", key))) for key in path[1:])
            )
        leaves.append(_HOLE if isinstance(leaf, np.ndarray) else leaf)
    second_order = dtype in (None, *WIDE)
    return Job(label, arrays, names, (leaves, treedef), second_order, dtype or "", point, options)


def as_dtype(x: np.ndarray, dtype: str | None) -> np.ndarray:
    """Cast a floating array to a dtype; a complex dtype adds an imaginary part."""
    if dtype is None or not is_inexact_dtype(x.dtype):
        return x
    if dtype.startswith("complex"):
        if x.dtype.kind != "c":
            x = np.asarray(x + 1j * np.roll(x[..., ::-1] if x.ndim else x, 1))
        return x.astype(dtype)
    if x.dtype.kind == "c":
        return x.astype(np.complex128 if dtype == "float64" else np.complex64)
    return x.astype(getattr(ml_dtypes, dtype, dtype))


def directions(job: Job, what: str, like: list[np.ndarray], *, ones: bool) -> list[np.ndarray]:
    """Return cotangents of outputs, or tangents of inputs, drawn with the job's label as the seed.

    For hand-written calls they are ones or 1, 2, 3, ..., to keep tables and pinned values readable.
    """
    if job.point:
        return [_counted(x, ones) for x in like]
    rng = np.random.default_rng(zlib.crc32(f"{what} {job.label}".encode()))
    # They are rounded to the job's dtype, so that a run in a wider dtype uses the same values.
    grain = {"complex128": "float64", "complex64": "float32"}.get(job.dtype, job.dtype)
    drawn = [as_dtype(_normal(rng, x), grain or None).astype(x.dtype) for x in like]
    if job.infinite_cotangents and what == "cotangent":
        return [np.where(np.arange(x.size).reshape(x.shape) % 2, x, np.inf) for x in drawn]
    return drawn


def _counted(out: np.ndarray, ones: bool) -> np.ndarray:
    values = np.ones(out.size) if ones else np.arange(1.0, out.size + 1.0)
    return values.reshape(out.shape).astype(out.dtype)


def _normal(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    value = rng.standard_normal(x.shape)
    if x.dtype.kind == "c":
        value = value + 1j * rng.standard_normal(x.shape)
    return np.asarray(value)


def _arrays(sample: Sample) -> list[np.ndarray]:
    leaves = jax.tree.leaves((sample.args, sample.kwargs))
    return [leaf for leaf in leaves if isinstance(leaf, np.ndarray)]

"""Compare the float32 errors of the gradients, which matter in training.

float64 shows whether the port is correct, and float32 whether its formulas are accurate. The
variance E[x^2] - E[x]^2 is correct in float64, but inaccurate in float32 if the mean is large.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxgrad._core import compat
from jaxgrad.parity.compiling import quick_jit
from jaxgrad.parity.interop import cast
from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.jax_side import native as jax_native
from jaxgrad.parity.ulp import scale_of


FLOOR = 4 * float(np.finfo(np.float32).eps)  # relative error; torch's may be lower by luck
NOTEWORTHY = 30  # the report notes error ratios from here on
_LARGEST = 10_000_000  # weights; with more, float32 runs would take minutes and gigabytes


class Float32Error(NamedTuple):
    """The relative error of one gradient in float32, in each framework."""

    name: str
    torch: float
    jax: float

    @property
    def ratio(self) -> float:
        """JAX's error relative to torch's."""
        return self.jax / max(self.torch, FLOOR)

    @property
    def clause(self) -> str:
        """The clause that the gradients surface adds to its text."""
        return f"in float32, JAX's error is at most {max(self.ratio, 0.01):.2g} times torch's"

    @property
    def note(self) -> str:
        """The note for the report, or an empty string if JAX's error is small."""
        if self.ratio <= NOTEWORTHY:
            return ""
        return (
            f"in float32, the gradient of {self.name} is off by {self.jax:.1g} in JAX and by "
            f"{self.torch:.1g} in torch (relative to its scale). The formulas are equal in exact "
            "arithmetic, but JAX's loses digits (for example a variance as E[x^2] - E[x]^2, the "
            "log of a softmax, or a sum of squares that overflows)"
        )


def largest_error(evidence: Evidence) -> Float32Error | None:
    """Return the largest float32 error relative to torch's, or None if it cannot be measured.

    A program that computes below float32 has larger errors than float32 causes.
    """
    state = evidence.draws[0].state
    program = evidence.native_program
    if isinstance(program, Exception) or jax_native.is_low(program) or evidence.native.low:
        return None
    repeatable = evidence.rerunnable and evidence.port.program.repeatable
    if not repeatable or sum(np.size(x) for x in state.values()) > _LARGEST:
        return None
    gradients = evidence.jax_gradients[0]
    leaves = _jax_gradients(evidence)
    if leaves is None:
        return None
    leaves = [None if f is None else g for g, f in zip(leaves, gradients.leaves, strict=True)]
    exact = evidence.by_torch_name(gradients)
    rounded = evidence.by_torch_name(dataclasses.replace(gradients, leaves=leaves))
    torch_runs = evidence.torch_side.single_precision(evidence.draws[0])
    torch_rounded = [evidence.torch_gradients(run) for run in torch_runs]
    torch_exact = evidence.torch_gradients(evidence.runs[0])
    judged = {j.name for j in evidence.judged_gradients[0] if j.verdict == "pass" and j.scale}
    errors = [
        Float32Error(
            name,
            max(_relative_error(run[name], torch_exact[name]) for run in torch_rounded),
            _relative_error(rounded[name], exact[name]),
        )
        for name in exact
        if name in judged
    ]
    return max(errors, key=lambda error: error.ratio, default=None)


def _jax_gradients(evidence: Evidence) -> list[Any] | None:
    """Return the gradients of the user's own program in float32, or None if it rejects float32."""
    port = evidence.port
    leaves = cast([np.asarray(x) for x in port.leaves(evidence.draws[0])], np.float32)
    floating = [x.dtype.kind in "fc" for x in leaves]
    cotangents = cast(port.cotangents(), np.float32)

    def objective(floats: list[Any]) -> Any:
        values = [f if f is not None else x for f, x in zip(floats, leaves, strict=True)]
        return port.objective(port.program.fun(*values), cotangents)

    with compat.enable_x64(False):
        floats = [x if f else None for x, f in zip(leaves, floating, strict=True)]
        try:
            grads = quick_jit(jax.grad(objective), 2 * len(port.program.equations))(floats)
        except Exception:  # the program itself requires float64
            return None
        return [None if g is None else np.conj(_wide(g)) for g in grads]


def _wide(x: Any) -> np.ndarray:
    return np.asarray(x, np.complex128 if np.iscomplexobj(x) else np.float64)


def _relative_error(x: Any, exact: Any) -> float:
    """Return the largest error of `x`, relative to the scale of `exact`."""
    if x is None or exact is None:
        return 0.0
    off = float(np.max(np.abs(np.asarray(x) - exact), initial=0.0))
    return off / (scale_of(np.asarray(exact)) or 1.0) if np.isfinite(off) else float("inf")

"""Compare the float32 errors of outputs and gradients, which matter in training.

float64 shows whether the port is correct, and float32 whether its formulas are accurate. The
variance E[x^2] - E[x]^2 is correct in float64, but inaccurate in float32 if the mean is large.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxgrad.parity import maxima
from jaxgrad.parity.compiling import quick_jit
from jaxgrad.parity.interop import cast
from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.record.jax_side import native as jax_native
from jaxgrad.parity.prove.report import Judgement
from jaxgrad.parity.prove.users import first_line
from jaxgrad.parity.prove.wording import jax_program
from jaxgrad.parity.ulp import distance, scale_of


EPS = float(np.finfo(np.float32).eps)
FLOOR = 4 * EPS  # relative error; torch's may be lower by luck
NOTEWORTHY = 30  # the report notes error ratios from here on
_LARGEST = 40_000_000  # weights; with more, float32 runs would take minutes and gigabytes


class Float32Error(NamedTuple):
    """The relative error of one value in float32, in each framework."""

    what: str
    torch: float
    jax: float
    floor: float = FLOOR
    examples: str = (
        "a variance as E[x^2] - E[x]^2, the log of a softmax, or a sum of squares that overflows"
    )

    @property
    def ratio(self) -> float:
        """JAX's error relative to torch's; 1 where torch's own result is not finite."""
        return self.jax / max(self.torch, self.floor) if np.isfinite(self.torch) else 1.0

    @property
    def clause(self) -> str:
        """The clause that a surface adds to its text."""
        return f"in float32, JAX's error is at most {max(self.ratio, 0.01):.2g} times torch's"

    @property
    def note(self) -> str:
        """The note for the report, or an empty string if JAX's error is small."""
        if self.ratio <= NOTEWORTHY:
            return ""
        return (
            f"in float32, {self.what} is off by {self.jax:.1g} in JAX and by {self.torch:.1g} in "
            "torch (relative to its scale). The formulas are equal in exact arithmetic, but JAX's "
            f"loses digits (for example {self.examples})"
        )


def surfaces(evidence: Evidence, judged: Mapping[str, Judgement]) -> dict[str, Judgement]:
    """Return the forward and gradients surfaces with a statement about float32, if both pass."""
    names = ("forward", "gradients")
    if any(judged[name].surface.verdict != "pass" for name in names):
        return {}
    with evidence.clock("float32"):
        reason = unavailable(evidence)
        results = reason or _errors(evidence)
    if isinstance(results, str):
        return {name: _stated(judged[name], results) for name in names}
    pairs = zip(names, results, strict=True)
    return {name: _stated(judged[name], largest(errors)) for name, errors in pairs}


def largest(errors: Iterable[Float32Error]) -> Float32Error | str:
    """Return the error that is largest relative to torch's, or why there is none."""
    return max(errors, key=lambda error: error.ratio, default="every value is zero, or accepted")


def clause(result: Float32Error | str) -> str:
    """Return the statement about float32, or why there is none."""
    return f"float32 is not compared: {result}" if isinstance(result, str) else result.clause


def notes(result: Float32Error | str) -> tuple[str, ...]:
    """Return the note on an error, if it is large."""
    return () if isinstance(result, str) or not result.note else (result.note,)


def unavailable(evidence: Evidence) -> str:
    """Return the reason why a proof cannot be repeated in float32, or an empty string.

    A program that computes below float32 has larger errors than float32 causes.
    """
    if not evidence.rerunnable:
        return "a dump contains only float64"
    program, called = evidence.native_program, jax_program(evidence.reference)
    if isinstance(program, Exception):
        return f"{called} cannot be traced in its own precision: {first_line(program)}"
    if jax_native.is_low(program) or evidence.native.low:
        return "the models compute below float32"
    if not evidence.port.program.repeatable:
        return f"another call of {called} gives another program"
    if evidence.port.injection.sites:
        return f"{called} draws its own random numbers there"
    return too_large(evidence)


def too_large(evidence: Evidence) -> str:
    """Return the reason why the model is too large for a run in float32, or an empty string."""
    count = sum(np.size(x) for x in evidence.draws[0].state.values())
    if count <= _LARGEST:
        return ""
    millions = f"{count / 1e6:.0f} million weights, more than {_LARGEST // 1_000_000} million"
    return f"the model has {millions}"


def _stated(judgement: Judgement, result: Float32Error | str) -> Judgement:
    surface = judgement.surface
    surface = dataclasses.replace(surface, text=f"{surface.text}; {clause(result)}")
    return Judgement(surface, (*judgement.notes, *notes(result)))


def _errors(evidence: Evidence) -> tuple[list[Float32Error], list[Float32Error]] | str:
    """Return the errors of the outputs and of the gradients, or why they cannot be computed."""
    gradients = evidence.jax_gradients[0]
    try:
        leaves, outputs = _in_float32(evidence)
    except Exception as error:
        return f"{jax_program(evidence.reference)} rejects it: {first_line(error)}"
    leaves = [None if f is None else g for g, f in zip(leaves, gradients.leaves, strict=True)]
    try:
        runs = evidence.torch_side.single_precision(evidence.draws[0])
    except Exception as error:
        return f"torch rejects it: {first_line(error)}"
    torch_gradients = [evidence.torch_gradients(run) for run in runs]
    exact, rounded = (
        evidence.by_torch_name(dataclasses.replace(gradients, leaves=x))
        for x in (gradients.leaves, leaves)
    )
    torch_exact = evidence.torch_gradients(evidence.runs[0])
    passed = {j.name for j in evidence.judged_gradients[0] if j.verdict == "pass" and j.scale}
    of_gradients = [
        Float32Error(
            f"the gradient of {name}",
            max(relative_error(run[name], torch_exact[name]) for run in torch_gradients),
            relative_error(rounded[name], exact[name]),
        )
        for name in exact
        if name in passed
    ]
    accepted = functools.partial(evidence.waivers.names, "forward")
    expected = evidence.runs[0].outputs
    exactly = evidence.jax_runs[0].outputs[: len(expected)]  # the state follows
    triples = zip(expected.items(), exactly, outputs[: len(expected)], strict=True)
    of_outputs = [
        Float32Error(
            f"the output {name}".rstrip(),
            max(relative_error(run.outputs[name], x) for run in runs),
            relative_error(actual, exact),
        )
        for (name, x), exact, actual in triples
        if x.dtype.kind in "fc" and scale_of(x) and not accepted(name or "output")
    ]
    return of_outputs, of_gradients


def _in_float32(evidence: Evidence) -> tuple[list[Any], list[np.ndarray]]:
    """Return the gradients and outputs of the user's own program in float32."""
    port = evidence.port
    leaves = cast([np.asarray(x) for x in port.leaves(evidence.draws[0])], np.float32)
    floating = [x.dtype.kind in "fc" for x in leaves]
    cotangents = cast(port.cotangents(evidence.draws[0]), np.float32)

    def objective(floats: list[Any]) -> Any:
        values = [f if f is not None else x for f, x in zip(floats, leaves, strict=True)]
        outputs = fun(*port.stopped(values))
        return port.objective(outputs, cotangents), outputs

    compared = maxima.differentiated(port.program.jaxpr)  # which is a program in float64
    fun = maxima.with_pinned_maxima(port.program.fun) if compared.plain else port.program.fun
    with jax.enable_x64(False):
        leaves = [x if f else jnp.asarray(x) for x, f in zip(leaves, floating, strict=True)]
        floats = [x if f else None for x, f in zip(leaves, floating, strict=True)]
        differentiate = quick_jit(
            jax.grad(objective, has_aux=True),
            port.program.equations.values(),
            differentiates=True,
            compares=compared.in_rules,
        )
        grads, outputs = differentiate(floats)
        leaves = [None if g is None else np.conj(wide(g)) for g in grads]
        return leaves, [wide(x) for x in outputs]


def wide(x: Any) -> np.ndarray:
    """Return an array in float64, or in complex128."""
    return np.asarray(x, np.complex128 if np.iscomplexobj(x) else np.float64)


def relative_error(x: Any, exact: Any) -> float:
    """Return the largest error of `x`, relative to the scale of `exact`; NaN equals NaN."""
    if x is None or exact is None:
        return 0.0
    exact = np.asarray(exact)
    off = float(np.max(distance(np.reshape(x, exact.shape), exact), initial=0.0))
    return off / (scale_of(exact) or 1.0) if np.isfinite(off) else float("inf")

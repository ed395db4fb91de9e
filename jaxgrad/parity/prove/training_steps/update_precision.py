"""Compare the float32 errors of the updates, given the same gradients in both frameworks."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import numpy as np

from jaxgrad.parity.prove.dtypes import single_precision
from jaxgrad.parity.prove.dtypes.single_precision import EPS, FLOOR, Float32Error
from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.record.jax_side.loop import Loop
from jaxgrad.parity.prove.record.jax_side.port import Gradients
from jaxgrad.parity.prove.training import Training
from jaxgrad.parity.prove.users import first_line
from jaxgrad.parity.ulp import scale_of


_STEPS = 3
_EXAMPLES = "Adam's 1 - b2**t, which optax computes in float32 and torch in float64"


def largest_error(evidence: Evidence, training: Training) -> Float32Error | str:
    """Return the largest error of the weights after a few steps, or why there is none.

    Both optimizers get the same gradients, because the gradients have a statement of their own.
    """
    reason = single_precision.unavailable(evidence)
    if reason:
        return reason
    weights, draw = evidence.port.weights, evidence.draws[0]
    draw = dataclasses.replace(draw, state={n: _rounded(x) for n, x in draw.state.items()})
    count = len(evidence.port.program.param_paths)
    leaves = [None if g is None else _rounded(g) for g in evidence.jax_gradients[0].leaves[:count]]
    trained = evidence.runs[0].grads
    named = weights.to_torch(leaves).items()
    given = {name: g for name, g in named if trained.get(name) is not None}
    try:
        exact, torch_rounded = (
            list(evidence.torch_side.replay(training, draw, [given] * _STEPS, single=single))[-1][1]
            for single in (False, True)
        )
    except Exception as error:
        return f"torch's optimizer rejects it: {first_line(error)}"
    try:
        rounded = _jax_rounded(evidence, training, draw, leaves)
    except Exception as error:
        return f"the optax transformation rejects it: {first_line(error)}"
    errors = []
    for name in given:
        if evidence.waivers.names("updates", name):
            continue
        change = exact[name] - draw.state[name]
        size = scale_of(change)
        if name in rounded and size and name not in weights.not_one_to_one:
            before = draw.state[name]
            floor = max(FLOOR, 4 * EPS * scale_of(exact[name]) / size)
            parts = (x[name] - before for x in (torch_rounded, rounded))
            off = [single_precision.relative_error(x, change) for x in parts]
            errors.append(Float32Error(f"the update of {name}", off[0], off[1], floor, _EXAMPLES))
    return single_precision.largest(errors)


def _jax_rounded(evidence: Evidence, training: Training, draw: Any, leaves: list[Any]) -> Any:
    """Return the port's weights after a few steps in float32."""
    with jax.enable_x64(False):
        loop = Loop(evidence.port, training, draw, evidence.trained, lifted=False)
        for _ in range(_STEPS):
            loop.step(lambda *_: Gradients([], leaves, {}))
        return {name: single_precision.wide(x) for name, x in loop.parameters().items()}


def _rounded(x: Any) -> np.ndarray:
    """Round the numbers of an array to float32."""
    x = np.asarray(x)
    narrow = {"f": np.float32, "c": np.complex64}.get(x.dtype.kind)
    return x if narrow is None else x.astype(narrow).astype(x.dtype)

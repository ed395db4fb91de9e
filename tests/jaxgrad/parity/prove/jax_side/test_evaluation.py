"""A port's traced program can be evaluated equation by equation."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgrad._core.jaxpr import is_inexact
from jaxgrad.parity.prove.jax_side import evaluation
from jaxgrad.parity.prove.jax_side import program as jax_program
from tests.jaxgrad.parity.prove._helpers import port


def test_recording_cotangents_changes_no_bit(arguments):
    """Recording the cotangents of all values leaves the gradients bit-identical."""
    with jax.enable_x64(True):
        program = jax_program.program(port, arguments["params"], arguments["inputs"])
        keys = [(path, 0) for path in program.equations if path not in program.closed]
        keys = [k for k in keys if is_inexact(program.equations[k[0]].outvars[0])]
        slots = {key: evaluation.slot(program, key) for key in keys}

        def total(leaves: Any, slots: Any) -> Any:
            return jnp.sum(evaluation.run_watched(program, leaves, slots=slots).outputs[0])

        tapped = jax.grad(total)(program.leaves, slots)
        plain = jax.grad(total)(program.leaves, {})
        for x, y in zip(tapped, plain, strict=True):
            assert np.asarray(x).tobytes() == np.asarray(y).tobytes()


def traced(fun: Callable[..., Any], *inputs: Any) -> jax_program.JaxProgram:
    with jax.enable_x64(True):
        return jax_program.program(fun, {"w": np.ones(3)}, inputs)


def test_values_can_be_scaled_and_recorded():
    """A value inside the program can be scaled and recorded."""
    program = traced(lambda p, x: jnp.sin(p["w"] * x), np.ones(3))
    (product, _), _ = sorted(program.equations.items())
    with jax.enable_x64(True):
        run = evaluation.run_watched(
            program,
            program.leaves,
            scales={(product, 0): 2.0},
            read=lambda key: key == (product, 0),
            show=lambda _, x: x,
        )

    assert np.allclose(run.outputs[0], np.sin(2.0))
    assert np.array_equal(run.prints[product, 0], np.full(3, 2.0))

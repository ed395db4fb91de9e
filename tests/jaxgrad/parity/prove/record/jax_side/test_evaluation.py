"""A port's traced program can be evaluated equation by equation."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgrad._core.jaxpr import is_inexact
from jaxgrad.parity.prove.align.fingerprint import SIZE
from jaxgrad.parity.prove.record import coarse
from jaxgrad.parity.prove.record.jax_side import evaluation
from jaxgrad.parity.prove.record.jax_side import program as jax_program
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


def test_an_output_that_is_a_constant_is_an_array():
    """A constant without dimensions is a number of Python's in a traced program."""
    program = traced(lambda p, x: (p["w"] * x, jnp.array(3.0), jnp.array(2)), np.ones(3))
    with jax.enable_x64(True):
        outputs = evaluation.run_watched(program, program.leaves).outputs

    assert [(float(x), x.shape) for x in outputs[1:]] == [(3.0, ()), (2.0, ())]


def test_values_inside_an_equation_come_before_its_results():
    """The results of a scan have one row for each of its iterations."""
    rows = np.arange(5.0)[:, None] * np.ones(SIZE)
    prints = {((1,), 0): rows[4], ((0,), 1): rows[3], ((0,), 0): rows[2], ((0, 0, 2), 0): rows[:2]}
    listed, stacked = evaluation.spots(prints)

    assert [(s.path, s.output, s.iteration) for s in listed] == [
        ((0, 0, 2), 0, (0,)), ((0, 0, 2), 0, (1,)), ((0,), 0, ()), ((0,), 1, ()), ((1,), 0, ())
    ]  # fmt: skip
    assert np.array_equal(stacked, rows)
    assert evaluation.spots({})[0] == [] and evaluation.spots({})[1].shape == (0, SIZE)


def test_the_inside_of_a_custom_rule_is_not_recorded():
    """Casts inside a custom rule are lifted, but the values inside are not the program's."""

    @jax.custom_jvp
    def custom(x: Any) -> Any:
        return jnp.sin(x.astype(np.float32)).astype(x.dtype) + jnp.arange(3)

    custom.defjvp(lambda primals, tangents: (custom(*primals), tangents[0]))
    program = traced(lambda p, x: custom(p["w"]) * x, np.ones(3))
    with jax.enable_x64(True):
        run = evaluation.run_watched(program, program.leaves, read=lambda key: True)

    assert program.closed and run.prints
    assert all(path in program.equations and path not in program.closed for path, _ in run.prints)
    np.testing.assert_allclose(run.outputs[0], np.sin(1.0) + np.arange(3.0), rtol=1e-15)


def test_the_cotangent_of_a_value_can_be_scaled_alone():
    """A slot has the value's shape and dtype, with one row for each iteration of a scan."""

    def fun(p: Any, x: Any) -> Any:
        return jax.lax.scan(lambda c, y: (c * y, c), p["w"] * (1 + 0j), jnp.stack([x, x]))[0].real

    program = traced(fun, np.full(3, 2.0))
    shapes = {
        program.equations[path].primitive.name: evaluation.slot(program, (path, 0))
        for path in program.equations
        if path not in program.closed
    }
    assert (shapes["scan"].shape, shapes["scan"].dtype) == ((3,), np.complex128)
    assert (shapes["real"].shape, shapes["real"].dtype) == ((3,), np.float64)
    inside = [x for path in program.equations if program.lengths[path] == (2,)
              for x in [evaluation.slot(program, (path, 0))]]  # fmt: skip
    assert inside and all(x.shape == (2, 3) for x in inside)

    (last,) = (path for path, eqn in program.equations.items() if eqn.primitive.name == "real")

    def total(leaves: Any) -> Any:
        scales = {(last, 0): jnp.asarray(3.0)}
        return evaluation.run_watched(program, leaves, cotangent_scales=scales).outputs[0].sum()

    with jax.enable_x64(True):
        value, grads = jax.value_and_grad(total)(program.leaves)
    assert value == 12.0 and np.allclose(grads[0], 12.0)


def test_the_results_of_equations_can_be_rounded():
    """Real and complex numbers lose one bit, in a loop too; integers and float32 stay."""
    x = np.random.default_rng(0).standard_normal(50)

    def fun(p: Any, x: Any) -> Any:
        products = jax.lax.map(lambda y: y * y, x)
        return products, products * (1 + 1j), jnp.arange(3) * 5

    program = traced(fun, x)
    with jax.enable_x64(True):
        run = evaluation.run_watched(program, program.leaves, rounds=True)
        low = evaluation._coarse(jnp.float32(1 / 3))
    real, both, counts = (np.asarray(y) for y in run.outputs)

    assert np.array_equal(real, coarse.nearest(x * x)) and np.any(real != x * x)
    assert np.array_equal(both, real * (1 + 1j)) and counts.tolist() == [0, 5, 10]
    assert low == np.float32(1 / 3)

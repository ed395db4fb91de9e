"""Low-precision casts inside a port are replaced by float64."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from flax import linen
from jax import lax
from torch import nn

from jaxgrad.parity import Report, prove
from jaxgrad.parity.prove.record.jax_side import lifting
from parity_tests.case import identity
from tests.jaxgrad.parity.prove._helpers import arrays, draw, port, proved


def test_low_precision_inside_a_port_is_lifted(arguments):
    """A port that casts to float32 passes without a note, and a bug after a cast is found."""

    def low(p: Any, x: Any) -> Any:
        p, x = jax.tree.map(lambda a: a.astype(jnp.float32), (p, x))
        return port(p, x)

    report = proved(arguments, fn=low)
    assert report.verdict == "pass" and not report.notes
    wrong = proved(arguments, fn=lambda p, x: port(p, x.astype(jnp.bfloat16), eps=1.1e-5))
    assert wrong.verdict == "fail" and wrong.first is not None
    assert wrong.first.torch.startswith("norm")


def scaled(x: Any, factor: Any) -> Any:
    return x * factor


class Scaled(nn.Linear):
    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return super().forward(input) * 0.1


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "fun",
    [
        jax.jit(scaled),
        jax.checkpoint(scaled),
        lambda x, c: lax.cond(x.sum() > 1e9, lambda x, c: x, scaled, x, c),
        lambda x, c: lax.fori_loop(0, 1, lambda i, x: scaled(x, c), x),
    ],
    ids=["jit", "checkpoint", "cond", "fori_loop"],
)
def test_a_constant_that_is_passed_to_a_function_is_lifted(arguments, fun):
    """A float32 0.1 is torch's 0.1, also where it is an operand of a `jit` or of a `cond`."""
    with jax.enable_x64(True):
        lifted = jax.jit(lifting.lifted(lambda x: fun(x, jnp.float32(0.1))))
        np.testing.assert_allclose(lifted(np.float64(3)), 0.3, rtol=1e-15)
    module = Scaled(3, 2)
    draws = (np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32),)

    def linear(factor: float) -> Callable[..., Any]:
        return lambda p, x: fun(x @ p["weight"].T + p["bias"], jnp.float32(factor))

    assert prove(module, linear(0.1), arrays(module), draws).verdict == "pass"
    assert prove(module, linear(0.1000001), arrays(module), draws).verdict == "fail"


def cells(stop: Callable[[Any], Any] = identity) -> Report:
    torch.manual_seed(0)
    module = nn.GRU(3, 4, batch_first=True)
    state = arrays(module)
    p: dict[str, Any] = {}
    for k, gate in enumerate("rzn"):
        rows = slice(4 * k, 4 * k + 4)
        enter, carried = state["bias_ih_l0"][rows], state["bias_hh_l0"][rows]
        p[f"i{gate}"] = {"kernel": state["weight_ih_l0"][rows].T}
        p[f"h{gate}"] = {"kernel": state["weight_hh_l0"][rows].T}
        p[f"i{gate}"]["bias"] = enter if gate == "n" else enter + carried
        if gate == "n":
            p["hn"]["bias"] = carried
    rnn = linen.RNN(linen.GRUCell(4))

    def apply(p: Any, x: Any) -> Any:
        return rnn.apply({"params": {"cell": p}}, stop(x))

    return prove(module, apply, p, (draw(2, 3, 3),), outputs=(lambda out: out[0], None))


@pytest.mark.slow
def test_a_cell_that_rejects_float64_is_traced_in_float32():
    """A cell with a float32 carry is traced in float32 and compared in float64."""
    report = cells().check()
    assert "the port rejects float64, so it was traced in float32" in report.notes
    stopped = cells(stop=lax.stop_gradient)
    assert stopped.verdict == "fail"


HALF = jnp.bfloat16


@pytest.mark.parametrize(
    ("x", "value", "dtype"),
    [
        (np.float32(0.1), 0.1, "float64"),
        (np.asarray(0.1, HALF), 0.1, "float64"),
        (np.float32(0.123456789), float(np.float32(0.123456789)), "float64"),
        (np.array([0.1], np.float32), float(np.float32(0.1)), "float64"),
        (np.int32(3), 3, "int32"),
        (np.complex64(1j), 1j, "complex128"),
    ],
)
def test_a_scalar_is_widened_to_the_number_that_was_written(x, value, dtype):
    """Arrays become float64 or complex128 as they are; integers are not lifted."""
    wide = lifting.wide(x)
    assert np.all(np.asarray(wide) == value) and str(wide.dtype) == dtype
    assert lifting.is_rounded(x) is (dtype != "int32") and not lifting.is_rounded(wide)
    assert lifting.wide(1.5) == 1.5


def test_a_number_of_torch_is_preferred():
    """A constant becomes the number of torch that rounds to it."""
    assert lifting.wide(np.float32(0.1), [0.1 + 1e-10]) == 0.1 + 1e-10


def test_constants_are_widened_or_replaced_by_tables():
    """An array that equals a table is replaced, another one is only widened."""
    held, other = np.array([0.1, 0.2], np.float32), np.array([0.1, 0.3], np.float32)
    with jax.enable_x64(True):
        jaxpr = jax.make_jaxpr(lambda x: x * held + other)(np.ones(2))
    exact = np.array([0.1, 0.2])
    pairs = [(held.astype(float), exact), (np.ones(3), np.zeros(3))]
    found = lifting.constants(jaxpr, tables=pairs).consts
    assert {np.asarray(x).dtype.name for x in found} == {"float64"}
    assert [np.array_equal(x, exact) for x in found].count(True) == 1
    assert any(np.array_equal(x, other.astype(float)) for x in found)


@pytest.mark.parametrize(
    ("fun", "expected"),
    [
        (lambda x: x.astype(HALF) * HALF(0.1), 0.1 / 3),
        (lambda x: lax.reduce_precision(x.astype(jnp.float32), 8, 7), 1 / 3),
        (
            lambda x: lax.bitcast_convert_type(x.astype(jnp.float32), jnp.int32),
            np.float32(1 / 3).view(np.int32),
        ),
        (lambda x: lax.convert_element_type(x > 0, jnp.float32) / 3, 1 / 3),
        (lambda x: (10 * x).astype(jnp.float32).astype(jnp.int32), 3),
        (lambda x: x * 2, 2 / 3),
        (lambda x: jnp.full((1,), 7, jnp.int32), 7),
        (lambda x: lax.iota(jnp.float32, 2)[1:] / 3, 1 / 3),
        (lambda x: jnp.ones(1, jnp.float32).at[jnp.zeros(2, int)].add(1) / 3, 1),
        (lambda x: jnp.full(1, 3, jnp.float32).at[0].multiply(x[0].astype(jnp.float32)), 1),
    ],
    ids=[
        "cast",
        "reduce_precision",
        "bits",
        "bool",
        "truncation",
        "float64",
        "integers",
        "iota",
        "scatter_add",
        "scatter_mul",
    ],
)
def test_an_equation_is_evaluated_in_float64(fun, expected):
    """Casts and roundings are ignored; bits are those of the traced dtype."""
    with jax.enable_x64(True):
        np.testing.assert_allclose(lifting.lifted(fun)(np.array([1 / 3]))[0], expected, rtol=1e-15)


def test_random_bits_are_drawn_in_their_own_dtype():
    """Random numbers in float32 are the same numbers when they are lifted."""

    def fun(x: Any) -> Any:
        return x * 1.0 + jax.random.uniform(jax.random.key(0), (2,), jnp.float32)

    with jax.enable_x64(True):
        x = np.zeros(2)
        np.testing.assert_allclose(lifting.lifted(fun)(x), fun(x), rtol=1e-6)


def test_a_function_that_rejects_float64_is_traced_in_float32():
    """A carry in float32 is lifted; another TypeError is the user's."""

    def fun(x: Any) -> Any:
        return lax.scan(lambda c, _: (c * x, None), jnp.ones(1, jnp.float32), None, length=2)[0]

    def broken(x: Any) -> Any:
        raise TypeError(f"of {x.dtype}")

    with jax.enable_x64(True):
        x, n = np.array([1 / 3]), np.arange(3)
        np.testing.assert_allclose(lifting.lifted(fun)(x), x * x, rtol=1e-15)
        with pytest.raises(TypeError, match="of float64"):
            lifting.lifted(broken)(x)
    assert [lifting._narrow(a).dtype for a in (x, n)] == [np.float32, np.int32]
    assert lifting._narrow(np.ones(2, HALF)).dtype == HALF


def test_a_value_gets_its_traced_dtype_only_if_that_is_of_the_kind():
    """A float stays as it is where integers are converted, and without a dtype."""
    x, aval = np.ones(2), jax.ShapeDtypeStruct((2,), np.float32)
    assert lifting.as_traced(x, aval).dtype == np.float32
    assert lifting.as_traced(x, aval, jnp.integer) is x and lifting.as_traced(x, None) is x


def test_a_function_that_raises_in_float64_is_lifted_from_float32():
    """An update may check its dtypes and raise any error."""

    def strict(x: Any) -> Any:
        if x.dtype != jnp.float32:
            raise ValueError("float32 only")
        return x / 3

    with jax.enable_x64(True):
        y = lifting.lifted(strict)(jnp.ones(2, jnp.float64))

    assert y.dtype == jnp.float64 and float(y[0]) == 1 / 3

"""A primitive that runs an unknown program is refused by everything that looks into programs."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax import lax
from jax.extend import core as jex_core
from jax.interpreters import ad, mlir

import jaxgrad
from jaxgrad._core.jaxpr.unknown import holds_program
from jaxgrad.parity import lint, prove


X = jnp.asarray([-1.0, 0.0, 2.0], jnp.float32)
JAXPR = jax.make_jaxpr(jnp.abs)(X)


@dataclasses.dataclass(frozen=True)
class Held:
    """An object with a program in it, compared by identity as JAX's objects are."""

    program: Any
    __hash__ = object.__hash__


class Slotted:
    __slots__ = ("program",)

    def __init__(self, program: Any) -> None:
        self.program = program

    def method(self) -> Any:
        return self.program


def closure(program: Any) -> Callable[[], Any]:
    return lambda: program


HOLDERS: dict[str, Callable[[Any], Any]] = {
    "a closed jaxpr": lambda program: program,
    "an open jaxpr": lambda program: program.jaxpr,
    "a tuple": lambda program: (1, (program,)),
    "a list": lambda program: [None, program],
    "a dict": lambda program: {"name": {"inner": program}},
    "a dataclass": Held,
    "slots": Slotted,
    "a method": lambda program: Slotted(program).method,
    "a function": closure,
    "a function without a jaxpr": lambda _: jnp.sin,
    "a partial": lambda program: functools.partial(print, program),
    "a function in a tuple": lambda program: (closure(Held(program)),),
    "a traced function": lambda program: jax.jit(jex_core.jaxpr_as_fun(program)).trace(X),
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_a_parameter_with_a_program_is_found(holder: str) -> None:
    """It does not matter in which container or object a parameter keeps a jaxpr or a function."""
    assert holds_program(HOLDERS[holder](JAXPR))


def test_other_parameters_hold_no_program() -> None:
    """Numbers, dtypes, primitives, shardings and modules are not programs."""
    sharding = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    cyclic: list[Any] = []
    cyclic.append(cyclic)
    mesh = jax.make_mesh((1,), ("i",))
    named = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("i"))
    kinds = (np.dtype("float32"), jnp.float32, jax.random.key(0).dtype, lax.Precision.HIGH)

    for value in (1, "sum", *kinds, X, mystery_p, sharding, mesh, named, np, cyclic, None):
        assert not holds_program(value)


mystery_p = jex_core.Primitive("mystery")


def mystery(x: jax.Array) -> jax.Array:
    """Return `abs(x)`, computed by a primitive whose parameter is an object with a jaxpr."""
    return mystery_p.bind(x, held=HELD)


HELD = Held(JAXPR)


def _mystery_jvp(primals: Any, tangents: Any, *, held: Held) -> Any:
    fun = lambda x: jex_core.jaxpr_as_fun(held.program)(x)[0]  # noqa: E731 # a formula
    return mystery_p.bind(*primals, held=held), jax.jvp(fun, primals, tangents)[1]


def _mystery_run(x: Any, *, held: Held) -> Any:
    return jex_core.jaxpr_as_fun(held.program)(x)[0]


mystery_p.def_impl(_mystery_run)
mystery_p.def_abstract_eval(lambda aval, **_: aval)
ad.primitive_jvps[mystery_p] = _mystery_jvp
mlir.register_lowering(mystery_p, mlir.lower_fun(_mystery_run, multiple_results=False))


def loss(x: jax.Array) -> jax.Array:
    return jnp.sum(jnp.tanh(mystery(x)) ** 2)


def proved() -> None:
    """Prove a port whose program contains the primitive."""
    module = torch.nn.Linear(3, 3, bias=False)
    params = {"weight": module.weight.detach().numpy()}
    prove(module, lambda p, x: mystery(x @ p["weight"].T), params, (np.ones((2, 3)),)).check()


TOOLS: dict[str, Callable[[], Any]] = {
    "lint": lambda: lint(loss, X),
    "value_and_grad": lambda: jaxgrad.value_and_grad(loss)(X),
    "grad": lambda: jaxgrad.grad(loss)(X),
    "depends_on": lambda: jaxgrad.depends_on(loss, X),
    "value_and_retained_grads": lambda: jaxgrad.value_and_retained_grads(loss)(X),
    "saved_bytes": lambda: jaxgrad.saved_bytes(loss, X),
    "autocast": lambda: jaxgrad.autocast(loss)(X),
    "graph": lambda: jaxgrad.graph.backward_graph(loss, X),
    "in a checkpoint": lambda: jaxgrad.depends_on(jax.checkpoint(loss), X),
    "in a scan": lambda: lint(
        lambda x: lax.scan(lambda c, row: (c + loss(row), None), 0.0, x)[0], jnp.ones((2, 3))
    ),
}


@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_refuses_the_program(tool: str) -> None:
    """The error names the primitive, the user's line and the remedy."""
    text = (
        r"the primitive mystery at .*test_unknown.py:\d+ runs a program that jaxgrad cannot look "
        "into, so its operations and derivatives are unknown; call the function inside it directly"
    )
    with pytest.raises(NotImplementedError, match=text):
        TOOLS[tool]()


def test_prove_refuses_the_program() -> None:
    """The report is an error with the same text."""
    with pytest.raises(
        AssertionError, match=r"the primitive mystery at .*test_unknown.py:\d+ runs"
    ):
        proved()


def test_gradients_without_an_analysis_are_computed() -> None:
    """`unused="zeros"` asks for no dependence, so JAX's gradient is returned."""
    value, grads = jaxgrad.value_and_grad(loss, unused="zeros")(X)
    expected = jax.value_and_grad(loss)(X)

    np.testing.assert_array_equal(value, expected[0])
    np.testing.assert_array_equal(grads, expected[1])


def test_a_primitive_that_counts_as_one_operation_is_not_refused() -> None:
    """A linear solve has jaxprs, but its own rule gives each input a derivative."""
    solve = lambda x: lax.custom_linear_solve(jnp.negative, x, lambda _, b: -b)  # noqa: E731

    assert jaxgrad.depends_on(solve, X)
    assert jaxgrad.depends_on(lambda x: x.at[0].add(x[1]), X)
    key = jax.random.key(0)
    assert jaxgrad.depends_on(lambda x: x * jax.random.permutation(key, X), X)
    assert jaxgrad.depends_on(lambda x: jax.random.gamma(key, x), X)

"""`bodies` describes how each higher-order equation feeds its inner jaxprs."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxgrad._core import compat
from jaxgrad._core import jaxpr as _jaxpr
from tests.jaxgrad._core.jaxpr.programs import PROGRAMS, X, quintupled_vjp, tripled_jvp


def higher_order(f: Any, *args: Any) -> Any:
    """Return the only equation in `f`'s jaxpr that has inner jaxprs."""
    opened, _ = compat.open_jaxpr(_jaxpr.trace(f, *args).jaxpr)
    eqns = [e for e in opened.eqns if _jaxpr.bodies(e)]
    assert len(eqns) == 1
    return eqns[0]


def test_scan_wiring() -> None:
    """The inputs of a scan are split into constants, carry and slices."""
    w, h, xs = jnp.ones(2), jnp.ones(3), jnp.ones((4, 3))
    step = lambda c, x: ((c[0] + w.sum() * x, c[1] + 1), c[0] * x)  # noqa: E731 # a program
    eqn = higher_order(lambda w, h, xs: lax.scan(step, (h, 0), xs), w, h, xs)
    (body,) = _jaxpr.bodies(eqn)

    assert (list(body.inputs), list(body.outputs)) == ([0, 1, 2, 3], [0, 1, 2])
    assert (body.carry, body.length) == (range(1, 3), 4)
    assert body.split("whcx") == (["w"], ["h", "c"], ["x"])


def test_while_wiring() -> None:
    """Both jaxprs of a while loop read the carry; the condition's result feeds no output."""

    def f(limit: Any, step: Any, x: Any) -> Any:
        return lax.while_loop(lambda c: c[1].sum() < limit, lambda c: (c[0] + 1, c[1] + step), x)

    eqn = higher_order(f, 9.0, 2.0, (0, jnp.ones(3)))
    test, loop = _jaxpr.bodies(eqn)

    assert (list(test.inputs), list(loop.inputs)) == ([0, 2, 3], [1, 2, 3])
    assert (list(test.outputs), list(loop.outputs)) == ([None], [0, 1])
    assert (test.carry, loop.carry, loop.length) == (range(1, 3), range(1, 3), None)
    assert test.split("lscx") == (["l"], ["c", "x"], [])
    assert loop.split("lscx") == (["s"], ["c", "x"], [])


def test_cond_wiring() -> None:
    """Every branch of a cond takes all inputs but the first, which chooses the branch."""
    eqn = higher_order(lambda i, x, y: lax.switch(i, [jnp.add, jnp.subtract], x, y), 1, 1.0, 2.0)

    for body in _jaxpr.bodies(eqn):
        assert (list(body.inputs), list(body.outputs)) == ([1, 2], [0])
        assert body.feed("ixy") == ["x", "y"]
        assert body.split("ixy") == (["x", "y"], [], [])


CALLS = {
    "jit": jax.jit(jnp.sin),
    "remat": jax.checkpoint(jnp.sin),
    "custom_jvp": tripled_jvp,
    "custom_vjp": lambda x: quintupled_vjp(x, 2.0),
    "shard_map": PROGRAMS["shard_map"],
    "composite": lax.composite(jnp.sin, "test.sine"),
}


@pytest.mark.parametrize("name", CALLS)
def test_call_wiring(name: str) -> None:
    """A call has one body, which runs once and has the equation's inputs and outputs."""
    eqn = higher_order(CALLS[name], jnp.asarray(X))
    (body,) = _jaxpr.bodies(eqn)

    assert list(body.inputs) == list(range(len(eqn.invars)))
    assert list(body.outputs) == list(range(len(eqn.outvars)))
    assert (len(body.carry), body.length) == (0, 1)


@pytest.mark.parametrize("name", PROGRAMS)
def test_wired_values_have_the_same_type(name: str) -> None:
    """Inner inputs have their source's dtype and, except for slices and shards, its shape."""
    for place in _jaxpr.walk(_jaxpr.trace(PROGRAMS[name], jnp.asarray(X)).jaxpr):
        for body in _jaxpr.bodies(place.eqn):
            jaxpr = getattr(body.jaxpr, "jaxpr", body.jaxpr)
            ins, outs = place.eqn.invars, place.eqn.outvars
            pairs = list(zip(jaxpr.invars, body.feed(ins), strict=True))
            pairs += [
                (inside, outs[i])
                for inside, i in zip(jaxpr.outvars, body.outputs, strict=True)
                if i is not None
            ]
            carried = [jaxpr.invars[k] for k in body.carry]
            if None not in body.outputs:
                pairs += zip(carried, jaxpr.outvars, strict=False)
            for a, b in pairs:
                assert a.aval.dtype == b.aval.dtype
                if place.eqn.primitive.name not in ("scan", "shard_map"):
                    assert a.aval.shape == b.aval.shape


def test_no_bodies() -> None:
    """`bodies` returns nothing for an ordinary equation or a linear solve."""
    for program in (jnp.sin, lambda x: lax.custom_linear_solve(jnp.negative, x, lambda _, b: -b)):
        for eqn in _jaxpr.trace(program, jnp.asarray(np.ones(3))).jaxpr.jaxpr.eqns:
            assert _jaxpr.bodies(eqn) == _jaxpr.inner(eqn) == []

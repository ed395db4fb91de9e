"""Evaluating a jaxpr preserves bits, derivatives and structure, and can change every dtype."""

from __future__ import annotations

import weakref
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgrad._core import compat
from jaxgrad._core import jaxpr as _jaxpr
from tests.jaxgrad._core.jaxpr.programs import DIFFERENTIABLE, PROGRAMS, X, bits, evaluated


def loss(f: Any) -> Any:
    return lambda x: sum(jnp.sum(leaf * 1.5) for leaf in jax.tree.leaves(f(x)))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", PROGRAMS)
def test_evaluation_changes_no_bit(name: str) -> None:
    """Evaluating a program with a rule that changes nothing gives bit-identical results."""
    assert bits(evaluated(PROGRAMS[name])(jnp.array(X))) == bits(PROGRAMS[name](jnp.array(X)))


@pytest.mark.sampled(9)
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_evaluation_keeps_derivatives(name: str) -> None:
    """An evaluated program keeps its first and second derivatives, including custom rules."""
    x, f = jnp.array(X), PROGRAMS[name]
    once = [jax.grad(loss(g)) for g in (f, evaluated(f))]
    assert bits(once[0](x)) == bits(once[1](x))
    twice = [jax.grad(loss(g))(x) for g in once]
    np.testing.assert_allclose(twice[0], twice[1], rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("name", [n for n in PROGRAMS if n != "shard_map"])
def test_evaluation_keeps_structure(name: str) -> None:
    """Evaluation keeps every scan, every remat with its policy and every jit with its name."""
    x = jnp.array(X)

    def shape(f: Any) -> list[Any]:
        keep = ("name", "policy", "length", "reverse", "unroll", "prevent_cse")
        places = list(_jaxpr.walk(_jaxpr.trace(f, x).jaxpr))
        outer = [p for p in places if _jaxpr.inner(p.eqn) and "custom_jvp_call" not in p.within]
        return [
            (p.eqn.primitive.name, p.lengths, [p.eqn.params.get(k) for k in keep])
            for p in outer
            if "custom" not in p.eqn.primitive.name and p.eqn.params.get("name") != "clip"
        ]

    assert shape(PROGRAMS[name]) == shape(evaluated(PROGRAMS[name]))


def in_float64(eqn: Any, path: Any, args: list[Any], slot: Any) -> Any:
    """Run an equation in float64, whatever its traced dtype, as the port prover does."""
    del path, slot
    wide = lambda x: jnp.asarray(x, jnp.float64) if jnp.result_type(x) == jnp.float32 else x  # noqa: E731 # a cast
    names = ("new_dtype", "preferred_element_type", "dtype")
    dtypes = {k: np.dtype("float64") for k in names if eqn.params.get(k) == np.float32}
    return compat.bind(eqn, [wide(x) for x in args], **dtypes), None


WIDE = [n for n in DIFFERENTIABLE if n not in ("random", "solve", "scatter", "constants")]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", WIDE)
def test_a_rule_can_change_every_dtype(name: str) -> None:
    """A rule can evaluate a float32 program, and its gradient, entirely in float64."""
    f, x = PROGRAMS[name], jnp.array(X)

    def wide(x: Any) -> Any:
        traced = _jaxpr.trace(f, jax.ShapeDtypeStruct(x.shape, jnp.float32))
        outs, _ = _jaxpr.evaluate(traced.jaxpr, [x], in_float64)
        return jax.tree.unflatten(traced.out_tree, outs)

    assert {leaf.dtype for leaf in jax.tree.leaves(wide(x))} == {np.dtype("float64")}
    for actual, exact in zip(jax.tree.leaves(wide(x)), jax.tree.leaves(f(x)), strict=True):
        np.testing.assert_allclose(actual, exact, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(jax.grad(loss(wide))(x), jax.grad(loss(f))(x), rtol=1e-12)


def test_evaluation_frees_values_after_their_last_use() -> None:
    """An eager run keeps no value that neither a later equation nor the caller needs."""
    alive: list[Any] = []

    def rule(eqn: Any, path: Any, ins: list[Any], slot: Any) -> Any:
        outs, _ = _jaxpr.plain(eqn, path, ins, slot)
        alive.append(sum(ref() is not None for ref in seen))
        seen.extend(weakref.ref(x) for x in outs)
        return outs, None

    def fun(x: Any) -> Any:
        for _ in range(6):
            x = jnp.sin(x)
        return x

    seen: list[Any] = []
    _jaxpr.evaluate(jax.make_jaxpr(fun)(1.0), [jnp.asarray(1.0)], rule)

    assert max(alive) <= 2

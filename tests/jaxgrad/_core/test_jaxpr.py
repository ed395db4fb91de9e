"""The evaluator of jaxprs: what it leaves alone, what it can read, and what it can replace."""

from __future__ import annotations

import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxgrad import saved_bytes
from jaxgrad._core import compat, source
from jaxgrad._core import jaxpr as _jaxpr


X = np.linspace(-1.5, 2.0, 6).reshape(2, 3)
SPEC = jax.sharding.PartitionSpec


@jax.custom_jvp
def bent(x):
    return jnp.sin(x)


@bent.defjvp
def _(primals, tangents):
    return bent(*primals), 3 * tangents[0] * jnp.cos(primals[0])


@jax.custom_vjp
def pulled(x, n):
    return jnp.sin(x) * n


def _forward(x, n):
    return pulled(x, n), (jnp.cos(x), n)


def _backward(saved, g):
    return 5 * g * saved[0] * saved[1], None


pulled.defvjp(_forward, _backward)


def sharded(x):
    kinds = (jax.sharding.AxisType.Auto,)
    mesh = jax.make_mesh((1,), ("i",), axis_types=kinds)
    f = lambda x: lax.psum(jnp.sin(x), "i")  # noqa: E731 # a formula
    return jax.shard_map(f, mesh=mesh, in_specs=SPEC("i"), out_specs=SPEC())(x)


def row_scan(x):
    def body(c, row):
        c = jnp.tanh(c + row)
        return c, (c * row).sum()

    return lax.scan(body, jnp.zeros(3, x.dtype), x, reverse=True)


PROGRAMS: dict[str, Any] = {
    "plain": lambda x: jnp.exp(x) @ x.T,
    "jit": jax.jit(lambda x: jnp.sin(x) * 2),
    "scan": row_scan,
    "scan of nothing": lambda x: row_scan(x[:0]),
    "scan of scan": lambda x: lax.map(lambda row: lax.map(jnp.sin, row), x),
    "while": lambda x: lax.while_loop(lambda c: c.sum() < 9, lambda c: c * c + 1, x),
    "cond": lambda x: lax.cond(x[0, 0] < 0, jnp.sin, lambda x: x * 2, x),
    "switch": lambda x: lax.switch(1, [jnp.sin, jnp.cos, jnp.tanh], x),
    "remat": jax.checkpoint(lambda x: jnp.sin(jnp.sin(x))),
    "remat with a policy": jax.checkpoint(
        lambda x: jnp.sin(x @ x.T), policy=jax.checkpoint_policies.dots_saveable
    ),
    "remat of two arguments": lambda x: jax.checkpoint(
        lambda x, y: jnp.sin(jnp.sin(x) * y), prevent_cse=(True, False)
    )(x, 2 * x),
    "custom_jvp": bent,
    "custom_vjp": lambda x: pulled(x, 2),
    "custom rules in scan": lambda x: lax.map(lambda row: bent(row) + pulled(row, 3), x),
    "custom rules in vmap": jax.vmap(lambda row: bent(row) + pulled(row, 3)),
    "relu": jax.nn.relu,
    "softmax": jax.nn.softmax,
    "logsumexp": jax.nn.logsumexp,
    "sort": lambda x: jnp.sort(x, 1),
    "scatter": lambda x: x.at[jnp.array([0, 1, 0])].add(2 * x[:1]),
    "integers": lambda x: x.astype(int) // 2,
    "random": lambda x: x * jax.random.normal(jax.random.key(0), x.shape),
    "solve": lambda x: jnp.linalg.solve(x @ x.T, x),
    "inner gradient": jax.grad(lambda x: bent(x).sum() ** 2),
    "constants": lambda x: x + jnp.asarray(X),
    "shard_map": sharded,
}
DIFFERENTIABLE = [name for name in PROGRAMS if name not in ("while", "integers")]


def evaluated(f: Any, rule: Any = _jaxpr.plain) -> Any:
    def run(x: Any) -> Any:
        traced = _jaxpr.trace(f, x)
        outs, _ = _jaxpr.evaluate(traced.jaxpr, [x], rule)
        return jax.tree.unflatten(traced.out_tree, outs)

    return run


def bits(tree: Any) -> list[bytes]:
    return [np.asarray(x).tobytes() for x in jax.tree.leaves(tree)]


def loss(f: Any) -> Any:
    return lambda x: sum(jnp.sum(leaf * 1.5) for leaf in jax.tree.leaves(f(x)))


@pytest.mark.parametrize("name", PROGRAMS)
def test_evaluation_changes_no_bit(name: str) -> None:
    """Entering everything and changing nothing gives the bits of the program itself."""
    assert bits(evaluated(PROGRAMS[name])(jnp.array(X))) == bits(PROGRAMS[name](jnp.array(X)))


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_evaluation_keeps_derivatives(name: str) -> None:
    """First and second derivatives are those of the program, custom rules included."""
    x, f = jnp.array(X), PROGRAMS[name]
    once = [jax.grad(loss(g)) for g in (f, evaluated(f))]
    assert bits(once[0](x)) == bits(once[1](x))
    twice = [jax.grad(loss(g))(x) for g in once]
    np.testing.assert_allclose(twice[0], twice[1], rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("name", [n for n in PROGRAMS if n != "shard_map"])
def test_evaluation_keeps_structure(name: str) -> None:
    """scan stays scan, remat stays remat with its policy, jit stays jit with its name."""
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


def test_paths_and_places() -> None:
    """A path names an equation; a place knows the scans and higher-order equations around it."""

    def f(x: Any) -> Any:
        return lax.map(lambda row: lax.map(jax.jit(jnp.sin), row), x)

    jaxpr = _jaxpr.trace(f, jnp.array(X)).jaxpr
    sines = [p for p in _jaxpr.walk(jaxpr) if p.eqn.primitive.name == "sin"]
    assert [(p.lengths, p.within[:2]) for p in sines] == [((2, 3), ("scan", "scan"))]
    assert _jaxpr.slot_shape(sines[0]).shape == (2, 3)
    assert len({p.path for p in _jaxpr.walk(jaxpr)}) == len(list(_jaxpr.walk(jaxpr)))


def sines_of(jaxpr: Any) -> list[_jaxpr.Place]:
    return [p for p in _jaxpr.walk(jaxpr) if p.eqn.primitive.name == "sin"]


AROUND = {
    "nothing": lambda f: f,
    "jit": jax.jit,
    "remat": jax.checkpoint,
    "remat of jit": lambda f: jax.checkpoint(jax.jit(f)),
    "scan": lambda f: lambda x: lax.map(f, x),
    "reverse scan": lambda f: (
        lambda x: lax.scan(lambda c, a: (c, f(a)), 0, x, reverse=True, unroll=2)[1]
    ),
    "scan of scan of remat": lambda f: (
        lambda x: lax.map(lambda a: lax.map(jax.checkpoint(f), a), x)
    ),
    "scan of cond": lambda f: (
        lambda x: lax.map(lambda a: lax.cond(a.sum() < 99, f, lambda a: a, a), x)
    ),
}


@pytest.mark.parametrize("around", AROUND.values(), ids=AROUND)
def test_reads_and_cotangents(around: Any) -> None:
    """Any value can be read, and has its cotangent, stacked through loops; no bit changes."""
    x = jnp.array(X)
    program = lambda x: jnp.exp(around(lambda x: jnp.sin(x) * 3)(x)).sum()  # noqa: E731 # a program
    jaxpr = _jaxpr.trace(program, x).jaxpr
    (place,) = sines_of(jaxpr)
    shape = _jaxpr.slot_shape(place)
    assert shape.shape == X.shape

    def run(x: Any, slot: Any) -> Any:
        outs, _ = _jaxpr.with_taps(jaxpr, [x], {place.path: slot})
        return outs[0]

    value, (grads, cotangent) = jax.value_and_grad(run, (0, 1))(x, jnp.zeros_like(shape))
    assert bits((value, grads)) == bits(jax.value_and_grad(program)(x))
    np.testing.assert_allclose(cotangent, 3 * np.exp(3 * np.sin(X)), rtol=1e-13)
    _, reads = _jaxpr.with_taps(jaxpr, [x], {}, [place.path])
    np.testing.assert_allclose(reads[place.path], np.sin(X), rtol=1e-15)


def test_branch_not_taken_reads_zeros() -> None:
    """A value in a branch that was not taken reads as zeros."""
    jaxpr = _jaxpr.trace(lambda x: lax.cond(x[0, 0] > 0, jnp.sin, jnp.cos, x), jnp.array(X)).jaxpr
    (place,) = sines_of(jaxpr)
    _, reads = _jaxpr.with_taps(jaxpr, [jnp.array(X)], {}, [place.path])
    assert not np.any(reads[place.path])


def test_nothing_inside_a_while_or_a_rule() -> None:
    """A tap where there is no derivative to take is an error."""
    for f in (bent, lambda x: lax.while_loop(lambda c: c.sum() < 9, lambda c: jnp.sin(c) + 9, x)):
        jaxpr = _jaxpr.trace(f, jnp.array(X)).jaxpr
        (place,) = sines_of(jaxpr)
        for taps in ({"slots": {place.path: 0.0}}, {"slots": {}, "reads": [place.path]}):
            with pytest.raises(ValueError, match=r"no tap .* inside (custom_jvp_call|while)"):
                _jaxpr.with_taps(jaxpr, [jnp.array(X)], **taps)


def in_float64(eqn: Any, path: Any, args: list[Any], slot: Any) -> Any:
    """A rule as the port prover's: each equation in float64, whatever it was traced in."""
    del path, slot
    wide = lambda x: jnp.asarray(x, jnp.float64) if jnp.result_type(x) == jnp.float32 else x  # noqa: E731 # a cast
    names = ("new_dtype", "preferred_element_type", "dtype")
    dtypes = {k: np.dtype("float64") for k in names if eqn.params.get(k) == np.float32}
    return compat.bind(eqn, [wide(x) for x in args], **dtypes), None


WIDE = [n for n in DIFFERENTIABLE if n not in ("random", "solve", "scatter", "constants")]


@pytest.mark.parametrize("name", WIDE)
def test_a_rule_can_change_every_dtype(name: str) -> None:
    """A float32 program evaluated in float64: loops, branches, remat, custom rules, gradients."""
    f, x = PROGRAMS[name], jnp.array(X)

    def wide(x: Any) -> Any:
        traced = _jaxpr.trace(f, jax.ShapeDtypeStruct(x.shape, jnp.float32))
        outs, _ = _jaxpr.evaluate(traced.jaxpr, [x], in_float64)
        return jax.tree.unflatten(traced.out_tree, outs)

    assert {leaf.dtype for leaf in jax.tree.leaves(wide(x))} == {np.dtype("float64")}
    for ours, exact in zip(jax.tree.leaves(wide(x)), jax.tree.leaves(f(x)), strict=True):
        np.testing.assert_allclose(ours, exact, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(jax.grad(loss(wide))(x), jax.grad(loss(f))(x), rtol=1e-12)


def test_source_lines_and_names() -> None:
    """An equation knows the user's line, and evaluation keeps it and the name stack."""

    def f(x: Any) -> Any:
        with jax.named_scope("layer"):
            return jnp.sin(x)

    jaxpr = jax.make_jaxpr(evaluated(f))(1.0)
    (place,) = sines_of(jaxpr)
    assert re.search(r"test_jaxpr\.py:\d+", source.source_line(place.eqn))
    assert str(place.eqn.source_info.name_stack) == "layer"


def test_refs_are_followed() -> None:
    """A value written into a mutable array and read back is still a path."""

    def f(x: Any, y: Any) -> Any:
        ref = jax.new_ref(jnp.zeros_like(x))
        ref[...] = x * y
        return ref[...].sum(), y.sum()

    jaxpr = _jaxpr.trace(f, jnp.ones(3), jnp.ones(3)).jaxpr
    assert _jaxpr.live_inputs(jaxpr, [True, False]) == [True, True]
    assert _jaxpr.live_inputs(jaxpr, [False, True]) == [False, True]


# --- saved bytes ----------------------------------------------------------------------------------

A = jnp.ones((8, 8))  # 512 bytes in float64


B = jnp.eye(8)
SAVE_DOTS = jax.checkpoint_policies.dots_saveable


def squared(e):
    return e * e


def transposed(e):
    return e * e.T


def steps(f, c):
    return lax.scan(lambda c, _: (f(c), None), c, None, length=3)[0]


SAVED = {
    "sum": (lambda a: a + 1, 0),
    "linear": (lambda a: a * 3, 0),
    "square keeps its input": (lambda a: a * a, 0),
    "sin keeps cos": (jnp.sin, 512),
    "two sines": (lambda a: jnp.sin(jnp.sin(a)), 1024),
    "jit": (jax.jit(lambda a: jnp.sin(jnp.sin(a))), 1024),
    "remat": (jax.checkpoint(lambda a: jnp.sin(jnp.sin(a))), 0),
    "two remats": (lambda a: jax.checkpoint(jnp.sin)(jax.checkpoint(jnp.sin)(a)), 512),
    "exp keeps its result": (jnp.exp, 512),
    "two exps": (lambda a: jnp.exp(a) * jnp.exp(2 * a), 1024),
    "one value twice": (lambda a: squared(jnp.exp(a)), 512),
    "one value twice in jit": (jax.jit(lambda a: squared(jnp.exp(a))), 512),
    "a constant": (lambda a: a @ B, 0),
    "a constant made inside": (lambda a: a @ jnp.ones((8, 8)), 512),
    "relu keeps a mask of bytes, and zeros": (jax.nn.relu, 64 + 512),
    "a transposed argument": (lambda a: jnp.sum(a.T @ a), 0),
    "one value and its transpose": (lambda a: transposed(jnp.exp(a)), 1024),
    "a transposed argument in a scan": (lambda a: steps(lambda c: jnp.exp(c @ a.T), a[0]), 384),
    "slices of an argument": (lambda a: lax.scan(lambda c, r: (c * r, None), a[0], a)[0], 512),
    "cond": (lambda a: lax.cond(a[0, 0] > 0, jnp.exp, lambda a: a, a), 512 + 4),
    "a policy": (jax.checkpoint(lambda a: jnp.sin(a @ a), policy=SAVE_DOTS), 512),
    "a detached factor": (lambda a: lax.stop_gradient(jnp.exp(a)) * a, 512),
    "detached": (lambda a: jnp.sin(lax.stop_gradient(a)), 0),
    "scan": (lambda a: lax.map(jnp.sin, a), 512),
    "vmap": (jax.vmap(jnp.sin), 512),
    "one jit twice": (lambda a: (jax.jit(jnp.sin)(a), jax.jit(jnp.sin)(2 * a)), 1024),
}


@pytest.mark.parametrize(("f", "kept"), SAVED.values(), ids=SAVED)
def test_saved_bytes(f: Any, kept: int) -> None:
    """Arguments and constants do not count, a value counts once, remat keeps nothing."""
    assert saved_bytes(f, A) == kept


def test_saved_bytes_of_trees_under_jit() -> None:
    """Only shapes matter, so it is a number under jit too."""
    f = lambda p, x: jnp.sin(x @ p["w"])  # noqa: E731 # a formula
    assert saved_bytes(f, {"w": A}, A) == 512
    assert (
        saved_bytes(f, {"w": jax.ShapeDtypeStruct((8, 8), jnp.float32)}, jnp.ones((8, 8), "f"))
        == 256
    )
    assert int(jax.jit(lambda p: saved_bytes(f, p, A))({"w": A})) == 512

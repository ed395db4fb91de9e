"""Programs with every higher-order primitive, and helpers to evaluate and inspect them."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxgrad._core import jaxpr as _jaxpr


X = np.linspace(-1.5, 2.0, 6).reshape(2, 3)
SPEC = jax.sharding.PartitionSpec


@jax.custom_jvp
def tripled_jvp(x):
    """Return `sin(x)`, whose tangent rule is three times the true one."""
    return jnp.sin(x)


@tripled_jvp.defjvp
def _(primals, tangents):
    return tripled_jvp(*primals), 3 * tangents[0] * jnp.cos(primals[0])


@jax.custom_vjp
def quintupled_vjp(x, n):
    """Return `sin(x) * n`, whose backward rule is five times the true one."""
    return jnp.sin(x) * n


def _forward(x, n):
    return quintupled_vjp(x, n), (jnp.cos(x), n)


def _backward(saved, g):
    return 5 * g * saved[0] * saved[1], None


quintupled_vjp.defvjp(_forward, _backward)


def sharded(x):
    axis_types = (jax.sharding.AxisType.Auto,)
    mesh = jax.make_mesh((1,), ("i",), axis_types=axis_types)
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
    "custom_jvp": tripled_jvp,
    "custom_vjp": lambda x: quintupled_vjp(x, 2),
    "custom rules in scan": lambda x: lax.map(
        lambda row: tripled_jvp(row) + quintupled_vjp(row, 3), x
    ),
    "custom rules in vmap": jax.vmap(lambda row: tripled_jvp(row) + quintupled_vjp(row, 3)),
    "relu": jax.nn.relu,
    "softmax": jax.nn.softmax,
    "logsumexp": jax.nn.logsumexp,
    "sort": lambda x: jnp.sort(x, 1),
    "scatter": lambda x: x.at[jnp.array([0, 1, 0])].add(2 * x[:1]),
    "integers": lambda x: x.astype(int) // 2,
    "random": lambda x: x * jax.random.normal(jax.random.key(0), x.shape),
    "solve": lambda x: jnp.linalg.solve(x @ x.T, x),
    "inner gradient": jax.grad(lambda x: tripled_jvp(x).sum() ** 2),
    "constants": lambda x: x + jnp.asarray(X),
    "shard_map": sharded,
}
DIFFERENTIABLE = [name for name in PROGRAMS if name not in ("while", "integers")]


def evaluated(f: Any, rule: Any = _jaxpr.plain) -> Any:
    """Return a function that traces `f` and evaluates its jaxpr with `rule`."""

    def run(x: Any) -> Any:
        traced = _jaxpr.trace(f, x)
        outs, _ = _jaxpr.evaluate(traced.jaxpr, [x], rule)
        return jax.tree.unflatten(traced.out_tree, outs)

    return run


def bits(tree: Any) -> list[bytes]:
    return [np.asarray(x).tobytes() for x in jax.tree.leaves(tree)]


def sines_of(jaxpr: Any) -> list[_jaxpr.Place]:
    """Return every `sin` equation of a jaxpr, including those in inner jaxprs."""
    return [p for p in _jaxpr.walk(jaxpr) if p.eqn.primitive.name == "sin"]

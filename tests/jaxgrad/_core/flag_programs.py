"""Programs that use the JAX constructs which a flag turns into high-level primitives.

`python -m tests.jaxgrad._core.flag_programs` runs each one and prints what it returned as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch
from jax import lax
from jax.ad_checkpoint import checkpoint_name

import jaxgrad
from jaxgrad.parity import lint, prove


X = np.linspace(-1.0, 1.0, 6, dtype=np.float32).reshape(2, 3)
W = np.linspace(-0.5, 0.7, 9, dtype=np.float32).reshape(3, 3)
POLICY = jax.checkpoint_policies.save_only_these_names("hidden")


@jax.custom_jvp
def tripled(x):
    """Return `sin(x)`, whose tangent is three times the true one."""
    return jnp.sin(x)


@tripled.defjvp
def _(primals, tangents):
    return tripled(*primals), 3 * tangents[0] * jnp.cos(primals[0])


@jax.custom_jvp
def detached(x, y):
    """Return `x * y`, whose rule ignores the tangent of `y`."""
    return x * y


@detached.defjvp
def _(primals, tangents):
    return detached(*primals), tangents[0] * primals[1]


@jax.custom_vjp
def quintupled(x, n):
    """Return `sin(x) * n`, whose cotangent is five times the true one."""
    return jnp.sin(x) * n


quintupled.defvjp(
    lambda x, n: (quintupled(x, n), (jnp.cos(x), n)),
    lambda saved, g: (5 * g * saved[0] * saved[1], None),
)


def clipped(w: Any, x: Any) -> Any:
    """Clip inside a checkpoint, at the bound."""
    return jax.checkpoint(lambda x: jnp.sum(jnp.abs(jnp.clip(x @ w, -1.0, 0.0))))(x * 0)


def stopped(p: dict[str, Any]) -> Any:
    """Stop the gradient of `b` inside a checkpoint."""
    return jnp.sum(jax.checkpoint(lambda a, b: jnp.tanh(a) * lax.stop_gradient(b))(p["a"], p["b"]))


def named(w: Any, x: Any) -> Any:
    """Save a value by its name in a checkpoint with a policy."""

    def layer(w: Any, x: Any) -> Any:
        return jnp.sin(checkpoint_name(jnp.tanh(x @ w), "hidden") @ w)

    return jnp.sum(jax.checkpoint(layer, policy=POLICY)(w, x))


def ruled(w: Any, x: Any) -> Any:
    """Use both kinds of custom rules in a checkpoint."""
    layer = jax.checkpoint(lambda w, x: quintupled(tripled(x @ w), 2.0))
    return jnp.sum(jax.nn.relu(layer(w, layer(w, x))) ** 2)


def rules(w: Any, x: Any) -> Any:
    """Use both kinds of custom rules in a `vmap` and outside of it."""
    h = jax.vmap(lambda row: quintupled(tripled(row @ w), 3.0))(x)
    return jnp.sum(jax.nn.silu(h) + jax.nn.logsumexp(h))


def looped(w: Any, x: Any) -> Any:
    """Checkpoint each iteration of a scan."""

    @jax.checkpoint
    def step(h: Any, row: Any) -> Any:
        h = jnp.tanh(tripled(row @ w) + h)
        return h, h * row

    h, rows = lax.scan(step, jnp.zeros(3, x.dtype), x)
    return jnp.sum(h) + jnp.sum(rows)


LOSSES = {f.__name__: f for f in (clipped, named, ruled, rules, looped)}


def shown(tree: Any) -> Any:
    """Return a tree of arrays, None and numbers as lists."""
    return jax.tree.map(
        lambda x: x if x is None else np.asarray(x, np.float64).tolist(),
        tree,
        is_leaf=lambda x: x is None,
    )


def plain(loss: Callable[..., Any]) -> Any:
    """Return JAX's own gradients."""
    return shown(jax.jit(jax.grad(loss, (0, 1)))(W, X))


def linearized(loss: Callable[..., Any]) -> Any:
    """Linearize with JAX alone, as `saved_tensors_hooks` does."""
    return shown(jax.linearize(loss, W, X)[0])


def gradients(loss: Callable[..., Any]) -> Any:
    return shown(jax.jit(jaxgrad.value_and_grad(loss, (0, 1)))(W, X))


def autocast(loss: Callable[..., Any]) -> Any:
    """Return the gradients with the matrix products in bfloat16."""
    return shown(jax.jit(jax.grad(jaxgrad.autocast(loss), (0, 1)))(W, X))


def saved(loss: Callable[..., Any]) -> Any:
    """Return the bytes of the residuals by primitive."""
    return dict(jaxgrad.saved_bytes(loss, W, X).by_kind)


def graph(loss: Callable[..., Any]) -> Any:
    """Return the operations, their inputs and residuals, and the leaves of the drawn graph."""
    drawn = jaxgrad.graph.backward_graph(loss, W, X)
    operations = [
        [op.name, op.kind, op.state, op.folded, list(op.edges), sorted(op.saved)]
        for op in drawn.ops
    ]
    return [operations, [[leaf.name, leaf.grad is None] for leaf in drawn.leaves]]


def linted(loss: Callable[..., Any]) -> Any:
    report = lint(loss, W, X)
    return [report.equations, report.to_dict()]


def packed(loss: Callable[..., Any]) -> Any:
    """Return the gradients computed from residuals in bfloat16."""
    packed = jaxgrad.saved_tensors_hooks(
        loss, lambda x: x.astype(jnp.bfloat16), lambda x: x.astype(jnp.float32)
    )
    return shown(jax.jit(jax.grad(packed, (0, 1)))(W, X))


def retained(loss: Callable[..., Any]) -> Any:
    """Return the gradient of a value that is tagged inside a checkpoint."""
    inside = jax.checkpoint(lambda x: jaxgrad.retain_grad(jnp.sin(x), "sine"))
    both = jaxgrad.value_and_retained_grads(lambda w, x: loss(w, inside(x)), (0, 1))
    return shown(jax.jit(both)(W, X)[2])


def paths(loss: Callable[..., Any]) -> Any:
    """Return on which leaves the loss depends; the last one is only compared."""
    return jaxgrad.depends_on(lambda w, x, n: loss(w, x * (n > 0)), W, X, np.float32(1.0))


def proved(loss: Callable[..., Any]) -> Any:
    """Return the report on a port whose program contains the loss."""
    module = torch.nn.Linear(3, 3, bias=False)
    torch.nn.init.constant_(module.weight, 0.25)
    params = {"weight": module.weight.detach().numpy()}

    def port(p: Any, x: Any) -> Any:
        return x @ p["weight"].T + 0 * loss(p["weight"].T, x)

    return verdicts(prove(module, port, params, (X,)))


def verdicts(report: Any) -> Any:
    """Return the verdicts of a report, or raise its error."""
    if report.verdict == "error":
        raise RuntimeError(str(report))
    return {name: surface.verdict for name, surface in report.surfaces.items()}


def proved_stopped() -> Any:
    """Return the report on a port that stops the weight's gradient inside a checkpoint."""
    module = torch.nn.Linear(3, 3, bias=False)
    params = {"weight": module.weight.detach().numpy()}

    @jax.checkpoint
    def port(p: Any, x: Any) -> Any:
        return x @ lax.stop_gradient(p["weight"]).T

    return verdicts(prove(module, port, params, (X,)))


TOOLS = (gradients, autocast, saved, graph, linted, packed, retained, paths)
PROVED = ("ruled", "looped")  # the only losses passed to `prove`, because it takes seconds


def outcome(run: Callable[..., Any], *args: Any) -> Any:
    """Return the result, or the text of the exception."""
    try:
        return run(*args)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def main() -> dict[str, Any]:
    """Return the results of JAX itself and of each tool, keyed by program."""
    both = {"a": X, "b": X}
    results: dict[str, Any] = {
        "stopped": {
            "plain": outcome(lambda: shown(jax.grad(stopped)(both))),
            "linearized": None,
            "gradients": outcome(lambda: shown(jaxgrad.grad(stopped)(both))),
            "paths": outcome(jaxgrad.depends_on, stopped, both),
            "ignored": outcome(jaxgrad.depends_on, detached, X, X),
            "proved": outcome(proved_stopped),
        }
    }
    for name, loss in LOSSES.items():
        tools = (plain, linearized, *TOOLS, *((proved,) if name in PROVED else ()))
        results[name] = {tool.__name__: outcome(tool, loss) for tool in tools}
    return results


if __name__ == "__main__":
    print(json.dumps(main()))

"""Count each helper's cost: compile a small program that uses it and a hand-written equivalent.

    @pair
    def clip_grad_norm():
        return Pair(with_helper, by_hand, args)

The costs are those that XLA reports for the compiled programs. `more=` is the reason why a helper
may cost more.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax

import jaxgrad
from parity_tests.runner.settings import USUAL


class Counts(NamedTuple):
    """The costs that XLA reports for a compiled program."""

    flops: float
    bytes: float
    fusions: int
    calls: int
    temporary: int  # peak temporary memory in bytes
    callbacks: int


class ProgramPair(NamedTuple):
    """A program with the helper, the equivalent program written by hand, and their arguments."""

    with_helper: Callable[..., Any]
    by_hand: Callable[..., Any]
    args: tuple[Any, ...]
    more: str = ""


PAIRS: dict[str, Callable[[], ProgramPair]] = {}


def counts(fun: Callable[..., Any], *args: Any) -> Counts:
    """Compile a function and return its costs."""
    compiled = jax.jit(fun).lower(*args).compile(USUAL)
    cost: Any = compiled.cost_analysis()
    text = compiled.as_text() or ""
    memory = compiled.memory_analysis()
    return Counts(
        cost.get("flops", 0.0),
        cost.get("bytes accessed", 0.0),
        len(re.findall(r" fusion\(", text)),
        len(re.findall(r" custom-call\(", text)),
        memory.temp_size_in_bytes if memory else 0,
        # The names of files and functions in the text may contain the word too.
        len(re.findall(r'custom_call_target="[^"]*callback', text)),
    )


def pair(build: Callable[[], ProgramPair]) -> Callable[[], ProgramPair]:
    """Register a pair of programs under the helper's name, which is the function's name."""
    PAIRS[build.__name__] = build
    return build


def _net() -> tuple[dict[str, Any], jax.Array, jax.Array]:
    rng = np.random.default_rng(0)
    shapes = {"l1": (32, 16), "l2": (32, 32), "l3": (1, 32)}
    params = {n: jnp.asarray(rng.standard_normal(s), jnp.float32) for n, s in shapes.items()}
    x, y = rng.standard_normal((8, 16)), rng.standard_normal((8, 1))
    return params, jnp.asarray(x, jnp.float32), jnp.asarray(y, jnp.float32)


def _loss(p: Any, x: Any, y: Any, *, mark: Callable[[Any], Any] = lambda h: h) -> Any:
    h = mark(jnp.tanh(x @ p["l1"].T))
    return jnp.mean((jnp.tanh(h @ p["l2"].T) @ p["l3"].T - y) ** 2)


@pair
def value_and_grad() -> ProgramPair:
    return ProgramPair(jaxgrad.value_and_grad(_loss), jax.value_and_grad(_loss), _net())


@pair
def value_and_grad_none() -> ProgramPair:
    params, x, y = _net()
    spare = jnp.ones((64, 64), jnp.float32)

    def with_helper(params: Any, spare: Any, x: Any, y: Any) -> Any:
        def loss(p: Any) -> Any:
            return _loss(p["net"], x, y)

        return jaxgrad.value_and_grad(loss)({"net": params, "spare": spare})[1]["net"]

    def by_hand(params: Any, spare: Any, x: Any, y: Any) -> Any:
        del spare
        return jax.grad(_loss)(params, x, y)

    return ProgramPair(with_helper, by_hand, (params, spare, x, y))


@pair
def grad() -> ProgramPair:
    return ProgramPair(jaxgrad.grad(_loss), jax.grad(_loss), _net())


@pair
def accumulate() -> ProgramPair:
    grads = _net()[0]
    return ProgramPair(jaxgrad.accumulate, lambda a, b: jax.tree.map(jnp.add, a, b), (grads, grads))


@pair
def no_grad() -> ProgramPair:
    def by_hand(p: Any, x: Any, y: Any) -> Any:
        reached = {"l2": p["l2"], "l3": p["l3"]}  # l1's gradient is None
        loss = lambda part: _loss({**p, **part}, x, y, mark=lax.stop_gradient)  # noqa: E731
        return jax.grad(loss)(reached)

    with_helper = jaxgrad.grad(lambda *a: _loss(*a, mark=jaxgrad.no_grad(lambda h: h)))
    return ProgramPair(with_helper, by_hand, _net())


@pair
def hook() -> ProgramPair:
    @jax.custom_vjp
    def clipped(h: Any) -> Any:
        return h

    clipped.defvjp(lambda h: (h, None), lambda _, g: (jnp.clip(g, -0.1, 0.1),))
    with_helper = jaxgrad.grad(
        lambda *a: _loss(*a, mark=lambda h: jaxgrad.hook(h, lambda g: jnp.clip(g, -0.1, 0.1)))
    )
    return ProgramPair(with_helper, jax.grad(lambda *a: _loss(*a, mark=clipped)), _net())


@pair
def backward_hook() -> ProgramPair:
    with_helper = jaxgrad.grad(
        lambda *a: _loss(*a, mark=jaxgrad.backward_hook(jnp.sin, lambda gi, _: (2 * gi[0],)))
    )

    @jax.custom_vjp
    def doubled(h: Any) -> Any:
        return jnp.sin(h)

    doubled.defvjp(lambda h: (jnp.sin(h), h), lambda h, g: (2 * (g * jnp.cos(h)),))
    return ProgramPair(with_helper, jax.grad(lambda *a: _loss(*a, mark=doubled)), _net())


@pair
def retain_grad() -> ProgramPair:
    params, x, y = _net()

    def by_hand(p: Any, x: Any, y: Any) -> Any:
        zero = jnp.zeros((8, 32), jnp.float32)
        loss = lambda p, e: _loss(p, x, y, mark=lambda h: h + e)  # noqa: E731
        value, (grads, kept) = jax.value_and_grad(loss, argnums=(0, 1))(p, zero)
        return value, grads, {"h": kept}

    def with_helper(p: Any, x: Any, y: Any) -> Any:
        marked = lambda *a: _loss(*a, mark=lambda h: jaxgrad.retain_grad(h, "h"))  # noqa: E731
        return jaxgrad.value_and_retained_grads(marked)(p, x, y)

    return ProgramPair(with_helper, by_hand, (params, x, y))


class _Clamp:
    """The identity whose gradient is clipped, as an `autograd.Function`."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        del ctx
        return x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        del ctx
        return jnp.clip(g, -0.1, 0.1)


@pair
def from_function() -> ProgramPair:
    clamp = jaxgrad.from_function(_Clamp)
    return ProgramPair(jaxgrad.grad(lambda *a: _loss(*a, mark=clamp)), hook().by_hand, _net())


@pair
def straight_through() -> ProgramPair:
    @jax.custom_vjp
    def rounded(h: Any) -> Any:
        return jnp.round(h)

    rounded.defvjp(lambda h: (jnp.round(h), None), lambda _, g: (g,))
    with_helper = jaxgrad.grad(lambda *a: _loss(*a, mark=jaxgrad.straight_through(jnp.round)))
    return ProgramPair(with_helper, jax.grad(lambda *a: _loss(*a, mark=rounded)), _net())


@pair
def reverse_gradient() -> ProgramPair:
    @jax.custom_vjp
    def reversed_(h: Any) -> Any:
        return h

    reversed_.defvjp(lambda h: (h, None), lambda _, g: (-g,))
    with_helper = jaxgrad.grad(lambda *a: _loss(*a, mark=jaxgrad.reverse_gradient))
    return ProgramPair(with_helper, jax.grad(lambda *a: _loss(*a, mark=reversed_)), _net())


@pair
def partition() -> ProgramPair:
    def with_helper(p: Any, x: Any, y: Any) -> Any:
        some, rest = jaxgrad.partition(p, lambda path, _: "l3" in path)
        return jaxgrad.grad(lambda s: _loss(jaxgrad.combine(s, rest), x, y))(some)["l3"]

    def by_hand(p: Any, x: Any, y: Any) -> Any:
        return jax.grad(lambda l3: _loss({**p, "l3": l3}, x, y))(p["l3"])

    return ProgramPair(with_helper, by_hand, _net())


@pair
def clip_grad_norm() -> ProgramPair:
    def by_hand(grads: Any) -> Any:
        norm = optax.tree.norm(grads)
        scale = jnp.minimum(1.0, 1.0 / (norm + 1e-6))
        return jax.tree.map(lambda g: g * scale, grads), norm

    with_helper = lambda grads: jaxgrad.clip_grad_norm(grads, 1.0)  # noqa: E731
    more = "as in torch, each leaf's norm is computed first, which adds three scalar operations"
    return ProgramPair(with_helper, by_hand, (_net()[0],), more)


@pair
def clip_grad_value() -> ProgramPair:
    by_hand = lambda grads: jax.tree.map(lambda g: jnp.clip(g, -0.5, 0.5), grads)  # noqa: E731
    return ProgramPair(lambda grads: jaxgrad.clip_grad_value(grads, 0.5), by_hand, (_net()[0],))


@pair
def autocast() -> ProgramPair:
    half = jnp.bfloat16

    def by_hand(p: Any, x: Any, y: Any) -> Any:
        h = jnp.tanh(x.astype(half) @ p["l1"].T.astype(half))
        out = jnp.tanh(h @ p["l2"].T.astype(half)) @ p["l3"].T.astype(half)
        return jnp.mean((out.astype(jnp.float32) - y) ** 2)

    return ProgramPair(jaxgrad.autocast(_loss), by_hand, _net())


@pair
def grad_scaler() -> ProgramPair:
    scaler = jaxgrad.GradScaler()
    state, grads = scaler.init(), _net()[0]

    def with_helper(grads: Any, state: Any) -> Any:
        unscaled, infinite = scaler.unscale(state, grads)
        return unscaled, scaler.update(state, infinite)

    def by_hand(grads: Any, state: Any) -> Any:
        inverse = 1.0 / state.scale
        unscaled = jax.tree.map(lambda g: g * inverse, grads)
        finite = [jnp.all(jnp.isfinite(g)) for g in jax.tree.leaves(unscaled)]
        infinite = ~jnp.all(jnp.array(finite))
        grown = state.growth_tracker + 1
        due = grown == 2000
        scale = jnp.where(infinite, state.scale * 0.5, jnp.where(due, state.scale * 2, state.scale))
        tracker = jnp.where(infinite | due, 0, grown)
        return unscaled, type(state)(scale, tracker.astype(state.growth_tracker.dtype))

    more = "two factors replace the reciprocal, which is subnormal for a scale above 2**126"
    return ProgramPair(with_helper, by_hand, (grads, state), more)


@pair
def saved_tensors_hooks() -> ProgramPair:
    half = jnp.bfloat16

    @jax.custom_vjp
    def by_rule(h: Any) -> Any:
        return jnp.sin(h)

    def back(kept: Any, g: Any) -> Any:
        # Without the barrier XLA would remove the conversion to bfloat16.
        return (g * lax.optimization_barrier(kept).astype(jnp.float32),)

    by_rule.defvjp(lambda h: (jnp.sin(h), jnp.cos(h).astype(half)), back)
    hooked = jaxgrad.saved_tensors_hooks(
        jnp.sin, lambda x: x.astype(half), lambda kept: kept.astype(jnp.float32)
    )
    with_helper = jaxgrad.grad(lambda *a: _loss(*a, mark=hooked))
    return ProgramPair(with_helper, jax.grad(lambda *a: _loss(*a, mark=by_rule)), _net())

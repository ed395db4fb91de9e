"""Keep the derivative of a maximum right in programs that are compiled without optimization.

The rule of `reduce_max` and `reduce_min` compares the operand with the result, to find the largest
elements. Fusion computes the operand once more for the comparison, and without optimization the
copy may be rounded in another way. Then no element is the largest, and the gradient is infinite or
NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxgrad._core import compat
from jaxgrad._core.jaxpr import Path, evaluate, inner, is_inexact, live_variables, plain, walk
from jaxgrad._core.refusals import NotDifferentiableError


MAXIMA = ("reduce_max", "reduce_min")
RULES = ("custom_jvp_call", "custom_vjp_call")
# With a rule of its own, a maximum compares too (`functional.amax`), and a softmax does not.
_REARRANGES = {"abs", "broadcast_in_dim", "reshape", "squeeze", "transpose", *compat.JIT}


class Differentiated(NamedTuple):
    """Which maxima a derivative passes through."""

    plain: bool = False  # of JAX, whose operands can be pinned
    in_rules: bool = False  # in functions with a derivative rule of their own


def differentiated(jaxpr: Any) -> Differentiated:
    """Return the maxima through which a derivative of the outputs passes.

    Return all maxima if an input has no derivative, such as the class weights of a loss.
    """
    opened, _ = compat.open_jaxpr(jaxpr)
    try:
        return _through(jaxpr, [is_inexact(v) for v in opened.outvars])
    except NotDifferentiableError:
        names = {place.eqn.primitive.name for place in walk(jaxpr)}
        return Differentiated(bool(names & {*MAXIMA}), any_in_rules(jaxpr))


def _through(jaxpr: Any, live_out: Sequence[bool]) -> Differentiated:
    opened, _ = compat.open_jaxpr(jaxpr)
    live = live_variables(jaxpr, live_out)
    found = Differentiated()
    for eqn in opened.eqns:
        outs = [v in live for v in eqn.outvars]
        if not any(outs):
            continue
        if eqn.primitive.name in MAXIMA:
            found = found._replace(plain=True)
        if eqn.primitive.name in RULES:
            found = found._replace(in_rules=found.in_rules or _compares(eqn))
            continue
        for body in inner(eqn):
            own = compat.open_jaxpr(body)[0].outvars
            flags = outs if len(own) == len(outs) else [is_inexact(v) for v in own]
            found = Differentiated(*map(max, found, _through(body, flags)))
    return found


def any_in_rules(jaxpr: Any) -> bool:
    """Return whether a function with a derivative rule of its own is a maximum, used or not."""
    return any(_compares(p.eqn) for p in walk(jaxpr) if p.eqn.primitive.name in RULES)


def _compares(eqn: Any) -> bool:
    names = {place.eqn.primitive.name for body in inner(eqn) for place in walk(body)}
    return bool(names & {*MAXIMA}) and names <= {*MAXIMA} | _REARRANGES


@jax.custom_jvp
def pinned(x: jax.Array) -> jax.Array:
    """Return an array that XLA computes once, not in each fused operation that reads it.

    XLA fuses nothing across a conditional, and does not know that this one has a single outcome.
    """
    return lax.cond(x[(0,) * x.ndim] > jnp.inf, lax.neg, lambda x: x, x)


@pinned.defjvp
def _pinned_jvp(primals: Any, tangents: Any) -> Any:
    return pinned(*primals), *tangents


def operands(eqn: Any, ins: list[Any]) -> list[Any]:
    """Return the operands of an equation, pinned if it is a maximum."""
    if eqn.primitive.name not in MAXIMA or not jnp.size(ins[0]) or not is_inexact(eqn.invars[0]):
        return ins
    return [pinned(jnp.asarray(ins[0]))]


def with_pinned_maxima(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function with the same results, whose maxima have pinned operands."""

    def pinning(*args: Any) -> Any:
        jaxpr, shapes = jax.make_jaxpr(fun, return_shape=True)(*args)
        inside = {
            place.path
            for place in walk(jaxpr)
            if place.eqn.primitive.name not in RULES and any(map(_holds_maximum, inner(place.eqn)))
        }
        leaves = [jnp.asarray(x) for x in jax.tree.leaves(args)]
        outs, _ = evaluate(jaxpr, leaves, _rule, enters=inside.__contains__)
        return jax.tree.unflatten(jax.tree.structure(shapes), outs)

    return pinning


def _holds_maximum(jaxpr: Any) -> bool:
    return any(place.eqn.primitive.name in MAXIMA for place in walk(jaxpr))


def _rule(eqn: Any, path: Path, args: list[Any], slot: Any) -> tuple[list[Any], Any]:
    return plain(eqn, path, operands(eqn, args), slot)

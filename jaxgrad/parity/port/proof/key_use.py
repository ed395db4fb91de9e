"""Find a random key that two draws of a port read: their numbers would be the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
from jax.extend import core

from jaxgrad._core import compat
from jaxgrad._core.jaxpr import bodies


def shares_a_key(fn: Callable[..., Any], params: Any, inputs: Any) -> bool:
    """Return whether two draws of one run of a function read the same key."""
    args, options = ((), inputs) if isinstance(inputs, Mapping) else (inputs, {})
    closed = jax.make_jaxpr(fn)(params, *args, **options)
    return any(count > 1 for count in Counter(_draws(closed, {})).values())


def _draws(jaxpr: Any, outer: Mapping[Any, Any]) -> Iterator[Any]:
    """Yield each draw's key: an argument of the whole program, or what one run of a line made.

    Two calls of a function may share its program, so its variables are not the keys themselves.
    The branches of a `cond` are left out, because only one of them runs.
    """
    opened, _ = compat.open_jaxpr(jaxpr)
    known = dict(outer)
    for eqn in opened.eqns:
        args = [x if isinstance(x, core.Literal) else known.get(x, x) for x in eqn.invars]
        if eqn.primitive.name == "random_bits":
            yield args[0]
        for body in bodies(eqn) if eqn.primitive.name != "cond" else ():
            inside, _ = compat.open_jaxpr(body.jaxpr)
            yield from _draws(body.jaxpr, dict(zip(inside.invars, body.feed(args), strict=True)))
        known |= {x: object() for x in eqn.outvars}

"""Find a random key that two draws of a port read: their numbers would be the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
from jax.extend import core


def shares_a_key(fn: Callable[..., Any], params: Any, inputs: Any) -> bool:
    """Return whether two draws of one run of a function read the same key."""
    args, options = ((), inputs) if isinstance(inputs, Mapping) else (inputs, {})
    closed = jax.make_jaxpr(fn)(params, *args, **options)
    return any(count > 1 for count in Counter(_draws(closed.jaxpr, {})).values())


def _draws(jaxpr: core.Jaxpr, outer: Mapping[Any, Any]) -> Iterator[Any]:
    """Yield each draw's key: an argument of the whole program, or what one run of a line made.

    Two calls of a function may share its program, so its variables are not the keys themselves.
    """
    known = dict(outer)
    for eqn in jaxpr.eqns:
        args = [x if isinstance(x, core.Literal) else known.get(x, x) for x in eqn.invars]
        if eqn.primitive.name == "random_bits":
            yield args[0]
        for value in eqn.params.values():
            inner = value.jaxpr if isinstance(value, core.ClosedJaxpr) else value
            if isinstance(inner, core.Jaxpr):
                same = len(inner.invars) == len(args)
                yield from _draws(inner, dict(zip(inner.invars, args, strict=True)) if same else {})
        known |= {x: object() for x in eqn.outvars}

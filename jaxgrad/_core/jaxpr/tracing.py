"""Trace a function into a jaxpr, and identify every equation inside it by a path."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
from jax.extend import core as jex_core

from jaxgrad._core import compat
from jaxgrad._core.jaxpr.bodies import bodies
from jaxgrad._core.tree import is_inexact, merge


Path = tuple[int, ...]

# Values inside these primitives can be neither read nor given a slot: the number of iterations of a
# `while` is unknown, and a custom rule replaces the derivative of its body.
CLOSED = ("while", "custom_jvp_call", "custom_vjp_call", "shard_map")


class Traced(NamedTuple):
    """A flat program, whose jaxpr maps the leaves of the arguments to the leaves of `out_tree`."""

    jaxpr: jex_core.ClosedJaxpr
    out_tree: Any


class Place(NamedTuple):
    """An equation and its position in the program."""

    path: Path
    eqn: jex_core.JaxprEqn
    lengths: tuple[int, ...]  # lengths of the enclosing scans, outermost first
    within: tuple[str, ...]  # the enclosing higher-order primitives, outermost first

    @property
    def closed(self) -> str | None:
        """The outermost enclosing primitive that does not allow taps, or None."""
        return next((around for around in self.within if around in CLOSED), None)


def trace(fun: Callable[..., Any], *args: Any) -> Traced:
    """Trace `fun` at `args` (trees of arrays) into a jaxpr and the tree structure of its result."""
    jaxpr, shape = jax.make_jaxpr(fun, return_shape=True)(*args)
    return Traced(jaxpr, jax.tree.structure(shape))


def abstract(atom: Any) -> jax.ShapeDtypeStruct:
    """Return the shape, dtype and sharding of a variable or literal of a jaxpr."""
    return compat.abstract(atom.aval)


def bind_inexact(eqn: jex_core.JaxprEqn, fixed: Sequence[Any]) -> Callable[..., list[Any]]:
    """Return an equation as a function of its floating point inputs, given the other inputs."""
    mask = [is_inexact(v) for v in eqn.invars]
    return lambda *primals: compat.bind(eqn, merge(mask, primals, fixed))


def walk(
    jaxpr: Any, path: Path = (), lengths: tuple[int, ...] = (), within: tuple[str, ...] = ()
) -> Iterator[Place]:
    """Iterate over every equation of a jaxpr and of its inner jaxprs, in program order."""
    for i, eqn in enumerate(compat.open_jaxpr(jaxpr)[0].eqns):
        here = (*path, i)
        yield Place(here, eqn, lengths, within)
        deeper = (*lengths, eqn.params["length"]) if eqn.primitive.name == "scan" else lengths
        for k, body in enumerate(bodies(eqn)):
            yield from walk(body.jaxpr, (*here, k), deeper, (*within, eqn.primitive.name))

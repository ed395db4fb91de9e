"""A function becomes a jaxpr; every equation inside it has a path."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
from jax.extend import core as jex_core

from jaxgrad._core import compat
from jaxgrad._core.jaxpr.bodies import bodies


Path = tuple[int, ...]

# Around these no value can be read out and none has a slot: nobody knows how often a `while` turns,
# and a custom rule replaces the derivative of what is inside.
CLOSED = ("while", "custom_jvp_call", "custom_vjp_call", "shard_map")


class Traced(NamedTuple):
    """A flat program: `jaxpr` maps the leaves of the arguments to the leaves of `out_tree`."""

    jaxpr: jex_core.ClosedJaxpr
    out_tree: Any


class Place(NamedTuple):
    """An equation, and what is around it."""

    path: Path
    eqn: jex_core.JaxprEqn
    lengths: tuple[int, ...]  # of the scans around it, outermost first
    within: tuple[str, ...]  # the higher-order primitives around it, outermost first

    @property
    def closed(self) -> str | None:
        """What keeps a tap out, if anything."""
        return next((around for around in self.within if around in CLOSED), None)


def trace(fun: Callable[..., Any], *args: Any) -> Traced:
    """The jaxpr of `fun` at `args` (trees of arrays), and the tree of its result."""
    jaxpr, shape = jax.make_jaxpr(fun, return_shape=True)(*args)
    return Traced(jaxpr, jax.tree.structure(shape))


def abstract(atom: Any) -> jax.ShapeDtypeStruct:
    """Shape, dtype and place on a mesh of a variable or literal of a jaxpr."""
    return compat.abstract(atom.aval)


def walk(
    jaxpr: Any,
    path: Path = (),
    lengths: tuple[int, ...] = (),
    within: tuple[str, ...] = (),
) -> Iterator[Place]:
    """Every equation of a jaxpr and of the jaxprs inside it, in program order."""
    for i, eqn in enumerate(compat.open_jaxpr(jaxpr)[0].eqns):
        here = (*path, i)
        yield Place(here, eqn, lengths, within)
        deeper = (*lengths, eqn.params["length"]) if eqn.primitive.name == "scan" else lengths
        for k, body in enumerate(bodies(eqn)):
            yield from walk(body.jaxpr, (*here, k), deeper, (*within, eqn.primitive.name))

"""List the residuals that the forward pass saves for the backward pass, and their sources."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.extend import core as jex_core

from jaxgrad._core import compat
from jaxgrad._core.jaxpr.bodies import CALLS, bodies
from jaxgrad._core.jaxpr.tracing import trace


class Residual(NamedTuple):
    """A value that the forward pass saves for the backward pass."""

    aval: Any
    kind: str  # the primitive that computed it
    scope: str  # the named scopes around that primitive, such as "encoder/layer_0"


class Source(NamedTuple):
    """The operation that computed a value; a view of an input has that input as its source."""

    key: Any
    kind: str
    scope: str


# The kinds of sources that are not primitives: an input of the program, and the result of a `pack`.
GIVEN, PACK = "given", "pack"

# Primitives that only reshape or reorder; the result keeps its operand's kind.
_VIEWS = ("broadcast_in_dim", "convert_element_type", "copy", "expand_dims", "name", "pvary")
_VIEWS += ("reduce_precision", "reshape", "retained", "sharding_constraint", "squeeze")
_VIEWS += ("attach", "stop_gradient", "transpose")
_AROUND = re.compile(r"(jit|pjit|\w+)\(([^()]*)\)")
_PASSED = ("checkpoint", "rematted_computation")


def residuals(fun: Callable[..., Any], *args: Any) -> list[Residual]:
    """Return the distinct values that `jax.vjp(fun, *args)` saves, except its inputs."""
    jaxpr, _ = compat.open_jaxpr(trace(lambda *args: jax.vjp(fun, *args)[1], *args).jaxpr)
    saved: dict[Any, Residual] = {}
    out_sources = sources(jaxpr, [Source(v, GIVEN, "") for v in jaxpr.invars])
    for atom, source in zip(jaxpr.outvars, out_sources, strict=True):
        if source is not None and source.kind != GIVEN:
            saved.setdefault(source.key, Residual(atom.aval, source.kind, source.scope))
    return list(saved.values())


def sources(
    jaxpr: Any, in_sources: Sequence[Source | None], path: Any = (), scope: str = ""
) -> list[Source | None]:
    """Return the source of each output of a jaxpr; None for a literal.

    Args:
        jaxpr: An open or closed jaxpr. Its constants count as inputs.
        in_sources: The sources of its inputs.
        path: The path of the enclosing equation, which makes keys unique.
        scope: The named scopes of the enclosing equation.
    """
    jaxpr, _ = compat.open_jaxpr(jaxpr)
    known: dict[Any, Source | None] = {v: Source(v, GIVEN, "") for v in jaxpr.constvars}
    known |= zip(jaxpr.invars, in_sources, strict=True)

    def look(atoms: Iterable[Any]) -> list[Source | None]:
        return [known.get(v) if isinstance(v, jex_core.Var) else None for v in atoms]

    for i, eqn in enumerate(jaxpr.eqns):
        name, ins, here = eqn.primitive.name, look(eqn.invars), (*path, i)
        inside = _inside(scope, eqn)
        outs: list[Source | None]
        if name in CALLS and name != "shard_map":
            outs = sources(bodies(eqn)[0].jaxpr, ins, here, inside)
        elif name == "scan":
            outs = _scanned(eqn, ins, here, inside)
        elif name in ("cond", "shard_map"):
            outs = _new(eqn, here, _kinds_within(eqn, ins, here, inside))
        elif name == "optimization_barrier":
            outs = ins
        elif name == "attach" and eqn.params["name"] == PACK:
            outs = _new(eqn, here, [(PACK, inside)] * len(eqn.outvars))
        elif _is_view(eqn):
            outs = [_view_of(ins[k], (here, k)) for k in range(len(eqn.outvars))]
        else:
            bodies(eqn)  # refuses an unknown program
            outs = _new(eqn, here, [(name, inside)] * len(eqn.outvars))
        known |= zip(eqn.outvars, outs, strict=True)
    return look(jaxpr.outvars)


def _view_of(source: Source | None, key: Any) -> Source | None:
    """Return the source of a view; unlike a view of an input, it counts as a separate value."""
    return source if source is None or source.kind == GIVEN else source._replace(key=key)


def _new(eqn: jex_core.JaxprEqn, path: Any, kinds: Sequence[tuple[str, str]]) -> list[Any]:
    return [Source((path, k), *kinds[k]) for k in range(len(eqn.outvars))]


def _kinds_within(eqn: Any, ins: Sequence[Any], path: Any, scope: str) -> list[tuple[str, str]]:
    """Return the kind and scope of each branch result, ignoring a branch's placeholder zeros."""
    kinds: list[tuple[str, str]] = [(eqn.primitive.name, scope)] * len(eqn.outvars)
    for n, body in enumerate(bodies(eqn)):
        for k, source in enumerate(sources(body.jaxpr, body.feed(ins), (*path, n), scope)):
            if source is not None and source.kind not in (GIVEN, "broadcast_in_dim"):
                kinds[k] = source[1:]
    return kinds


def _scanned(eqn: Any, ins: Sequence[Source | None], path: Any, scope: str) -> list[Source | None]:
    """Return the source of each scan result: the body's operation, or an input passed through."""
    (body,) = bodies(eqn)
    carry = body.carry
    marks = [Source((path, "in", k), GIVEN, scope) for k in range(len(body.inputs))]
    results = sources(body.jaxpr, marks, path, scope)
    position = {mark.key: k for k, mark in enumerate(marks)}
    outs: list[Source | None] = []
    for k, result in enumerate(results):
        at = None if result is None else position.get(result.key)
        if at is not None and (at >= carry.stop or (k < len(carry) and at == carry[k])):
            outs.append(ins[at])  # all slices of an input, or a carry that never changes
            continue
        # The carry at the start of an iteration was computed by the previous one.
        source = result if at is None or at not in carry else results[carry.index(at)]
        known = source is not None and source.kind != GIVEN
        kind, within = source[1:] if source is not None and known else ("scan", scope)
        outs.append(Source((path, k), kind, within))
    return outs


def _is_view(eqn: Any) -> bool:
    """Return whether an operation returns the same numbers as its operand, possibly reordered."""
    if eqn.primitive.name not in _VIEWS:
        return False
    before, after = eqn.invars[0].aval, eqn.outvars[0].aval
    if eqn.primitive.name == "reduce_precision":  # a remat policy marks saved values with it
        info = jnp.finfo(before.dtype)
        return (info.nexp, info.nmant) == (eqn.params["exponent_bits"], eqn.params["mantissa_bits"])
    return before.dtype == after.dtype and math.prod(before.shape) == math.prod(after.shape)


def _inside(scope: str, eqn: jex_core.JaxprEqn) -> str:
    """Return the named scopes around an equation: `jvp(a)/b` inside `c` is `c/a/b`."""
    stack, last = str(eqn.source_info.name_stack), None
    while stack != last:
        last = stack
        stack = _AROUND.sub(lambda m: "" if m[1] in compat.JIT else m[2], stack)
    names = [name for name in (*scope.split("/"), *stack.split("/")) if name not in ("", *_PASSED)]
    return "/".join(names)

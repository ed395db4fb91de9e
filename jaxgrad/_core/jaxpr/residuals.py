"""What the backward pass keeps of the forward pass, and which operation made it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.extend import core as jex_core

from jaxgrad._core import compat
from jaxgrad._core.jaxpr.bodies import bodies
from jaxgrad._core.jaxpr.tracing import trace


class Residual(NamedTuple):
    """A value that is kept."""

    aval: Any
    kind: str  # the primitive that made it
    scope: str  # the named scopes around that, "encoder/layer_0"


class Source(NamedTuple):
    """Who made a value; of a view of what is given, that."""

    key: Any
    kind: str
    scope: str


# What is there before the function is called; what a saved-tensor hook made.
GIVEN, PACK = "given", "pack"

# The same numbers in another shape or order: made by what made them.
_VIEWS = ("broadcast_in_dim", "convert_element_type", "copy", "expand_dims", "name", "pvary")
_VIEWS += ("reduce_precision", "reshape", "retained", "sharding_constraint", "squeeze")
_VIEWS += ("attach", "stop_gradient", "transpose")
_CALLS = ("custom_jvp_call", "custom_vjp_call", "closed_call", "core_call", "custom_vmap_call")
_AROUND = re.compile(r"(jit|pjit|\w+)\(([^()]*)\)")
_PASSED = ("checkpoint", "rematted_computation")


def residuals(fun: Callable[..., Any], *args: Any) -> list[Residual]:
    """What `jax.vjp(fun, *args)` keeps, each value once; what is given is not among it."""
    jaxpr, _ = compat.open_jaxpr(trace(lambda *args: jax.vjp(fun, *args)[1], *args).jaxpr)
    kept: dict[Any, Residual] = {}
    made = sources(jaxpr, [Source(v, GIVEN, "") for v in jaxpr.invars])
    for atom, source in zip(jaxpr.outvars, made, strict=True):
        if source is not None and source.kind != GIVEN:
            kept.setdefault(source.key, Residual(atom.aval, source.kind, source.scope))
    return list(kept.values())


def sources(
    jaxpr: Any, given: Sequence[Source | None], path: Any = (), scope: str = ""
) -> list[Source | None]:
    """Who made each output of a jaxpr; nobody made a literal.

    Args:
      jaxpr: An open jaxpr. What it closes over is given.
      given: Who made its inputs.
      path: Of the equation that it is in, for keys that are met once.
      scope: The same.
    """
    jaxpr, _ = compat.open_jaxpr(jaxpr)
    known: dict[Any, Source | None] = {v: Source(v, GIVEN, "") for v in jaxpr.constvars}
    known |= zip(jaxpr.invars, given, strict=True)

    def look(atoms: Iterable[Any]) -> list[Source | None]:
        return [known.get(v) if isinstance(v, jex_core.Var) else None for v in atoms]

    for i, eqn in enumerate(jaxpr.eqns):
        name, ins, here = eqn.primitive.name, look(eqn.invars), (*path, i)
        inside = _inside(scope, eqn)
        outs: list[Source | None]
        if name in (*_CALLS, *compat.JIT, *compat.REMAT):
            outs = sources(bodies(eqn)[0].jaxpr, ins, here, inside)
        elif name == "scan":
            outs = _scanned(eqn, ins, here, inside)
        elif name in ("cond", "shard_map"):
            outs = _new(eqn, here, _named_within(eqn, ins, here, inside))
        elif name == "optimization_barrier":
            outs = ins
        elif name == "attach" and eqn.params["name"] == PACK:
            outs = _new(eqn, here, [(PACK, inside)] * len(eqn.outvars))
        elif _is_view(eqn):
            outs = [_seen(ins[k], (here, k)) for k in range(len(eqn.outvars))]
        else:
            outs = _new(eqn, here, [(name, inside)] * len(eqn.outvars))
        known |= zip(eqn.outvars, outs, strict=True)
    return look(jaxpr.outvars)


def _seen(source: Source | None, key: Any) -> Source | None:
    """A view of what is given is there too; another is a value of its own, made by the same."""
    return source if source is None or source.kind == GIVEN else source._replace(key=key)


def _new(eqn: jex_core.JaxprEqn, path: Any, named: Sequence[tuple[str, str]]) -> list[Any]:
    return [Source((path, k), *named[k]) for k in range(len(eqn.outvars))]


def _named_within(eqn: Any, ins: Sequence[Any], path: Any, scope: str) -> list[tuple[str, str]]:
    """Kind and scope of the results of a branch; zeros that stand for the others say nothing."""
    found: list[tuple[str, str]] = [(eqn.primitive.name, scope)] * len(eqn.outvars)
    for n, body in enumerate(bodies(eqn)):
        made = sources(body.jaxpr, body.feed(ins), (*path, n), scope)
        for k, source in enumerate(made):
            if source is not None and source.kind not in (GIVEN, "broadcast_in_dim"):
                found[k] = source[1:]
    return found


def _scanned(eqn: Any, ins: Sequence[Source | None], path: Any, scope: str) -> list[Source | None]:
    """Results of a scan: what a step made, stacked; or an input that was only handed on."""
    (body,) = bodies(eqn)
    carry = body.carry
    marks = [Source((path, "in", k), GIVEN, scope) for k in range(len(body.inputs))]
    made = sources(body.jaxpr, marks, path, scope)
    place = {mark.key: k for k, mark in enumerate(marks)}
    outs: list[Source | None] = []
    for k, of_step in enumerate(made):
        at = None if of_step is None else place.get(of_step.key)
        if at is not None and (at >= carry.stop or (k < len(carry) and at == carry[k])):
            outs.append(ins[at])  # all slices of an input, or a carry that stays as it is
            continue
        # A carry as a step finds it was made by the step before.
        source = of_step if at is None or at not in carry else made[carry.index(at)]
        known = source is not None and source.kind != GIVEN
        kind, within = source[1:] if source is not None and known else ("scan", scope)
        outs.append(Source((path, k), kind, within))
    return outs


def _is_view(eqn: Any) -> bool:
    """Whether an operation changes no number and has as many as it was given."""
    if eqn.primitive.name not in _VIEWS:
        return False
    before, after = eqn.invars[0].aval, eqn.outvars[0].aval
    if eqn.primitive.name == "reduce_precision":  # what a remat policy marks what it saves with
        info = jnp.finfo(before.dtype)
        return (info.nexp, info.nmant) == (eqn.params["exponent_bits"], eqn.params["mantissa_bits"])
    return before.dtype == after.dtype and math.prod(before.shape) == math.prod(after.shape)


def _inside(scope: str, eqn: jex_core.JaxprEqn) -> str:
    """The scopes around an equation: `jvp(a)/b` within `c` is `c/a/b`."""
    stack, last = str(eqn.source_info.name_stack), None
    while stack != last:
        last = stack
        stack = _AROUND.sub(lambda m: "" if m[1] in compat.JIT else m[2], stack)
    names = [name for name in (*scope.split("/"), *stack.split("/")) if name not in ("", *_PASSED)]
    return "/".join(names)

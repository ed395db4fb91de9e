"""Which inputs of a jaxpr can a derivative of its outputs reach?

The rule is torch's, not JAX's: a derivative passes through every operation from floating point to
floating point, even where it is zero (`floor`, `sign`, a multiplication by 0). It stops at
`stop_gradient`, at integers and booleans, and where a custom rule ignores a tangent. One backward
pass over the equations answers the question; loops are followed iteration by iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax.extend import core as jex_core

from jaxgrad._core import compat
from jaxgrad._core.jaxpr.bodies import Body, bodies
from jaxgrad._core.jaxpr.tracing import abstract, bind_inexact, trace
from jaxgrad._core.tree import is_inexact, merge, partition


# Primitives whose output i depends on input i alone.
_ONE_TO_ONE = ("sort", "optimization_barrier", "copy", "device_put", "psum", "psum_invariant")

# The maximum nesting depth of custom rules. A rule that calls itself on its tangents without end
# counts as using all of them.
_DEEPEST = 8


def live_leaves(fun: Callable[..., Any], leaves: Sequence[Any]) -> list[bool]:
    """Return, for each of `leaves` (floating point arrays), whether `fun(*leaves)` depends on it.

    A function that needs concrete values (`if x > 0:`) cannot be traced; its tangent program at
    these values is analyzed instead. There, an operation whose derivative is zero everywhere
    (`floor`) carries no dependence.
    """
    try:
        jaxpr = trace(fun, *leaves).jaxpr
    except compat.NEEDS_NUMBERS:
        _, tangent = jax.linearize(fun, *leaves)
        jaxpr = trace(tangent, *leaves).jaxpr
    return live_inputs(jaxpr, [True] * len(jaxpr.out_avals))


def live_inputs(
    jaxpr: Any, live_out: Sequence[bool], varied: Sequence[bool] | None = None, depth: int = 0
) -> list[bool]:
    """Return, for each input of `jaxpr`, whether a differentiable path leads to a live output.

    A path may start at the inputs `varied` (by default at all of them). `depth` is the number of
    custom rules around this jaxpr.
    """
    live = live_variables(jaxpr, live_out, varied, depth)
    return [v in live for v in compat.open_jaxpr(jaxpr)[0].invars]


def live_variables(
    jaxpr: Any, live_out: Sequence[bool], varied: Sequence[bool] | None = None, depth: int = 0
) -> set[Any]:
    """Return the variables of `jaxpr` on the paths that `live_inputs` follows.

    Variables of inner jaxprs are not included. The arguments are those of `live_inputs`.
    """
    jaxpr, _ = compat.open_jaxpr(jaxpr)
    dependent = _dependent(jaxpr, [True] * len(jaxpr.invars) if varied is None else varied)
    live: set[Any] = set()

    def mark(atoms: Sequence[Any], flags: Sequence[bool]) -> None:
        for atom, flag in zip(atoms, flags, strict=True):
            if flag and isinstance(atom, jex_core.Var) and atom in dependent and is_inexact(atom):
                live.add(atom)

    mark(jaxpr.outvars, live_out)
    for eqn in reversed(jaxpr.eqns):
        atoms = [v if isinstance(v, jex_core.Var) else None for v in eqn.invars]
        outs = [v in live for v in eqn.outvars]
        if any(outs):
            mark(eqn.invars, _through(eqn, outs, [v in dependent for v in atoms], depth))
        elif any(v in live and _is_ref(v) for v in atoms):
            bodies(eqn)  # refuses an unknown program
            mark(eqn.invars, [True] * len(atoms))  # a write into a ref that is read later
    return live


def _dependent(jaxpr: Any, varied: Sequence[bool]) -> set[Any]:
    """Return the variables that are computed from the inputs `varied`."""
    dependent = {v for v, flag in zip(jaxpr.invars, varied, strict=True) if flag}
    for eqn in jaxpr.eqns:
        atoms = [v for v in eqn.invars if isinstance(v, jex_core.Var)]
        if any(v in dependent for v in atoms):
            dependent.update(eqn.outvars, filter(_is_ref, atoms))  # it may write into a ref
    return dependent


def _through(
    eqn: jex_core.JaxprEqn, outs: list[bool], varied: list[bool], depth: int
) -> list[bool]:
    """Return, for each input of one equation, whether it reaches one of the live `outs`."""
    name, n = eqn.primitive.name, len(eqn.invars)
    if name == "stop_gradient":
        return [False] * n
    if name in _ONE_TO_ONE and n == len(outs):
        return outs
    if name in ("custom_jvp_call", "attach"):  # `attach` is the primitive of _core/attach.py
        return _through_custom_jvp(eqn, outs, varied, depth)
    if name == "custom_vjp_call":
        return [True] * n  # its rule gives every input a gradient, as torch's Function does
    inside = bodies(eqn)
    if not inside:
        return [True] * n
    if name == "shard_map":
        return _through_shard_map(eqn, inside[0], outs, varied, depth)
    live = [False] * n
    for body in inside:
        if None in body.outputs:
            continue  # the condition of a `while`
        for i, flag in zip(body.inputs, _through_body(body, outs, varied, depth), strict=True):
            live[i] = live[i] or flag
    return live


def _through_body(body: Body, outs: list[bool], varied: list[bool], depth: int) -> list[bool]:
    """Return, for each body input, whether it reaches one of the equation's live `outs`.

    A loop is followed backward from its last iteration until the carry's flags repeat. If the
    number of iterations is unknown, the flags of every possible number are combined.
    """
    carry, n = body.carry, len(body.carry)
    flags = body.feed(varied)
    flags[carry.start : carry.stop] = [True] * n
    # The live outputs of the iteration that is 0, 1, ... iterations before the last one.
    live_out = [[i is not None and outs[i] for i in body.outputs]]
    reached = [False] * len(flags)
    while len(live_out) - 1 != body.length:
        ins = live_inputs(body.jaxpr, live_out[-1], flags, depth)
        reached = [x or y for x, y in zip(reached, ins, strict=True)]
        before = [ins[k] for k in carry] + live_out[0][n:]
        if body.length is None:
            before = [x or y for x, y in zip(before, live_out[-1], strict=True)]
        if before in live_out:
            first = live_out.index(before)
            period = len(live_out) - first
            live_out.append(live_out[first + ((body.length or 0) - first) % period])
            break
        live_out.append(before)
    reached[carry.start : carry.stop] = live_out[-1][:n]
    return reached


def _through_shard_map(
    eqn: jex_core.JaxprEqn, body: Body, outs: list[bool], varied: list[bool], depth: int
) -> list[bool]:
    """Analyze the body inside a `shard_map`, because a custom rule may use its axis names."""
    flags: list[bool] = []

    def run(*args: Any) -> Any:
        flags[:] = _through_body(body, outs, varied, depth)
        closed = jex_core.ClosedJaxpr(*compat.open_jaxpr(body.jaxpr))
        return tuple(jex_core.jaxpr_as_fun(closed)(*args))

    trace(compat.shard_map_like(eqn, run), *map(abstract, eqn.invars))
    return flags


def _through_custom_jvp(
    eqn: jex_core.JaxprEqn, outs: list[bool], varied: list[bool], depth: int
) -> list[bool]:
    """Analyze the rule, not the function: a straight-through `x > 0` passes its tangent on.

    Only values that depend on the tangents are followed: a rule may call its own function (`exp`).
    """
    inexact = [is_inexact(v) for v in eqn.invars]
    if depth == _DEEPEST:
        return inexact
    primals, fixed = partition(inexact, map(abstract, eqn.invars))

    def tangents_out(primals: Any, fixed: Any, tangents: Any) -> Any:
        return jax.jvp(bind_inexact(eqn, fixed), tuple(primals), tuple(tangents))[1]

    jaxpr = trace(tangents_out, primals, fixed, primals).jaxpr
    starts = [False] * len(inexact) + partition(inexact, varied)[0]
    flags = live_inputs(jaxpr, outs, starts, depth + 1)[len(inexact) :]
    return merge(inexact, flags, [False] * len(fixed))


def _is_ref(atom: Any) -> bool:
    return isinstance(atom, jex_core.Var) and "Ref" in type(atom.aval).__name__

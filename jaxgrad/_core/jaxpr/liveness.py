"""Which inputs can a derivative of the outputs reach?

torch's rule, not JAX's: a derivative passes through every operation from floating point to floating
point, also where it is zero (`floor`, `sign`, a multiplication by 0). It stops at `stop_gradient`,
at integers and booleans, and where a custom rule does not use a tangent. The pass goes backwards
from the outputs, once; around a scan turn by turn, around a while to a fixpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax.extend import core as jex_core

from jaxgrad._core import compat
from jaxgrad._core.jaxpr.tracing import abstract, inner, is_inexact, trace
from jaxgrad._core.tree import merge, partition


# Output i is made of input i alone.
_ONE_TO_ONE = ("sort", "optimization_barrier", "copy", "device_put", "psum", "psum_invariant")

# Of rules inside rules; a rule that goes on calling itself on its tangents uses them all.
_DEEPEST = 8


def live_leaves(fun: Callable[..., Any], leaves: Sequence[Any]) -> list[bool]:
    """For each of `leaves` (floating point arrays): can a derivative of `fun(*leaves)` reach it?

    A function that needs numbers (`if x > 0:`) cannot be traced; then the tangent program of this
    one run answers. There an operation whose derivative is zero everywhere (`floor`) is no path.
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
    """For each input of `jaxpr`: is there a differentiable path to an output of `live_out`?

    `varied`: the inputs that are asked about (all); only what is made of them is looked at.
    `depth`: how many custom rules this is inside of.
    """
    live = live_variables(jaxpr, live_out, varied, depth)
    return [v in live for v in compat.open_jaxpr(jaxpr)[0].invars]


def live_variables(
    jaxpr: Any, live_out: Sequence[bool], varied: Sequence[bool] | None = None, depth: int = 0
) -> set[Any]:
    """The variables of `jaxpr` that `live_inputs` would say yes to, of inner jaxprs none."""
    jaxpr, _ = compat.open_jaxpr(jaxpr)
    made = _made_of(jaxpr, [True] * len(jaxpr.invars) if varied is None else varied)
    live: set[Any] = set()

    def mark(atoms: Sequence[Any], flags: Sequence[bool]) -> None:
        for atom, flag in zip(atoms, flags, strict=True):
            if flag and isinstance(atom, jex_core.Var) and atom in made and is_inexact(atom):
                live.add(atom)

    mark(jaxpr.outvars, live_out)
    for eqn in reversed(jaxpr.eqns):
        atoms = [v if isinstance(v, jex_core.Var) else None for v in eqn.invars]
        outs = [v in live for v in eqn.outvars]
        if any(outs):
            mark(eqn.invars, _through(eqn, outs, [v in made for v in atoms], depth))
        elif any(v in live and _is_ref(v) for v in atoms):
            mark(eqn.invars, [True] * len(atoms))  # a write into a ref that is read later
    return live


def _made_of(jaxpr: Any, varied: Sequence[bool]) -> set[Any]:
    """The variables that are made of the inputs `varied`."""
    made = {v for v, flag in zip(jaxpr.invars, varied, strict=True) if flag}
    for eqn in jaxpr.eqns:
        atoms = [v for v in eqn.invars if isinstance(v, jex_core.Var)]
        if any(v in made for v in atoms):
            made.update(eqn.outvars, filter(_is_ref, atoms))  # it may write into a ref
    return made


def _through(
    eqn: jex_core.JaxprEqn, outs: list[bool], varied: list[bool], depth: int
) -> list[bool]:
    """For each input of one equation: does it reach one of the live `outs`?"""
    name, params, n = eqn.primitive.name, eqn.params, len(eqn.invars)
    if name == "stop_gradient":
        return [False] * n
    if name in _ONE_TO_ONE and n == len(outs):
        return outs
    if name in ("custom_jvp_call", "attach"):  # `attach` is from_function's, see _rules.py
        return _through_custom_jvp(eqn, outs, varied, depth)
    if name == "custom_vjp_call":
        return [True] * n  # its rule gives every input a gradient, as torch's Function does
    if name == "cond":
        branches = [live_inputs(b, outs, varied[1:], depth) for b in params["branches"]]
        return [False, *map(any, zip(*branches, strict=True))]
    if name == "scan":
        return _through_scan(eqn, outs, varied, depth)
    if name == "while":
        return _through_while(params, outs, depth)
    subs = inner(eqn)
    if name == "shard_map":
        return _through_shard_map(eqn, subs[0], outs, varied, depth)
    return live_inputs(subs[0], outs, varied, depth) if subs else [True] * n


def _through_shard_map(
    eqn: jex_core.JaxprEqn, jaxpr: Any, outs: list[bool], varied: list[bool], depth: int
) -> list[bool]:
    """Look inside where the axes of its mesh have names: a rule may use them."""
    flags: list[bool] = []

    def body(*args: Any) -> Any:
        flags[:] = live_inputs(jaxpr, outs, varied, depth)
        return tuple(jex_core.jaxpr_as_fun(jex_core.ClosedJaxpr(*compat.open_jaxpr(jaxpr)))(*args))

    trace(compat.shard_map_like(eqn, body), *map(abstract, eqn.invars))
    return flags


def _through_scan(
    eqn: jex_core.JaxprEqn, outs: list[bool], varied: list[bool], depth: int
) -> list[bool]:
    """Turn by turn from the last, as often as it turns: until a carry's flags come again."""
    params, (a, n) = eqn.params, compat.scan_counts(eqn)
    b = a + n
    varied = [*varied[:a], *[True] * (b - a), *varied[b:]]
    ys = outs[b - a :]
    before = [outs[: b - a]]  # the carry's flags, 0, 1, ... turns before the end
    reached = [False] * len(varied)
    for turn in range(params["length"]):
        ins = live_inputs(params["jaxpr"], before[turn] + ys, varied, depth)
        reached = [x or y for x, y in zip(reached, ins, strict=True)]
        if ins[a:b] in before:
            first = before.index(ins[a:b])
            period = turn + 1 - first
            before.append(before[first + (params["length"] - first) % period])
            break
        before.append(ins[a:b])
    return reached[:a] + before[-1] + reached[b:]


def _through_while(params: Any, outs: list[bool], depth: int) -> list[bool]:
    """Nobody knows how often it turns: to a fixpoint of the carry."""
    skip, consts, carry = params["cond_nconsts"], params["body_nconsts"], outs
    while True:
        ins = live_inputs(params["body_jaxpr"], carry, depth=depth)
        wider = [x or y for x, y in zip(carry, ins[consts:], strict=True)]
        if wider == carry:
            return [False] * skip + ins[:consts] + carry
        carry = wider


def _through_custom_jvp(
    eqn: jex_core.JaxprEqn, outs: list[bool], varied: list[bool], depth: int
) -> list[bool]:
    """Ask the rule, not the body: a straight-through `x > 0` passes its tangent on.

    Only what is made of the tangents is looked at: a rule may call its own function (`exp`).
    """
    moved = [is_inexact(v) for v in eqn.invars]
    if depth == _DEEPEST:
        return moved
    primals, fixed = partition(moved, map(abstract, eqn.invars))

    def tangents_out(primals: Any, fixed: Any, tangents: Any) -> Any:
        def fun(*primals: Any) -> list[Any]:
            return compat.bind(eqn, merge(moved, primals, fixed))

        return jax.jvp(fun, tuple(primals), tuple(tangents))[1]

    jaxpr = trace(tangents_out, primals, fixed, primals).jaxpr
    asked = [False] * len(moved) + partition(moved, varied)[0]
    flags = live_inputs(jaxpr, outs, asked, depth + 1)[len(moved) :]
    return merge(moved, flags, [False] * len(fixed))


def _is_ref(atom: Any) -> bool:
    return isinstance(atom, jex_core.Var) and "Ref" in type(atom.aval).__name__

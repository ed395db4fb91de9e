"""Attribute the equations and residuals of a program's VJP to its operations.

Each operation of the forward pass runs in its own named scope. JAX keeps the scope's name on the
equations of the VJP, which tells exactly which step of the backward pass belongs to which
operation. All steps of a custom rule, a scan or a remat carry one name and become one box.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
from jax.extend import core as jex_core

from jaxgrad._core import compat
from jaxgrad._core import jaxpr as _jaxpr
from jaxgrad.graph._forward import CUT, Place
from jaxgrad.graph._model import Op, Saved


_TAG = re.compile(r"@([\d.]+)@")


class Backward(NamedTuple):
    """The VJP's primitives, and the residuals that they read, keyed by operation."""

    steps: dict[Place, list[str]]
    saved: dict[Place, list[Saved]]


def backward(
    jaxpr: Any,
    active: Sequence[Any],
    fixed: Sequence[Any],
    names: Sequence[str],
    ops: Mapping[Place, Op],
    *,
    cuts: bool = True,
) -> Backward:
    """Trace the VJP of a jaxpr and group its equations by operation.

    Args:
        jaxpr: The program.
        active: Its first inputs, which are differentiated; concrete or abstract arrays.
        fixed: Its other inputs.
        names: The names of all inputs.
        ops: The program's operations.
        cuts: If False, trace the program as if it had no `stop_gradient`.
    """
    run = _tagged(jaxpr, cuts)

    def forward(active: Sequence[Any], fixed: Sequence[Any]) -> Any:
        return jax.vjp(lambda *active: run(*active, *fixed), *active)

    traced = _jaxpr.trace(forward, active, fixed)
    kept = traced.jaxpr.out_avals

    def pull(kept: list[Any], cotangents: list[Any]) -> Any:
        return jax.tree.unflatten(traced.out_tree, kept)[1](cotangents)

    back, _ = compat.open_jaxpr(_jaxpr.trace(pull, kept, kept[:1]).jaxpr)
    before, _ = compat.open_jaxpr(traced.jaxpr)
    origin = _origins(before, names, ops)
    inputs = [_jaxpr.Source(v, _jaxpr.GIVEN, "") for v in before.invars]
    sources = zip(before.outvars, _jaxpr.sources(before, inputs), strict=True)
    source_of = {v: source for v, source in sources if isinstance(v, jex_core.Var)}
    values = dict(zip(back.invars, before.outvars, strict=False))
    result = Backward({}, {})
    listed: set[Any] = set()
    counted: set[Any] = set()
    for eqn in back.eqns:
        place = _place(eqn)
        steps = list(_primitives(eqn))
        if place is None or not steps:
            continue
        result.steps.setdefault(place, []).extend(steps)
        read = [values.get(atom) for atom in eqn.invars if isinstance(atom, jex_core.Var)]
        for value in read:
            if isinstance(value, jex_core.Var) and (place, value) not in listed:
                listed.add((place, value))
                source = source_of[value]
                extra = source is not None and source.kind != _jaxpr.GIVEN
                key = value if source is None else source.key
                what = origin.get(value, "constant")
                entry = _saved(value, what, extra and key not in counted)
                counted.add(key)
                result.saved.setdefault(place, []).append(entry)
    return result


def _tagged(jaxpr: Any, cuts: bool) -> Callable[..., Any]:
    """Return the program of `jaxpr` with jit inlined and each operation in its own named scope."""

    def run(jaxpr: Any, args: Sequence[Any], above: Place) -> list[Any]:
        def rule(eqn: jex_core.JaxprEqn, path: Place, args: list[Any], slot: Any) -> Any:
            name, here = eqn.primitive.name, (*above, *path)
            if name in compat.JIT:
                return run(_jaxpr.inner(eqn)[0], args, here), None
            if name == CUT and not cuts:
                return args, None
            with jax.named_scope(f"@{'.'.join(map(str, here))}@"):
                return _jaxpr.plain(eqn, path, args, slot)

        return _jaxpr.evaluate(jaxpr, args, rule, enters=lambda _: False)[0]

    return lambda *args: run(jaxpr, args, ())


def _place(eqn: jex_core.JaxprEqn) -> Place | None:
    tag = _TAG.search(str(eqn.source_info.name_stack))
    return tuple(map(int, tag.group(1).split("."))) if tag else None


def _primitives(eqn: jex_core.JaxprEqn) -> Iterator[str]:
    """Yield an equation's primitives: those inside a jit; none for a sum of cotangents."""
    if eqn.primitive.name in compat.JIT:
        for sub in compat.open_jaxpr(_jaxpr.inner(eqn)[0])[0].eqns:
            yield from _primitives(sub)
    elif eqn.primitive.name != "add_any":
        yield eqn.primitive.name


def _origins(jaxpr: Any, names: Sequence[str], ops: Mapping[Place, Op]) -> dict[Any, Any]:
    """Name each value of the forward pass after its leaf or the operation that produced it."""
    origin: dict[Any, Any] = dict(zip(jaxpr.invars, names, strict=True))
    for eqn in jaxpr.eqns:
        place = _place(eqn)
        name = None if place is None or place not in ops else ops[place].name
        if name is None:  # a stopped or non-differentiable value is named after its input
            known = [origin[v] for v in eqn.invars if isinstance(v, jex_core.Var) and v in origin]
            name = known[0] if known else None
        if name is not None:
            origin |= dict.fromkeys(eqn.outvars, name)
    return origin


def _saved(var: Any, what: str, extra: bool) -> Saved:
    shape, dtype = var.aval.shape, var.aval.dtype
    return Saved(what, str(dtype), tuple(shape), math.prod(shape) * dtype.itemsize, extra)

"""What the VJP of a program has for each of its operations: equations, and residuals.

Each operation of the forward pass runs in a named scope of its own. Its name comes back on the
equations of the VJP, so nobody has to guess which step of the backward pass belongs to what; what a
custom rule, a scan or a remat does there is found under one name, and is one box.
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
    """By operation: the primitives that the VJP has for it, and the residuals that they read."""

    steps: dict[Place, list[str]]
    saved: dict[Place, list[Saved]]


def backward(
    jaxpr: Any,
    moved: Sequence[Any],
    fixed: Sequence[Any],
    names: Sequence[str],
    ops: Mapping[Place, Op],
    *,
    cuts: bool = True,
) -> Backward:
    """Trace the VJP of a jaxpr and sort its equations by operation.

    Args:
      jaxpr: The program.
      moved: Its first inputs, those that are differentiated; arrays or abstract ones.
      fixed: Its other inputs.
      names: Of both.
      ops: Its operations.
      cuts: False leaves every `stop_gradient` out: what the VJP would have without.
    """
    run = _tagged(jaxpr, cuts)

    def forward(moved: Sequence[Any], fixed: Sequence[Any]) -> Any:
        return jax.vjp(lambda *moved: run(*moved, *fixed), *moved)

    traced = _jaxpr.trace(forward, moved, fixed)
    kept = traced.jaxpr.out_avals

    def pull(kept: list[Any], cotangents: list[Any]) -> Any:
        return jax.tree.unflatten(traced.out_tree, kept)[1](cotangents)

    back, _ = compat.open_jaxpr(_jaxpr.trace(pull, kept, kept[:1]).jaxpr)
    before, _ = compat.open_jaxpr(traced.jaxpr)
    origin = _origins(before, names, ops)
    given = [_jaxpr.Source(v, _jaxpr.GIVEN, "") for v in before.invars]
    made_by = zip(before.outvars, _jaxpr.sources(before, given), strict=True)
    made = {v: source for v, source in made_by if isinstance(v, jex_core.Var)}
    values = dict(zip(back.invars, before.outvars, strict=False))
    found = Backward({}, {})
    listed: set[Any] = set()
    counted: set[Any] = set()
    for eqn in back.eqns:
        place = _place(eqn)
        steps = list(_primitives(eqn))
        if place is None or not steps:
            continue
        found.steps.setdefault(place, []).extend(steps)
        read = [values.get(atom) for atom in eqn.invars if isinstance(atom, jex_core.Var)]
        for value in read:
            if isinstance(value, jex_core.Var) and (place, value) not in listed:
                listed.add((place, value))
                source = made[value]
                extra = source is not None and source.kind != _jaxpr.GIVEN
                key = value if source is None else source.key
                what = origin.get(value, "constant")
                entry = _saved(value, what, extra and key not in counted)
                counted.add(key)
                found.saved.setdefault(place, []).append(entry)
    return found


def _tagged(jaxpr: Any, cuts: bool) -> Callable[..., Any]:
    """The program of `jaxpr`, jit inlined, every operation in a scope that names its place."""

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
    """What an equation does; a jit is what is in it, a fan-in of cotangents is no step."""
    if eqn.primitive.name in compat.JIT:
        for sub in compat.open_jaxpr(_jaxpr.inner(eqn)[0])[0].eqns:
            yield from _primitives(sub)
    elif eqn.primitive.name != "add_any":
        yield eqn.primitive.name


def _origins(jaxpr: Any, names: Sequence[str], ops: Mapping[Place, Op]) -> dict[Any, Any]:
    """What each value of the forward pass is called: as a leaf, or as the operation it is of."""
    origin: dict[Any, Any] = dict(zip(jaxpr.invars, names, strict=True))
    for eqn in jaxpr.eqns:
        place = _place(eqn)
        made = None if place is None or place not in ops else ops[place].name
        if made is None:  # stopped or not differentiable: as what it was made of
            known = [origin[v] for v in eqn.invars if isinstance(v, jex_core.Var) and v in origin]
            made = known[0] if known else None
        if made is not None:
            origin |= dict.fromkeys(eqn.outvars, made)
    return origin


def _saved(var: Any, what: str, extra: bool) -> Saved:
    shape, dtype = var.aval.shape, var.aval.dtype
    return Saved(what, str(dtype), tuple(shape), math.prod(shape) * dtype.itemsize, extra)

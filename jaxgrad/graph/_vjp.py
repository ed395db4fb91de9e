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

from jaxgrad import _compat, _jaxpr
from jaxgrad.graph._forward import CUT, Place
from jaxgrad.graph._model import Op, Saved


_TAG = re.compile(r"@([\d.]+)@")


def _tagged(jaxpr: Any, cuts: bool = True) -> Callable[..., Any]:
    """The program of `jaxpr`, every operation in a scope that names its place."""

    def run(jaxpr: Any, args: Sequence[Any], above: Place) -> list[Any]:
        def rule(eqn: jex_core.JaxprEqn, path: Place, args: list[Any], slot: Any) -> Any:
            name, here = eqn.primitive.name, (*above, *path)
            if name in _compat.JIT:
                return run(_jaxpr.inner(eqn)[0], args, here), None
            if name == CUT and not cuts:
                return args, None
            with jax.named_scope(f"@{'.'.join(map(str, here))}@"):
                return _jaxpr.plain(eqn, path, args, slot)

        return _jaxpr.evaluate(jaxpr, args, rule, enters=lambda _: False)[0]

    return lambda *args: run(jaxpr, args, ())


def _backward(
    run: Callable[..., Any], flat: _Flat, ops: dict[Place, Op]
) -> tuple[dict[Place, list[str]], dict[Place, list[Saved]]]:
    """Of each operation: the primitives that the VJP has for it, and the residuals they read."""

    def forward(moved: list[Any], fixed: list[Any]) -> Any:
        return jax.vjp(lambda *moved: run(*moved, *fixed), *moved)

    made = _jaxpr.trace(forward, flat.moved, flat.fixed)
    kept = made.jaxpr.out_avals

    def pull(kept: list[Any], cotangents: list[Any]) -> Any:
        return jax.tree.unflatten(made.out_tree, kept)[1](cotangents)

    back, _ = _compat.open_jaxpr(_jaxpr.trace(pull, kept, kept[:1]).jaxpr)
    steps: dict[Place, list[str]] = {}
    saved: dict[Place, list[Saved]] = {}
    origin = _origins(made.jaxpr, flat.names, ops)
    counted: set[Any] = set()
    inputs = dict(zip(back.invars, made.jaxpr.jaxpr.outvars, strict=False))
    for eqn in back.eqns:
        place = _place(eqn)
        if place is None:
            continue
        steps.setdefault(place, []).extend(_primitives(eqn))
        for atom in eqn.invars:
            value = inputs.get(atom) if isinstance(atom, jex_core.Var) else None
            if isinstance(value, jex_core.Var):
                what, extra = origin.get(value, ("constant", False))
                entry = _saved(value, what, extra and value not in counted)
                counted.add(value)
                if entry not in saved.setdefault(place, []):
                    saved[place].append(entry)
    return {place: names for place, names in steps.items() if names}, saved


def _behind_cuts(jaxpr: Any, flat: _Flat, forward: _Forward) -> dict[Place, list[str]]:
    """What the VJP would have if nothing were stopped: the outlines of what is not there."""
    if not forward.cut:
        return {}
    try:
        return _backward(_tagged(jaxpr, cuts=False), flat, forward.ops)[0]
    except Exception:  # what stands behind a cut needs no derivative, and then has no outline
        return {}


def _place(eqn: jex_core.JaxprEqn) -> Place | None:
    tag = _TAG.search(str(eqn.source_info.name_stack))
    return tuple(map(int, tag.group(1).split("."))) if tag else None


def _primitives(eqn: jex_core.JaxprEqn) -> Iterator[str]:
    """What an equation does; a jit is what is in it, a fan-in of cotangents is no step."""
    if eqn.primitive.name in _compat.JIT:
        for sub in _compat.open_jaxpr(_jaxpr.inner(eqn)[0])[0].eqns:
            yield from _primitives(sub)
    elif eqn.primitive.name != "add_any":
        yield eqn.primitive.name


def _origins(jaxpr: Any, names: Sequence[str], ops: dict[Place, Op]) -> dict[Any, Any]:
    """Who made each value of the forward pass: a leaf, or an operation."""
    bare, _ = _compat.open_jaxpr(jaxpr)
    origin: dict[Any, Any] = {v: (n, False) for v, n in zip(bare.invars, names, strict=True)}
    for eqn in bare.eqns:
        place = _place(eqn)
        made = (ops[place].name, True) if place in ops else None
        if made is None:  # stopped or not differentiable: as what it was made of
            known = [origin[v] for v in eqn.invars if isinstance(v, jex_core.Var) and v in origin]
            made = known[0] if known else None
        if made is not None:
            origin |= dict.fromkeys(eqn.outvars, made)
    return origin


def _saved(var: Any, what: str, extra: bool) -> Saved:
    shape, dtype = var.aval.shape, var.aval.dtype
    return Saved(what, str(dtype), tuple(shape), math.prod(shape) * dtype.itemsize, extra)

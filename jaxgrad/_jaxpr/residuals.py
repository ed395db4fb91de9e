"""What the backward pass keeps of the forward pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from jax.extend import core as jex_core

from jaxgrad import _compat
from jaxgrad._jaxpr.tracing import inner, trace


def residuals(fun: Callable[..., Any], *args: Any) -> list[Any]:
    """The abstract values that `jax.vjp(fun, *args)` keeps, each once; inputs, constants not."""
    jaxpr, _ = _compat.open_jaxpr(trace(lambda *args: jax.vjp(fun, *args)[1], *args).jaxpr)
    kept: dict[Any, Any] = {}
    origin = _origins(jaxpr, list(jaxpr.invars))
    for atom in jaxpr.outvars:
        made = origin.get(atom) if isinstance(atom, jex_core.Var) else None
        if made is not None and made not in jaxpr.invars:
            kept[made] = atom.aval
    return list(kept.values())


def _origins(jaxpr: Any, sources: list[Any]) -> dict[Any, Any]:
    """For each variable that depends on an input, who made it: a `jit` may only hand it on."""
    origin = {v: s for v, s in zip(jaxpr.invars, sources, strict=True) if s is not None}
    for eqn in jaxpr.eqns:
        ins = [origin.get(v) if isinstance(v, jex_core.Var) else None for v in eqn.invars]
        if all(v is None for v in ins):
            continue  # made of constants alone
        if eqn.primitive.name in _compat.JIT:
            origin |= _handed_on(eqn, ins)
        else:
            origin |= {out: out for out in eqn.outvars}
    return origin


def _handed_on(eqn: jex_core.JaxprEqn, ins: list[Any]) -> dict[Any, Any]:
    """The origins of a jit's outputs: an input of its own, the same value twice, or new."""
    sub, _ = _compat.open_jaxpr(inner(eqn)[0])
    outside = dict(zip(sub.invars, ins, strict=True))
    marks = [v if outside[v] is not None else None for v in sub.invars]
    inside = _origins(sub, marks)
    result: dict[Any, Any] = {}
    first: dict[Any, Any] = {}
    for out, v in zip(eqn.outvars, sub.outvars, strict=True):
        made = inside.get(v) if isinstance(v, jex_core.Var) else None
        if made is not None:
            result[out] = outside[made] if made in outside else first.setdefault(made, out)
    return result

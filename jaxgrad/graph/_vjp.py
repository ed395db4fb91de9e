"""Attribute the equations and residuals of a program's VJP to its operations.

Each operation of the forward pass runs in its own named scope. JAX keeps the scope's name on the
equations of the VJP, which tells exactly which step of the backward pass belongs to which
operation. All steps of a custom rule, a scan or a remat carry one name and become one box.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
from jax.extend import core as jex_core

from jaxgrad._core import compat
from jaxgrad._core import jaxpr as _jaxpr
from jaxgrad.graph._forward import CUT, Place
from jaxgrad.graph._model import SUM, Op, Saved


_REARRANGING = frozenset("convert_element_type copy reshape squeeze transpose".split())
_RESIZING = frozenset(("broadcast_in_dim", "reduce_sum"))  # may add or remove axes of length 1
_TAG = re.compile(r"@([\d.]+)@")


class Node(NamedTuple):
    """An equation of the VJP."""

    place: Place | None  # of the operation that it belongs to
    name: str  # its primitive
    shape: str  # of its results
    feeders: tuple[int, ...]  # the nodes whose results it reads
    seeded: bool  # it reads the cotangent of the loss
    reads: tuple[Saved, ...]  # the residuals
    rearranges: bool  # it only changes the layout or dtype of a gradient


class Backward(NamedTuple):
    """The VJP's equations, and its primitives and residuals keyed by operation."""

    steps: dict[Place, list[str]]  # without sums of cotangents
    saved: dict[Place, list[Saved]]
    nodes: list[Node]
    grads: dict[str, int]  # the node that computes the gradient of each leaf


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
    inputs = [object() for _ in back.invars]
    values = dict(zip(inputs, before.outvars, strict=False))
    seeds = set(inputs[len(before.outvars) :])
    equations, grads = _inlined(back, inputs)
    result = Backward({}, {}, [], {})
    maker: dict[object, int] = {}  # of each value of the VJP: the node that computes it
    listed: set[Any] = set()
    counted: set[Any] = set()
    for eqn, place, read, made in equations:
        name = eqn.primitive.name
        reads = []
        for value in map(values.get, read):
            if isinstance(value, jex_core.Var):
                source = source_of[value]
                extra = source is not None and source.kind != _jaxpr.GIVEN
                key = value if source is None else source.key
                what = origin.get(value, "constant")
                reads.append(_saved(value, what, extra))
                if place is not None and name != SUM and (place, value) not in listed:
                    listed.add((place, value))
                    entry = _saved(value, what, extra and key not in counted)
                    counted.add(key)
                    result.saved.setdefault(place, []).append(entry)
        if place is not None and name != SUM:
            result.steps.setdefault(place, []).append(name)
        feeders = tuple(dict.fromkeys(maker[value] for value in read if value in maker))
        maker |= dict.fromkeys(made, len(result.nodes))
        shape = " ".join(str(getattr(v.aval, "shape", "")) for v in eqn.outvars)
        seeded = not seeds.isdisjoint(read)
        node = Node(place, name, shape, feeders, seeded, tuple(reads), _rearranges(eqn))
        result.nodes.append(node)
    found = zip(names, grads, strict=False)
    result.grads.update((name, maker[value]) for name, value in found if value in maker)
    return result


def _rearranges(eqn: jex_core.JaxprEqn) -> bool:
    """Return whether an equation returns the elements of its input, in some layout and dtype."""
    name = eqn.primitive.name
    if name not in _REARRANGING and name not in _RESIZING:
        return False
    sizes = {math.prod(getattr(v.aval, "shape", ())) for v in (eqn.invars[0], eqn.outvars[0])}
    return name in _REARRANGING or len(sizes) == 1


def _inlined(
    jaxpr: Any, inputs: Sequence[object], above: Place | None = None
) -> tuple[list[tuple[jex_core.JaxprEqn, Place | None, list[object], list[object]]], list[object]]:
    """List the equations, with those inside a jit, and what each reads and computes.

    Values are objects of their own, because calls of one jitted function share their variables.
    """
    values = dict(zip(jaxpr.invars, inputs, strict=True))

    def of(atoms: Sequence[Any]) -> list[object]:
        return [values.get(a) if isinstance(a, jex_core.Var) else None for a in atoms]

    listed = []
    for eqn in jaxpr.eqns:
        read, place = of(eqn.invars), _place(eqn) or above
        if eqn.primitive.name in compat.JIT:
            inside, _ = compat.open_jaxpr(_jaxpr.inner(eqn)[0])
            equations, made = _inlined(inside, read, place)
            listed += equations
        else:
            made = [object() for _ in eqn.outvars]
            listed.append((eqn, place, read, made))
        values.update(zip(eqn.outvars, made, strict=True))
    return listed, of(jaxpr.outvars)


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

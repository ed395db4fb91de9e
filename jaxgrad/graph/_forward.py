"""Find the operations of a JAX program that depend on a parameter, and their inputs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from jax.extend import core as jex_core

from jaxgrad._core import compat
from jaxgrad._core import jaxpr as _jaxpr
from jaxgrad.graph._model import Edge, Op


CUT = "stop_gradient"
# The index of an operation's equation, preceded by those of the enclosing jit equations.
Place = tuple[int, ...]
_WRAPPED = re.compile(r"^\w+\((.*)\)$")  # jvp(name), vmap(name)


class Forward:
    """The operations of a jaxpr that depend on a leaf, keyed by place, with jit inlined."""

    def __init__(self, jaxpr: Any, names: Sequence[str], slots: int, constants: Mapping[str, Any]):
        self.ops: dict[Place, Op] = {}
        self.cut = False
        self._order: list[Place] = []
        known = {id(array): name for name, array in constants.items()}
        bare, consts = compat.open_jaxpr(jaxpr)
        origins = {
            v: [Edge(name, flows=i < slots)]
            for i, (v, name) in enumerate(zip(bare.invars, names, strict=True))
        }
        for v, const in zip(bare.constvars, consts, strict=True):
            if id(const) in known:
                origins[v] = [Edge(known[id(const)], flows=False)]
        out = self._run(bare, origins, (), ())
        self.live = self._reach(out, through_cuts=False)
        self._keep(self._reach(out, through_cuts=True))

    def _run(self, jaxpr: Any, origins: Any, above: Place, scope: tuple[str, ...]) -> list[Any]:
        def of(atom: Any) -> list[Edge]:
            is_var = isinstance(atom, jex_core.Var) and _jaxpr.is_inexact(atom)
            return origins.get(atom, []) if is_var else []

        for i, eqn in enumerate(jaxpr.eqns):
            here, around = (*above, i), scope + _scope(eqn)
            name = eqn.primitive.name
            if name in compat.JIT:
                inside, _ = compat.open_jaxpr(_jaxpr.inner(eqn)[0])
                entering = {v: of(a) for v, a in zip(inside.invars, eqn.invars, strict=True)}
                outs = self._run(inside, entering, here, around)
            elif name == CUT:
                self.cut = True
                outs = [[edge._replace(flows=False, cut=CUT) for edge in of(eqn.invars[0])]]
            else:
                edges = tuple(dict.fromkeys(edge for atom in eqn.invars for edge in of(atom)))
                if name == "attach":  # its rule replaces the derivative of the stopped value
                    edges = tuple(edge for edge in edges if not edge.cut)
                if not edges or not any(map(_jaxpr.is_inexact, eqn.outvars)):
                    continue
                self.ops[here] = _op(eqn, around, edges)
                self._order.append(here)
                flows = any(edge.flows for edge in edges)
                outs = [[Edge(len(self._order) - 1, flows)]] * len(eqn.outvars)
            origins.update(zip(eqn.outvars, outs, strict=True))
        return [of(atom) for atom in jaxpr.outvars]

    def _reach(self, outs: list[Any], through_cuts: bool) -> set[Place]:
        """Return the operations that reach the loss, over all edges or only over uncut ones."""
        todo = [edge for edges in outs for edge in edges]
        reached: set[Place] = set()
        while todo:
            edge = todo.pop()
            is_new = isinstance(edge.to, int) and self._order[edge.to] not in reached
            if is_new and (edge.flows or through_cuts):
                reached.add(self._order[edge.to])
                todo += self.ops[self._order[edge.to]].edges
        return reached

    def _keep(self, used: set[Place]) -> None:
        """Drop operations that the loss does not use: running statistics, other outputs."""
        kept = [(i, place) for i, place in enumerate(self._order) if place in used]
        number: dict[int | str, int] = {i: new for new, (i, _) in enumerate(kept)}
        self.ops = {
            place: self.ops[place]._replace(
                edges=tuple(e._replace(to=number.get(e.to, e.to)) for e in self.ops[place].edges)
            )
            for _, place in kept
        }
        self._order = list(self.ops)


def _scope(eqn: jex_core.JaxprEqn) -> tuple[str, ...]:
    """Return the named scopes around an equation, stripped of `jvp(...)` and `vmap(...)`."""
    parts = map(_unwrapped, str(eqn.source_info.name_stack).split("/"))
    return tuple(name for part in parts for name in part.split(".") if name)


def _unwrapped(part: str) -> str:
    while match := _WRAPPED.match(part):
        part = match.group(1)
    # equinox adds class names and jnp.einsum its formula: neither names a module
    return "" if part.startswith("eqx.") or "->" in part else part


def _op(eqn: jex_core.JaxprEqn, scope: tuple[str, ...], edges: tuple[Edge, ...]) -> Op:
    """Return the `Op` of an equation; one with an inner jaxpr is folded and named after it."""
    name = eqn.primitive.name
    kind = f"{name} {','.join(str(getattr(v.aval, 'shape', '')) for v in eqn.outvars)}"
    inside = _jaxpr.inner(eqn)
    if name == "attach":  # a hook or a from_function class: see _core/attach.py
        named = eqn.params["name"]
        return Op(f"{name} {named}", kind, scope, edges, folded=named)
    if not inside:
        return Op(name, kind, scope, edges)
    called = compat.open_jaxpr(inside[0])[0].debug_info.func_name
    if name == "scan":
        folded = name = f"scan ×{eqn.params['length']}"
    elif name in compat.REMAT:
        folded = name = f"remat {called}"
    elif name.startswith("custom_"):
        folded, name = called, f"{name.removesuffix('_call')} {called}"
    else:
        folded = name
    return Op(name, kind, scope, edges, folded=folded)

"""Which arguments are weights that only products use: torch casts those once and keeps the cast."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import jax.numpy as jnp
from jax.extend import core as jex_core

from jaxgrad._core import compat
from jaxgrad._core import jaxpr as _jaxpr
from jaxgrad.precision._lists import PRODUCTS
from jaxgrad.precision._program import SHAPE, Operation, Program, contracts


Flags = list[bool | None]  # None: not used at all


def only_low(
    jaxpr: Any,
    program: Program,
    parts: Mapping[Any, Operation],
    elsewhere: Collection[_jaxpr.Path],
    path: _jaxpr.Path = (),
) -> Flags:
    """For each input of a jaxpr: do only products use it, as operand or bias, in this region?

    `elsewhere`: the equations in other regions.
    """
    jaxpr, _ = compat.open_jaxpr(jaxpr)
    uses: dict[Any, list[bool]] = {}

    def use(atoms: list[Any], flags: Flags) -> None:
        for atom, flag in zip(atoms, flags, strict=True):
            if isinstance(atom, jex_core.Var) and flag is not None:
                uses.setdefault(atom, []).append(flag)

    def flags_of(atoms: list[Any]) -> Flags:
        return [all(uses[v]) if v in uses else None for v in atoms]

    use(jaxpr.outvars, [False] * len(jaxpr.outvars))
    for i, eqn in reversed(list(enumerate(jaxpr.eqns))):
        name, here, n = eqn.primitive.name, (*path, i), len(eqn.invars)
        part = parts.get(eqn.outvars[0]) if eqn.outvars else None
        if here in elsewhere or not all(map(_castable, eqn.invars)):
            use(eqn.invars, [False] * n)
        elif name in SHAPE:
            use(eqn.invars[:1], flags_of(eqn.outvars))
        elif name in PRODUCTS and contracts(eqn):
            use(eqn.invars, [True] * n)
        elif part is not None:
            linear = part.name == "linear"
            use(eqn.invars, [linear and program.is_bias(v) for v in eqn.invars])
        else:
            subs = [
                only_low(sub, program, parts, elsewhere, (*here, k))
                for k, sub in enumerate(_jaxpr.inner(eqn))
            ]
            use(eqn.invars, _passed_on(eqn, subs))
    return flags_of(jaxpr.invars)


def _passed_on(eqn: jex_core.JaxprEqn, subs: list[Flags]) -> Flags:
    """What the jaxprs inside an equation do with its inputs."""
    name, n = eqn.primitive.name, len(eqn.invars)
    if name in (*compat.JIT, *compat.REMAT, "closed_call"):
        return subs[0]
    if name == "scan":
        a, carried = compat.scan_counts(eqn)
        return [*subs[0][:a], *[False] * carried, *subs[0][a + carried :]]
    if name == "while":
        a, b = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
        return [*subs[0][:a], *subs[1][:b], *[False] * (n - a - b)]
    if name == "cond":
        return [False, *map(_together, zip(*subs, strict=True))]
    return [False] * n


def _together(flags: tuple[bool | None, ...]) -> bool | None:
    used = [flag for flag in flags if flag is not None]
    return all(used) if used else None


def _castable(atom: Any) -> bool:
    narrow = (jnp.float32, jnp.bfloat16, jnp.float16)
    return not _jaxpr.is_inexact(atom) or _jaxpr.abstract(atom).dtype in narrow

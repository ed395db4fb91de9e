"""Find the arguments that only matrix products use; torch casts such a weight once."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import jax.numpy as jnp
from jax.extend import core as jex_core

from jaxgrad._core import compat
from jaxgrad._core import jaxpr as _jaxpr
from jaxgrad.precision._lists import PRODUCTS
from jaxgrad.precision._program import SHAPE, LinkedProgram, Operation, contracts


Flags = Sequence[bool | None]  # None for an unused variable


def only_low(
    jaxpr: Any,
    program: LinkedProgram,
    operation_of: Mapping[Any, Operation],
    elsewhere: Collection[_jaxpr.Path],
    path: _jaxpr.Path = (),
) -> Flags:
    """Tell for each input of a jaxpr whether only products use it, as an operand or a bias.

    `operation_of` maps the first output of an equation to its operation, `elsewhere` holds the
    paths of the equations in other autocast regions, and `path` is the path of the jaxpr.
    """
    jaxpr, _ = compat.open_jaxpr(jaxpr)
    uses: dict[Any, list[bool]] = {}

    def use(atoms: list[Any], flags: Flags | bool) -> None:
        each = [flags] * len(atoms) if isinstance(flags, bool) else flags
        for atom, flag in zip(atoms, each, strict=True):
            if isinstance(atom, jex_core.Var) and flag is not None:
                uses.setdefault(atom, []).append(flag)

    def flags_of(atoms: list[Any]) -> Flags:
        return [all(uses[v]) if v in uses else None for v in atoms]

    use(jaxpr.outvars, False)
    for i, eqn in reversed(list(enumerate(jaxpr.eqns))):
        name, here = eqn.primitive.name, (*path, i)
        operation = operation_of.get(eqn.outvars[0]) if eqn.outvars else None
        if here in elsewhere or not all(map(_castable, eqn.invars)):
            use(eqn.invars, False)
        elif name in SHAPE:
            use(eqn.invars[:1], flags_of(eqn.outvars))
        elif name in PRODUCTS and contracts(eqn):
            use(eqn.invars, True)
        elif operation is not None:
            linear = operation.name == "linear"
            use(eqn.invars, [linear and program.is_bias(v) for v in eqn.invars])
        else:
            custom = name.startswith("custom_") or name == "shard_map"
            inside = [] if custom else _jaxpr.bodies(eqn)
            for k, body in enumerate(inside):
                flags = list(only_low(body.jaxpr, program, operation_of, elsewhere, (*here, k)))
                flags[body.carry.start : body.carry.stop] = [False] * len(body.carry)
                use(body.feed(eqn.invars), flags)
            fed = {j for body in inside for j in body.inputs}
            use([v for j, v in enumerate(eqn.invars) if j not in fed], False)
    return flags_of(jaxpr.invars)


def _castable(atom: Any) -> bool:
    narrow = (jnp.float32, jnp.bfloat16, jnp.float16)
    return not _jaxpr.is_inexact(atom) or _jaxpr.abstract(atom).dtype in narrow

"""Read intermediate values out of a program, or compute their cotangents.

A value's cotangent is the gradient with respect to its slot, an extra input of zeros.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import jax
from jax.extend import core as jex_core

from jaxgrad._core.jaxpr.evaluate import Slots, evaluate, plain
from jaxgrad._core.jaxpr.tracing import Path, Place, abstract, walk


@jax.custom_jvp
def tap(x: jax.Array, slot: jax.Array) -> jax.Array:
    """Return `x`; the gradient with respect to `slot` is the total cotangent of the result."""
    del slot
    return x


@tap.defjvp
def _(primals: Any, tangents: Any) -> Any:
    return tap(*primals), tangents[0] + tangents[1]


def slot_shape(place: Place, output: int = 0) -> jax.ShapeDtypeStruct:
    """Return the shape and dtype of a value's slot; it has one leading axis per enclosing scan."""
    aval = abstract(place.eqn.outvars[output])
    return jax.ShapeDtypeStruct((*place.lengths, *aval.shape), aval.dtype)


def with_taps(
    jaxpr: Any, args: Sequence[Any], slots: Slots, reads: Collection[Path] = ()
) -> tuple[list[Any], dict[Path, Any]]:
    """Run `jaxpr` with slots added to some values, and return the values at the paths `reads`.

    Slots and reads apply to the first output of an equation. A higher-order equation that contains
    neither runs unchanged, with its custom rules.
    """
    for place in walk(jaxpr):
        if place.closed and (place.path in slots or place.path in reads):
            raise ValueError(f"cannot tap equation {place.path}: taps cannot enter {place.closed}")
    wanted = {path[:n] for path in (*slots, *reads) for n in range(len(path) + 1)}
    chosen = set(reads)

    def rule(eqn: jex_core.JaxprEqn, path: Path, ins: list[Any], slot: Any) -> Any:
        outs, _ = plain(eqn, path, ins, None)
        if slot is not None:
            outs[0] = tap(outs[0], slot)
        return outs, outs[0] if path in chosen else None

    def enters(path: Path) -> bool:
        return path in wanted and path not in slots and path not in chosen

    return evaluate(jaxpr, args, rule, slots=slots, enters=enters)

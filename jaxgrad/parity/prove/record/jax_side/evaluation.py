"""Evaluate a traced JAX program equation by equation, and record or change values inside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxgrad._core.jaxpr import Path, abstract, evaluate, inner, tap, walk
from jaxgrad.parity import maxima
from jaxgrad.parity.prove.align.fingerprint import SIZE, fingerprint
from jaxgrad.parity.prove.record import coarse
from jaxgrad.parity.prove.record.jax_side import lifting
from jaxgrad.parity.prove.record.jax_side.program import CUSTOM, JaxProgram, Key, Spot
from jaxgrad.parity.prove.record.noise import sampled


Compute = Callable[[Any, Path, list[Any]], list[Any]]


def _with_traced_integers(program: JaxProgram, leaves: Sequence[Any]) -> list[Any]:
    """Return leaves whose integers have the dtypes that the program was traced with."""
    pairs = zip(leaves, program.jaxpr.in_avals, strict=True)
    return [lifting.as_traced(jnp.asarray(x), aval, jnp.integer) for x, aval in pairs]


class Watched(NamedTuple):
    """The outputs of a run, and the records of its intermediate values."""

    outputs: list[Any]
    prints: dict[Key, Any]  # fingerprints, or values where `show` returned them


def run_watched(
    program: JaxProgram,
    leaves: Sequence[Any],
    *,
    slots: Mapping[Key, Any] | None = None,
    scales: Mapping[Key, Any] | None = None,
    cotangent_scales: Mapping[Key, Any] | None = None,
    noise: Mapping[Path, Any] | None = None,
    rounds: bool = False,
    pins: bool = False,
    compute: Compute | None = None,
    read: Callable[[Key], bool] = lambda _: False,
    show: Callable[[Key, Any], Any] = lambda _, x: fingerprint(x),
    discrete: bool = False,
) -> Watched:
    """Run the program on other leaves, and record or change values inside it.

    Args:
        program: Traced program.
        leaves: Leaves of params, then of inputs.
        slots: Zeros from `slot` for some values; the gradient with respect to a slot is the
            value's total cotangent.
        scales: Factors that multiply some values; inside a scan, one for each iteration.
        cotangent_scales: Factors that multiply only the cotangents of some values.
        noise: Standard random numbers for some calls of samplers; inside a scan, one array for
            each iteration.
        rounds: Whether to round the results of every equation to one bit less.
        pins: Whether to pin the operands of maxima, as their derivative needs.
        compute: Function from an equation, its path and its operands to its outputs, in place of
            the equation's own.
        read: Function that selects the values to record.
        show: Function from a key and a value to the record that is stored for it.
        discrete: Whether to record integers and booleans, in place of floating numbers.
    """
    changes: dict[Path, dict[str, dict[int, Any]]] = {}
    for name, tree in (("slot", slots), ("scale", scales), ("cotangent", cotangent_scales)):
        for (path, output), x in (tree or {}).items():
            changes.setdefault(path, {}).setdefault(name, {})[output] = x

    for path, x in (noise or {}).items():
        changes.setdefault(path, {})["noise"] = {0: x}

    numbers = program.numbers
    kinds = (jnp.integer, jnp.bool_) if discrete else (jnp.inexact,)

    def after(eqn: Any, path: Path, outs: list[Any], slot: Any) -> Any:
        del eqn
        outs = [_coarse(x) for x in outs] if rounds else list(outs)
        slot = slot or {}
        for k, scale in slot.get("scale", {}).items():
            outs[k] = outs[k] * scale
        for k, scale in slot.get("cotangent", {}).items():
            outs[k] = scale_cotangent(outs[k], scale)
        for k, x in slot.get("slot", {}).items():
            outs[k] = tap(outs[k], x)
        records = {}
        # Equations of a custom rule's derivative are not among the program's equations.
        if path in program.equations and path not in program.closed:
            for k, x in enumerate(outs):
                if any(jnp.issubdtype(x.dtype, kind) for kind in kinds) and read((path, k)):
                    records[k] = show((path, k), x)
        return outs, records or None

    def rule(eqn: Any, path: Path, ins: list[Any], slot: Any) -> Any:
        ins = maxima.operands(eqn, ins) if pins else ins
        if slot and "noise" in slot:
            outs = [sampled(eqn.params["name"], ins, jnp.asarray(slot["noise"][0]))]
        else:
            outs = compute(eqn, path, ins) if compute else lifting.equation(eqn, ins, numbers)
        return after(eqn, path, outs, slot)

    outs, reads = evaluate(
        lifting.constants(program.jaxpr, program.numbers, program.tables),
        _with_traced_integers(program, leaves),
        rule,
        slots=changes,
        enters=lambda path: path not in (noise or {}) and _enters(program, path),
        after=after,
        inline=True,
        literal=lambda x: lifting.wide(x, numbers),
    )
    prints = {(path, k): x for path, records in reads.items() for k, x in records.items()}
    # An output that is a constant without dimensions is a number of Python's.
    return Watched([x if isinstance(x, jax.Array) else jnp.asarray(x) for x in outs], prints)


def _coarse(x: Any) -> Any:
    """Round float64 numbers, and their cotangents, to one bit less."""
    if x.dtype == jnp.complex128:
        return lax.complex(_coarse(lax.real(x)), _coarse(lax.imag(x)))
    if x.dtype != jnp.float64:
        return x
    near = lax.reduce_precision(x, coarse.EXPONENT, coarse.MANTISSA)
    return jnp.where(jnp.isinf(near), x, near)  # the largest number is not infinite


@jax.custom_vjp
def scale_cotangent(x: jax.Array, scale: jax.Array) -> jax.Array:
    del scale
    return x


scale_cotangent.defvjp(
    lambda x, scale: (x, scale), lambda scale, g: (g * scale.astype(g.dtype), jnp.zeros_like(scale))
)


def slot(program: JaxProgram, key: Key) -> np.ndarray:
    """Return zeros shaped like a value, with a leading axis for each enclosing scan."""
    aval = abstract(program.equations[key[0]].outvars[key[1]])
    dtype = np.complex128 if jnp.issubdtype(aval.dtype, jnp.complexfloating) else np.float64
    return np.zeros((*program.lengths[key[0]], *aval.shape), dtype)


def spots(prints: Mapping[Key, Any]) -> tuple[list[Spot], np.ndarray]:
    """List all values and fingerprints in program order, one for each iteration of a scan."""
    listed: list[Spot] = []
    rows: list[np.ndarray] = []
    for path, output in sorted(prints, key=order):
        x = np.asarray(prints[path, output])
        for iteration in np.ndindex(x.shape[:-1]):
            listed.append(Spot(path, output, iteration))
            rows.append(x[iteration])
    return listed, np.stack(rows) if rows else np.zeros((0, SIZE))


def order(key: Key) -> tuple:
    """Return a key that sorts values in program order."""
    path, output = key
    # Equations nested in an equation run before its own outputs exist.
    return (*path, float("inf")), output


def _enters(program: JaxProgram, path: Path) -> bool:
    """Whether to evaluate an equation's body step by step instead of as a whole.

    A custom derivative rule is entered only to lift casts in it, because entering drops the rule.
    """
    eqn = program.equations.get(path)
    if eqn is None or eqn.primitive.name not in CUSTOM:
        return True  # None: the equation belongs to the derivative of a custom rule
    return any(lifting.is_low(v) for place in walk(inner(eqn)[0]) for v in place.eqn.outvars)

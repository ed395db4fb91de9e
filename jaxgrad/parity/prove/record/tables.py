"""Constant tables that one framework holds in float32 and the other one computes exactly.

A buffer with rotary frequencies that torch made in float32 differs from a table that the port
computes by 1e-8. It is no mistake, and no allowance for it has to be made: both frameworks are
given the same numbers, and everything that follows is compared as precisely as without a table.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax.extend import core as jex_core

from jaxgrad._core import compat
from jaxgrad._core.jaxpr import bodies, evaluate, is_inexact
from jaxgrad.parity.compiling import QUICK
from jaxgrad.parity.prove.align.fingerprint import print_distance
from jaxgrad.parity.prove.record.jax_side import lifting
from jaxgrad.parity.prove.record.jax_side.port import is_rounded
from jaxgrad.parity.prove.record.jax_side.program import JaxProgram
from jaxgrad.parity.prove.record.torch_side.values import TorchRun
from jaxgrad.parity.prove.text import counted


_NEAR = 4 * float(np.finfo(np.float32).eps)  # relative to a table's largest number, in row 0
_LARGEST = 16_000_000  # numbers; larger constants are not computed twice


def for_torch(
    tables: Mapping[str, np.ndarray], program: JaxProgram
) -> dict[str, tuple[np.ndarray, float]]:
    """Return the port's numbers for torch's float32 tables, and how far they were off.

    Args:
        tables: torch's constants that hold float32 numbers, by name.
        program: The port.
    """
    constants = constants_of(program) if tables else []
    near = {name: nearest(constants, table) for name, table in tables.items()}
    return {name: best for name, best in near.items() if best is not None}


def for_jax(
    program: JaxProgram, run: TorchRun, other: TorchRun
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return pairs of a float32 constant of the port and torch's exact numbers for it.

    Args:
        program: The port.
        run: torch's run, with values.
        other: torch's run on other weights and inputs, in which constants are equal.
    """
    exact = []
    if len(run.values) == len(other.values):
        for x, y in zip(run.values, other.values, strict=True):
            if x.data is not None and not print_distance(x.print, y.print):
                exact.append(x.data)
    found = []
    for x in compat.open_jaxpr(program.jaxpr)[1]:
        table = _wide(x) if is_inexact(x) else None
        best = nearest(exact, table) if table is not None and is_rounded(table) else None
        if table is not None and best is not None and best[1]:
            found.append((table, best[0]))
    return found


def notes(
    replaced: Mapping[str, tuple[np.ndarray, float]], program: JaxProgram, called: str = "the port"
) -> Iterator[str]:
    """Yield a note for each framework that holds float32 tables."""
    off = {name: x for name, x in replaced.items() if x[1]}
    if off:
        name, (table, most) = max(off.items(), key=lambda item: item[1][1])
        others = f" and {counted(len(off) - 1, 'more table')}" if len(off) > 1 else ""
        yield (
            f"torch holds {name}{others} in {_dtype(table)}, off by up to {most:.1g} from "
            f"{called}'s numbers; torch was given {called}'s numbers"
        )
    for old, new in program.tables:
        finite = np.isfinite(old)
        most = float(np.max(np.abs(old - new), where=finite, initial=0.0))
        yield (
            f"{called} holds a table of shape {list(old.shape)} in {_dtype(old)}, off by up to "
            f"{most:.1g} from torch's numbers; {called} was given torch's numbers"
        )


def nearest(constants: Sequence[np.ndarray], table: np.ndarray) -> tuple[np.ndarray, float] | None:
    """Return the constant that is closest to a table, in its layout, with their distance.

    A complex table may also be given as its real and its imaginary part, and a real table may be
    a part of a complex constant.

    Returns:
        The constant and the distance, or None if no constant is close.
    """
    near = (near for x in constants if (near := fitted(x, table)) is not None)
    best = min(near, key=lambda pair: pair[1], default=None)
    if best is not None:
        return best
    if not np.iscomplexobj(table):
        parts = [part for x in constants if np.iscomplexobj(x) for part in (np.real(x), np.imag(x))]
        return nearest(parts, table) if parts else None
    real, imaginary = (
        nearest([x for x in constants if np.isrealobj(x)], part)
        for part in (np.real(table), np.imag(table))
    )
    if real is None or imaginary is None:
        return None
    return real[0] + 1j * imaginary[0], max(real[1], imaginary[1])


def fitted(x: np.ndarray, table: np.ndarray) -> tuple[np.ndarray, float] | None:
    """Return `x` in the layout of a table and their distance, or None if they are not close.

    If `x` has fewer rows than the table, the other rows stay.
    """
    if np.iscomplexobj(x) != np.iscomplexobj(table):
        return None
    finite = np.isfinite(table)
    scale = float(np.max(np.abs(table), where=finite, initial=0.0))
    rows = next((n for n in table.shape if n != 1), 1)
    row = np.arange(table.size).reshape(table.shape) // max(table.size // max(rows, 1), 1)
    for y in _layouts(_wide(x), table):
        if np.array_equal(np.isfinite(y), finite):
            off = np.where(finite, np.abs(np.where(finite, y, 0) - np.where(finite, table, 0)), 0)
            # The sine of a rounded angle is off by more for a later position.
            if np.all(off <= _NEAR * scale * (1 + row)):
                return y, float(np.max(off, initial=0.0))
    return None


def _layouts(x: np.ndarray, table: np.ndarray) -> Iterator[np.ndarray]:
    shape = [n for n in table.shape if n != 1]
    x = x.reshape([n for n in x.shape if n != 1])
    if x.size < 2 or x.ndim != len(shape):
        return
    for axes in itertools.permutations(range(x.ndim)) if x.ndim < 4 else [range(x.ndim)]:
        y = x.transpose(tuple(axes))
        if list(y.shape) == shape:
            yield y.reshape(table.shape)
        elif list(y.shape[1:]) == shape[1:] and len(y) < shape[0]:
            whole = table.reshape(shape).copy()
            whole[: len(y)] = y
            yield whole.reshape(table.shape)


def constants_of(program: JaxProgram) -> list[np.ndarray]:
    """Return the floating arrays in a program that depend on no parameter and no input."""
    opened, consts = compat.open_jaxpr(lifting.constants(program.jaxpr, program.numbers))
    large = [n for n, x in enumerate(consts) if np.size(x) > 1]

    def tables(arrays: Sequence[Any]) -> list[Any]:
        given = dict(zip(large, arrays, strict=True))
        known = {v: given.get(n, consts[n]) for n, v in enumerate(opened.constvars)}
        return list(_constants(opened, known, program.numbers))

    arrays = [consts[n] for n in large]
    try:
        found = jax.jit(tables, compiler_options=QUICK)(arrays)  # compiled once, not one by one
    except Exception:  # such as a callback that raises
        found = tables(arrays)
    return [np.asarray(x) for x in found]


def _constants(jaxpr: Any, known: dict[Any, Any], numbers: Sequence[float]) -> Iterator[Any]:
    yield from (x for x in known.values() if _is_table(x))
    for eqn in jaxpr.eqns:
        ins = [v.val if isinstance(v, jex_core.Literal) else known.get(v) for v in eqn.invars]
        if all(x is not None for x in ins):
            if sum(math.prod(v.aval.shape) for v in eqn.outvars) <= _LARGEST:
                outs = _evaluated(eqn, ins, numbers)
                known.update(zip(eqn.outvars, outs, strict=False))
                yield from (x for x in outs if _is_table(x))
        elif len(inside := bodies(eqn)) == 1 and not inside[0].carry:
            body, consts = compat.open_jaxpr(inside[0].jaxpr)
            pairs = zip(body.invars, inside[0].feed(ins), strict=True)
            inner = {v: x for v, x in pairs if x is not None and not _is_table(x)}
            inner |= dict(zip(body.constvars, consts, strict=True))
            yield from _constants(body, inner, numbers)


def _evaluated(eqn: Any, ins: list[Any], numbers: Sequence[float]) -> list[Any]:
    """Evaluate one equation in float64, or return nothing if that raises."""

    def rule(eqn: Any, path: Any, ins: list[Any], slot: Any) -> Any:
        del path, slot
        return lifting.equation(eqn, ins, numbers), None

    try:
        inside = bodies(eqn)
        if not inside:
            return lifting.equation(eqn, ins, numbers)
        if len(inside) > 1 or inside[0].carry:  # a branch or a loop
            return []
        closed = lifting.constants(inside[0].jaxpr, numbers)
        return evaluate(closed, inside[0].feed(ins), rule, inline=True)[0]
    except Exception:  # a random key, a callback
        return []


def _is_table(x: Any) -> bool:
    return is_inexact(x) and np.size(x) > 1


def _dtype(x: np.ndarray) -> str:
    return "complex64" if np.iscomplexobj(x) else "float32"


def _wide(x: Any) -> np.ndarray:
    """Return an array in float64 or complex128."""
    return np.asarray(x, np.complex128 if np.iscomplexobj(x) else np.float64)

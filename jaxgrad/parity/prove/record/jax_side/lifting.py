"""Lift a JAX program to float64: casts to lower precision are ignored."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core as jex_core

from jaxgrad._core import compat
from jaxgrad._core.jaxpr import Path, evaluate, plain
from jaxgrad.parity.prove.record.jax_side.rounded import meant


_WIDE = {
    **{np.dtype(d): np.dtype(np.float64) for d in (jnp.float32, jnp.float16, jnp.bfloat16)},
    np.dtype(np.complex64): np.dtype(np.complex128),
}
# Primitives that read the bits of a number, or call code that was compiled for one dtype.
_KEEP_DTYPE = frozenset({
    "bitcast_convert_type", "nextafter", "ldexp", "frexp", "ffi_call", "pallas_call",
    "pure_callback", "io_callback",
})  # fmt: skip


def lifted(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Return a version of `fun`, a function of trees of arrays, that computes in float64."""

    def rule(eqn: Any, path: Path, ins: list[Any], slot: Any) -> Any:
        del path, slot
        return equation(eqn, ins), None

    def lifted_fun(*args: Any) -> Any:
        jaxpr, shapes = _traced(fun, args)
        leaves = [jnp.asarray(x) for x in jax.tree.leaves(args)]
        outs, _ = evaluate(constants(jaxpr), leaves, rule, literal=wide)
        return jax.tree.unflatten(jax.tree.structure(shapes), outs)

    return lifted_fun


def _traced(fun: Callable[..., Any], args: Any) -> Any:
    """Trace `fun`, in float32 if it rejects float64, and return its jaxpr and output shapes."""
    trace = jax.make_jaxpr(fun, return_shape=True)
    try:
        return trace(*args)
    except Exception as error:
        with jax.enable_x64(False):
            try:
                return trace(*jax.tree.map(_narrow, args))
            except Exception:
                raise error from None


def _narrow(x: Any) -> jax.ShapeDtypeStruct:
    wide = {np.dtype(np.float64): np.float32, np.dtype(np.int64): np.int32}
    return jax.ShapeDtypeStruct(jnp.shape(x), wide.get(x.dtype, x.dtype))


def equation(eqn: Any, ins: list[Any], numbers: Collection[float] = ()) -> list[Any]:
    """Evaluate one equation in float64; replace constants by the `numbers` that round to them."""
    floats = [x for x in ins if hasattr(x, "dtype") and jnp.issubdtype(x.dtype, jnp.inexact)]
    if not any(is_low(v) for v in (*eqn.invars, *eqn.outvars)):
        return plain(eqn, (), ins, None)[0]
    if eqn.primitive.name == "reduce_precision":
        return list(ins)
    if eqn.primitive.name in _KEEP_DTYPE:
        traced = [as_traced(x, v.aval) for x, v in zip(ins, eqn.invars, strict=True)]
        return [wide(x, numbers) for x in plain(eqn, (), traced, None)[0]]
    if eqn.primitive.name.startswith("random_") or not (floats or is_low(eqn.outvars[0])):
        return plain(eqn, (), ins, None)[0]
    params = {
        key: _WIDE[value]
        for key, value in eqn.params.items()
        if isinstance(value, np.dtype) and value in _WIDE
    }
    if eqn.params.get("update_jaxpr") is not None:  # a scatter that adds, multiplies, ...
        params |= _combination(eqn.params["update_jaxpr"], eqn.params["update_consts"])
    return compat.bind(eqn, [wide(x, numbers) for x in ins], **params)


def _combination(jaxpr: Any, consts: Any) -> dict[str, Any]:
    """Return the parameters of a scatter that combines an element and its update in float64."""
    combine = jex_core.jaxpr_as_fun(jex_core.ClosedJaxpr(jaxpr, list(consts)))
    closed = jax.make_jaxpr(lifted(combine))(np.float64(0), np.float64(0))
    opened, consts = compat.open_jaxpr(closed)
    return {"update_jaxpr": opened, "update_consts": tuple(consts)}


def as_traced(x: Any, aval: Any, kind: Any = jnp.floating) -> Any:
    """Convert a value to the dtype in which it was traced, if that dtype is of this kind."""
    dtype = getattr(aval, "dtype", None)
    return jnp.asarray(x, dtype) if dtype is not None and jnp.issubdtype(dtype, kind) else x


def constants(
    jaxpr: Any,
    numbers: Collection[float] = (),
    tables: Collection[tuple[np.ndarray, np.ndarray]] = (),
) -> Any:
    """Return the jaxpr with its constants converted to float64.

    Args:
        jaxpr: A closed jaxpr.
        numbers: Numbers that may have been rounded to a constant.
        tables: Pairs of an array constant, as float64, and the array that replaces it. A constant
            may be its first rows.
    """
    opened, consts = compat.open_jaxpr(jaxpr)
    values = [wide(x, numbers) for x in consts]
    for old, new in tables:
        values = [new[: len(x)] if _begins(old, x) else x for x in values]
    return jex_core.ClosedJaxpr(opened, values)


def _begins(table: np.ndarray, x: Any) -> bool:
    """Whether a constant is a table, or its first rows."""
    if compat.is_traced(x) or np.ndim(x) == 0 or np.shape(x)[1:] != table.shape[1:]:
        return False
    return 1 < len(x) <= len(table) and np.array_equal(np.asarray(x), table[: len(x)])


def is_low(atom: Any) -> bool:
    """Whether a variable of a jaxpr has a floating or complex dtype that is lifted."""
    return is_rounded(atom.aval)


def is_rounded(x: Any) -> bool:
    """Whether an array has a floating dtype below float64, or a complex one below complex128."""
    return getattr(x, "dtype", None) in _WIDE


def wide(x: Any, numbers: Collection[float] = ()) -> Any:
    """Convert a value to float64, and a scalar constant to the number it was rounded from."""
    if not is_rounded(x):
        return x
    if compat.is_traced(x):
        return x.astype(_WIDE[x.dtype])
    x = np.asarray(x)
    number = meant(x, numbers) if x.ndim == 0 and np.isrealobj(x) else None
    return x.astype(_WIDE[x.dtype]) if number is None else np.float64(number)

"""Run one equation in dtypes other than those that it was traced with."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero
from jax.extend import core as jex_core

from jaxgrad._core import compat
from jaxgrad._core import jaxpr as _jaxpr


def product(eqn: jex_core.JaxprEqn, low: Any, *operands: Any) -> Any:
    """Multiply low-precision operands into a float32 result; tangents stay in low precision."""

    def run(dtype: Any, *operands: Any) -> Any:
        return compat.bind(eqn, operands, **accumulator(eqn, dtype))[0]

    @jax.custom_jvp
    def wide(a: Any, b: Any) -> Any:
        return run(jnp.dtype(jnp.float32), a, b)

    @functools.partial(wide.defjvp, symbolic_zeros=True)
    def _(primals: Any, tangents: Any) -> Any:
        (a, b), (da, db) = primals, tangents
        terms = [run(low, da, b)] if not isinstance(da, SymbolicZero) else []
        terms += [run(low, a, db)] if not isinstance(db, SymbolicZero) else []
        return wide(a, b), functools.reduce(jnp.add, terms).astype(jnp.float32)

    return wide(*operands)


def accumulator(eqn: jex_core.JaxprEqn, dtype: Any) -> dict[str, Any]:
    """Return the parameter that makes `dtype` the result's dtype, if the primitive has one."""
    return {k: dtype for k in ("preferred_element_type",) if k in eqn.params}


def as_traced(eqn: jex_core.JaxprEqn, args: list[Any]) -> list[Any]:
    """Run an equation on floating point arguments cast to the dtypes it was traced with."""
    pairs = zip(args, eqn.invars, strict=True)
    ins = [to(x, _jaxpr.abstract(v).dtype) if is_float(v) else x for x, v in pairs]
    return compat.bind(eqn, ins)


def in_float32(eqn: jex_core.JaxprEqn, args: list[Any]) -> list[Any]:
    """Run an equation in float32, or in its traced dtypes if it has jaxprs among its params."""
    if compat.contains_jaxpr(eqn):
        return as_traced(eqn, args)
    ins = each(eqn.invars, args, jnp.float32)
    return compat.bind(eqn, ins, **accumulator(eqn, jnp.float32))


def each(atoms: list[Any], values: list[Any], dtype: Any) -> list[Any]:
    """Cast the values of floating point variables to `dtype`."""
    pairs = zip(values, atoms, strict=True)
    return [to(x, dtype) if is_float(v) else x for x, v in pairs]


def is_float(atom: Any) -> bool:
    return _jaxpr.is_inexact(atom)


def is_eligible(dtype: Any) -> bool:
    """Return whether torch's autocast casts values of this dtype."""
    return dtype in (jnp.float32, jnp.bfloat16, jnp.float16)


def to(x: Any, dtype: Any) -> Any:
    x = jnp.asarray(x)
    return x if x.dtype == dtype else x.astype(dtype)

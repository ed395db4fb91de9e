"""Reject dtypes that torch has no kernel for, and arguments of different dtypes."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from jaxgrad.functional._core.arguments import Number, is_array, result_type


class DtypeClassError(TypeError, RuntimeError):
    """A complex input where torch needs a real one, or the reverse.

    torch raises a RuntimeError up to 2.13, and a TypeError in newer versions.
    """


DTYPE_CLASSES = {"bool": jnp.bool_, "integer": jnp.integer, "complex": jnp.complexfloating}


def reject(op: str, classes: str, *args: Any) -> None:
    """Raise if the arguments' result type belongs to one of the given dtype classes.

    Args:
        op: The operator's name in the error.
        classes: Some of `"bool"`, `"integer"` and `"complex"`, separated by spaces.
        args: Arrays and numbers; other values are ignored.

    Raises:
        NotImplementedError: The result type belongs to one of `classes`.
    """
    if not any(is_array(x) for x in args):
        return
    dtype = result_type(*(x for x in args if is_array(x) or isinstance(x, Number)))
    if any(jnp.issubdtype(dtype, DTYPE_CLASSES[name]) for name in classes.split()):
        raise NotImplementedError(f"{op} is not implemented for {dtype}; convert to real floats")


def reject_each(op: str, classes: str, *args: Any) -> None:
    """Call `reject` on each argument by itself: torch rejects booleans even alongside floats."""
    for x in args:
        reject(op, classes, x)


def require_same_dtype(op: str, **args: Any) -> None:
    """Raise RuntimeError if the arrays among the named arguments differ in dtype."""
    # While 64-bit types are off, JAX converts NumPy's 64-bit arrays to 32 bits.
    dtypes = {n: jax.dtypes.canonicalize_dtype(x.dtype) for n, x in args.items() if is_array(x)}
    if len(set(dtypes.values())) > 1:
        listing = ", ".join(f"{name} of {dtype}" for name, dtype in dtypes.items())
        raise RuntimeError(
            f"{op}: expected {' and '.join(dtypes)} to have the same dtype, but found {listing}"
        )

"""What torch has no kernel for: kinds of numbers, and arguments of different dtypes."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from jaxgrad.functional._core.arguments import Number, is_array, result_type


KINDS = {"bool": jnp.bool_, "integer": jnp.integer, "complex": jnp.complexfloating}


def reject(op: str, kinds: str, *args: Any) -> None:
    """Raise where the result type of arrays is of such a kind.

    Args:
        op: What has no kernel for it.
        kinds: Of `"bool"`, `"integer"` and `"complex"`, separated by spaces.
        args: Arrays and numbers; what is neither is left out.

    Raises:
        NotImplementedError: It is.
    """
    if not any(is_array(x) for x in args):
        return
    dtype = result_type(*(x for x in args if is_array(x) or isinstance(x, Number)))
    if any(jnp.issubdtype(dtype, KINDS[kind]) for kind in kinds.split()):
        raise NotImplementedError(f"{op} is not implemented for {dtype}; convert to real floats")


def reject_each(op: str, kinds: str, *args: Any) -> None:
    """`refuse` of each alone: torch does not subtract booleans, also not from floats.

    Raises:
        NotImplementedError: One is of such a kind.
    """
    for x in args:
        reject(op, kinds, x)


def require_same_dtype(op: str, **args: Any) -> None:
    """Raise where arrays, by name, are not of one dtype; what is no array is left out.

    Raises:
        RuntimeError: They are not.
    """
    # Without 64 bits JAX reads an array of numpy in 32.
    dtypes = {n: jax.dtypes.canonicalize_dtype(x.dtype) for n, x in args.items() if is_array(x)}
    if len(set(dtypes.values())) > 1:
        found = ", ".join(f"{name} of {dtype}" for name, dtype in dtypes.items())
        raise RuntimeError(
            f"{op}: expected {' and '.join(dtypes)} to have the same dtype, but found {found}"
        )

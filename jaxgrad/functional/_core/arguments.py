"""Convert and check an operator's arguments as torch does: dtypes, dims, reductions, errors."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgrad._core import refusals
from jaxgrad._core.compat import is_traced
from jaxgrad._core.value_checks import check_under_checkify


Number = bool | int | float | complex
Dim = int | Sequence[int] | None
DEFAULT = jnp.float32  # torch's default dtype, even where JAX has 64-bit types enabled
HALF = (jnp.float16, jnp.bfloat16)


def is_array(x: Any) -> bool:
    """Return whether torch would treat `x` as a tensor."""
    return isinstance(x, jax.Array | np.ndarray | np.generic)


def array(x: Any, name: str = "input") -> jax.Array:
    """Return the argument as a `jax.Array`; a number, a list or None raises a TypeError."""
    if not is_array(x):
        refusals.torch_values(f"argument '{name}'", x)
        remedy = f"; wrap it as jnp.asarray({name}) if that is intended"
        raise TypeError(
            f"argument '{name}' must be an array, not {type(x).__name__}"
            f"{'' if x is None or isinstance(x, str) else remedy}"
        )
    return jnp.asarray(x)


def require_floating(x: Any, op: str, name: str = "input", *, complex: bool = False) -> jax.Array:
    """Return `x` as an array for a kernel that takes only floats, or floats and `complex` numbers.

    Raises:
        TypeError: The argument is not an array.
        NotImplementedError: The dtype is integer, boolean, or complex without `complex`.
    """
    x = array(x, name)
    if not is_floating(x) or (is_complex(x) and not complex):
        raise NotImplementedError(
            f"{op} is not implemented for {x.dtype}; convert {name} to a float"
        )
    return x


def is_floating(x: Any) -> bool:
    """Return whether the array's dtype is floating point, real or complex."""
    return jnp.issubdtype(x.dtype, jnp.inexact)


def is_complex(x: Any) -> bool:
    """Return whether the array's dtype is complex."""
    return jnp.issubdtype(x.dtype, jnp.complexfloating)


def result_type(*args: Any) -> Any:
    """Return torch's result type: arrays outrank 0-d arrays, which outrank numbers.

    A weakly typed 0-d array counts as a number, because `jit` turns numbers into such arrays.
    """
    groups: list[list[Any]] = [[], [], []]
    for x in args:
        if not is_array(x):
            dtype: Any = (
                jnp.bool_ if isinstance(x, bool)
                else jnp.int64 if isinstance(x, int)
                else DEFAULT if isinstance(x, float)
                else jnp.complex64
            )  # fmt: skip
            groups[2].append(dtype)
        elif getattr(x, "weak_type", False) and x.ndim == 0:
            groups[2].append(x.dtype)
        else:
            groups[0 if x.ndim else 1].append(x.dtype)
    if groups[0] or groups[1]:
        # A number of a higher dtype class than every array gets that class's default dtype.
        number = {np.dtype("f8"): DEFAULT, np.dtype("c16"): jnp.complex64}
        groups[2] = [number.get(np.dtype(dtype), dtype) for dtype in groups[2]]
    dtypes = [functools.reduce(jnp.promote_types, group) for group in groups if group]
    return np.dtype(functools.reduce(_before, dtypes))


def _before(higher: Any, lower: Any) -> Any:
    """Combine the dtypes of two ranks: `lower` matters only if its dtype class is higher."""
    classes = ["b", "ui", "f", "c"]

    def rank(dtype: Any) -> int:
        dtype = np.dtype(dtype)
        if jnp.issubdtype(dtype, jnp.floating):
            return 2  # numpy's kind letter for bfloat16 is V, not f
        return next(i for i, letters in enumerate(classes) if dtype.kind in letters)

    if rank(lower) <= rank(higher):
        return higher
    if rank(higher) == 2:
        return jnp.promote_types(higher, jnp.complex64)
    return jnp.promote_types(higher, lower)


def promoted(*args: Any) -> list[jax.Array]:
    """Convert the arguments to arrays of their result type, without broadcasting them."""
    dtype = result_type(*args)
    # A Python integer that is out of the dtype's range wraps around.
    args = tuple(np.asarray(x).astype(dtype) if type(x) is int else x for x in args)
    return [jnp.asarray(x, dtype) for x in args]


def together(*args: Any) -> list[jax.Array]:
    """Promote arguments without broadcasting them; incompatible shapes raise a RuntimeError."""
    with broadcasting(*args):
        jnp.broadcast_shapes(*(jnp.shape(x) for x in args))
    return promoted(*args)


@contextlib.contextmanager
def broadcasting(*args: Any) -> Iterator[None]:
    """Turn JAX's errors for shapes that do not broadcast into torch's RuntimeError."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if not any(words in str(error) for words in _NOT_BROADCAST):
            raise
        shapes = " and ".join(str(list(jnp.shape(x))) for x in args)
        raise RuntimeError(
            f"the shapes {shapes} do not broadcast: from the last dim on, sizes must match or be 1"
        ) from error


_NOT_BROADCAST = (
    "ncompatible shapes for broadcasting",
    "ncompatible types for broadcasting",
    "Cannot broadcast to shape",
)


def floating(x: jax.Array) -> jax.Array:
    """Convert integers and booleans to the default dtype; keep floats and complex numbers."""
    return x if is_floating(x) else x.astype(DEFAULT)


def in_opmath(fun: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Promote the arguments, compute in torch's internal precision, and round the result once.

    Integers are converted to the default dtype. Functions of float16 and bfloat16 arrays are
    computed in float32, forward and backward, and rounded at the end.
    """
    dtype = result_type(*args)
    if not jnp.issubdtype(dtype, jnp.inexact):
        dtype = np.dtype(DEFAULT)
    wide = DEFAULT if dtype in HALF else dtype
    with broadcasting(*args):
        out = fun(*(jnp.asarray(x, dtype).astype(wide) for x in args), **options)
    return out if wide == dtype else jax.tree.map(lambda y: _narrow(y, dtype), out)


def exact(fun: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Call `in_opmath` if an argument is floating; else use integers and booleans as they are."""
    has_floats = any(is_floating(x) for x in args)
    return in_opmath(fun, *args, **options) if has_floats else fun(*args, **options)


def _narrow(y: jax.Array, dtype: Any) -> jax.Array:
    return y.astype(dtype) if y.dtype == DEFAULT else y


def canonical_dim(dim: int, ndim: int) -> int:
    """Return a dim as a non-negative index, or raise IndexError; a 0-d array has dims 0 and -1."""
    size = max(ndim, 1)
    if not -size <= dim < size:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-size}, {size - 1}], "
            f"but got {dim})"
        )
    return dim % size


def canonical_dims(dim: Dim, ndim: int, *, empty_is_all: bool = True) -> tuple[int, ...]:
    """Return dims as non-negative indices for jnp's `axis=`; None selects all dims.

    The empty tuple also selects all dims, unless `empty_is_all` is false.

    Raises:
        IndexError: A dim is out of range.
        RuntimeError: A dim is given twice.
    """
    if dim is None or (empty_is_all and not isinstance(dim, int) and not tuple(dim)):
        return tuple(range(ndim))
    named = (dim,) if isinstance(dim, int) else tuple(dim)
    dims = tuple(canonical_dim(d, ndim) for d in named)
    for d in dims:
        if dims.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims {named}")
    return dims if ndim else ()


def reduce(loss: jax.Array, reduction: str) -> jax.Array:
    """Return a loss, its mean or its sum; an unknown `reduction` raises a ValueError."""
    if reduction == "mean":
        return jnp.mean(loss)
    if reduction == "sum":
        return jnp.sum(loss)
    if reduction == "none":
        return loss
    raise ValueError(f"{reduction} is not a valid value for reduction; use 'none', 'mean' or 'sum'")


def require(holds: Any, error: Exception) -> None:
    """Raise the error that torch raises for invalid values, if `holds` is false.

    Under `jit` the values are unknown, so nothing is checked unless the function is
    transformed by `checkify.checkify`, which then reports an error with the same text.
    """
    if is_traced(holds):
        check_under_checkify(holds, str(error))
    elif not holds:
        raise error

"""What every operator does with its arguments: torch's dtypes, dims, reductions and errors."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import checkify

from jaxgrad._core.compat import is_traced


Number = bool | int | float | complex
Dim = int | Sequence[int] | None
DEFAULT = jnp.float32  # torch's default dtype, also where JAX has 64 bits switched on
HALF = (jnp.float16, jnp.bfloat16)


def is_array(x: Any) -> bool:
    """Whether torch would call it a tensor."""
    return isinstance(x, jax.Array | np.ndarray | np.generic)


def array(x: Any, name: str = "input") -> jax.Array:
    """An argument that must be an array.

    Raises:
        TypeError: It is a number, a list, None.
    """
    if not is_array(x):
        raise TypeError(
            f"argument '{name}' must be an array, not {type(x).__name__}; "
            f"write jnp.asarray({name}) if it is meant"
        )
    return jnp.asarray(x)


def require_floating(x: Any, op: str, name: str = "input", *, complex: bool = False) -> jax.Array:
    """An array of what has no kernel for integers, nor for complex numbers unless `complex`.

    Raises:
        TypeError: It is no array.
        NotImplementedError: It is one of integers, booleans or complex numbers.
    """
    x = array(x, name)
    if not is_floating(x) or (is_complex(x) and not complex):
        raise NotImplementedError(
            f"{op} is not implemented for {x.dtype}; convert {name} to a float"
        )
    return x


def is_floating(x: Any) -> bool:
    """Whether it is an array of floats or complex numbers."""
    return jnp.issubdtype(x.dtype, jnp.inexact)


def is_complex(x: Any) -> bool:
    """Whether it is an array of complex numbers."""
    return jnp.issubdtype(x.dtype, jnp.complexfloating)


def result_type(*args: Any) -> Any:
    """torch's result type: arrays before 0-d arrays before Python numbers, in each category.

    A weakly typed 0-d array, which is what a number becomes under `jit`, is a number.
    """
    found: list[list[Any]] = [[], [], []]
    for x in args:
        if not is_array(x):
            dtype: Any = (
                jnp.bool_ if isinstance(x, bool)
                else jnp.int64 if isinstance(x, int)
                else DEFAULT if isinstance(x, float)
                else jnp.complex64
            )  # fmt: skip
            found[2].append(dtype)
        elif getattr(x, "weak_type", False) and x.ndim == 0:
            found[2].append(x.dtype)
        else:
            found[0 if x.ndim else 1].append(x.dtype)
    if found[0] or found[1]:
        # A number of a wider kind than every array has the default dtype of its kind.
        number = {np.dtype("f8"): DEFAULT, np.dtype("c16"): jnp.complex64}
        found[2] = [number.get(np.dtype(dtype), dtype) for dtype in found[2]]
    dtypes = [functools.reduce(jnp.promote_types, group) for group in found if group]
    return np.dtype(functools.reduce(_before, dtypes))


def _before(higher: Any, lower: Any) -> Any:
    """The dtype of two categories together: only a higher kind of number changes the first."""
    order = ["b", "ui", "f", "c"]

    def kind(dtype: Any) -> int:
        dtype = np.dtype(dtype)
        if jnp.issubdtype(dtype, jnp.floating):
            return 2  # bfloat16's own kind is V
        return next(i for i, kinds in enumerate(order) if dtype.kind in kinds)

    if kind(lower) <= kind(higher):
        return higher
    if kind(higher) == 2:
        return jnp.promote_types(higher, jnp.complex64)
    return jnp.promote_types(higher, lower)


def promoted(*args: Any) -> list[jax.Array]:
    """The arguments as arrays of their result type; not yet broadcast."""
    dtype = result_type(*args)
    # A number that an integer dtype does not hold wraps around.
    args = tuple(np.asarray(x).astype(dtype) if type(x) is int else x for x in args)
    return [jnp.asarray(x, dtype) for x in args]


def together(*args: Any) -> list[jax.Array]:
    """`promoted`, of arguments whose shapes broadcast; not yet broadcast.

    Raises:
        RuntimeError: They do not.
    """
    with broadcasting(*args):
        jnp.broadcast_shapes(*(jnp.shape(x) for x in args))
    return promoted(*args)


@contextlib.contextmanager
def broadcasting(*args: Any) -> Iterator[None]:
    """Raise as torch does where shapes do not broadcast: JAX has three words and two types for it.

    Raises:
        RuntimeError: They do not.
    """
    try:
        yield
    except (TypeError, ValueError) as error:
        if not any(words in str(error) for words in _NOT_BROADCAST):
            raise
        shapes = " and ".join(str(list(jnp.shape(x))) for x in args)
        raise RuntimeError(
            f"the shapes {shapes} do not broadcast: from the last dim on, sizes must be equal or 1"
        ) from error


_NOT_BROADCAST = (
    "ncompatible shapes for broadcasting",
    "ncompatible types for broadcasting",
    "Cannot broadcast to shape",
)


def floating(x: jax.Array) -> jax.Array:
    """Integers and booleans in the default dtype, as a function of real numbers takes them."""
    return x if is_floating(x) else x.astype(DEFAULT)


def in_opmath(fun: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Call a function of real numbers as torch's kernels do: promote, widen, compute, round once.

    Integers become the default dtype; float16 and bfloat16 are computed in float32, forward and
    backward, and rounded at the end.
    """
    dtype = result_type(*args)
    if not jnp.issubdtype(dtype, jnp.inexact):
        dtype = np.dtype(DEFAULT)
    wide = DEFAULT if dtype in HALF else dtype
    with broadcasting(*args):
        out = fun(*(jnp.asarray(x, dtype).astype(wide) for x in args), **options)
    return out if wide == dtype else jax.tree.map(lambda y: _narrow(y, dtype), out)


def exact(fun: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """`in_opmath` where an array is of floats; integers and booleans stay what they are."""
    require_floating = any(is_floating(x) for x in args)
    return in_opmath(fun, *args, **options) if require_floating else fun(*args, **options)


def _narrow(y: jax.Array, dtype: Any) -> jax.Array:
    return y.astype(dtype) if y.dtype == DEFAULT else y


def canonical_dim(dim: int, ndim: int) -> int:
    """A dim counted from the front; a 0-d array has the dims 0 and -1.

    Raises:
        IndexError: There is no such dim.
    """
    size = max(ndim, 1)
    if not -size <= dim < size:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-size}, {size - 1}], "
            f"but got {dim})"
        )
    return dim % size


def canonical_dims(dim: Dim, ndim: int, *, empty_is_all: bool = True) -> tuple[int, ...]:
    """Dims counted from the front, for jnp's `axis=`; None, and () where torch has it so, is all.

    Raises:
        IndexError: There is no such dim.
        RuntimeError: A dim is named twice.
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
    """The mean, the sum, or each element of a loss.

    Raises:
        ValueError: The reduction is none of the three.
    """
    if reduction == "mean":
        return jnp.mean(loss)
    if reduction == "sum":
        return jnp.sum(loss)
    if reduction == "none":
        return loss
    raise ValueError(f"{reduction} is not a valid value for reduction; use 'none', 'mean' or 'sum'")


def require(holds: Any, error: Exception) -> None:
    """Raise what torch raises for values that it does not take.

    Eagerly, where the values are there. Under `jit` they are not, and nothing is checked unless
    the function is under `checkify.checkify`, whose error then has the same text.
    """
    if is_traced(holds):
        checkify.debug_check(holds, str(error).replace("{", "{{").replace("}", "}}"))
    elif not holds:
        raise error

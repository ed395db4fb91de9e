"""Count the values saved for the backward pass, and save them in a different form."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax

from jaxgrad._core import compat, refusals
from jaxgrad._core import jaxpr as _jaxpr
from jaxgrad._core.attach import hoist
from jaxgrad._core.packed_residuals import with_packed_residuals
from jaxgrad._core.typing import PyTree


class SavedValue(NamedTuple):
    """A value that the forward pass saves for the backward pass."""

    kind: str  # the primitive that computed it: "dot_general", "exp"
    scope: str  # the enclosing `jax.named_scope`s: "encoder/layer_0", or "" if there are none
    dtype: str
    shape: tuple[int, ...]
    nbytes: int
    memory: str = "device"  # or "host"


class SavedBytes(int):
    """A number of bytes with its breakdown by value; notebooks display it as a table."""

    values: tuple[SavedValue, ...]

    def __new__(cls, values: tuple[SavedValue, ...]) -> SavedBytes:
        total = super().__new__(cls, sum(value.nbytes for value in values))
        total.values = values
        return total

    def __getnewargs__(self) -> Any:
        return (self.values,)  # lets copies and unpickled objects keep the breakdown

    @property
    def by_kind(self) -> dict[str, int]:
        """Bytes by the primitive that computed the values, largest first."""
        return _summed((value.kind, value.nbytes) for value in self.values)

    @property
    def by_scope(self) -> dict[str, int]:
        """Bytes by named scope, largest first."""
        return _summed((value.scope, value.nbytes) for value in self.values)

    @property
    def table(self) -> str:
        """A Markdown table of bytes by scope and primitive, largest first."""
        kept = _summed(((value.scope, value.kind), value.nbytes) for value in self.values)
        rows = [(*names, f"{nbytes:,}") for names, nbytes in kept.items()]
        lines = [("scope", "made by", "bytes"), ("---", "---", "--:"), *rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in [*lines, ("", "", f"{self:,}")])

    def _repr_markdown_(self) -> str:
        return self.table


def saved_bytes(fun: Callable[..., Any], *args: PyTree) -> SavedBytes:
    """Count the bytes that the forward pass of `fun` saves for its backward pass.

    Arguments, captured values and views of them (a transposed weight) need no extra memory and do
    not count. A value saved twice counts once.

    Args:
        fun: A function of trees of floating point arrays.
        *args: Arguments to trace it with; only shapes and dtypes matter.

    Returns:
        The number of bytes, an `int` with the attributes `.by_kind` (primitive), `.by_scope`
        (`jax.named_scope`), `.values` (each saved value) and `.table`. These are the residuals of
        `jax.vjp`, which `jax.jit(lambda *args: jax.vjp(fun, *args))` returns besides the result; a
        whole step under `jax.jit` may save less.

    Raises:
        NotImplementedError: `fun` contains a primitive that runs a program jaxgrad does not know.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> f = lambda x: jnp.exp(jnp.sin(x))
        >>> x = jnp.ones(100, jnp.float32)
        >>> saved_bytes(f, x), saved_bytes(jax.checkpoint(f), x)
        (800, 0)
        >>> saved_bytes(f, x).by_kind
        {'cos': 400, 'exp': 400}

    Torch: the storage that `torch.autograd.graph.saved_tensors_hooks` sees, without parameters.

    Differs from torch in:
        1. torch saves operands or results of an operation, JAX the factors of its derivative:
           `cos(x)` for `sin`, and a factor for each step of a GELU or a norm.
        2. `relu` saves a mask of bytes and an array of zeros; within one `jit` the zeros take no
           memory.
    """
    refusals.non_function("saved_bytes", "fun", fun)
    kept = [
        SavedValue(kind, scope, str(aval.dtype), aval.shape, _nbytes(aval), compat.memory(aval))
        for aval, kind, scope in _jaxpr.residuals(fun, *args)
    ]
    return SavedBytes(tuple(kept))


def saved_tensors_hooks(
    fun: Callable[..., PyTree],
    pack: Callable[[jax.Array], PyTree],
    unpack: Callable[[PyTree], jax.Array],
) -> Callable[..., PyTree]:
    """Save `pack(x)` instead of each value `x` that `fun` saves for its backward pass.

    Args:
        fun: A function of trees of arrays. Captured values, such as parameters, are saved as they
            are; its arguments are packed.
        pack: Called with each saved floating point value; returns the array or tree of arrays to
            save instead: in bfloat16, as integers with their scale, on the host.
        unpack: Called with the packed value in the backward pass; returns an array of the original
            shape and dtype.

    Returns:
        A function with the values of `fun`. Its gradient is computed from the unpacked values.

    Raises:
        TypeError: `unpack` returns a different shape or dtype, or a second derivative needs a value
            that was packed into another shape or into integers.

    Example:
        >>> import jax, jax.numpy as jnp, jaxgrad
        >>> def half(fun):
        ...     return saved_tensors_hooks(
        ...         fun, lambda x: x.astype(jnp.bfloat16), lambda kept: kept.astype(jnp.float32)
        ...     )
        >>> x = jnp.array([1.2345678], jnp.float32)
        >>> print(jax.grad(lambda x: half(jnp.square)(x).sum())(x))  # 2 * bfloat16(x)
        [2.46875]

    Torch: `torch.autograd.graph.saved_tensors_hooks`.

    Differs from torch in:
        1. The saved values are JAX's: cos(x) for `sin`, where torch saves x. Masks and indices are
           not packed.
        2. A second derivative bypasses both hooks, as in torch, but in the dtype of the packed
           value.
    """
    refusals.non_function("saved_tensors_hooks", "fun", fun)

    @functools.wraps(fun)
    def hooked(*args: Any, **kwargs: Any) -> PyTree:
        run, consts, shapes = hoist(lambda *args: fun(*args, **kwargs), *args)
        leaves, structure = jax.tree.flatten(args)

        def flat(*inputs: Any) -> list[Any]:
            out = run(inputs[: len(consts)], *structure.unflatten(inputs[len(consts) :]))
            return jax.tree.leaves(out)

        called = with_packed_residuals(flat, pack, unpack, num_unpacked_args=len(consts))
        return jax.tree.unflatten(jax.tree.structure(shapes), called(*consts, *leaves))

    return hooked


def _nbytes(aval: Any) -> int:
    return math.prod(aval.shape) * aval.dtype.itemsize


def _summed(items: Any) -> dict[Any, int]:
    totals: dict[Any, int] = {}
    for key, nbytes in items:
        totals[key] = totals.get(key, 0) + nbytes
    return dict(sorted(totals.items(), key=lambda item: -item[1]))

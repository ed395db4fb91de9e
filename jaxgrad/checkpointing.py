"""What the forward pass keeps for the backward pass: to count it, and to keep something else."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax

from jaxgrad._core import compat
from jaxgrad._core import jaxpr as _jaxpr
from jaxgrad._core.attach import hoist
from jaxgrad._core.packed_residuals import with_packed_residuals
from jaxgrad._core.typing import PyTree


class SavedValue(NamedTuple):
    """A value that is kept from the forward to the backward pass."""

    kind: str  # the primitive that made it: "dot_general", "exp"
    scope: str  # the `jax.named_scope`s around that: "encoder/layer_0", "" outside of all
    dtype: str
    shape: tuple[int, ...]
    nbytes: int
    memory: str = "device"  # or "host"


class SavedBytes(int):
    """A number of bytes that knows what they are; notebooks show it as its table."""

    values: tuple[SavedValue, ...]

    def __new__(cls, values: tuple[SavedValue, ...]) -> SavedBytes:
        made = super().__new__(cls, sum(value.nbytes for value in values))
        made.values = values
        return made

    def __getnewargs__(self) -> Any:
        return (self.values,)  # of a copy, also in another process

    @property
    def by_kind(self) -> dict[str, int]:
        """Bytes by the primitive that made them, the most first."""
        return _summed((value.kind, value.nbytes) for value in self.values)

    @property
    def by_scope(self) -> dict[str, int]:
        """Bytes by named scope, the most first."""
        return _summed((value.scope, value.nbytes) for value in self.values)

    @property
    def table(self) -> str:
        """Bytes by scope and kind in Markdown, the most first."""
        kept = _summed(((value.scope, value.kind), value.nbytes) for value in self.values)
        rows = [(*names, f"{nbytes:,}") for names, nbytes in kept.items()]
        lines = [("scope", "made by", "bytes"), ("---", "---", "--:"), *rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in [*lines, ("", "", f"{self:,}")])

    def _repr_markdown_(self) -> str:
        return self.table


def saved_bytes(fun: Callable[..., Any], *args: Any) -> SavedBytes:
    """The bytes that differentiating `fun` keeps from its forward to its backward pass.

    Arguments, what `fun` closes over, and views of them (a transposed weight) are there anyway and
    do not count; a value kept twice counts once.

    Args:
        fun: a function of trees of floating point arrays.
        *args: what it is traced at; only shapes and dtypes matter.

    Returns:
        A number of bytes, an `int`, with `.by_kind` (the primitive that made them), `.by_scope`
        (`jax.named_scope`), `.values` (one by one) and `.table`. It is what `jax.vjp` keeps, and
        what `jax.jit(lambda *args: jax.vjp(fun, *args))` returns beside the result; a whole step
        under `jax.jit` may keep less.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> f = lambda x: jnp.exp(jnp.sin(x))
        >>> x = jnp.ones(100, jnp.float32)
        >>> saved_bytes(f, x), saved_bytes(jax.checkpoint(f), x)
        (800, 0)
        >>> saved_bytes(f, x).by_kind
        {'cos': 400, 'exp': 400}

    Torch: the storage seen by `torch.autograd.graph.saved_tensors_hooks`, parameters apart.

    Differs from torch in:
        1. torch saves the operands or the result of an operation, JAX the factors of its
           derivative: `cos(x)` for `sin`, and a factor for each step of a GELU or a norm.
        2. `relu` keeps a mask of bytes and the zeros that it chooses from; within one `jit` the
           zeros are no memory.
    """
    kept = [
        SavedValue(kind, scope, str(aval.dtype), aval.shape, _nbytes(aval), compat.memory(aval))
        for aval, kind, scope in _jaxpr.residuals(fun, *args)
    ]
    return SavedBytes(tuple(kept))


def saved_tensors_hooks(
    fun: Callable[..., PyTree], pack: Callable[[Any], PyTree], unpack: Callable[[PyTree], Any]
) -> Callable[..., PyTree]:
    """`fun`, which keeps `pack(x)` for its backward pass in place of each value `x` it would keep.

    Args:
        fun: A function of trees of arrays. What it closes over (its parameters) is there anyway and
            is kept as it is; its arguments are packed like all others.
        pack: Called with each floating point value that is kept; returns an array, or a tree of
            arrays, to be kept instead: in bfloat16, as integers with their scale, on the host.
        unpack: Called with that in the backward pass; returns an array of the shape and dtype that
            `pack` was given.

    Returns:
        A function with the values of `fun`. Its gradient is computed from what `unpack` returns.

    Raises:
        TypeError: `unpack` returns another shape or dtype, or a second derivative needs what was
            packed in another shape, or as integers.

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
        1. What is kept is JAX's: cos(x) for `sin`, where torch keeps x. Masks and indices are not
           packed.
        2. A second derivative goes past both hooks, as in torch, but in the dtype of what was
           packed.
    """

    @functools.wraps(fun)
    def hooked(*args: Any, **kwargs: Any) -> PyTree:
        run, consts, shapes = hoist(lambda *args: fun(*args, **kwargs), *args)
        leaves, structure = jax.tree.flatten(args)

        def flat(*given: Any) -> list[Any]:
            made = run(given[: len(consts)], *structure.unflatten(given[len(consts) :]))
            return jax.tree.leaves(made)

        called = with_packed_residuals(flat, pack, unpack, num_unpacked_args=len(consts))
        return jax.tree.unflatten(jax.tree.structure(shapes), called(*consts, *leaves))

    return hooked


def _nbytes(aval: Any) -> int:
    return math.prod(aval.shape) * aval.dtype.itemsize


def _summed(items: Any) -> dict[Any, int]:
    found: dict[Any, int] = {}
    for key, nbytes in items:
        found[key] = found.get(key, 0) + nbytes
    return dict(sorted(found.items(), key=lambda item: -item[1]))

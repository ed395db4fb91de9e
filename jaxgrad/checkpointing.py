"""What the forward pass keeps for the backward pass."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from jaxgrad import _jaxpr


class SavedValue(NamedTuple):
    """A value that is kept from the forward to the backward pass."""

    kind: str  # the primitive that made it: "dot_general", "exp"
    scope: str  # the `jax.named_scope`s around that: "encoder/layer_0", "" outside of all
    dtype: str
    shape: tuple[int, ...]
    nbytes: int


class SavedBytes(int):
    """A number of bytes that knows what they are; notebooks show it as its table."""

    values: tuple[SavedValue, ...]

    def __new__(cls, values: tuple[SavedValue, ...]) -> SavedBytes:
        made = super().__new__(cls, sum(value.nbytes for value in values))
        made.values = values
        return made

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
           derivative: `cos(x)` for `sin`, two values for `tanh`.
        2. `relu` keeps a mask of bytes and the zeros that it chooses from; within one `jit` the
           zeros are no memory.
    """
    kept = [
        SavedValue(kind, scope, str(aval.dtype), tuple(aval.shape), _nbytes(aval))
        for aval, kind, scope in _jaxpr.residuals(fun, *args)
    ]
    return SavedBytes(tuple(kept))


def _nbytes(aval: Any) -> int:
    return math.prod(aval.shape) * aval.dtype.itemsize


def _summed(items: Any) -> dict[Any, int]:
    found: dict[Any, int] = {}
    for key, nbytes in items:
        found[key] = found.get(key, 0) + nbytes
    return dict(sorted(found.items(), key=lambda item: -item[1]))

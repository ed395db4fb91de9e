"""Matrix products of groups of rows with a matrix for each group, as in a mixture of experts."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
from jax import lax

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, in_opmath
from jaxgrad.functional._core.dtypes import reject, require_same_dtype


def grouped_mm(
    mat_a: Array,
    mat_b: Array,
    *,
    offs: Array | None = None,
    bias: None = None,
    out_dtype: None = None,
) -> Array:
    """Multiply each group of `mat_a` by the matrix of the same group of `mat_b`.

    Args:
        mat_a: Array of shape (groups, m, k); or (m, k), whose rows are divided into groups, or
            whose columns are if `mat_b` is a matrix too.
        mat_b: Array of shape (groups, k, n); or (k, n), whose columns are divided into groups, or
            whose rows are if `mat_a` is a matrix too.
        offs: The end of each group, shape (groups,), int32, increasing. Needed if an operand is a
            matrix. Rows, or columns, after the last end belong to no group.
        bias: Must be None, as in torch 2.13.
        out_dtype: Must be None, as in torch 2.13; the result has the dtype of the operands.

    Returns:
        Array of shape (m, n) if one operand is a matrix, else (groups, m, n).

    Raises:
        NotImplementedError: The operands are not real floats.
        RuntimeError: The shapes or dtypes do not match, `offs` is missing or superfluous or not
            int32, or `bias` or `out_dtype` is given.

    Example:
        >>> import jax.numpy as jnp
        >>> rows, weights = jnp.ones((3, 1)), jnp.array([[[1.0]], [[5.0]]])
        >>> print(grouped_mm(rows, weights, offs=jnp.array([2, 3], jnp.int32)).ravel())
        [1. 1. 5.]

    Torch: `torch.nn.functional.grouped_mm`. Where a row belongs to no group, the result and the
    gradient are zero here and undefined in torch, whose memory is uninitialized there. torch
    rejects float64 and rows that are not aligned to 16 bytes.

    Differs from jax in:
        1. The groups are given by their ends (`jax.lax.ragged_dot`: by their sizes).
        2. It has second derivatives and works under `vmap` over `offs`; each group costs a product
           over all rows, as `jax.lax.ragged_dot` does on a CPU.
    """
    reject("grouped_mm", "bool integer complex", mat_a, mat_b)
    x, y = array(mat_a, "mat_a"), array(mat_b, "mat_b")
    _check(x, y, offs)
    require_same_dtype("grouped_mm", mat_a=x, mat_b=y)
    for name, value in (("bias", bias), ("out_dtype", out_dtype)):
        if value is not None:
            raise RuntimeError(f"grouped_mm(): {name} is not supported, as in torch: leave it out")
    if offs is None:
        return in_opmath(jnp.matmul, x, y)
    if x.ndim == y.ndim:
        members = _members(x.shape[1], offs)
        return in_opmath(functools.partial(_of_columns, members=members), x, y)
    if x.ndim == 3:
        members = _members(y.shape[1], offs)
        return in_opmath(lambda x, y: _of_rows(y.T, x.swapaxes(1, 2), members).T, x, y)
    return in_opmath(functools.partial(_of_rows, members=_members(x.shape[0], offs)), x, y)


def _members(count: int, offs: Array) -> jax.Array:
    """Return for each group which of `count` rows belong to it, shape (groups, count, 1)."""
    ends = jnp.asarray(offs)[:, None]
    starts = jnp.concatenate([jnp.zeros((1, 1), ends.dtype), ends[:-1]])
    places = jnp.arange(count)
    return ((starts <= places) & (places < ends))[..., None]


# `lax.ragged_dot` has no second derivative and no batching of the sizes. Here each group is one
# product over all rows, and the rows of other groups are zeros.
def _of_rows(rows: jax.Array, matrices: jax.Array, members: jax.Array) -> jax.Array:
    """Multiply each row by the matrix of its group."""

    @jax.checkpoint
    def add(total: jax.Array, group: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, None]:
        matrix, belongs = group
        product = jnp.where(belongs, rows, 0) @ matrix
        return total + jnp.where(belongs, product, 0), None

    start = jnp.zeros((rows.shape[0], matrices.shape[2]), rows.dtype)
    return lax.scan(add, start, (matrices, members))[0]


def _of_columns(x: jax.Array, y: jax.Array, members: jax.Array) -> jax.Array:
    """Multiply the columns of `x` in each group by the same rows of `y`."""

    @jax.checkpoint
    def multiply(belongs: jax.Array) -> jax.Array:
        return jnp.where(belongs.T, x, 0) @ jnp.where(belongs, y, 0)

    return lax.map(multiply, members)


def _check(x: jax.Array, y: jax.Array, offs: Array | None) -> None:
    """Raise RuntimeError, with torch's reasons, unless the shapes belong together."""
    for name, z in (("mat_a", x), ("mat_b", y)):
        if z.ndim not in (2, 3):
            raise RuntimeError(f"{name} has to be 2 or 3d, its shape is {list(z.shape)}")
    if x.shape[-1] != y.shape[-2]:
        raise RuntimeError(
            "contraction dimension of mat_a and mat_b must match, their shapes are "
            f"{list(x.shape)} and {list(y.shape)}"
        )
    if (offs is None) != (x.ndim == y.ndim == 3):
        raise RuntimeError(
            "Have to provide offsets if there is a 2d matrix, or no offset if both matrices are "
            f"3d: the shapes are {list(x.shape)} and {list(y.shape)}, offs is "
            f"{'None' if offs is None else 'given'}"
        )
    groups = {z.shape[0] for z in (x, y) if z.ndim == 3}
    if offs is None:
        if len(groups) > 1:
            raise RuntimeError(
                f"batched dimension has to match: the shapes are {list(x.shape)} and "
                f"{list(y.shape)}"
            )
        return
    if jnp.result_type(offs) != jnp.int32:
        raise RuntimeError(f"Offsets have to be int32, they are {jnp.result_type(offs)}")
    if jnp.ndim(offs) != 1 or groups - {jnp.size(offs)}:
        raise RuntimeError(
            f"matrix batch sizes have to match: the shapes are {list(x.shape)} and "
            f"{list(y.shape)}, and offs has shape {list(jnp.shape(offs))}"
        )

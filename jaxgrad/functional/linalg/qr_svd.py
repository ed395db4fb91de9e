"""QR, its reflections and singular values: gradients as torch's formulas have them.

Columns of a decomposition are known up to a sign (a phase): a gradient means something where the
loss does not depend on it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, in_opmath
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import reject, require_same_dtype
from jaxgrad.functional._core.lapack import nan_if_infinite
from jaxgrad.functional.linalg._matrices import conj_transpose, matrix


class QRResult(NamedTuple):
    """What `qr` returns."""

    Q: Array
    R: Array


class SVDResult(NamedTuple):
    """What `svd` returns."""

    U: Array
    S: Array
    Vh: Array


def qr(A: Array, mode: str = "reduced") -> QRResult:
    """An orthonormal Q and an upper triangular R with `Q @ R = A`.

    Args:
        A: `(*, m, n)`.
        mode: `"reduced"`, `"complete"` (a gradient for `m <= n` alone) or `"r"` (no gradient).

    Raises:
        RuntimeError: There is no such mode, or it is differentiated where torch does not.

    Example:
        >>> import jax.numpy as jnp
        >>> print(jnp.abs(qr(jnp.array([[3.0], [4.0]])).R).round(4))
        [[5.]]

    Torch: `torch.linalg.qr`.

    Differs from jax in:
        1. A wide matrix has a gradient (`jnp.linalg.qr`: NotImplementedError).
    """
    A = matrix("linalg.qr", A)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced', 'r' or "
            "'complete'"
        )
    m, n = A.shape[-2:]

    def decomposed(x: Array) -> tuple[Array, Array]:
        if mode == "r":
            return jnp.zeros((0,), x.dtype), _plain(x, "depends on Q, which mode='r' leaves out")[1]
        if mode == "complete" and m > n:
            return _plain(x, "does not exist for mode='complete' and more rows than columns", mode)
        return _qr(x)

    return QRResult(*in_opmath(decomposed, A))


def _qr_derivative(t: Any, out: Any, _: Any) -> Any:
    # In the order of torch's products: what is not finite spreads as there.
    Q, R = out
    m, n = Q.shape[-2], R.shape[-1]
    if m >= n:
        scaled = _over_triangle(t, R)
        inner = jnp.matmul(conj_transpose(Q), scaled)
        inner = jnp.triu(inner + conj_transpose(inner)) * _half_diagonal(inner)
        return scaled - jnp.matmul(Q, inner), jnp.matmul(inner, R)
    inside = jnp.matmul(conj_transpose(Q), t)
    lower = jnp.tril(_over_triangle(inside[..., :m], R[..., :m]))
    skew = (lower - conj_transpose(lower)) * _half_diagonal(lower)
    return jnp.matmul(Q, skew), inside - jnp.matmul(skew, R)


def _over_triangle(x: Array, R: Array) -> Array:
    return jax.lax.linalg.triangular_solve(R, x, left_side=False, lower=False)


def _half_diagonal(x: Array) -> Array:
    return jnp.where(jnp.eye(x.shape[-1], dtype=bool), 0.5, 1)


@derivative(_qr_derivative)
def _qr(x: Array) -> tuple[Array, Array]:
    Q, R = jnp.linalg.qr(x)
    return Q, R


def _plain(x: Array, why: str, mode: str = "reduced") -> tuple[Array, Array]:
    def formula(*_: Any) -> Any:
        raise RuntimeError(f"qr is not differentiable: its derivative {why}, as in torch")

    @derivative(formula)
    def plain(x: Array) -> Any:
        return tuple(jnp.linalg.qr(x, mode=mode))

    return plain(x)


def svd(A: Array, full_matrices: bool = True) -> SVDResult:
    """Orthonormal U and V and falling S with `U @ diag(S) @ Vh = A`.

    Args:
        A: `(*, m, n)`.
        full_matrices: U and V are square; their further columns have no gradient.

    Example:
        >>> import jax.numpy as jnp
        >>> print(svd(jnp.diag(jnp.array([2.0, 3.0]))).S)
        [3. 2.]

    Torch: `torch.linalg.svd`.

    Differs from jax in:
        1. Full matrices have a gradient (`jnp.linalg.svd`: NotImplementedError).
    """
    A = matrix("linalg.svd", A)

    def decomposed(x: Array) -> tuple[Array, Array, Array]:
        U, S, Vh = jnp.linalg.svd(x, full_matrices=False)
        if full_matrices and x.shape[-1] != x.shape[-2]:
            k = S.shape[-1]
            more = jnp.linalg.svd(jax.lax.stop_gradient(x), full_matrices=True)
            U = jnp.concatenate([U, more[0][..., k:]], -1)
            Vh = jnp.concatenate([Vh, more[2][..., k:, :]], -2)
        return U, S, Vh

    return SVDResult(*in_opmath(lambda x: decomposed(nan_if_infinite(_positive_zeros(x))), A))


def svdvals(A: Array) -> Array:
    """The singular values, falling.

    Example:
        >>> import jax.numpy as jnp
        >>> print(svdvals(jnp.diag(jnp.array([2.0, 3.0]))))
        [3. 2.]

    Torch: `torch.linalg.svdvals`. `jnp.linalg.svd` is the same.
    """

    def values(x: Array) -> Array:
        return jnp.linalg.svd(nan_if_infinite(_positive_zeros(x)), compute_uv=False)

    return in_opmath(values, matrix("linalg.svdvals", A))


@derivative(lambda t, *_: t)
def _positive_zeros(x: Array) -> Array:
    """0 for -0, whose sign turns LAPACK's reflections around."""
    return jnp.where(x == 0, 0, x)


def householder_product(A: Array, tau: Array) -> Array:
    """The first columns of a product of reflections `1 - tau v v.mH`, as LAPACK stores them.

    Args:
        A: `(*, m, n)`, each v below the diagonal: 1 is above it.
        tau: `(*, k)`.

    Returns:
        `(*, m, n)`.

    Raises:
        RuntimeError: There are more columns than rows or more reflections than columns, or the
            dims do not fit.

    Example:
        >>> import jax.numpy as jnp
        >>> print(householder_product(jnp.array([[0.0], [1.0]]), jnp.array([1.0])))
        [[ 0.]
         [-1.]]

    Torch: `torch.linalg.householder_product`.

    Differs from jax in:
        1. It has a gradient (`jax.lax.linalg.householder_product`: NotImplementedError).
    """
    reject("linalg.householder_product", "bool integer", A, tau)
    require_same_dtype("linalg.householder_product", A=A, tau=tau)
    A, tau = array(A), array(tau, "tau")
    name = "torch.linalg.householder_product"
    if A.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions, it has {A.ndim}.")
    (m, n), k = A.shape[-2:], tau.shape[-1] if tau.ndim else 0
    for larger, smaller, names in ((m, n, ("input.shape[-2]", "input.shape[-1]")),
                                   (n, k, ("input.shape[-1]", "tau.shape[-1]"))):  # fmt: skip
        if larger < smaller:
            raise RuntimeError(
                f"{name}: {names[0]} must be greater than or equal to {names[1]}, but they are "
                f"{larger} and {smaller}"
            )
    if A.shape[:-2] != tau.shape[:-1]:
        raise RuntimeError(
            f"{name}: Expected tau to have one dimension less than input, and its batch, but "
            f"their shapes are {list(tau.shape)} and {list(A.shape)}"
        )

    return in_opmath(_householder, A, tau)


@derivative(
    lambda t, _, A, tau: jax.jvp(lambda A: _reflected(A, tau), (A,), (t,))[1],
    lambda t, _, A, tau: jax.jvp(lambda tau: _reflected(A, tau), (tau,), (t,))[1],
)
def _householder(A: Array, tau: Array) -> Array:
    return jax.lax.linalg.householder_product(A, tau)


def _reflected(A: Array, tau: Array) -> Array:
    """The same, reflection by reflection."""
    m, n = A.shape[-2:]
    vectors = jnp.tril(A, -1) + jnp.eye(m, n, dtype=A.dtype)
    Q = jnp.broadcast_to(jnp.eye(m, n, dtype=A.dtype), A.shape)
    for i in reversed(range(tau.shape[-1])):
        v = vectors[..., i : i + 1]
        Q = Q - tau[..., i, None, None] * jnp.matmul(v, jnp.matmul(conj_transpose(v), Q))
    return Q

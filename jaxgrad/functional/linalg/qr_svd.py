"""QR and singular value decompositions, and Householder products, with torch's gradients.

The columns of a decomposition are determined up to a sign (or phase); a gradient is meaningful only
if the loss does not depend on that sign.
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
    """The result of `qr`."""

    Q: Array
    R: Array


class SVDResult(NamedTuple):
    """The result of `svd`."""

    U: Array
    S: Array
    Vh: Array


def qr(A: Array, mode: str = "reduced") -> QRResult:
    """Factor `A = Q @ R` into a Q with orthonormal columns and an upper-triangular R.

    Args:
        A: `(*, m, n)`.
        mode: `"reduced"`, `"complete"` (differentiable if `m <= n`) or `"r"` (not differentiable).

    Raises:
        RuntimeError: The mode is unknown, or a result that has no derivative is differentiated.

    Example:
        >>> import jax.numpy as jnp
        >>> print(jnp.abs(qr(jnp.array([[3.0], [4.0]])).R).round(4))
        [[5.]]

    Torch: `torch.linalg.qr`.

    Differs from jax in:
        1. Matrices with `m < n` are differentiable (`jnp.linalg.qr`: NotImplementedError).
    """
    A = matrix("linalg.qr", A)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced', 'r' or "
            "'complete'"
        )
    m, n = A.shape[-2:]

    def decompose(x: Array) -> tuple[Array, Array]:
        if mode == "r":
            return jnp.zeros((0,), x.dtype), _undifferentiable(
                x, "depends on Q, which mode='r' leaves out"
            )[1]
        if mode == "complete" and m > n:
            return _undifferentiable(
                x, "does not exist for mode='complete' and more rows than columns", mode
            )
        return _qr(x)

    return QRResult(*in_opmath(decompose, A))


def _qr_derivative(t: Any, out: Any, _: Any) -> Any:
    # The products are in torch's order, so that NaN and infinities spread as they do in torch.
    Q, R = out
    m, n = Q.shape[-2], R.shape[-1]
    if m >= n:
        scaled = _right_solve(t, R)
        inner = jnp.matmul(conj_transpose(Q), scaled)
        inner = jnp.triu(inner + conj_transpose(inner)) * _half_diagonal(inner)
        return scaled - jnp.matmul(Q, inner), jnp.matmul(inner, R)
    inner = jnp.matmul(conj_transpose(Q), t)
    lower = jnp.tril(_right_solve(inner[..., :m], R[..., :m]))
    skew = (lower - conj_transpose(lower)) * _half_diagonal(lower)
    return jnp.matmul(Q, skew), inner - jnp.matmul(skew, R)


def _right_solve(x: Array, R: Array) -> Array:
    return jax.lax.linalg.triangular_solve(R, x, left_side=False, lower=False)


def _half_diagonal(x: Array) -> Array:
    return jnp.where(jnp.eye(x.shape[-1], dtype=bool), 0.5, 1)


@derivative(_qr_derivative)
def _qr(x: Array) -> tuple[Array, Array]:
    Q, R = jnp.linalg.qr(x)
    return Q, R


def _undifferentiable(x: Array, why: str, mode: str = "reduced") -> tuple[Array, Array]:
    """Return Q and R of `x`; differentiating them raises a RuntimeError that says `why`."""

    def formula(*_: Any) -> Any:
        raise RuntimeError(f"qr is not differentiable: its derivative {why}, as in torch")

    @derivative(formula)
    def plain(x: Array) -> Any:
        return tuple(jnp.linalg.qr(x, mode=mode))

    return plain(x)


def svd(A: Array, full_matrices: bool = True) -> SVDResult:
    """Factor `A = U @ diag(S) @ Vh` with orthonormal U and V and descending S.

    Args:
        A: `(*, m, n)`.
        full_matrices: Whether U and V are square; their extra columns have no gradient.

    Example:
        >>> import jax.numpy as jnp
        >>> print(svd(jnp.diag(jnp.array([2.0, 3.0]))).S)
        [3. 2.]

    Torch: `torch.linalg.svd`.

    Differs from jax in:
        1. `full_matrices=True` is differentiable (`jnp.linalg.svd`: NotImplementedError).
    """
    A = matrix("linalg.svd", A)

    def decompose(x: Array) -> tuple[Array, Array, Array]:
        U, S, Vh = jnp.linalg.svd(x, full_matrices=False)
        if full_matrices and x.shape[-1] != x.shape[-2]:
            k = S.shape[-1]
            full = jnp.linalg.svd(jax.lax.stop_gradient(x), full_matrices=True)
            U = jnp.concatenate([U, full[0][..., k:]], -1)
            Vh = jnp.concatenate([Vh, full[2][..., k:, :]], -2)
        return U, S, Vh

    return SVDResult(*in_opmath(lambda x: decompose(nan_if_infinite(_positive_zeros(x))), A))


def svdvals(A: Array) -> Array:
    """Return the singular values in descending order.

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
    """Replace -0 by 0, because the sign of a zero flips LAPACK's reflections."""
    return jnp.where(x == 0, 0, x)


def householder_product(A: Array, tau: Array) -> Array:
    """Return the first n columns of a product of reflections `I - tau * v @ v.mH`.

    Args:
        A: `(*, m, n)`, with the vectors v below the diagonal; an implied 1 precedes each.
        tau: `(*, k)`.

    Returns:
        `(*, m, n)`.

    Raises:
        RuntimeError: `m >= n >= k` does not hold, or the shapes or dtypes do not match.

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
    lambda t, _, A, tau: jax.jvp(lambda A: _apply_reflections(A, tau), (A,), (t,))[1],
    lambda t, _, A, tau: jax.jvp(lambda tau: _apply_reflections(A, tau), (tau,), (t,))[1],
)
def _householder(A: Array, tau: Array) -> Array:
    return jax.lax.linalg.householder_product(A, tau)


def _apply_reflections(A: Array, tau: Array) -> Array:
    """Compute the same as `_householder`, differentiably: apply one reflection at a time."""
    m, n = A.shape[-2:]
    vectors = jnp.tril(A, -1) + jnp.eye(m, n, dtype=A.dtype)
    Q = jnp.broadcast_to(jnp.eye(m, n, dtype=A.dtype), A.shape)
    for i in reversed(range(tau.shape[-1])):
        v = vectors[..., i : i + 1]
        Q = Q - tau[..., i, None, None] * jnp.matmul(v, jnp.matmul(conj_transpose(v), Q))
    return Q

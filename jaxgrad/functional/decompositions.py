"""Decompositions of matrices: which triangle is read, and gradients as torch's formulas have them.

Columns of a decomposition are known up to a sign (a phase): a gradient means something where the
loss does not depend on it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ._arguments import in_opmath, require
from ._rule import derivative
from .matrices import matrix, square


Array = jax.Array


class QRResult(NamedTuple):
    """What `qr` returns."""

    Q: Array
    R: Array


class SVDResult(NamedTuple):
    """What `svd` returns."""

    U: Array
    S: Array
    Vh: Array


class EighResult(NamedTuple):
    """What `eigh` and `eig` return."""

    eigenvalues: Array
    eigenvectors: Array


def cholesky(A: Array, *, upper: bool = False) -> Array:
    """The triangular L with `L @ L.mH = A`; only A's lower triangle is read.

    Args:
        A: `(*, n, n)`, positive-definite.
        upper: The conjugate transpose of L, from the upper triangle.

    Raises:
        RuntimeError: A is not square, or not positive-definite (not under `jit`).

    Example:
        >>> import jax.numpy as jnp
        >>> print(cholesky(jnp.array([[4.0, 9.0], [2.0, 5.0]])))
        [[2. 0.]
         [1. 2.]]

    Torch: `torch.linalg.cholesky`.

    Differs from jax in:
        1. The lower triangle is read (`jnp.linalg.cholesky`: the mean of both).
        2. A matrix that is not positive-definite is an error (`jnp.linalg.cholesky`: NaN).
    """
    A = square("linalg.cholesky", A)
    found = in_opmath(_cholesky, _adjoint(A) if upper else A)
    require(
        jnp.all(jnp.isfinite(jax.lax.stop_gradient(found))),
        RuntimeError(
            "linalg.cholesky: The factorization could not be completed because the input is not "
            "positive-definite"
        ),
    )
    return _adjoint(found) if upper else found


def _cholesky_derivative(t: Any, L: Any, _: Any) -> Any:
    # The transpose of torch's, also by a diagonal that is not real.
    inside = _adjoint(_left_solve(L, _adjoint(_left_solve(L, t))))
    return jnp.matmul(L, (jnp.tril(inside) + jnp.tril(_adjoint(inside), -1)) / 2)


@derivative(_cholesky_derivative)
def _cholesky(x: Array) -> Array:
    return jax.lax.linalg.cholesky(_mirrored(x), symmetrize_input=False)


def cholesky_inverse(L: Array, upper: bool = False, *, torch_gradient: bool = False) -> Array:
    """The inverse of `L @ L.mH`; the other triangle is not read.

    Args:
        L: `(*, n, n)`.
        upper: L is the upper triangle: the inverse of `L.mH @ L`.
        torch_gradient: torch's gradient fills the other triangle, by which there is none. True: so
            does this one.

    Raises:
        RuntimeError: L is not square.

    Example:
        >>> import jax.numpy as jnp
        >>> print(cholesky_inverse(jnp.eye(2) * 2))
        [[0.25 0.  ]
         [0.   0.25]]

    Torch: `torch.cholesky_inverse`.
    """
    L = square("cholesky_inverse", L)
    L = _adjoint(L) if upper else L
    return in_opmath(lambda L: jnp.linalg.inv(_product(L, torch_gradient)), L)


def _product(L: Array, filled: bool) -> Array:
    """`L @ L.mH` of the lower triangle; where torch fills the other one, with the gradient so."""
    lower = jnp.tril(L)
    product = jnp.matmul(lower, _adjoint(lower))
    if not filled:
        return product
    whole = jnp.matmul(L, _adjoint(L))
    return jax.lax.stop_gradient(product - whole) + whole


def cholesky_solve(
    B: Array, L: Array, upper: bool = False, *, torch_gradient: bool = False
) -> Array:
    """The X of `L @ L.mH @ X = B`; the other triangle is not read.

    Args:
        B: `(*, n, k)`.
        L: `(*, n, n)`.
        upper: L is the upper triangle, of `L.mH @ L @ X = B`.
        torch_gradient: torch's gradient fills the other triangle, by which there is none. True: so
            does this one.

    Raises:
        RuntimeError: L is not square, or the shapes do not fit.

    Example:
        >>> import jax.numpy as jnp
        >>> print(cholesky_solve(jnp.ones((2, 1)), jnp.eye(2) * 2))
        [[0.25]
         [0.25]]

    Torch: `torch.cholesky_solve`.
    """
    B, L = matrix("cholesky_solve", B), square("cholesky_solve", L)
    if B.shape[-2] != L.shape[-1]:
        raise RuntimeError(
            "Incompatible matrix sizes for cholesky_solve: each A matrix is "
            f"{L.shape[-1]} by {L.shape[-1]} but each b matrix is {B.shape[-2]} by {B.shape[-1]}"
        )
    L = _adjoint(L) if upper else L
    return in_opmath(lambda B, L: _solved(_product(L, torch_gradient), B), B, L)


def _solved(x: Array, b: Array) -> Array:
    batch = jnp.broadcast_shapes(x.shape[:-2], b.shape[:-2])
    x, b = (jnp.broadcast_to(y, batch + y.shape[-2:]) for y in (x, b))
    return jnp.linalg.solve(x, b)


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
        if m < n:
            Q, R = jnp.linalg.qr(x[..., :m])
            return Q, jnp.concatenate([R, jnp.matmul(_adjoint(Q), x[..., m:])], -1)
        if mode == "complete" and m > n:
            return _plain(x, "does not exist for mode='complete' and more rows than columns", mode)
        Q, R = jnp.linalg.qr(x)
        return Q, R

    return QRResult(*in_opmath(decomposed, A))


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

    return SVDResult(*in_opmath(decomposed, A))


def svdvals(A: Array) -> Array:
    """The singular values, falling.

    Example:
        >>> import jax.numpy as jnp
        >>> print(svdvals(jnp.diag(jnp.array([2.0, 3.0]))))
        [3. 2.]

    Torch: `torch.linalg.svdvals`. `jnp.linalg.svd` is the same.
    """
    return in_opmath(lambda x: jnp.linalg.svd(x, compute_uv=False), matrix("linalg.svdvals", A))


def eigh(A: Array, UPLO: str = "L") -> EighResult:
    """The rising eigenvalues and the eigenvectors of Hermitian matrices, from one triangle.

    Args:
        A: `(*, n, n)`.
        UPLO: `"L"` or `"U"`: which triangle is read. The gradient is spread over both.

    Raises:
        RuntimeError: A is not square, or UPLO is neither.

    Example:
        >>> import jax.numpy as jnp
        >>> print(eigh(jnp.diag(jnp.array([3.0, 2.0]))).eigenvalues)
        [2. 3.]

    Torch: `torch.linalg.eigh`.

    Differs from jax in:
        1. One triangle is read (`jnp.linalg.eigh`: the mean of both).
    """
    return EighResult(*in_opmath(_eigh, _triangle("linalg.eigh", A, UPLO)))


def eigvalsh(A: Array, UPLO: str = "L") -> Array:
    """The rising eigenvalues of Hermitian matrices, with a gradient where some are equal as well.

    Raises:
        RuntimeError: A is not square, or UPLO is neither `"L"` nor `"U"`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(eigvalsh(jnp.diag(jnp.array([3.0, 2.0]))))
        [2. 3.]

    Torch: `torch.linalg.eigvalsh`.

    Differs from jax in:
        1. One triangle is read (`jnp.linalg.eigvalsh`: the mean of both).
    """
    return in_opmath(_eigvalsh, _triangle("linalg.eigvalsh", A, UPLO))


def _triangle(name: str, A: Any, UPLO: str) -> Array:
    A = square(name, A)
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return A if UPLO.upper() == "L" else _adjoint(A)


def _in_basis(t: Any, V: Any) -> Any:
    return jnp.matmul(_adjoint(V), jnp.matmul((t + _adjoint(t)) / 2, V))


def _gaps(values: Array) -> Array:
    """How far eigenvalues are apart; infinitely on the diagonal."""
    apart = values[..., None, :] - values[..., :, None]
    return jnp.where(jnp.eye(values.shape[-1], dtype=bool), jnp.inf, apart)


def _eigh_derivative(t: Any, out: Any, _: Any) -> Any:
    values, V = out
    turned = _in_basis(t, V)
    return jnp.diagonal(turned, axis1=-2, axis2=-1).real, jnp.matmul(V, turned / _gaps(values))


@derivative(_eigh_derivative)
def _eigh(x: Array) -> tuple[Array, Array]:
    values, V = jnp.linalg.eigh(_mirrored(x), symmetrize_input=False)
    return values, V


def _eigvalsh_derivative(t: Any, _: Any, x: Any) -> Any:
    return jnp.diagonal(_in_basis(t, _eigh(x)[1]), axis1=-2, axis2=-1).real


@derivative(_eigvalsh_derivative)
def _eigvalsh(x: Array) -> Array:
    return _eigh(x)[0]


def eig(A: Array) -> EighResult:
    """The complex eigenvalues and eigenvectors of square matrices, these of length 1.

    Raises:
        RuntimeError: A is not square.

    Example:
        >>> import jax.numpy as jnp
        >>> print(eig(jnp.array([[0.0, 1.0], [-4.0, 0.0]])).eigenvalues.imag.round(4))
        [ 2. -2.]

    Torch: `torch.linalg.eig`.

    Differs from jax in:
        1. The eigenvectors have a gradient (`jnp.linalg.eig`: NotImplementedError).
    """
    return EighResult(*in_opmath(_eig, square("linalg.eig", A)))


def eigvals(A: Array) -> Array:
    """The complex eigenvalues of square matrices.

    Raises:
        RuntimeError: A is not square.

    Example:
        >>> import jax.numpy as jnp
        >>> print(eigvals(jnp.array([[0.0, 1.0], [-4.0, 0.0]])).imag.round(4))
        [ 2. -2.]

    Torch: `torch.linalg.eigvals`. `jnp.linalg.eigvals` is the same.
    """
    return in_opmath(_eigvals, square("linalg.eigvals", A))


def _eig_derivative(t: Any, out: Any, _: Any) -> Any:
    values, V = out
    turned = jnp.linalg.solve(V, jnp.matmul(t.astype(V.dtype), V))
    moved = jnp.matmul(V, turned / _gaps(values))
    along = jnp.sum(jnp.conj(V) * moved, -2, keepdims=True).real  # the length stays 1
    return jnp.diagonal(turned, axis1=-2, axis2=-1), moved - V * along


@derivative(_eig_derivative)
def _eig(x: Array) -> tuple[Array, Array]:
    values, V = jnp.linalg.eig(x)
    return values, V


def _eigvals_derivative(t: Any, _: Any, x: Any) -> Any:
    V = _eig(x)[1]
    turned = jnp.linalg.solve(V, jnp.matmul(t.astype(V.dtype), V))
    return jnp.diagonal(turned, axis1=-2, axis2=-1)


@derivative(_eigvals_derivative)
def _eigvals(x: Array) -> Array:
    return _eig(x)[0]


def _adjoint(x: Array) -> Array:
    return jnp.conj(jnp.swapaxes(x, -1, -2))


def _mirrored(x: Array) -> Array:
    """The Hermitian matrix with this lower triangle."""
    return jnp.tril(x) + _adjoint(jnp.tril(x, -1))


def _left_solve(L: Array, B: Array) -> Array:
    return jax.lax.linalg.triangular_solve(L, B, left_side=True, lower=True)

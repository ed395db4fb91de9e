"""Eigenvalues and eigenvectors: which triangle is read, and torch's gradients.

Eigenvectors are known up to a sign (a phase): a gradient means something where the loss does not
depend on it. Of equal eigenvalues they are any basis, LAPACK's choice, and so are the gradients of
those eigenvalues; that of their sum is the same for all bases.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import in_opmath, require
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional.linalg._matrices import conj_transpose, hermitian_from_lower, square


class EighResult(NamedTuple):
    """What `eigh` and `eig` return."""

    eigenvalues: Array
    eigenvectors: Array


def eigh(A: Array, UPLO: str = "L") -> EighResult:
    """The rising eigenvalues and the eigenvectors of Hermitian matrices, from one triangle.

    Where eigenvalues are equal, their vectors are any basis, and the gradient by them is NaN; that
    of the sum of these eigenvalues is the same for every basis.

    Args:
        A: `(*, n, n)`.
        UPLO: `"L"` or `"U"`: which triangle is read. The gradient is spread over both.

    Raises:
        RuntimeError: A is not square, or UPLO is neither.

    Example:
        >>> import jax.numpy as jnp
        >>> print(eigh(jnp.diag(jnp.array([3.0, 2.0]))).eigenvalues)
        [2. 3.]

    Gradient conventions: docs/operators.md.
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

    Gradient conventions: docs/operators.md.
    Torch: `torch.linalg.eigvalsh`.

    Differs from jax in:
        1. One triangle is read (`jnp.linalg.eigvalsh`: the mean of both).
    """
    return in_opmath(_eigvalsh, _triangle("linalg.eigvalsh", A, UPLO))


def _triangle(name: str, A: Any, UPLO: str) -> Array:
    A = square(name, A)
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return A if UPLO.upper() == "L" else conj_transpose(A)


def _in_basis(t: Any, V: Any) -> Any:
    return jnp.matmul(conj_transpose(V), jnp.matmul((t + conj_transpose(t)) / 2, V))


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
    values, V = jnp.linalg.eigh(hermitian_from_lower(x), symmetrize_input=False)
    return values, V


def _eigvalsh_derivative(t: Any, _: Any, x: Any) -> Any:
    return jnp.diagonal(_in_basis(t, _eigh(x)[1]), axis1=-2, axis2=-1).real


@derivative(_eigvalsh_derivative)
def _eigvalsh(x: Array) -> Array:
    return _eigh(x)[0]


def eig(A: Array) -> EighResult:
    """The complex eigenvalues and eigenvectors of square matrices, these of length 1.

    Where eigenvalues are equal, the gradient by their vectors is NaN.

    Raises:
        RuntimeError: A is not square, or not finite (not under `jit`).

    Example:
        >>> import jax.numpy as jnp
        >>> print(eig(jnp.array([[0.0, 1.0], [-4.0, 0.0]])).eigenvalues.imag.round(4))
        [ 2. -2.]

    Torch: `torch.linalg.eig`.

    Differs from jax in:
        1. The eigenvectors have a gradient (`jnp.linalg.eig`: NotImplementedError).
    """
    A = square("linalg.eig", A)
    require(
        jnp.all(jnp.isfinite(jax.lax.stop_gradient(A))),
        RuntimeError("linalg.eig: input tensor should not contain infs or NaNs."),
    )
    return EighResult(*in_opmath(_eig, A))


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

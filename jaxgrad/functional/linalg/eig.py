"""Eigenvalues and eigenvectors, with torch's choice of triangle and its gradients.

An eigenvector is determined up to a sign (or phase), so its gradient is meaningful only if the loss
does not depend on that sign. For equal eigenvalues LAPACK returns an arbitrary basis, on which the
gradient of each eigenvalue depends; the gradient of their sum does not.
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
    """The result of `eigh` and `eig`."""

    eigenvalues: Array
    eigenvectors: Array


def eigh(A: Array, UPLO: str = "L") -> EighResult:
    """Return the ascending eigenvalues and the eigenvectors of Hermitian matrices.

    For equal eigenvalues the eigenvectors are an arbitrary basis and their gradient is NaN; the
    gradient of the sum of these eigenvalues does not depend on the basis.

    Args:
        A: `(*, n, n)`.
        UPLO: The triangle to read, `"L"` or `"U"`. The gradient is spread over both triangles.

    Raises:
        RuntimeError: `A` is not square, or `UPLO` is not one of the two.

    Example:
        >>> import jax.numpy as jnp
        >>> print(eigh(jnp.diag(jnp.array([3.0, 2.0]))).eigenvalues)
        [2. 3.]

    Torch: `torch.linalg.eigh`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. Only one triangle is read (`jnp.linalg.eigh`: the mean of both).
    """
    return EighResult(*in_opmath(_eigh, _triangle("linalg.eigh", A, UPLO)))


def eigvalsh(A: Array, UPLO: str = "L") -> Array:
    """Return the ascending eigenvalues of Hermitian matrices; repeated ones have finite gradients.

    Raises:
        RuntimeError: `A` is not square, or `UPLO` is neither `"L"` nor `"U"`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(eigvalsh(jnp.diag(jnp.array([3.0, 2.0]))))
        [2. 3.]

    Torch: `torch.linalg.eigvalsh`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. Only one triangle is read (`jnp.linalg.eigvalsh`: the mean of both).
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
    """Return the pairwise differences of eigenvalues, with infinity on the diagonal."""
    differences = values[..., None, :] - values[..., :, None]
    return jnp.where(jnp.eye(values.shape[-1], dtype=bool), jnp.inf, differences)


def _eigh_derivative(t: Any, out: Any, _: Any) -> Any:
    values, V = out
    inner = _in_basis(t, V)
    return jnp.diagonal(inner, axis1=-2, axis2=-1).real, jnp.matmul(V, inner / _gaps(values))


@derivative(_eigh_derivative)
def _eigh(x: Array) -> tuple[Array, Array]:
    values, V = jnp.linalg.eigh(hermitian_from_lower(x), symmetrize_input=False)
    return values, V


@derivative(lambda t, _, x: jnp.diagonal(_in_basis(t, _eigh(x)[1]), axis1=-2, axis2=-1).real)
def _eigvalsh(x: Array) -> Array:
    return _eigh(x)[0]


def eig(A: Array) -> EighResult:
    """Return the complex eigenvalues and the unit-length eigenvectors of square matrices.

    For equal eigenvalues the gradient of the eigenvectors is NaN.

    Raises:
        RuntimeError: `A` is not square or (checked only outside `jit`) not finite.

    Example:
        >>> import jax.numpy as jnp
        >>> print(eig(jnp.array([[0.0, 1.0], [-4.0, 0.0]])).eigenvalues.imag.round(4))
        [ 2. -2.]

    Torch: `torch.linalg.eig`.

    Differs from jax in:
        1. The eigenvectors are differentiable (`jnp.linalg.eig`: NotImplementedError).
    """
    A = square("linalg.eig", A)
    require(
        jnp.all(jnp.isfinite(jax.lax.stop_gradient(A))),
        RuntimeError("linalg.eig: input tensor should not contain infs or NaNs."),
    )
    return EighResult(*in_opmath(_eig, A))


def eigvals(A: Array) -> Array:
    """Return the complex eigenvalues of square matrices.

    Raises:
        RuntimeError: `A` is not square.

    Example:
        >>> import jax.numpy as jnp
        >>> print(eigvals(jnp.array([[0.0, 1.0], [-4.0, 0.0]])).imag.round(4))
        [ 2. -2.]

    Torch: `torch.linalg.eigvals`. `jnp.linalg.eigvals` is the same.
    """
    return in_opmath(_eigvals, square("linalg.eigvals", A))


def _eig_derivative(t: Any, out: Any, _: Any) -> Any:
    values, V = out
    inner = jnp.linalg.solve(V, jnp.matmul(t.astype(V.dtype), V))
    dV = jnp.matmul(V, inner / _gaps(values))
    radial = jnp.sum(jnp.conj(V) * dV, -2, keepdims=True).real  # removed to keep unit length
    return jnp.diagonal(inner, axis1=-2, axis2=-1), dV - V * radial


@derivative(_eig_derivative)
def _eig(x: Array) -> tuple[Array, Array]:
    values, V = jnp.linalg.eig(x)
    return values, V


def _eigvals_derivative(t: Any, _: Any, x: Any) -> Any:
    V = _eig(x)[1]
    inner = jnp.linalg.solve(V, jnp.matmul(t.astype(V.dtype), V))
    return jnp.diagonal(inner, axis1=-2, axis2=-1)


@derivative(_eigvals_derivative)
def _eigvals(x: Array) -> Array:
    return _eig(x)[0]

"""Determinants, inverses, systems and functions of matrices: torch's gradients and its errors."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ._arguments import array, canonical_dim, in_opmath, is_floating, promoted, require
from ._rule import derivative
from .norms import matrix_norm
from .running import cumprod


Array = jax.Array


class SlogdetResult(NamedTuple):
    """What `slogdet` returns."""

    sign: Array
    logabsdet: Array


class LstsqResult(NamedTuple):
    """What `lstsq` returns."""

    solution: Array
    residuals: Array
    rank: Array
    singular_values: Array


def det(A: Array, *, torch_gradient: bool = False) -> Array:
    """The determinant of square matrices.

    Args:
        A: `(*, n, n)`.
        torch_gradient: Of an exactly singular matrix torch's gradient is 0, where it is the
            matrix of cofactors. True: 0.

    Raises:
        RuntimeError: They are not square.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(det)(jnp.array([[1.0, 2.0], [2.0, 4.0]])))
        [[ 4. -2.]
         [-2.  1.]]

    Torch: `torch.linalg.det`.
    """
    A = square("linalg.det", A)
    if not A.shape[-1]:
        return jnp.ones(A.shape[:-2], A.dtype)
    if A.shape[-1] == 1:
        return A[..., 0, 0]
    return in_opmath(_torch_det if torch_gradient else jnp.linalg.det, A)


def _torch_det_derivative(t: Any, out: Any, x: Any) -> Any:
    singular = out == 0
    safe = jnp.where(singular[..., None, None], jnp.eye(x.shape[-1], dtype=x.dtype), x)
    slope = jnp.trace(jnp.linalg.solve(safe, t), axis1=-2, axis2=-1)
    return jnp.where(singular, 0, out) * slope


@derivative(_torch_det_derivative)
def _torch_det(x: Array) -> Array:
    return jnp.linalg.det(x)


def slogdet(A: Array) -> SlogdetResult:
    """The determinant's sign and the logarithm of its magnitude.

    Raises:
        RuntimeError: The matrices are not square.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{slogdet(jnp.eye(2) * 2).logabsdet:.4f}")
        1.3863

    Torch: `torch.linalg.slogdet`. `jnp.linalg.slogdet` is the same, but of singular matrices.
    """
    return SlogdetResult(*in_opmath(_slogdet, square("linalg.slogdet", A)))


def _slogdet(x: Array) -> Any:
    return tuple(jnp.linalg.slogdet(x))


def logdet(input: Array) -> Array:
    """The logarithm of the determinant, NaN where it is negative, with gradient 0 there.

    Raises:
        RuntimeError: The matrices are not square.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{logdet(jnp.eye(2) * 2):.4f}")
        1.3863

    Torch: `torch.logdet`.

    Differs from jax in:
        1. Where the determinant is negative the gradient is 0
           (`jnp.log(jnp.linalg.det(x))`: NaN or a number).
    """

    def logarithm(x: Array) -> Array:
        sign, size = jnp.linalg.slogdet(x)
        if jnp.iscomplexobj(x):
            return jnp.log(sign) + size
        return jnp.where(sign == -1, jnp.nan, size)

    return in_opmath(logarithm, square("linalg.logdet", input))


def inv(A: Array) -> Array:
    """The inverse of square matrices.

    Raises:
        RuntimeError: They are not square, or one is singular (not under `jit`).

    Example:
        >>> import jax.numpy as jnp
        >>> print(inv(jnp.eye(2) * 2))
        [[0.5 0. ]
         [0.  0.5]]

    Torch: `torch.linalg.inv`.

    Differs from jax in:
        1. A singular matrix is an error (`jnp.linalg.inv`: NaN and inf).
    """
    A = square("linalg.inv", A)
    found = in_opmath(jnp.linalg.inv, A)
    _regular("linalg.inv: The inversion could not be completed", A, found)
    return found


def pinv(
    A: Array,
    rcond: float | None = None,
    hermitian: bool = False,
    *,
    atol: float | None = None,
    rtol: float | None = None,
) -> Array:
    """The pseudo-inverse of matrices of constant rank.

    Args:
        A: `(*, m, n)`.
        rcond: Another name for `rtol`.
        hermitian: Not looked at: the result is that of the singular values.
        atol: Singular values that are not above it are 0.
        rtol: The same, times the largest. None: `max(m, n) * eps` where there is no `atol`.

    Raises:
        RuntimeError: There are less than two dims.

    Example:
        >>> import jax.numpy as jnp
        >>> print(pinv(jnp.array([[2.0], [0.0]])).round(4))
        [[0.5 0. ]]

    Torch: `torch.linalg.pinv`.
    """
    del hermitian
    A = matrix("linalg.pinv", A)
    rtol = rcond if rtol is None else rtol
    if rtol is None:
        rtol = 0.0 if atol else max(A.shape[-2:]) * float(jnp.finfo(A.dtype).eps)

    def inverse(x: Array) -> Array:
        bound = rtol
        if atol:
            largest = jnp.linalg.norm(jax.lax.stop_gradient(x), 2, (-2, -1))
            bound = jnp.maximum(rtol, atol / largest)
        return jnp.linalg.pinv(x, rtol=bound)

    return in_opmath(inverse, A)


def solve(A: Array, B: Array, *, left: bool = True) -> Array:
    """The X of `A @ X = B`, or of `X @ A = B`.

    Args:
        A: `(*, n, n)`.
        B: `(*, n)` or `(*, n, k)`; for the right side `(*, k, n)`.
        left: Which side A is on.

    Raises:
        RuntimeError: A is not square or singular (not under `jit`), or the shapes do not fit.

    Example:
        >>> import jax.numpy as jnp
        >>> print(solve(jnp.eye(2) * 2, jnp.ones(2)))
        [0.5 0.5]

    Torch: `torch.linalg.solve`.

    Differs from jax in:
        1. A singular matrix is an error (`jnp.linalg.solve`: NaN and inf).
    """
    A, B = square("linalg.solve", A), array(B, "B")
    vector = B.ndim == 1 or (A.ndim - 1 == B.ndim and B.shape == A.shape[:-1])
    rows = B.shape[-1] if vector or not left else B.shape[-2]
    if rows != A.shape[-1]:
        raise RuntimeError(
            f"linalg.solve: Incompatible shapes of A and B for the equation "
            f"{'AX = B' if left else 'XA = B'}: {list(A.shape)} and {list(B.shape)}"
        )

    def solution(a: Array, b: Array) -> Array:
        b = b[..., None] if vector else b
        if not left and not vector:
            a, b = jnp.swapaxes(a, -1, -2), jnp.swapaxes(b, -1, -2)
        batch = jnp.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        x = jnp.linalg.solve(
            jnp.broadcast_to(a, batch + a.shape[-2:]), jnp.broadcast_to(b, batch + b.shape[-2:])
        )
        if vector:
            return x[..., 0]
        return x if left else jnp.swapaxes(x, -1, -2)

    found = in_opmath(solution, A, B)
    _regular("torch.linalg.solve: The solver failed", A, found)
    return found


def solve_triangular(
    A: Array, B: Array, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Array:
    """The X of `A @ X = B`, or of `X @ A = B`, for triangular A; the other triangle is not read.

    Raises:
        RuntimeError: A is not square, or the shapes do not fit.

    Example:
        >>> import jax.numpy as jnp
        >>> print(solve_triangular(jnp.eye(2) * 2, jnp.ones((2, 1)), upper=True))
        [[0.5]
         [0.5]]

    Torch: `torch.linalg.solve_triangular`.
    """
    A, B = square("linalg.solve_triangular", A), matrix("linalg.solve_triangular", B)
    if B.shape[-2 if left else -1] != A.shape[-1]:
        raise RuntimeError(
            "linalg.solve_triangular: Incompatible shapes of A and B for the equation "
            f"{'AX = B' if left else 'XA = B'}: {list(A.shape)} and {list(B.shape)}"
        )
    batch = jnp.broadcast_shapes(A.shape[:-2], B.shape[:-2])

    def solution(a: Array, b: Array) -> Array:
        return jax.lax.linalg.triangular_solve(
            jnp.broadcast_to(a, batch + a.shape[-2:]),
            jnp.broadcast_to(b, batch + b.shape[-2:]),
            left_side=left,
            lower=not upper,
            unit_diagonal=unitriangular,
        )

    return in_opmath(solution, A, B)


def lstsq(A: Array, B: Array, rcond: float | None = None) -> LstsqResult:
    """The X with the least `|A @ X - B|`, of several the smallest; the rest has no gradient.

    Args:
        A: `(*, m, n)`.
        B: `(*, m, k)`.
        rcond: Singular values that are not above it, times the largest, are 0.

    Raises:
        RuntimeError: The shapes do not fit.

    Returns:
        `(solution, residuals, rank, singular_values)`; residuals and singular values are empty, as
        torch's default driver leaves them.

    Example:
        >>> import jax.numpy as jnp
        >>> print(lstsq(jnp.ones((2, 1)), jnp.array([[1.0], [3.0]])).solution.round(4))
        [[2.]]

    Torch: `torch.linalg.lstsq`.
    """
    A, B = matrix("linalg.lstsq", A), matrix("linalg.lstsq", B)
    m, n = A.shape[-2:]
    if B.shape[-2] != m:
        raise RuntimeError(
            "torch.linalg.lstsq: input.size(-2) should match other.size(-2): they are "
            f"{m} and {B.shape[-2]}"
        )
    rtol = max(m, n) * float(jnp.finfo(A.dtype).eps) if rcond is None else rcond
    solution = jnp.matmul(pinv(A, rtol=rtol), B)
    none = jnp.zeros((0,), solution.real.dtype)
    return LstsqResult(solution, none, matrix_rank(A, rtol=rtol), none)


def matrix_power(A: Array, n: int) -> Array:
    """A product of n equal matrices; for negative n of their inverses.

    Raises:
        RuntimeError: They are not square, or n is negative and one is singular.

    Example:
        >>> import jax.numpy as jnp
        >>> print(matrix_power(jnp.array([[1.0, 1.0], [0.0, 1.0]]), 3))
        [[1. 3.]
         [0. 1.]]

    Torch: `torch.linalg.matrix_power`.
    """
    A = square("linalg.matrix_power", A, integers=True)
    if n < 0:
        A, n = inv(A), -n
    if not is_floating(A):
        return jnp.linalg.matrix_power(A, n)
    return in_opmath(lambda x: jnp.linalg.matrix_power(x, n), A)


def matrix_exp(A: Array) -> Array:
    """The exponential of square matrices.

    Raises:
        RuntimeError: They are not square.

    Example:
        >>> import jax.numpy as jnp
        >>> print(matrix_exp(jnp.array([[0.0, 1.0], [0.0, 0.0]])))
        [[1. 1.]
         [0. 1.]]

    Torch: `torch.linalg.matrix_exp`. `jax.scipy.linalg.expm` is the same.
    """
    A = square("linalg.matrix_exp", A)
    return in_opmath(jax.scipy.linalg.expm, A)


def multi_dot(tensors: Sequence[Array]) -> Array:
    """The product of several matrices, in the cheapest order; the first and last may be vectors.

    Raises:
        RuntimeError: There are less than two, or the shapes or dtypes do not fit.

    Example:
        >>> import jax.numpy as jnp
        >>> print(multi_dot([jnp.eye(2), jnp.eye(2), jnp.ones(2)]))
        [1. 1.]

    Torch: `torch.linalg.multi_dot`. `jnp.linalg.multi_dot` is the same.
    """
    arrays = [array(x, "tensors") for x in tensors]
    if len(arrays) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(arrays)}")
    for i, (x, y) in enumerate(itertools.pairwise(arrays)):
        if x.shape[-1] != y.shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {i} and {i + 1} with shapes {list(x.shape)} and "
                f"{list(y.shape)} cannot be multiplied"
            )
    if len({x.dtype for x in arrays}) > 1:
        raise RuntimeError(
            "multi_dot(): all tensors must have be the same dtype but they have "
            f"{', '.join(str(x.dtype) for x in arrays)}"
        )
    if not is_floating(arrays[0]):
        return jnp.linalg.multi_dot(arrays)
    return in_opmath(lambda *xs: jnp.linalg.multi_dot(xs), *arrays)


def cross(input: Array, other: Array, *, dim: int = -1) -> Array:
    """The cross product along a dim of size 3.

    Raises:
        RuntimeError: The dim is not of size 3, or the dims are not as many.

    Example:
        >>> import jax.numpy as jnp
        >>> print(cross(jnp.array([1.0, 0.0, 0.0]), jnp.array([0.0, 1.0, 0.0])))
        [0. 0. 1.]

    Torch: `torch.linalg.cross`. `jnp.cross` is the same.
    """
    x, y = array(input), array(other, "other")
    if x.ndim != y.ndim:
        raise RuntimeError(
            "linalg.cross: inputs must have the same number of dimensions: they have "
            f"{x.ndim} and {y.ndim}"
        )
    axis = canonical_dim(dim, x.ndim)
    if (x.shape[axis], y.shape[axis]) != (3, 3):
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {x.shape[axis]} and "
            f"{y.shape[axis]}"
        )
    x, y = jnp.broadcast_arrays(*promoted(x, y))

    def turned(z: Array, by: int) -> Array:
        return jnp.roll(z, by, axis)

    return turned(x, -1) * turned(y, -2) - turned(x, -2) * turned(y, -1)


def vecdot(x: Array, y: Array, *, dim: int = -1) -> Array:
    """The sums of products along a dim, with the conjugate of the first.

    Example:
        >>> import jax.numpy as jnp
        >>> print(vecdot(jnp.eye(2), jnp.array([1.0, 2.0])))
        [1. 2.]

    Torch: `torch.linalg.vecdot`. `jnp.linalg.vecdot` is the same.
    """
    a, b = jnp.broadcast_arrays(array(x, "x"), array(y, "y"))
    axis = canonical_dim(dim, a.ndim)
    return in_opmath(lambda a, b: jnp.sum(jnp.conj(a) * b, axis), a, b)


def vander(x: Array, *, N: int | None = None) -> Array:
    """The powers 0 to N - 1 of each element, as the last dim.

    Raises:
        RuntimeError: N is below 2.

    Example:
        >>> import jax.numpy as jnp
        >>> print(vander(jnp.array([2.0, 3.0]), N=3))
        [[1. 2. 4.]
         [1. 3. 9.]]

    Torch: `torch.linalg.vander`.

    Differs from jax in:
        1. At 0 the gradient is a number (`jnp.vander`: NaN).
    """
    x = array(x, "x")
    count = x.shape[-1] if N is None else N
    if count <= 1:
        raise RuntimeError(f"N must be greater than 1, it is {count}")
    x = jnp.broadcast_to(x[..., None], (*x.shape, count - 1))
    return jnp.concatenate([jnp.ones_like(x[..., :1]), cumprod(x, -1)], -1)


def cond(A: Array, p: Any = None) -> Array:
    """The condition number: a norm of matrices times that of their inverses.

    Args:
        A: `(*, m, n)`.
        p: As `ord` of `matrix_norm`; None is 2. Other than 2 and -2 for square ones.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{cond(jnp.diag(jnp.array([4.0, 2.0]))):.4f}")
        2.0000

    Torch: `torch.linalg.cond`.
    """
    A = matrix("linalg.cond", A)
    if p is None or p in (2, -2):

        def ratio(x: Array) -> Array:
            s = jnp.linalg.svd(x, compute_uv=False)
            return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]

        return in_opmath(ratio, A)
    return matrix_norm(A, p) * matrix_norm(inv(square("linalg.cond", A)), p)


def matrix_rank(
    A: Array,
    tol: float | None = None,
    hermitian: bool = False,
    *,
    atol: float | None = None,
    rtol: float | None = None,
) -> Array:
    """How many singular values are not 0; no gradient.

    Args:
        A: `(*, m, n)`.
        tol: Another name for `atol`.
        hermitian: Not looked at: the result is that of the singular values.
        atol: Singular values that are not above it are 0.
        rtol: The same, times the largest. None: `max(m, n) * eps` where there is no `atol`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(matrix_rank(jnp.array([[1.0, 2.0], [2.0, 4.0]])))
        1

    Torch: `torch.linalg.matrix_rank`.
    """
    del hermitian
    A = jax.lax.stop_gradient(matrix("linalg.matrix_rank", A))
    atol = tol if atol is None else atol
    s = jnp.linalg.svd(A, compute_uv=False)
    if not s.shape[-1]:
        return jnp.zeros(s.shape[:-1], int)
    if rtol is None:
        rtol = 0.0 if atol else max(A.shape[-2:]) * float(jnp.finfo(A.dtype).eps)
    bound = jnp.maximum(atol or 0.0, rtol * s[..., :1])
    return jnp.sum(s > bound, -1)


def matrix(name: str, A: Any, *, integers: bool = False) -> Array:
    """An argument of at least two dims, of floats or complex numbers."""
    A = array(A, "A")
    if A.ndim < 2:
        raise RuntimeError(
            f"{name}: The input tensor A must have at least 2 dimensions, it has {A.ndim}"
        )
    if not (is_floating(A) or integers):
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got {A.dtype}; "
            "cast it, A.astype(jnp.float32)"
        )
    return A


def square(name: str, A: Any, *, integers: bool = False) -> Array:
    """An argument of square matrices."""
    A = matrix(name, A, integers=integers)
    if A.shape[-1] != A.shape[-2]:
        raise RuntimeError(
            f"{name}: A must be batches of square matrices, but they are {A.shape[-2]} by "
            f"{A.shape[-1]} matrices"
        )
    return A


def _regular(message: str, A: Array, found: Array) -> None:
    A, found = jax.lax.stop_gradient((A, found))
    require(
        jnp.all(jnp.isfinite(found)) | ~jnp.all(jnp.isfinite(A)),
        RuntimeError(f"{message} because the input matrix is singular."),
    )

"""Products of matrices and vectors: torch's shapes and errors; halves accumulate in float32."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from ._arguments import array, canonical_dim, in_opmath, is_floating, promoted


Array = jax.Array


def matmul(input: Array, other: Array) -> Array:
    """The product of matrices, of a matrix and a vector, or of two vectors; batches broadcast.

    Raises:
        RuntimeError: One has no dims, or the shapes or dtypes do not fit.

    Example:
        >>> import jax.numpy as jnp
        >>> print(matmul(jnp.eye(2), jnp.array([1.0, 2.0])))
        [1. 2.]

    Torch: `torch.matmul`. `jnp.matmul` is the same.
    """
    x, y = array(input), array(other, "other")
    if not (x.ndim and y.ndim):
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {x.ndim}D and {y.ndim}D"
        )
    _fits(x, y)
    return _exact(jnp.matmul, x, y)


def mm(input: Array, mat2: Array) -> Array:
    """The product of two matrices.

    Raises:
        RuntimeError: They are not matrices, or the shapes or dtypes do not fit.

    Example:
        >>> import jax.numpy as jnp
        >>> print(mm(jnp.ones((1, 2)), jnp.ones((2, 1))))
        [[2.]]

    Torch: `torch.mm`. `jnp.matmul` is the same.
    """
    x, y = array(input), array(mat2, "mat2")
    for name, z in (("self", x), ("mat2", y)):
        if z.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix, its shape is {list(z.shape)}")
    _fits(x, y)
    return _exact(jnp.matmul, x, y)


def bmm(input: Array, mat2: Array) -> Array:
    """The products of two batches of matrices.

    Raises:
        RuntimeError: They have not three dims, or the shapes or dtypes do not fit.

    Example:
        >>> import jax.numpy as jnp
        >>> print(bmm(jnp.ones((1, 1, 2)), jnp.ones((1, 2, 1))))
        [[[2.]]]

    Torch: `torch.bmm`. `jnp.matmul` is the same.
    """
    x, y = _batches(input, mat2, ("batch1", "batch2"))
    return _exact(jnp.matmul, x, y)


def mv(input: Array, vec: Array) -> Array:
    """The product of a matrix and a vector.

    Raises:
        RuntimeError: They are not such, or the shapes or dtypes do not fit.

    Example:
        >>> import jax.numpy as jnp
        >>> print(mv(jnp.eye(2), jnp.array([1.0, 2.0])))
        [1. 2.]

    Torch: `torch.mv`. `jnp.matmul` is the same.
    """
    x, y = array(input), array(vec, "vec")
    _check_matrix_vector(x, y)
    return _exact(jnp.matmul, x, y)


def dot(input: Array, tensor: Array) -> Array:
    """The sum of the products of two vectors' elements.

    Raises:
        RuntimeError: They are not vectors of one length and dtype.

    Example:
        >>> import jax.numpy as jnp
        >>> print(dot(jnp.array([1.0, 2.0]), jnp.array([3.0, 4.0])))
        11.0

    Torch: `torch.dot`. `jnp.dot` is the same.
    """
    return _exact(jnp.dot, *_vectors("dot", input, tensor))


def vdot(input: Array, other: Array) -> Array:
    """As `dot`, with the conjugate of the first.

    Raises:
        RuntimeError: They are not vectors of one length and dtype.

    Example:
        >>> import jax.numpy as jnp
        >>> print(vdot(jnp.array([1.0, 2.0]), jnp.array([3.0, 4.0])))
        11.0

    Torch: `torch.vdot`. `jnp.vdot` is the same.
    """
    return _exact(jnp.vdot, *_vectors("vdot", input, other))


def inner(input: Array, other: Array) -> Array:
    """The sums of products over the last dims; of a number the product.

    Raises:
        RuntimeError: The last dims differ.

    Example:
        >>> import jax.numpy as jnp
        >>> print(inner(jnp.eye(2), jnp.array([1.0, 2.0])))
        [1. 2.]

    Torch: `torch.inner`. `jnp.inner` is the same.
    """
    x, y = array(input), array(other, "other")
    if x.ndim and y.ndim and x.shape[-1] != y.shape[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(x.shape)} and {list(y.shape)}"
        )
    return _exact(jnp.inner, x, y)


def outer(input: Array, vec2: Array) -> Array:
    """Each element of a vector times each of another.

    Raises:
        RuntimeError: They are not vectors.

    Example:
        >>> import jax.numpy as jnp
        >>> print(outer(jnp.array([1.0, 2.0]), jnp.array([3.0, 4.0])))
        [[3. 4.]
         [6. 8.]]

    Torch: `torch.outer`. `jnp.outer` is the same.
    """
    x, y = array(input), array(vec2, "vec2")
    for name, z in (("self", x), ("vec2", y)):
        if z.ndim != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {z.ndim}-D")
    return jnp.multiply(*promoted(x[:, None], y))


def kron(input: Array, other: Array) -> Array:
    """The Kronecker product.

    Example:
        >>> import jax.numpy as jnp
        >>> print(kron(jnp.eye(2), jnp.array([[1.0, 2.0]])))
        [[1. 2. 0. 0.]
         [0. 0. 1. 2.]]

    Torch: `torch.kron`. `jnp.kron` is the same.
    """
    return jnp.kron(*promoted(array(input), array(other, "other")))


def tensordot(a: Array, b: Array, dims: int | Sequence[Any] = 2) -> Array:
    """The sums of products over dims of both, by number or named for each.

    Raises:
        RuntimeError: The dims differ in number or in size.

    Example:
        >>> import jax.numpy as jnp
        >>> print(tensordot(jnp.ones((2, 3)), jnp.ones((3, 2)), 1))
        [[3. 3.]
         [3. 3.]]

    Torch: `torch.tensordot`. `jnp.tensordot` is the same.
    """
    x, y = array(a, "a"), array(b, "b")
    if isinstance(dims, int):
        left, right = tuple(range(-dims, 0)), tuple(range(dims))
    else:
        left, right = ((d,) if isinstance(d, int) else tuple(d) for d in dims)
    if len(left) != len(right):
        raise RuntimeError(
            f"both dimension lists should have same length, they have {len(left)} and {len(right)}"
        )
    pairs = [
        (canonical_dim(p, x.ndim), canonical_dim(q, y.ndim))
        for p, q in zip(left, right, strict=True)
    ]
    for p, q in pairs:
        if x.shape[p] != y.shape[q]:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {x.shape[p]} in dim {p} "
                f"and second has size {y.shape[q]} in dim {q}"
            )
    axes = tuple(p for p, _ in pairs), tuple(q for _, q in pairs)
    return _exact(lambda x, y: jnp.tensordot(x, y, axes), x, y)


def einsum(equation: str, *operands: Array) -> Array:
    """Sums of products by Einstein's convention.

    Raises:
        RuntimeError: The operands do not fit the equation, by number, dims or sizes.

    Example:
        >>> import jax.numpy as jnp
        >>> print(einsum("ij,j->i", jnp.eye(2), jnp.array([1.0, 2.0])))
        [1. 2.]

    Torch: `torch.einsum`. `jnp.einsum` is the same.
    """
    arrays = [array(x, "operands") for x in operands]
    try:
        return _exact(lambda *xs: jnp.einsum(equation, *xs), *arrays)
    except (ValueError, TypeError) as error:
        shapes = [list(x.shape) for x in arrays]
        raise RuntimeError(f"einsum(): {equation!r} does not fit the shapes {shapes}") from error


def addmm(input: Array, mat1: Array, mat2: Array, *, beta: float = 1, alpha: float = 1) -> Array:
    """`beta * input + alpha * mat1 @ mat2`; where beta is 0 the input is not looked at.

    Raises:
        RuntimeError: They are not matrices, or the shapes or dtypes do not fit.

    Example:
        >>> import jax.numpy as jnp
        >>> print(addmm(jnp.ones(1), jnp.ones((1, 2)), jnp.ones((2, 1)), beta=3))
        [[5.]]

    Torch: `torch.addmm`.
    """
    x, y = array(mat1, "mat1"), array(mat2, "mat2")
    for name, z in (("mat1", x), ("mat2", y)):
        if z.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix, got {z.ndim}-D tensor")
    _fits(x, y)
    return _added(jnp.matmul, input, x, y, beta, alpha)


def addmv(input: Array, mat: Array, vec: Array, *, beta: float = 1, alpha: float = 1) -> Array:
    """`beta * input + alpha * mat @ vec`; where beta is 0 the input is not looked at.

    Raises:
        RuntimeError: They are not a matrix and a vector, or the shapes or dtypes do not fit.

    Example:
        >>> import jax.numpy as jnp
        >>> print(addmv(jnp.ones(2), jnp.eye(2), jnp.array([1.0, 2.0])))
        [2. 3.]

    Torch: `torch.addmv`.
    """
    x, y = array(mat, "mat"), array(vec, "vec")
    _check_matrix_vector(x, y)
    return _added(jnp.matmul, input, x, y, beta, alpha)


def addr(input: Array, vec1: Array, vec2: Array, *, beta: float = 1, alpha: float = 1) -> Array:
    """`beta * input + alpha * outer(vec1, vec2)`; where beta is 0 the input is not looked at.

    Raises:
        RuntimeError: They are not vectors.

    Example:
        >>> import jax.numpy as jnp
        >>> print(addr(jnp.ones(2), jnp.ones(1), jnp.array([1.0, 2.0])))
        [[2. 3.]]

    Torch: `torch.addr`.
    """
    x, y = array(vec1, "vec1"), array(vec2, "vec2")
    for name, z in (("vec1", x), ("vec2", y)):
        if z.ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {z.ndim}-D")
    return _added(jnp.outer, input, x, y, beta, alpha)


def baddbmm(
    input: Array, batch1: Array, batch2: Array, *, beta: float = 1, alpha: float = 1
) -> Array:
    """`beta * input + alpha * batch1 @ batch2`; where beta is 0 the input is not looked at.

    Raises:
        RuntimeError: They have not three dims, or the shapes or dtypes do not fit.

    Example:
        >>> import jax.numpy as jnp
        >>> print(baddbmm(jnp.ones((1, 1, 1)), jnp.ones((1, 1, 2)), jnp.ones((1, 2, 1))))
        [[[3.]]]

    Torch: `torch.baddbmm`.
    """
    x, y = _batches(batch1, batch2, ("batch1", "batch2"))
    return _added(jnp.matmul, input, x, y, beta, alpha)


def addbmm(
    input: Array, batch1: Array, batch2: Array, *, beta: float = 1, alpha: float = 1
) -> Array:
    """`beta * input + alpha * (batch1 @ batch2).sum(0)`; where beta is 0 without the input.

    Raises:
        RuntimeError: They have not three dims, or the shapes or dtypes do not fit.

    Example:
        >>> import jax.numpy as jnp
        >>> print(addbmm(jnp.ones((1, 1)), jnp.ones((3, 1, 2)), jnp.ones((3, 2, 1))))
        [[7.]]

    Torch: `torch.addbmm`.
    """
    x, y = _batches(batch1, batch2, ("batch1", "batch2"))
    return _added(lambda x, y: jnp.einsum("bij,bjk->ik", x, y), input, x, y, beta, alpha)


def _exact(fun: Callable[..., Array], *arrays: Array) -> Array:
    return in_opmath(fun, *arrays) if any(is_floating(x) for x in arrays) else fun(*arrays)


def _added(
    fun: Callable[..., Array], input: Any, x: Array, y: Array, beta: float, alpha: float
) -> Array:
    def scaled(z: Array, *inputs: Array) -> Array:
        z = z if alpha == 1 else z * alpha
        return z if not beta else inputs[0] * beta + z

    shape = jax.eval_shape(fun, x, y).shape
    input = array(input)
    try:
        fits = jnp.broadcast_shapes(input.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise RuntimeError(
            f"The size of input, {list(input.shape)}, must expand to that of the product, "
            f"{list(shape)}"
        )
    return _exact(lambda a, x, y: jnp.broadcast_to(scaled(fun(x, y), a), shape), input, x, y)


def _fits(x: Array, y: Array) -> None:
    inside = y.shape[-2] if y.ndim > 1 else y.shape[0]
    if x.shape[-1] != inside:
        if x.ndim == y.ndim == 1:
            raise RuntimeError(_lengths(x, y))
        raise RuntimeError(
            "mat1 and mat2 shapes cannot be multiplied "
            f"({'x'.join(map(str, x.shape))} and {'x'.join(map(str, y.shape))})"
        )
    if x.dtype != y.dtype:
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {x.dtype} != {y.dtype}"
        )


def _check_matrix_vector(x: Array, y: Array) -> None:
    if (x.ndim, y.ndim) != (2, 1):
        raise RuntimeError(f"vector + matrix @ vector expected, got {x.ndim}, {y.ndim}")
    if x.shape[1] != y.shape[0]:
        raise RuntimeError(
            f"size mismatch, got mat {'x'.join(map(str, x.shape))}, vec {y.shape[0]}"
        )


def _batches(input: Any, mat2: Any, names: tuple[str, str]) -> tuple[Array, Array]:
    x, y = array(input, names[0]), array(mat2, names[1])
    for name, z in zip(names, (x, y), strict=True):
        if z.ndim != 3:
            raise RuntimeError(f"{name} must be a 3D tensor, its shape is {list(z.shape)}")
    if y.shape[:2] != (x.shape[0], x.shape[2]):
        raise RuntimeError(
            f"Expected size for first two dimensions of {names[1]} tensor to be: "
            f"[{x.shape[0]}, {x.shape[2]}] but got: {list(y.shape[:2])}."
        )
    return x, y


def _vectors(name: str, input: Any, other: Any) -> tuple[Array, Array]:
    x, y = array(input), array(other, "other")
    if (x.ndim, y.ndim) != (1, 1):
        raise RuntimeError(f"1D tensors expected, but got {x.ndim}D and {y.ndim}D tensors")
    if x.dtype != y.dtype:
        raise RuntimeError(
            f"{name} : expected both vectors to have same dtype, but found {x.dtype} and {y.dtype}"
        )
    if x.shape != y.shape:
        raise RuntimeError(_lengths(x, y))
    return x, y


def _lengths(x: Array, y: Array) -> str:
    return (
        f"inconsistent tensor size, expected tensor [{x.size}] and src [{y.size}] to have the same "
        f"number of elements, but got {x.size} and {y.size} elements respectively"
    )

"""Matrix products added to an input; with `beta=0` the input is ignored, even if it is NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, exact
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import reject, require_same_dtype
from jaxgrad.functional.linalg._products import as_batches, check_inner, check_mv


def addmm(input: Array, mat1: Array, mat2: Array, *, beta: float = 1, alpha: float = 1) -> Array:
    """Compute `beta * input + alpha * mat1 @ mat2`; with `beta=0` `input` is ignored.

    Raises:
        RuntimeError: `mat1` or `mat2` is not 2-d, or the shapes or dtypes are incompatible.

    Example:
        >>> import jax.numpy as jnp
        >>> print(addmm(jnp.ones(1), jnp.ones((1, 2)), jnp.ones((2, 1)), beta=3))
        [[5.]]

    Torch: `torch.addmm`.
    """
    reject("addmm", "bool", input, mat1, mat2)
    require_same_dtype("addmm", input=input, mat1=mat1, mat2=mat2)
    x, y = array(mat1, "mat1"), array(mat2, "mat2")
    for name, z in (("mat1", x), ("mat2", y)):
        if z.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix, got {z.ndim}-D tensor")
    check_inner(x, y)
    return _add(jnp.matmul, input, x, y, beta, alpha)


def addmv(input: Array, mat: Array, vec: Array, *, beta: float = 1, alpha: float = 1) -> Array:
    """Compute `beta * input + alpha * mat @ vec`; with `beta=0` `input` is ignored.

    Raises:
        RuntimeError: `mat` is not 2-d, `vec` not 1-d, or the shapes or dtypes are incompatible.

    Example:
        >>> import jax.numpy as jnp
        >>> print(addmv(jnp.ones(2), jnp.eye(2), jnp.array([1.0, 2.0])))
        [2. 3.]

    Torch: `torch.addmv`.
    """
    reject("addmv", "bool", input, mat, vec)
    require_same_dtype("addmv", input=input, mat=mat, vec=vec)
    x, y = array(mat, "mat"), array(vec, "vec")
    check_mv(x, y)
    return _add(jnp.matmul, input, x, y, beta, alpha)


def addr(input: Array, vec1: Array, vec2: Array, *, beta: float = 1, alpha: float = 1) -> Array:
    """Compute `beta * input + alpha * outer(vec1, vec2)`; with `beta=0` `input` is ignored.

    Raises:
        RuntimeError: `vec1` or `vec2` is not a vector, or `input` does not broadcast to the result.

    Example:
        >>> import jax.numpy as jnp
        >>> print(addr(jnp.ones(2), jnp.ones(1), jnp.array([1.0, 2.0])))
        [[2. 3.]]

    Torch: `torch.addr`.
    """
    reject("addr", "bool", input, vec1, vec2)
    for name, number in {"beta": beta, "alpha": alpha}.items():
        if isinstance(number, float):
            reject(f"addr of a floating-point {name}", "integer", input, vec1, vec2)
    x, y = array(vec1, "vec1"), array(vec2, "vec2")
    for name, z in (("vec1", x), ("vec2", y)):
        if z.ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {z.ndim}-D")
    return _add(jnp.outer, input, x, y, beta, alpha)


def baddbmm(
    input: Array, batch1: Array, batch2: Array, *, beta: float = 1, alpha: float = 1
) -> Array:
    """Compute `beta * input + alpha * batch1 @ batch2`; with `beta=0` `input` is ignored.

    Raises:
        RuntimeError: A batch is not 3-d, or the shapes or dtypes are incompatible.

    Example:
        >>> import jax.numpy as jnp
        >>> print(baddbmm(jnp.ones((1, 1, 1)), jnp.ones((1, 1, 2)), jnp.ones((1, 2, 1))))
        [[[3.]]]

    Torch: `torch.baddbmm`.
    """
    reject("baddbmm", "bool", input, batch1, batch2)
    require_same_dtype("baddbmm", input=input, batch1=batch1, batch2=batch2)
    x, y = as_batches(batch1, batch2, ("batch1", "batch2"))
    return _add(jnp.matmul, input, x, y, beta, alpha)


def addbmm(
    input: Array, batch1: Array, batch2: Array, *, beta: float = 1, alpha: float = 1
) -> Array:
    """Compute `beta * input + alpha * (batch1 @ batch2).sum(0)`; with `beta=0` `input` is ignored.

    Raises:
        RuntimeError: A batch is not 3-d, or the shapes or dtypes are incompatible.

    Example:
        >>> import jax.numpy as jnp
        >>> print(addbmm(jnp.ones((1, 1)), jnp.ones((3, 1, 2)), jnp.ones((3, 2, 1))))
        [[7.]]

    Torch: `torch.addbmm`.
    """
    reject("addbmm", "bool", input, batch1, batch2)
    require_same_dtype("addbmm", input=input, batch1=batch1, batch2=batch2)
    x, y = as_batches(batch1, batch2, ("batch1", "batch2"))
    return _add(_batch_sum, input, x, y, beta, alpha)


def _batch_sum(x: Array, y: Array) -> Array:
    return jnp.einsum("bij,bjk->ik", x, y)


# torch's gradient is the cotangent times 0, which is NaN where the cotangent is infinite.
@derivative(lambda t, _, __: t * 0)
def _times_zero(z: Array) -> Array:
    return jnp.zeros_like(z)


def _add(
    fun: Callable[..., Array], input: Any, x: Array, y: Array, beta: float, alpha: float
) -> Array:
    def scaled(z: Array, *inputs: Array) -> Array:
        if alpha != 1:
            by_blas = x.ndim == 2 or fun is _batch_sum  # BLAS skips the product if alpha is 0
            z = _times_zero(z) if by_blas and not alpha else z * alpha
        return z if not beta else inputs[0] * beta + z

    shape = jax.eval_shape(fun, x, y).shape
    input = array(input)
    pairs = zip(input.shape[::-1], shape[::-1], strict=False)
    if input.ndim > len(shape) or any(n not in (1, size) for n, size in pairs):
        raise RuntimeError(
            f"The size of input, {list(input.shape)}, must expand to that of the product, "
            f"{list(shape)}"
        )
    return exact(lambda a, x, y: jnp.broadcast_to(scaled(fun(x, y), a), shape), input, x, y)

"""Vector products with torch's shape checks; float16 and bfloat16 accumulate in float32."""

from __future__ import annotations

import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import (
    array,
    broadcasting,
    canonical_dim,
    exact,
    in_opmath,
    together,
)
from jaxgrad.functional._core.dtypes import reject, require_same_dtype
from jaxgrad.functional.linalg._products import vector_pair
from jaxgrad.functional.pointwise.arithmetic import mul


def cross(input: Array, other: Array, *, dim: int = -1) -> Array:
    """Return the cross product along a dim of size 3.

    Raises:
        RuntimeError: The dim does not have size 3, or the inputs differ in number of dims or dtype.

    Example:
        >>> import jax.numpy as jnp
        >>> print(cross(jnp.array([1.0, 0.0, 0.0]), jnp.array([0.0, 1.0, 0.0])))
        [0. 0. 1.]

    Torch: `torch.linalg.cross`. `jnp.cross` is the same.
    """
    require_same_dtype("linalg.cross", input=input, other=other)
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
    x, y = jnp.broadcast_arrays(*together(x, y))

    def rolled(z: Array, shift: int) -> Array:
        return jnp.roll(z, shift, axis)

    return rolled(x, -1) * rolled(y, -2) - rolled(x, -2) * rolled(y, -1)


def vecdot(x: Array, y: Array, *, dim: int = -1) -> Array:
    """Return the inner products of vectors along a dim, conjugating the first argument.

    Example:
        >>> import jax.numpy as jnp
        >>> print(vecdot(jnp.eye(2), jnp.array([1.0, 2.0])))
        [1. 2.]

    Torch: `torch.linalg.vecdot`. `jnp.linalg.vecdot` is the same.
    """
    reject("linalg.vecdot", "bool integer", x, y)
    require_same_dtype("linalg.vecdot", x=x, y=y)
    with broadcasting(x, y):
        a, b = jnp.broadcast_arrays(array(x, "x"), array(y, "y"))
    axis = canonical_dim(dim, a.ndim)
    return in_opmath(lambda a, b: jnp.sum(jnp.conj(a) * b, axis), a, b)


def dot(input: Array, tensor: Array) -> Array:
    """Return the dot product of two vectors, without conjugation.

    Raises:
        RuntimeError: The arguments are not vectors of the same length and dtype.

    Example:
        >>> import jax.numpy as jnp
        >>> print(dot(jnp.array([1.0, 2.0]), jnp.array([3.0, 4.0])))
        11.0

    Torch: `torch.dot`. `jnp.dot` is the same.
    """
    reject("dot", "bool", input, tensor)
    return exact(jnp.dot, *vector_pair("dot", input=input, tensor=tensor))


def vdot(input: Array, other: Array) -> Array:
    """Return the dot product of two vectors, conjugating the first.

    Raises:
        RuntimeError: The arguments are not vectors of the same length and dtype.

    Example:
        >>> import jax.numpy as jnp
        >>> print(vdot(jnp.array([1.0, 2.0]), jnp.array([3.0, 4.0])))
        11.0

    Torch: `torch.vdot`. `jnp.vdot` is the same.
    """
    reject("vdot", "bool", input, other)
    return exact(jnp.vdot, *vector_pair("vdot", input=input, other=other))


def inner(input: Array, other: Array) -> Array:
    """Sum the products over the last dims of both inputs; with a 0-d input, multiply elementwise.

    Raises:
        RuntimeError: The last dims differ in size, or the dtypes differ.

    Example:
        >>> import jax.numpy as jnp
        >>> print(inner(jnp.eye(2), jnp.array([1.0, 2.0])))
        [1. 2.]

    Torch: `torch.inner`. `jnp.inner` is the same.
    """
    x, y = array(input), array(other, "other")
    if not (x.ndim and y.ndim):
        return mul(x, y)
    reject("inner", "bool", x, y)
    require_same_dtype("inner", input=x, other=y)
    if x.shape[-1] != y.shape[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(x.shape)} and {list(y.shape)}"
        )
    return exact(jnp.inner, x, y)


def outer(input: Array, vec2: Array) -> Array:
    """Return the outer product of two vectors.

    Raises:
        RuntimeError: An argument is not a vector.

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
    return jnp.multiply(*together(x[:, None], y))

"""Linear and bilinear maps, with torch's weight layout."""

from __future__ import annotations

import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, in_opmath
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import reject, require_same_dtype


def linear(input: Array, weight: Array, bias: Array | None = None) -> Array:
    """Compute `input @ weight.T + bias`.

    Args:
        input: `(*, in)`.
        weight: `(out, in)` or `(in,)`.
        bias: `(out,)` or `()`.

    Raises:
        RuntimeError: The shapes are incompatible, or the dtypes differ.

    Example:
        >>> import jax.numpy as jnp
        >>> print(linear(jnp.array([1.0, 2.0]), jnp.array([[3.0, 4.0]]), jnp.array([5.0])))
        [16.]

    Torch: `torch.nn.functional.linear`.
    """
    reject("linear", "bool", input, weight, bias)
    require_same_dtype("linear", input=input, weight=weight, bias=bias)
    input, weight = array(input), array(weight, "weight")
    if not input.ndim or not weight.ndim:
        raise RuntimeError(
            f"both arguments to linear need to be at least 1D, but they are {input.ndim}D and "
            f"{weight.ndim}D"
        )
    if weight.ndim > 2 or input.shape[-1] != weight.shape[-1]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied: input is {list(input.shape)} and weight "
            f"{list(weight.shape)}, which must be (out, in)"
        )
    shape = input.shape[:-1] + weight.shape[:-1]
    sizes = () if bias is None else bias.shape
    pairs = zip(sizes[::-1], shape[::-1], strict=False)
    if len(sizes) > len(shape) or any(n not in (1, size) for n, size in pairs):
        raise RuntimeError(
            f"The expanded size of the output {list(shape)} must match the existing size "
            f"{list(sizes)} of the bias"
        )

    def product(x: Array, w: Array, *rest: Array) -> Array:
        y = jnp.matmul(x, w.T)
        return y + rest[0] if rest else y

    biases = [] if bias is None else [bias]
    if not jnp.issubdtype(input.dtype, jnp.inexact):
        return product(input, weight, *biases)
    return in_opmath(product, input, weight, *biases).astype(input.dtype)


def bilinear(input1: Array, input2: Array, weight: Array, bias: Array | None = None) -> Array:
    """Compute `input1[i] * weight[:, i, j] * input2[j]`, summed over i and j, plus the bias.

    Args:
        input1: `(*, in1)`.
        input2: `(*, in2)`.
        weight: `(out, in1, in2)`.
        bias: `(out,)`.

    Raises:
        RuntimeError: The shapes are incompatible, or the dtypes differ.

    Example:
        >>> import jax.numpy as jnp
        >>> print(bilinear(jnp.ones(2), jnp.ones(3), jnp.ones((1, 2, 3))))
        [6.]

    Torch: `torch.nn.functional.bilinear`.
    """
    reject("bilinear", "bool", input1, input2, weight, bias)
    require_same_dtype("bilinear", input1=input1, input2=input2, weight=weight, bias=bias)
    input1, input2 = array(input1, "input1"), array(input2, "input2")
    weight = array(weight, "weight")
    if input1.shape[:-1] != input2.shape[:-1]:
        raise RuntimeError(
            f"bilinear(): input batch dimensions do not match: got {list(input1.shape)} and "
            f"{list(input2.shape)}"
        )
    if (input1.shape[-1], input2.shape[-1]) != weight.shape[1:]:
        raise RuntimeError(
            f"bilinear(): input size does not match weight size: the inputs are "
            f"{list(input1.shape)} and {list(input2.shape)}, the weight {list(weight.shape)}"
        )
    if bias is not None and bias.shape != weight.shape[:1]:
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: got {bias.size} but expected "
            f"{weight.shape[0]}"
        )

    def product(a: Array, b: Array, w: Array, *rest: Array) -> Array:
        y = _trilinear(a, b, w)
        return y + rest[0] if rest else y

    biases = [] if bias is None else [bias]
    return in_opmath(product, input1, input2, weight, *biases)


# Three formulas in torch's order of products, so that infinities spread as they do in torch.
@derivative(
    lambda t, _, __, b, w: _sum_of_products(t, b, w),
    lambda t, _, a, __, w: _sum_of_products(a, t, w),
    lambda t, _, a, b, __: _sum_of_products(a, b, t),
)
def _trilinear(a: Array, b: Array, w: Array) -> Array:
    return _sum_of_products(a, b, w)


def _sum_of_products(a: Array, b: Array, w: Array) -> Array:
    return jnp.einsum("...oj,...j->...o", jnp.einsum("...i,oij->...oj", a, w), b)

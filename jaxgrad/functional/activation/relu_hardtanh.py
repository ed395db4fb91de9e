"""ReLU and its variants with torch's gradients at kinks, bounds and NaN.

torch's gradient of `hardtanh` and `relu6` at NaN depends on the element's position in the array,
because its vectorised and scalar loops differ; here it is the one for a one-element array.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from jaxgrad.functional._core.arguments import array, in_opmath, is_floating, require_floating
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import reject, require_same_dtype


def relu(input: jax.Array) -> jax.Array:
    """Return `max(x, 0)`.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(relu)(0.0), jax.grad(lambda x: jnp.maximum(x, 0))(0.0))
        0.0 0.5

    Torch: `torch.nn.functional.relu`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. At NaN the gradient is 1 (`jax.nn.relu`: 0). At 0 it is 0, as that of `jax.nn.relu`
           (`jnp.maximum(x, 0)`, `jnp.clip(x, 0)`: 0.5).
    """
    reject("relu", "complex", input)
    input = array(input)
    if input.dtype == jnp.bool_:
        raise RuntimeError("Boolean inputs not supported for relu; cast them to a number")
    return _relu(input)


@derivative(lambda t, _, x: jnp.where(x <= 0, 0, t))
def _relu(x: jax.Array) -> jax.Array:
    return jnp.maximum(x, 0)


def relu6(input: jax.Array) -> jax.Array:
    """Clip the input to [0, 6].

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(relu6)(6.0), jax.grad(lambda x: jnp.clip(x, 0, 6))(6.0))
        0.0 0.5

    Torch: `torch.nn.functional.relu6`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. At NaN the gradient is 1 (`jax.nn.relu6`: 0). At 0 and 6 it is 0 (`jnp.clip`: 0.5).
    """
    return hardtanh(input, 0.0, 6.0)


def hardtanh(input: jax.Array, min_val: float = -1.0, max_val: float = 1.0) -> jax.Array:
    """Clip the input to [min_val, max_val], with gradient 0 at the bounds.

    Raises:
        ValueError: `min_val` is above `max_val`.

    Example:
        >>> import jax
        >>> print(jax.grad(hardtanh)(1.0), jax.grad(jax.nn.hard_tanh)(1.0))
        0.0 1.0

    Torch: `torch.nn.functional.hardtanh`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. The gradient is 0 at the bounds (`jax.nn.hard_tanh`: 1, `jnp.clip`: 0.5) and 1 at NaN
           (`lax.clamp`: 0).
    """
    if min_val > max_val:
        raise ValueError(
            f"min_val cannot be greater than max_val, but they are {min_val} and {max_val}"
        )
    input = array(input)
    reject("hardtanh", "complex", input)
    if is_floating(input):
        return _hardtanh(input, low=min_val, high=max_val)
    if input.dtype == jnp.bool_:
        raise RuntimeError("Bool inputs not supported for hardtanh; cast them to a number")
    return jnp.clip(input, int(min_val), int(max_val))


@derivative(lambda t, _, x, low, high: jnp.where((x <= low) | (x >= high), 0, t))
def _hardtanh(x: jax.Array, *, low: float, high: float) -> jax.Array:
    return jnp.clip(x, low, high)


def leaky_relu(input: jax.Array, negative_slope: float = 0.01) -> jax.Array:
    """Multiply the elements that are not positive by a slope.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(leaky_relu)(0.0):.2f}", jax.grad(jax.nn.leaky_relu)(0.0))
        0.01 1.0

    Torch: `torch.nn.functional.leaky_relu`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. At 0 the gradient is the slope (`jax.nn.leaky_relu`: 1).
    """
    return in_opmath(_leaky_relu, require_floating(input, "leaky_relu"), slope=negative_slope)


@derivative(lambda t, _, x, slope: t * jnp.where(x > 0, 1, slope))
def _leaky_relu(x: jax.Array, *, slope: float) -> jax.Array:
    return jnp.where(x > 0, x, x * slope)


def prelu(input: jax.Array, weight: jax.Array) -> jax.Array:
    """Multiply the elements that are not positive by a learned slope.

    Args:
        input: `(N, C, ...)`, or an array of any shape if there is a single weight.
        weight: Slopes, `(1,)`, `(C,)` or `()`.

    Raises:
        RuntimeError: The number of weights is neither 1 nor C, or they have two or more dims.

    Example:
        >>> import jax.numpy as jnp
        >>> print(prelu(jnp.array([[-2.0, 3.0]]), jnp.array([0.25, 0.5])))
        [[-0.5  3. ]]

    Torch: `torch.nn.functional.prelu`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. At 0 the gradient with respect to the input is the weight (`where(x >= 0, ...)`: 1).
        2. An infinite input or weight in the branch not taken contributes 0 rather than NaN.
    """
    input, weight = require_floating(input, "prelu"), array(weight, "weight")
    if weight.ndim > 1:
        raise RuntimeError(
            f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}"
        )
    require_same_dtype("prelu", input=input, weight=weight)
    if weight.size != 1:
        if not input.ndim:
            raise RuntimeError("prelu: Not allow zero-dim input tensor with several weights.")
        channels = input.shape[1] if input.ndim > 1 else 1
        if channels != weight.size:
            raise RuntimeError(
                "prelu: Mismatch of parameter numbers and input channel size. Found parameter "
                f"numbers = {weight.size} and channel size = {channels}."
            )
    shape = [1] * input.ndim
    if input.ndim > 1:
        shape[1] = weight.size
    return in_opmath(_prelu, input, weight.reshape(shape))


# At 0 torch's first derivative is the slope, but its second derivatives are 0.
@derivative(
    lambda t, _, x, w: t * jnp.where(x > 0, 1, jnp.where(x == 0, jax.lax.stop_gradient(w), w)),
    lambda t, _, x, __: jnp.where(x >= 0, 0, t) * jnp.where(x >= 0, 0, x),
)
def _prelu(x: jax.Array, w: jax.Array) -> jax.Array:
    return jnp.where(x > 0, x, w * x)


def rrelu(
    input: jax.Array,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    *,
    key: jax.Array | None = None,
) -> jax.Array:
    """Apply a leaky ReLU whose slopes are random in training, and the mean of the bounds otherwise.

    Args:
        input: Array of any shape.
        lower: Smallest slope.
        upper: Largest slope.
        training: Whether to draw a slope for each element.
        key: A `jax.random` key, required if `training` is true.

    Raises:
        ValueError: `training` is true and there is no key.

    Example:
        >>> import jax.numpy as jnp
        >>> print(rrelu(jnp.array([-1.0, 2.0]), 0.25, 0.75))
        [-0.5  2. ]

    Torch: `torch.nn.functional.rrelu`.
    """
    if not training:
        return leaky_relu(input, (lower + upper) / 2)
    if key is None:
        raise ValueError("rrelu draws its slopes when training; pass key=jax.random.key(...)")
    input = require_floating(input, "rrelu")
    slopes = jax.random.uniform(key, input.shape, jnp.float32, lower, upper).astype(input.dtype)
    return in_opmath(_prelu, input, jax.lax.stop_gradient(slopes))


def threshold(input: jax.Array, threshold: float, value: float) -> jax.Array:
    """Replace the elements at or below the threshold by `value`.

    Example:
        >>> import jax
        >>> print(jax.grad(threshold)(0.5, 0.5, 9.0))
        0.0

    Torch: `torch.nn.functional.threshold`. Gradient conventions: docs/operators.md.
    """
    reject("threshold", "bool complex", input)
    return _threshold(array(input), bound=threshold, value=value)


@derivative(lambda t, _, x, bound, **__: jnp.where(x <= bound, 0, t))
def _threshold(x: jax.Array, *, bound: float, value: float) -> jax.Array:
    return jnp.where(x <= bound, jnp.asarray(value, x.dtype), x)

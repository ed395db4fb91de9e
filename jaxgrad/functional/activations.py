"""Activations: `torch.nn.functional`'s, with its gradients at kinks, in tails and at NaN.

Where torch's gradient at NaN depends on the element's place in the array (its vectorised loop and
the loop for the rest differ: `hardtanh`, `relu6`, `elu`, `selu`, `celu`, the shrinks), it is that
of a single element.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ._arguments import array, canonical_dim, floating, floats, in_opmath, is_floating, result_type
from ._rule import derivative


_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946


def relu(input: jax.Array) -> jax.Array:
    """The positive part.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(relu)(0.0), jax.grad(lambda x: jnp.maximum(x, 0))(0.0))
        0.0 0.5

    Torch: `torch.nn.functional.relu`.

    Differs from jax in:
        1. At NaN the gradient is 1 (`jax.nn.relu`: 0). At 0 both have 0; `jnp.maximum(x, 0)` and
           `jnp.clip(x, 0)` have 0.5.
    """
    input = array(input)
    if input.dtype == jnp.bool_:
        raise RuntimeError("Boolean inputs not supported for relu; cast them to a number")
    return _relu(input)


@derivative(lambda t, _, x: jnp.where(x <= 0, 0, t))
def _relu(x: jax.Array) -> jax.Array:
    return jnp.maximum(x, 0)


def relu6(input: jax.Array) -> jax.Array:
    """The input between 0 and 6.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(relu6)(6.0), jax.grad(lambda x: jnp.clip(x, 0, 6))(6.0))
        0.0 0.5

    Torch: `torch.nn.functional.relu6`.

    Differs from jax in:
        1. At NaN the gradient is 1 (`jax.nn.relu6`: 0). At 0 and 6 it is 0 (`jnp.clip`: 0.5).
    """
    return hardtanh(input, 0.0, 6.0)


def hardtanh(input: jax.Array, min_val: float = -1.0, max_val: float = 1.0) -> jax.Array:
    """The input between two bounds, without a gradient at the bounds.

    Raises:
        ValueError: `min_val` is above `max_val`.

    Example:
        >>> import jax
        >>> print(jax.grad(hardtanh)(1.0), jax.grad(jax.nn.hard_tanh)(1.0))
        0.0 1.0

    Torch: `torch.nn.functional.hardtanh`.

    Differs from jax in:
        1. At the bounds the gradient is 0 (`jax.nn.hard_tanh`: 1, `jnp.clip`: 0.5), at NaN 1
           (`lax.clamp`: 0).
    """
    if min_val > max_val:
        raise ValueError(
            f"min_val cannot be greater than max_val, but they are {min_val} and {max_val}"
        )
    input = array(input)
    if is_floating(input):
        return _hardtanh(input, low=min_val, high=max_val)
    if input.dtype == jnp.bool_:
        raise RuntimeError("Bool inputs not supported for hardtanh; cast them to a number")
    return jnp.clip(input, int(min_val), int(max_val))


@derivative(lambda t, _, x, low, high: jnp.where((x <= low) | (x >= high), 0, t))
def _hardtanh(x: jax.Array, *, low: float, high: float) -> jax.Array:
    return jnp.clip(x, low, high)


def leaky_relu(input: jax.Array, negative_slope: float = 0.01) -> jax.Array:
    """The input, times a slope where it is not positive.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(leaky_relu)(0.0):.2f}", jax.grad(jax.nn.leaky_relu)(0.0))
        0.01 1.0

    Torch: `torch.nn.functional.leaky_relu`.

    Differs from jax in:
        1. At 0 the gradient is the slope (`jax.nn.leaky_relu`: 1).
    """
    return in_opmath(_leaky_relu, floats(input, "leaky_relu"), slope=negative_slope)


@derivative(lambda t, _, x, slope: t * jnp.where(x > 0, 1, slope))
def _leaky_relu(x: jax.Array, *, slope: float) -> jax.Array:
    return jnp.where(x > 0, x, x * slope)


def prelu(input: jax.Array, weight: jax.Array) -> jax.Array:
    """The input, times a learned slope where it is not positive.

    Args:
        input: `(N, C, ...)`, or of any shape with a single weight.
        weight: `(1,)`, `(C,)` or `()`.

    Raises:
        RuntimeError: There are neither one nor C weights, or they have two dims.

    Example:
        >>> import jax.numpy as jnp
        >>> print(prelu(jnp.array([[-2.0, 3.0]]), jnp.array([0.25, 0.5])))
        [[-0.5  3. ]]

    Torch: `torch.nn.functional.prelu`.

    Differs from jax in:
        1. At 0 the gradient by the input is the weight (`where(x >= 0, ...)`: 1).
        2. An infinite input or weight on the side that is not chosen gives 0, not NaN.
    """
    input, weight = floats(input, "prelu"), array(weight, "weight")
    if weight.ndim > 1:
        raise RuntimeError(
            f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}"
        )
    if input.dtype != weight.dtype:
        raise RuntimeError(
            f"prelu: Type promoting not supported. Got {input.dtype} and {weight.dtype}"
        )
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


# torch's second derivatives have a zero at 0, where its first one has the slope.
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
    """A leaky ReLU whose slope is drawn for each element, or is the mean of the bounds.

    Args:
        input: Of any shape.
        lower: The smallest slope.
        upper: The largest slope.
        training: Draw the slopes.
        key: A key of `jax.random`, when training.

    Raises:
        ValueError: Training without a key.

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
    input = floats(input, "rrelu")
    slopes = jax.random.uniform(key, input.shape, jnp.float32, lower, upper).astype(input.dtype)
    return in_opmath(_prelu, input, jax.lax.stop_gradient(slopes))


def _elu_derivative(t: Any, _: Any, x: Any, negative: float, scale: float, rate: float) -> Any:
    # At 0 torch has the left branch, and no second derivative there.
    left = negative * rate * jnp.exp(jnp.where(x * rate < 0, x * rate, 0))
    return t * jnp.where(x <= 0, left, scale)


@derivative(_elu_derivative)
def _elu(x: jax.Array, *, negative: float, scale: float, rate: float) -> jax.Array:
    return jnp.where(x < 0, jnp.expm1(x * rate) * negative, x * scale)


def elu(input: jax.Array, alpha: float = 1.0) -> jax.Array:
    """Exponential linear unit: `alpha * (exp(x) - 1)` below 0.

    Example:
        >>> import jax
        >>> print(jax.grad(elu)(0.0, 0.5), jax.grad(elu)(-40.0) > 0)
        0.5 True

    Torch: `torch.nn.functional.elu`.

    Differs from jax in:
        1. The gradient of the tail is `alpha * exp(x)` as far as it reaches; `jax.nn.elu`
           differentiates `expm1`, which is 0 from x = -40 on.
    """
    return in_opmath(_elu, floats(input, "elu"), negative=alpha, scale=1.0, rate=1.0)


def selu(input: jax.Array) -> jax.Array:
    """Scaled exponential linear unit.

    Example:
        >>> import jax
        >>> print(jax.grad(selu)(-40.0) > 0)
        True

    Torch: `torch.nn.functional.selu`.

    Differs from jax in:
        1. The tail of the gradient, as `elu`'s.
    """
    negative = _SELU_ALPHA * _SELU_SCALE
    return in_opmath(_elu, floats(input, "selu"), negative=negative, scale=_SELU_SCALE, rate=1.0)


def celu(input: jax.Array, alpha: float = 1.0, *, torch_gradient: bool = False) -> jax.Array:
    """Exponential linear unit, continuously differentiable for every alpha.

    Args:
        input: Of any shape.
        alpha: The bound of the negative side, and its width.
        torch_gradient: torch's gradient has alpha rounded to float32, which is wrong in the
            ninth digit. True: that one.

    Raises:
        RuntimeError: `alpha` is 0.

    Example:
        >>> import jax
        >>> print(jax.grad(celu)(0.0, 2.0))
        1.0

    Torch: `torch.nn.functional.celu`.

    Differs from jax in:
        1. The tail of the gradient, as `elu`'s.
    """
    if alpha == 0:
        raise RuntimeError(f"alpha cannot be 0 for celu, but it is {alpha}")
    rate = 1.0 / alpha
    rounded = 1.0 / float(np.float32(alpha)) if torch_gradient else rate
    return in_opmath(_celu, floats(input, "celu"), alpha=alpha, rate=rate, slope=rounded)


def _celu_derivative(t: Any, out: Any, x: Any, alpha: float, rate: float, slope: float) -> Any:
    del rate
    return _elu_derivative(t, out, x, alpha, 1.0, slope)


@derivative(_celu_derivative)
def _celu(x: jax.Array, *, alpha: float, rate: float, slope: float) -> jax.Array:
    del slope
    return jnp.where(x < 0, jnp.expm1(x * rate) * alpha, x)


def gelu(input: jax.Array, approximate: str = "none") -> jax.Array:
    """Gaussian error linear unit, exact unless told.

    Args:
        input: Of any shape.
        approximate: "none", or "tanh".

    Raises:
        RuntimeError: `approximate` is neither.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> x = jnp.array(1.0)
        >>> print(f"{gelu(x):.4f} {jax.nn.gelu(x):.4f}")
        0.8413 0.8412

    Torch: `torch.nn.functional.gelu`.

    Differs from jax in:
        1. The default is exact; `jax.nn.gelu`'s is the approximation by tanh.
        2. The far tail (x < -8) is torch's, which cancels: 1 % off at -10, where it is 1e-22.
    """
    if approximate not in ("none", "tanh"):
        raise RuntimeError(
            f"approximate argument must be either none or tanh, but it is {approximate!r}"
        )
    return in_opmath(
        _gelu if approximate == "none" else _gelu_tanh, floats(input, "gelu", complex=True)
    )


def _gelu_derivative(t: Any, _: Any, x: Any) -> Any:
    density = math.sqrt(0.5 / math.pi) * jnp.exp(-0.5 * x * x)
    return t * (0.5 * (1 + jax.lax.erf(x * math.sqrt(0.5))) + x * density)


@derivative(_gelu_derivative)
def _gelu(x: jax.Array) -> jax.Array:
    return 0.5 * x * (1 + jax.lax.erf(x * math.sqrt(0.5)))


# XLA's own tanh: where it is off by seven ULP the gradient is 1 or 0.
def _gelu_tanh_derivative(t: Any, _: Any, x: Any) -> Any:
    y = jnp.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x)))
    slope = math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * (x * x))
    return t * (0.5 * (1 + y) + 0.5 * x * (1 - y * y) * slope)


@derivative(_gelu_tanh_derivative)
def _gelu_tanh(x: jax.Array) -> jax.Array:
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x))
    return 0.5 * x * (1 + jnp.tanh(inner))


def silu(input: jax.Array) -> jax.Array:
    """The input times its sigmoid.

    Example:
        >>> import jax
        >>> print(jax.grad(silu)(0.0))
        0.5

    Torch: `torch.nn.functional.silu`.
    """
    return in_opmath(_silu, floats(input, "silu", complex=True))


def _silu_derivative(t: Any, _: Any, x: Any) -> Any:
    s = sigmoid(x)
    return t * (s * (1 + x * (1 - s)))


@derivative(_silu_derivative)
def _silu(x: jax.Array) -> jax.Array:
    return x * jax.lax.logistic(x)


def mish(input: jax.Array) -> jax.Array:
    """The input times the tanh of its softplus.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(mish)(0.0):.4f}")
        0.6000

    Torch: `torch.nn.functional.mish`.
    """
    return in_opmath(_mish, floats(input, "mish"))


def _mish_derivative(t: Any, _: Any, x: Any) -> Any:
    squashed = tanh(_softplus(x, beta=1.0, threshold=jnp.inf))
    return t * (squashed + x * sigmoid(x) * (1 - squashed * squashed))


@derivative(_mish_derivative)
def _mish(x: jax.Array) -> jax.Array:
    return x * _rounded_tanh(jnp.log1p(jnp.exp(x)))


def softplus(input: jax.Array, beta: float = 1.0, threshold: float = 20.0) -> jax.Array:
    """A smooth ReLU, `log(1 + exp(beta x)) / beta`; the input itself above the threshold.

    Example:
        >>> import jax
        >>> print(jax.grad(softplus)(25.0), float(jax.grad(softplus)(0.0)))
        1.0 0.5

    Torch: `torch.nn.functional.softplus`.

    Differs from jax in:
        1. Where `beta * x > threshold` the gradient is 1 (`jax.nn.softplus`: 1 - exp(-x)).
    """
    return in_opmath(_softplus, floats(input, "softplus"), beta=beta, threshold=threshold)


def _softplus_derivative(t: Any, _: Any, x: Any, beta: float, threshold: float) -> Any:
    # At the threshold itself torch has the curve, and no second derivative.
    curve = _sigmoid(jnp.where(x * beta >= threshold, threshold, x * beta))
    return t * jnp.where(x * beta > threshold, 1, curve)


@derivative(_softplus_derivative)
def _softplus(x: jax.Array, *, beta: float, threshold: float) -> jax.Array:
    return jnp.where(x * beta > threshold, x, jnp.log1p(jnp.exp(x * beta)) / beta)


def softsign(input: jax.Array) -> jax.Array:
    """`x / (|x| + 1)`.

    Example:
        >>> import jax
        >>> print(jax.grad(softsign)(0.0))
        1.0

    Torch: `torch.nn.functional.softsign`.
    """
    from .pointwise import abs

    input = array(input)
    return floating(input) / (abs(input) + 1)


def tanhshrink(input: jax.Array) -> jax.Array:
    """The input minus its tanh.

    Example:
        >>> import jax
        >>> print(jax.grad(tanhshrink)(0.0))
        0.0

    Torch: `torch.nn.functional.tanhshrink`.

    Differs from jax in:
        1. The gradient is `1 - (1 - tanh(x)^2)`, 0 for tiny inputs (`x - jnp.tanh(x)`: -x).
    """
    input = array(input)
    return input - tanh(input)


def hardsigmoid(input: jax.Array, *, torch_gradient: bool = False) -> jax.Array:
    """A sigmoid of three straight lines, `clip(x + 3, 0, 6) / 6`.

    Args:
        input: Of any shape.
        torch_gradient: In float64 torch's slope is the float32 nearest to 1/6, which is wrong in
            the ninth digit. True: that one.

    Example:
        >>> import jax
        >>> print(jax.grad(hardsigmoid)(3.0), f"{jax.grad(hardsigmoid)(1.0):.4f}")
        0.0 0.1667

    Torch: `torch.nn.functional.hardsigmoid`.

    Differs from jax in:
        1. At -3, 3 and NaN the gradient is 0.
    """
    return in_opmath(_hardsigmoid, floats(input, "hardsigmoid"), rounded=torch_gradient)


def _hardsigmoid_derivative(t: Any, _: Any, x: Any, rounded: bool) -> Any:
    slope = float(np.float32(1 / 6)) if rounded else 1 / 6
    return jnp.where((x > -3) & (x < 3), t * slope, 0)


@derivative(_hardsigmoid_derivative)
def _hardsigmoid(x: jax.Array, *, rounded: bool) -> jax.Array:
    del rounded
    return jnp.clip(x + 3, 0, 6) / 6


def hardswish(input: jax.Array) -> jax.Array:
    """The input times its hard sigmoid.

    Example:
        >>> import jax
        >>> print(jax.grad(hardswish)(-3.0), jax.grad(hardswish)(3.0))
        0.0 1.0

    Torch: `torch.nn.functional.hardswish`.

    Differs from jax in:
        1. At NaN the gradient is 1 (`jax.nn.hard_swish`: NaN).
    """
    return in_opmath(_hardswish, floats(input, "hardswish"))


@derivative(
    lambda t, _, x: jnp.where(x <= -3, 0, t) * jnp.where((x > -3) & (x < 3), x / 3 + 0.5, 1),
)
def _hardswish(x: jax.Array) -> jax.Array:
    return x * jnp.clip(x + 3, 0, 6) / 6


def hardshrink(input: jax.Array, lambd: float = 0.5) -> jax.Array:
    """The input, 0 within `lambd` of 0.

    Example:
        >>> import jax
        >>> print(jax.grad(hardshrink)(0.5))
        0.0

    Torch: `torch.nn.functional.hardshrink`.
    """
    return _hardshrink(floats(input, "hardshrink"), lambd=lambd)


def _shrink_derivative(t: Any, _: Any, x: Any, lambd: float) -> Any:
    return jnp.where((x >= -lambd) & (x <= lambd), 0, t)


@derivative(_shrink_derivative)
def _hardshrink(x: jax.Array, *, lambd: float) -> jax.Array:
    return jnp.where((x >= -lambd) & (x <= lambd), 0, x)


def softshrink(input: jax.Array, lambd: float = 0.5) -> jax.Array:
    """The input moved towards 0 by `lambd`, and 0 within it.

    Raises:
        RuntimeError: `lambd` is negative.

    Example:
        >>> import jax
        >>> print(jax.grad(softshrink)(0.5), softshrink(jax.numpy.array(2.0)))
        0.0 1.5

    Torch: `torch.nn.functional.softshrink`.
    """
    if lambd < 0:
        raise RuntimeError(
            f"lambda must be greater or equal to 0, but found to be {lambd}; make it positive"
        )
    return in_opmath(_softshrink, floats(input, "softshrink"), lambd=lambd)


@derivative(_shrink_derivative)
def _softshrink(x: jax.Array, *, lambd: float) -> jax.Array:
    return jnp.where(x > lambd, x - lambd, jnp.where(x < -lambd, x + lambd, x * 0))


def threshold(input: jax.Array, threshold: float, value: float) -> jax.Array:
    """The input where it is above the threshold, else `value`.

    Example:
        >>> import jax
        >>> print(jax.grad(threshold)(0.5, 0.5, 9.0))
        0.0

    Torch: `torch.nn.functional.threshold`.
    """
    return _threshold(array(input), bound=threshold, value=value)


@derivative(lambda t, _, x, bound, **__: jnp.where(x <= bound, 0, t))
def _threshold(x: jax.Array, *, bound: float, value: float) -> jax.Array:
    return jnp.where(x <= bound, jnp.asarray(value, x.dtype), x)


def logsigmoid(input: jax.Array) -> jax.Array:
    """The logarithm of the sigmoid.

    Example:
        >>> import jax
        >>> print(jax.grad(logsigmoid)(0.0))
        0.5

    Torch: `torch.nn.functional.logsigmoid`.
    """
    return in_opmath(_logsigmoid, floats(input, "logsigmoid"))


def _logsigmoid_derivative(t: Any, _: Any, x: Any) -> Any:
    z = jnp.exp(-jnp.where(x < 0, -x, x))
    return t * (jnp.where(x < 0, 1, 0) - jnp.where(x < 0, 1, -1) * (z / (1 + z)))


@derivative(_logsigmoid_derivative)
def _logsigmoid(x: jax.Array) -> jax.Array:
    return jnp.minimum(x, 0) - jnp.log1p(jnp.exp(-jnp.abs(x)))


def glu(input: jax.Array, dim: int = -1) -> jax.Array:
    """The first half along a dim, times the sigmoid of the second.

    Raises:
        RuntimeError: The dim is of odd size, or there is none.

    Example:
        >>> import jax.numpy as jnp
        >>> print(glu(jnp.array([3.0, 0.0])))
        [1.5]

    Torch: `torch.nn.functional.glu`.
    """
    input = floats(input, "glu")
    if not input.ndim:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    axis = canonical_dim(dim, input.ndim)
    if input.shape[axis] % 2:
        raise RuntimeError(
            f"Halving dimension must be even, but dimension {dim} is size {input.shape[axis]}"
        )
    return in_opmath(lambda x: _gated(*jnp.split(x, 2, axis)), input)


def _gated(value: jax.Array, gate: jax.Array) -> jax.Array:
    return value * sigmoid(gate)


def sigmoid(input: jax.Array) -> jax.Array:
    """The logistic function.

    Example:
        >>> import jax
        >>> print(jax.grad(sigmoid)(0.0))
        0.25

    Torch: `torch.sigmoid`, `torch.nn.functional.sigmoid`.
    """
    return in_opmath(_sigmoid, array(input))


@derivative(lambda t, y, _: t * ((1 - y) * y))
def _sigmoid(x: jax.Array) -> jax.Array:
    return jax.lax.logistic(x)


def tanh(input: jax.Array) -> jax.Array:
    """The hyperbolic tangent.

    Example:
        >>> import jax
        >>> print(jax.grad(tanh)(0.0))
        1.0

    Torch: `torch.tanh`.

    Differs from jax in:
        1. The gradient is `1 - y * y`, as in torch, which cancels where y is near 1
           (`jnp.tanh`: `(1 - y) * (1 + y)`).
    """
    return in_opmath(_tanh, array(input))


@derivative(lambda t, y, _: t * (1 - y * y))
def _tanh(x: jax.Array) -> jax.Array:
    return _rounded_tanh(x)


def _implicit_dim(name: str, dim: int | None, ndim: int) -> int:
    if dim is not None:
        return canonical_dim(dim, ndim)
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated in torch; pass dim=",
        stacklevel=3,
    )
    return 0 if ndim in (0, 1, 3) else 1


def softmax(input: jax.Array, dim: int | None = None, *, dtype: Any = None) -> jax.Array:
    """Exponentials that sum to 1 along a dim.

    Args:
        input: Of any shape.
        dim: The dim that is summed over; None is torch's old choice, with a warning.
        dtype: Cast to this first.

    Example:
        >>> import jax.numpy as jnp
        >>> print(softmax(jnp.array([1.0, 1.0]), 0))
        [0.5 0.5]

    Torch: `torch.nn.functional.softmax`.
    """
    input = _cast("softmax", input, dtype)
    axis = _implicit_dim("softmax", dim, input.ndim)
    return in_opmath(_softmax, input, axis=axis)


def _softmax_derivative(t: Any, y: Any, x: Any, axis: int) -> Any:
    return y * (t - jnp.sum(y * t, axis if x.ndim else None, keepdims=True))


@derivative(_softmax_derivative)
def _softmax(x: jax.Array, *, axis: int) -> jax.Array:
    if not x.size:
        return x
    axes = axis if x.ndim else None
    z = jnp.exp(x - jnp.max(x, axes, keepdims=True))
    return z / jnp.sum(z, axes, keepdims=True)


def softmin(input: jax.Array, dim: int | None = None, *, dtype: Any = None) -> jax.Array:
    """The softmax of the negated input.

    Example:
        >>> import jax.numpy as jnp
        >>> print(softmin(jnp.array([1.0, 1.0]), 0))
        [0.5 0.5]

    Torch: `torch.nn.functional.softmin`.
    """
    input = _cast("softmin", input, dtype)
    return softmax(-input, _implicit_dim("softmin", dim, input.ndim))


def log_softmax(input: jax.Array, dim: int | None = None, *, dtype: Any = None) -> jax.Array:
    """The logarithm of the softmax along a dim.

    Example:
        >>> import jax.numpy as jnp
        >>> print(log_softmax(jnp.array([0.0, 0.0]), 0).round(4))
        [-0.6931 -0.6931]

    Torch: `torch.nn.functional.log_softmax`.
    """
    input = _cast("log_softmax", input, dtype)
    axis = _implicit_dim("log_softmax", dim, input.ndim)
    return in_opmath(_log_softmax, input, axis=axis)


def _log_softmax_derivative(t: Any, y: Any, x: Any, axis: int) -> Any:
    return t - jnp.sum(jnp.exp(y) * t, axis if x.ndim else None, keepdims=True)


@derivative(_log_softmax_derivative)
def _log_softmax(x: jax.Array, *, axis: int) -> jax.Array:
    if not x.size:
        return x
    axes = axis if x.ndim else None
    shifted = x - jnp.max(x, axes, keepdims=True)
    return shifted - jnp.log(jnp.sum(jnp.exp(shifted), axes, keepdims=True))


def _cast(name: str, input: Any, dtype: Any) -> jax.Array:
    input = array(input)
    if dtype is not None:
        return input.astype(dtype)
    if not jnp.issubdtype(result_type(input), jnp.inexact):
        raise NotImplementedError(
            f'"{name}_lastdim_kernel_impl" not implemented for {input.dtype}; cast to a float, '
            "or pass dtype="
        )
    return input


def _rounded_tanh(x: jax.Array) -> jax.Array:
    """Within one ULP: XLA's is off by seven near 1, and the derivative is what is left to 1."""
    if jnp.iscomplexobj(x):
        return jnp.tanh(x)
    small = jnp.exp(-2 * jnp.abs(x))
    return jnp.where(jnp.abs(x) > 0.5, jnp.copysign(1 - 2 * small / (1 + small), x), jnp.tanh(x))

"""Pointwise functions with kinks, ties and edges: torch's gradients there."""

from __future__ import annotations

import builtins
import math
from typing import Any

import jax
import jax.numpy as jnp

from ._arguments import array, in_opmath, is_complex, is_floating, promoted
from ._rule import derivative


Value = jax.Array | bool | float


def abs(input: jax.Array) -> jax.Array:
    """The magnitude, with gradient 0 at 0.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(abs)(0.0), jax.grad(jnp.abs)(0.0))
        0.0 1.0

    Torch: `torch.abs`.

    Differs from jax in:
        1. At 0 the gradient is 0 (`jnp.abs`: 1), at NaN 0 (`jnp.abs`: -1).
    """
    input = array(input)
    return jnp.abs(input) if is_complex(input) else _abs(input)


@derivative(lambda t, _, x: t * jnp.where(x > 0, 1, jnp.where(x < 0, -1, 0)))
def _abs(x: jax.Array) -> jax.Array:
    return jnp.abs(x)


def sign(input: jax.Array) -> jax.Array:
    """-1, 0 or 1, with gradient 0.

    Example:
        >>> import jax.numpy as jnp
        >>> print(sign(jnp.array([-2.0, 0.0])))
        [-1.  0.]

    Torch: `torch.sign`.
    """
    input = array(input)
    if input.dtype == jnp.bool_:
        return input
    if not is_floating(input):
        return jnp.sign(input)
    return jnp.where(jnp.isnan(input), 0, jnp.sign(input))


def floor(input: jax.Array) -> jax.Array:
    """The largest integer that is not above the input, with gradient 0.

    Example:
        >>> import jax.numpy as jnp
        >>> print(floor(jnp.array(1.5)))
        1.0

    Torch: `torch.floor`.
    """
    return _stepwise(jnp.floor, input)


def ceil(input: jax.Array) -> jax.Array:
    """The smallest integer that is not below the input, with gradient 0.

    Example:
        >>> import jax.numpy as jnp
        >>> print(ceil(jnp.array(1.5)))
        2.0

    Torch: `torch.ceil`.
    """
    return _stepwise(jnp.ceil, input)


def trunc(input: jax.Array) -> jax.Array:
    """The input without its fraction, with gradient 0.

    Example:
        >>> import jax.numpy as jnp
        >>> print(trunc(jnp.array(-1.5)))
        -1.0

    Torch: `torch.trunc`.
    """
    return _stepwise(jnp.trunc, input)


def round(input: jax.Array, *, decimals: int = 0) -> jax.Array:
    """The nearest number of so many decimals, halves to even, with gradient 0.

    Example:
        >>> import jax.numpy as jnp
        >>> print(round(jnp.array(2.5)))
        2.0

    Torch: `torch.round`.
    """
    if decimals == 0 or not is_floating(array(input)):
        return _stepwise(jnp.round, input)
    scale = 10.0 ** builtins.abs(decimals)
    if decimals > 0:
        return in_opmath(lambda x: jnp.round(x * scale) / scale, array(input))
    return in_opmath(lambda x: jnp.round(x / scale) * scale, array(input))


def _stepwise(fun: Any, input: Any) -> jax.Array:
    input = array(input)
    return fun(input) if is_floating(input) else input


def frac(input: jax.Array) -> jax.Array:
    """The fraction of the input, with its sign and gradient 1.

    Example:
        >>> import jax.numpy as jnp
        >>> print(frac(jnp.array(-1.5)))
        -0.5

    Torch: `torch.frac`.
    """
    return _frac(array(input))


@derivative(lambda t, *_: t)
def _frac(x: jax.Array) -> jax.Array:
    return x - jnp.trunc(x)


def clamp(input: jax.Array, min: Value | None = None, max: Value | None = None) -> jax.Array:
    """The input between two bounds, with the whole gradient at a bound.

    Args:
        input: Of any shape.
        min: The lower bound, a number or an array that broadcasts; None for none.
        max: The upper bound; it wins where the two cross.

    Raises:
        RuntimeError: Both bounds are missing.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(clamp)(1.0, -1.0, 1.0), jax.grad(jnp.clip)(1.0, -1.0, 1.0))
        1.0 0.5

    Torch: `torch.clamp`.

    Differs from jax in:
        1. At a bound the input's gradient is 1 and the bound's 0 (`jnp.clip`: 0.5 each,
           `lax.clamp`: 0).
    """
    input = array(input)
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if max is None:
        return _clamp_min(*promoted(input, min))
    if min is None:
        return _clamp_max(*promoted(input, max))
    return _clamp(*promoted(input, min, max))


@derivative(
    lambda t, _, x, low, high: jnp.where((x >= low) & (x <= high), t, 0),
    lambda t, _, x, low, high: jnp.where((low < high) & (x < low), t, 0),
    lambda t, _, x, low, high: jnp.where((x > high) | (high < low), t, 0),
)
def _clamp(x: jax.Array, low: jax.Array, high: jax.Array) -> jax.Array:
    return jnp.minimum(jnp.maximum(x, low), high)


def clamp_min(input: jax.Array, min: Value) -> jax.Array:
    """The input, or the bound where the input is below it.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(clamp_min)(0.0, 0.0), jax.grad(jnp.maximum)(0.0, 0.0))
        1.0 0.5

    Torch: `torch.clamp_min`.

    Differs from jax in:
        1. At the bound the input's gradient is 1 (`jnp.maximum`: 0.5).
    """
    return _clamp_min(*promoted(array(input), min))


@derivative(
    lambda t, _, x, low: jnp.where(x >= low, t, 0),
    lambda t, _, x, low: jnp.where(x < low, t, 0),
)
def _clamp_min(x: jax.Array, low: jax.Array) -> jax.Array:
    return jnp.maximum(x, low)


def clamp_max(input: jax.Array, max: Value) -> jax.Array:
    """The input, or the bound where the input is above it.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(clamp_max)(0.0, 0.0), jax.grad(jnp.minimum)(0.0, 0.0))
        1.0 0.5

    Torch: `torch.clamp_max`.

    Differs from jax in:
        1. At the bound the input's gradient is 1 (`jnp.minimum`: 0.5).
    """
    return _clamp_max(*promoted(array(input), max))


@derivative(
    lambda t, _, x, high: jnp.where(x <= high, t, 0),
    lambda t, _, x, high: jnp.where(x > high, t, 0),
)
def _clamp_max(x: jax.Array, high: jax.Array) -> jax.Array:
    return jnp.minimum(x, high)


def maximum(input: jax.Array, other: jax.Array) -> jax.Array:
    """The larger of two; a tie shares the gradient, NaN wins.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(maximum)(1.0, jnp.ones(())))
        0.5

    Torch: `torch.maximum`.

    Differs from jax in:
        1. Where either is NaN both have gradient 1 (`jnp.maximum`: 0).
    """
    return _maximum(*promoted(array(input), array(other, "other")))


@derivative(
    lambda t, _, x, y: jnp.where(x == y, t / 2, jnp.where(x < y, 0, t)),
    lambda t, _, x, y: jnp.where(x == y, t / 2, jnp.where(x > y, 0, t)),
)
def _maximum(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.maximum(x, y)


def minimum(input: jax.Array, other: jax.Array) -> jax.Array:
    """The smaller of two; a tie shares the gradient, NaN wins.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(minimum)(1.0, jnp.ones(())))
        0.5

    Torch: `torch.minimum`.

    Differs from jax in:
        1. Where either is NaN both have gradient 1 (`jnp.minimum`: 0).
    """
    return _minimum(*promoted(array(input), array(other, "other")))


@derivative(
    lambda t, _, x, y: jnp.where(x == y, t / 2, jnp.where(x > y, 0, t)),
    lambda t, _, x, y: jnp.where(x == y, t / 2, jnp.where(x < y, 0, t)),
)
def _minimum(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.minimum(x, y)


def fmax(input: jax.Array, other: jax.Array) -> jax.Array:
    """The larger of two; a tie is the first one's, NaN loses.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(fmax)(1.0, jnp.ones(())), jax.grad(jnp.fmax)(1.0, 1.0))
        1.0 0.0

    Torch: `torch.fmax`.

    Differs from jax in:
        1. At a tie the first argument has the gradient (`jnp.fmax`: the second).
    """
    return _fmax(*promoted(array(input), array(other, "other")))


@derivative(
    lambda t, _, x, y: jnp.where((x >= y) | jnp.isnan(y), t, 0),
    lambda t, _, x, y: jnp.where((x >= y) | jnp.isnan(y), 0, t),
)
def _fmax(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.fmax(x, y)


def fmin(input: jax.Array, other: jax.Array) -> jax.Array:
    """The smaller of two; a tie is the first one's, NaN loses.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(fmin)(1.0, jnp.ones(())), jax.grad(jnp.fmin)(1.0, 1.0))
        1.0 0.0

    Torch: `torch.fmin`.

    Differs from jax in:
        1. At a tie the first argument has the gradient (`jnp.fmin`: the second).
    """
    return _fmin(*promoted(array(input), array(other, "other")))


@derivative(
    lambda t, _, x, y: jnp.where((x <= y) | jnp.isnan(y), t, 0),
    lambda t, _, x, y: jnp.where((x <= y) | jnp.isnan(y), 0, t),
)
def _fmin(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.fmin(x, y)


def copysign(input: jax.Array, other: Value) -> jax.Array:
    """The magnitude of the first with the sign of the second.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(copysign)(0.0, 1.0), jax.grad(jnp.copysign)(0.0, 1.0))
        0.0 1.0

    Torch: `torch.copysign`.

    Differs from jax in:
        1. At 0 the gradient is 0 (`jnp.copysign`: 1), at infinities NaN.
    """
    return in_opmath(_copysign, array(input), other)


@derivative(lambda t, y, x, _: t * jnp.where(x == 0, 0, _divide(y, x)), None)
def _copysign(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.copysign(x, y)


@derivative(lambda t, *rest: t / rest[-1], lambda t, _, a, b: t * -((a / b) / b))
def _divide(a: jax.Array, b: jax.Array) -> jax.Array:
    return a / b


def fmod(input: jax.Array, other: Value) -> jax.Array:
    """The remainder with the sign of the first.

    Example:
        >>> import jax.numpy as jnp
        >>> print(fmod(jnp.array(-3.0), 2.0))
        -1.0

    Torch: `torch.fmod`.
    """
    return _fmod(*promoted(array(input), other))


@derivative(lambda t, *_: t, lambda t, _, x, y: t * -jnp.trunc(x / y))
def _fmod(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.fmod(x, y)


def remainder(input: Value, other: Value) -> jax.Array:
    """The remainder with the sign of the second.

    Example:
        >>> import jax.numpy as jnp
        >>> print(remainder(jnp.array(-3.0), 2.0))
        1.0

    Torch: `torch.remainder`.

    Differs from jax in:
        1. By an infinite first argument the gradient of the second is NaN.
    """
    return _remainder(*promoted(input, other))


def _floor_quotient(x: jax.Array, y: jax.Array) -> jax.Array:
    """Floor division as torch's kernel has it, rounding and infinities included."""
    mod = jnp.fmod(x, y)
    down = (mod != 0) & ((y < 0) != (mod < 0))
    quotient = (x - mod) / y - jnp.where(down, 1, 0)
    whole = jnp.floor(quotient)
    whole = jnp.where(quotient - whole > 0.5, whole + 1, whole)
    whole = jnp.where(quotient == 0, jnp.copysign(0, x / y), whole)
    return jnp.where(y == 0, x / y, whole)


@derivative(lambda t, *_: t, lambda t, _, x, y: t * -jax.lax.stop_gradient(_floor_quotient(x, y)))
def _remainder(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.remainder(x, y)


def pow(input: Value, exponent: Value) -> jax.Array:
    """A power, of an array or by one.

    Raises:
        RuntimeError: Integers to a negative integer power.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(pow)(0.0, jnp.array(0.0)), jax.grad(jnp.power)(0.0, 0.0))
        0.0 nan

    Torch: `torch.pow`.

    Differs from jax in:
        1. By the base at exponent 0 the gradient is 0 (`jnp.power`: NaN where the base is 0).
        2. By the exponent at base 0 it is -inf for negative exponents (`jnp.power`: NaN).
        3. An exponent of 0.5 is the square root: -inf at -0.
    """
    if isinstance(exponent, bool | int | float) and not isinstance(input, int | float):
        base = promoted(input, exponent)[0]
        if not is_floating(base):
            if exponent < 0:
                raise RuntimeError("Integers to negative integer powers are not allowed.")
            return jnp.power(base, int(exponent))
        return in_opmath(lambda x: _power(x, exponent=exponent), base)
    base, exponent = promoted(input, exponent)
    if not is_floating(base):
        return _integer_power(base, exponent)
    return in_opmath(_pow, base, exponent)


def _integer_power(x: jax.Array, y: jax.Array) -> jax.Array:
    """torch's: of a negative exponent what is left of `1 / x**-y` without its fraction, 0 of 0."""
    inverse = jnp.where(jnp.abs(x) == 1, jnp.where(y % 2 == 0, 1, x), 0).astype(x.dtype)
    return jnp.where(y < 0, inverse, jnp.power(x, jnp.maximum(y, 0)))


def _power_derivative(t: Any, _: Any, x: Any, exponent: float) -> Any:
    if exponent == 0:
        return jnp.zeros_like(t)
    return t * (exponent * _power(x, exponent=exponent - 1))


@derivative(_power_derivative)
def _power(x: jax.Array, *, exponent: float) -> jax.Array:
    if exponent in (0.5, -0.5):
        root = jnp.sqrt(x)
        return root if exponent > 0 else 1 / root
    if exponent in (2, 3):
        return x * x if exponent == 2 else x * x * x
    if exponent in (-1, -2):
        return 1 / x if exponent == -1 else 1 / (x * x)
    return jnp.power(x, jnp.asarray(exponent, x.dtype))


def _by_exponent(t: Any, out: Any, x: Any, y: Any) -> Any:
    # The tangent is not masked: torch's second derivative is NaN there.
    return t * jnp.where((x == 0) & (y >= 0), 0, out * jnp.log(x))


def _by_base(t: Any, _: Any, x: Any, y: Any) -> Any:
    # The tangent is masked too: where the exponent is 0 it may be NaN in a second derivative.
    return jnp.where(y == 0, 0, t) * jnp.where(y == 0, 0, y * _pow(x, y - 1))


@derivative(_by_base, _by_exponent)
def _pow(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.power(x, y)


def atan2(input: jax.Array, other: jax.Array) -> jax.Array:
    """The angle of the point (other, input).

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(atan2)(0.0, jnp.zeros(())), jax.grad(jnp.arctan2)(0.0, 0.0))
        0.0 nan

    Torch: `torch.atan2`.

    Differs from jax in:
        1. At (0, 0) the gradient is 0 (`jnp.arctan2`: NaN).
    """
    return in_opmath(_atan2, array(input), array(other, "other"))


def _over_square(numerator: jax.Array, x: jax.Array, y: jax.Array) -> jax.Array:
    square = x * x + y * y
    return jnp.where(square == 0, 0, numerator * (1 / square))


@derivative(
    lambda t, _, y, x: t * _over_square(x, y, x),
    lambda t, _, y, x: t * _over_square(-y, y, x),
)
def _atan2(y: jax.Array, x: jax.Array) -> jax.Array:
    return jnp.arctan2(y, x)


def hypot(input: jax.Array, other: jax.Array) -> jax.Array:
    """The length of the hypotenuse.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(hypot)(0.0, jnp.zeros(())), jax.grad(jnp.hypot)(0.0, 0.0))
        nan 0.5

    Torch: `torch.hypot`.

    Differs from jax in:
        1. At (0, 0) the gradient is NaN (`jnp.hypot`: 0.5); above 1e154 `jnp.hypot`'s is 1.06.
    """
    return in_opmath(_hypot, array(input), array(other, "other"))


@derivative(lambda t, r, x, _: t * (x / r), lambda t, r, _, y: t * (y / r))
def _hypot(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.hypot(x, y)


def xlogy(input: Value, other: Value) -> jax.Array:
    """`input * log(other)`, 0 where the input is 0.

    Example:
        >>> import jax
        >>> print(jax.grad(xlogy)(0.0, 0.0), jax.grad(jax.scipy.special.xlogy)(0.0, 0.0))
        0.0 -inf

    Torch: `torch.xlogy`.

    Differs from jax in:
        1. At input 0 and other <= 0 the gradient is 0 (`jax.scipy.special.xlogy`: -inf, NaN).
    """
    return in_opmath(_xlogy, input, other)


@derivative(
    lambda t, _, x, y: t * jnp.where((x == 0) & (y <= 0), 0, jnp.log(y)),
    lambda t, _, x, y: t * (x / y),
)
def _xlogy(x: jax.Array, y: jax.Array) -> jax.Array:
    product = x * jnp.log(y)
    return jnp.where((x == 0) & ~jnp.isnan(y), 0, product)


def logaddexp(input: jax.Array, other: jax.Array) -> jax.Array:
    """The logarithm of the sum of two exponentials.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(logaddexp)(0.0, jnp.zeros(())))
        0.5

    Torch: `torch.logaddexp`.

    Differs from jax in:
        1. At an infinity the gradient is 0 or 1 (`jnp.logaddexp`: e at (1, inf)), of two equal
           ones NaN (`jnp.logaddexp`: 1).
    """
    return in_opmath(_logaddexp, array(input), array(other, "other"))


@derivative(
    lambda t, _, x, y: t / (1 + jnp.exp(y - x)), lambda t, _, x, y: t / (1 + jnp.exp(x - y))
)
def _logaddexp(x: jax.Array, y: jax.Array) -> jax.Array:
    high = jnp.maximum(x, y)
    return jnp.where(jnp.isinf(x) & (x == y), x, high + jnp.log1p(jnp.exp(-jnp.abs(x - y))))


def sinc(input: jax.Array, *, torch_gradient: bool = False) -> jax.Array:
    """`sin(pi x) / (pi x)`, 1 at 0.

    Args:
        input: Of any shape.
        torch_gradient: torch's formula cancels near 0 (at 1e-8 it is a third off) and its second
            derivative at 0 is 0, where it is -pi^2 / 3. True: that one.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(jax.grad(sinc))(0.0):.4f}")
        -3.2899

    Torch: `torch.sinc`.

    Differs from jax in:
        1. The gradient is right where x * x underflows (`jnp.sinc`: -inf).
    """
    return in_opmath(_sinc, array(input), cancels=torch_gradient)


_SERIES = [(-1) ** k * 2 * k / math.factorial(2 * k + 1) for k in range(1, 9)]


def _sinc_derivative(t: Any, _: Any, x: Any, cancels: bool) -> Any:
    pi = math.pi
    z, square = x * pi, x * x * pi
    if cancels:
        return t * jnp.where(square == 0, 0, (z * jnp.cos(z) - jnp.sin(z)) / square)
    near = jnp.abs(z) < 0.5
    far, small = jnp.where(near, 1, z), jnp.where(near, z, 0)
    slope = jnp.polyval(jnp.asarray(_SERIES[::-1], x.dtype), small * small) * small
    return t * (pi * jnp.where(near, slope, (jnp.cos(far) - jnp.sin(far) / far) / far))


@derivative(_sinc_derivative)
def _sinc(x: jax.Array, *, cancels: bool) -> jax.Array:
    del cancels
    z = x * math.pi
    return jnp.where(x == 0, 1, jnp.sin(z) / jnp.where(x == 0, 1, z))


def lerp(input: jax.Array, end: jax.Array, weight: Value) -> jax.Array:
    """From the first to the second, as far as the weight says.

    Example:
        >>> import jax.numpy as jnp
        >>> print(lerp(jnp.array(1.0), jnp.array(3.0), 0.5))
        2.0

    Torch: `torch.lerp`.
    """
    input, end = array(input), array(end, "end")
    return in_opmath(_lerp, input, end, jnp.asarray(weight, input.dtype))


@derivative(
    lambda t, *rest: t * (1 - rest[-1]),
    lambda t, *rest: t * rest[-1],
    lambda t, _, x, end, __: t * (end - x),
)
def _lerp(x: jax.Array, end: jax.Array, w: jax.Array) -> jax.Array:
    apart = end - x
    return jnp.where(jnp.abs(w) < 0.5, x + w * apart, end - apart * (1 - w))


def addcmul(
    input: jax.Array, tensor1: jax.Array, tensor2: jax.Array, *, value: float = 1
) -> jax.Array:
    """`input + value * tensor1 * tensor2`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(addcmul(jnp.array(1.0), jnp.array(2.0), jnp.array(3.0), value=0.5))
        4.0

    Torch: `torch.addcmul`.
    """
    x, a, b = promoted(array(input), array(tensor1, "tensor1"), array(tensor2, "tensor2"))
    if not is_floating(x):
        return x + a * b * int(value)
    return in_opmath(lambda x, a, b: x + value * a * b, x, a, b)


def addcdiv(
    input: jax.Array, tensor1: jax.Array, tensor2: jax.Array, *, value: float = 1
) -> jax.Array:
    """`input + value * tensor1 / tensor2`.

    Raises:
        RuntimeError: All three are integers.

    Example:
        >>> import jax.numpy as jnp
        >>> print(addcdiv(jnp.array(1.0), jnp.array(3.0), jnp.array(2.0)))
        2.5

    Torch: `torch.addcdiv`.
    """
    a, b = promoted(array(tensor1, "tensor1"), array(tensor2, "tensor2"))
    if not is_floating(a):
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported; make one of the arguments a "
            "float"
        )
    return in_opmath(lambda x, a, b: x + _quotient(value * a, b), array(input), a, b)


@derivative(lambda t, *rest: t / rest[-1], lambda t, _, a, b: t * -(a / (b * b)))
def _quotient(a: jax.Array, b: jax.Array) -> jax.Array:
    return a / b


def where(condition: jax.Array, input: Value, other: Value) -> jax.Array:
    """The first where the condition holds, else the second.

    Example:
        >>> import jax.numpy as jnp
        >>> print(where(jnp.array([True, False]), 1.0, 2.0))
        [1. 2.]

    Torch: `torch.where`.
    """
    condition = array(condition, "condition")
    if condition.dtype not in (jnp.bool_, jnp.uint8):
        raise RuntimeError(
            f"expected condition to be a boolean tensor, but got a tensor with dtype "
            f"{condition.dtype}"
        )
    return jnp.where(condition != 0, *promoted(input, other))


def masked_fill(input: jax.Array, mask: jax.Array, value: Value) -> jax.Array:
    """The input, with one value where the mask is set.

    Raises:
        RuntimeError: The mask is not boolean, or the value has dims.

    Example:
        >>> import jax.numpy as jnp
        >>> print(masked_fill(jnp.array([1.0, 2.0]), jnp.array([True, False]), 0.0))
        [0. 2.]

    Torch: `torch.Tensor.masked_fill`.
    """
    input, mask = array(input), array(mask, "mask")
    if mask.dtype != jnp.bool_:
        raise RuntimeError(
            f"masked_fill_ only supports boolean masks, but got mask with dtype {mask.dtype}"
        )
    if jnp.ndim(value):
        raise RuntimeError(
            "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{jnp.ndim(value)} dimension(s)."
        )
    return jnp.where(mask, jnp.asarray(value, input.dtype), input)


def nan_to_num(
    input: jax.Array,
    nan: float | None = 0.0,
    posinf: float | None = None,
    neginf: float | None = None,
) -> jax.Array:
    """The input with numbers for NaN and infinities, whose gradient is 0.

    Example:
        >>> import jax.numpy as jnp
        >>> print(nan_to_num(jnp.array([jnp.nan, 1.0])))
        [0. 1.]

    Torch: `torch.nan_to_num`.
    """
    input = array(input)
    if not is_floating(input):
        return input
    return _nan_to_num(input, nan=0.0 if nan is None else nan, posinf=posinf, neginf=neginf)


@derivative(lambda t, _, x, **__: t * jnp.where(jnp.isfinite(x), 1, 0))
def _nan_to_num(x: jax.Array, **values: Any) -> jax.Array:
    return jnp.nan_to_num(x, **values)

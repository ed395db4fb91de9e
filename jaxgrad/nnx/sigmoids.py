"""Sigmoids, shrinkage and other bounded or piecewise activations as layers."""

from __future__ import annotations

from collections.abc import Callable

from jaxgrad import functional
from jaxgrad.nnx.module import Array, Layer, new_array


class _Plain(Layer):
    """Base class of activations without arguments."""

    _fun: Callable[[Array], Array]

    def __call__(self, input: Array) -> Array:
        return self._fun(input)


class Sigmoid(_Plain):
    """`1 / (1 + exp(-x))`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(Sigmoid()(jnp.array([0.0])))
        [0.5]

    Torch: `torch.nn.Sigmoid`.
    """

    _fun = staticmethod(functional.sigmoid)


class Tanh(_Plain):
    """The hyperbolic tangent.

    Example:
        >>> import jax.numpy as jnp
        >>> print(Tanh()(jnp.array([0.0])))
        [0.]

    Torch: `torch.nn.Tanh`.
    """

    _fun = staticmethod(functional.tanh)


class LogSigmoid(_Plain):
    """The logarithm of the sigmoid.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{LogSigmoid()(jnp.array(0.0)):.4f}")
        -0.6931

    Torch: `torch.nn.LogSigmoid`.
    """

    _fun = staticmethod(functional.logsigmoid)


class Softsign(_Plain):
    """`x / (1 + abs(x))`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(Softsign()(jnp.array([0.0])))
        [0.]

    Torch: `torch.nn.Softsign`.
    """

    _fun = staticmethod(functional.softsign)


class Tanhshrink(_Plain):
    """`x - tanh(x)`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(Tanhshrink()(jnp.array([0.0])))
        [0.]

    Torch: `torch.nn.Tanhshrink`.
    """

    _fun = staticmethod(functional.tanhshrink)


class Hardsigmoid(Layer):
    """`relu6(x + 3) / 6`.

    Args:
        inplace: Must be False.
        torch_gradient: Whether to use torch's slope in float64, which is 1/6 rounded to float32.

    Example:
        >>> import jax.numpy as jnp
        >>> print(Hardsigmoid()(jnp.array([-3.0, 0.0, 3.0])))
        [0.  0.5 1. ]

    Torch: `torch.nn.Hardsigmoid`.
    """

    def __init__(self, inplace: bool = False, *, torch_gradient: bool = False) -> None:
        super().__init__()
        new_array(inplace, self)
        self.torch_gradient = torch_gradient

    def __call__(self, input: Array) -> Array:
        return functional.hardsigmoid(input, torch_gradient=self.torch_gradient)


class Hardtanh(Layer):
    """The elements, clamped to an interval.

    Args:
        min_val: Lower bound.
        max_val: Upper bound.
        inplace: Must be False.
        min_value: torch's deprecated name of `min_val`; raises if it is given.
        max_value: torch's deprecated name of `max_val`; raises if it is given.

    Raises:
        ValueError: `max_val` is not greater than `min_val`, or an argument that must be left out
            is given.

    Example:
        >>> import jax.numpy as jnp
        >>> print(Hardtanh()(jnp.array([-2.0, 0.5])))
        [-1.   0.5]

    Torch: `torch.nn.Hardtanh`.
    """

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__()
        new_array(inplace, self)
        if min_value is not None or max_value is not None:
            raise ValueError("min_value= and max_value= are deprecated: use min_val= and max_val=")
        if max_val <= min_val:
            raise ValueError(f"max_val must be larger than min_val: got {max_val} and {min_val}")
        self.min_val, self.max_val = min_val, max_val

    def __call__(self, input: Array) -> Array:
        return functional.hardtanh(input, self.min_val, self.max_val)


class Softplus(Layer):
    """`log(1 + exp(beta * x)) / beta`, and the identity where `beta * x` is large.

    Args:
        beta: Steepness of the bend at 0.
        threshold: The identity is used where `beta * x` is greater.

    Example:
        >>> import jax.numpy as jnp
        >>> print(Softplus()(jnp.array([30.0])))
        [30.]

    Torch: `torch.nn.Softplus`.
    """

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta, self.threshold = beta, threshold

    def __call__(self, input: Array) -> Array:
        return functional.softplus(input, self.beta, self.threshold)


class Hardshrink(Layer):
    """The elements outside of `[-lambd, lambd]`, and 0 instead of the others.

    Args:
        lambd: Half the width of the interval of zeros.

    Example:
        >>> import jax.numpy as jnp
        >>> print(Hardshrink()(jnp.array([0.25, 2.0])))
        [0. 2.]

    Torch: `torch.nn.Hardshrink`.
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def __call__(self, input: Array) -> Array:
        return functional.hardshrink(input, self.lambd)


class Softshrink(Layer):
    """Move each element towards 0 by `lambd`, at most to 0.

    Args:
        lambd: How far an element moves.

    Example:
        >>> import jax.numpy as jnp
        >>> print(Softshrink()(jnp.array([0.25, 2.0])))
        [0.  1.5]

    Torch: `torch.nn.Softshrink`.
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def __call__(self, input: Array) -> Array:
        return functional.softshrink(input, self.lambd)

"""ReLU and its piecewise linear relatives as layers."""

from __future__ import annotations

from typing import Any

from flax import nnx

from jaxgrad import functional
from jaxgrad.nnx.init import constant
from jaxgrad.nnx.module import Array, Dtype, Elementwise, Layer, new_array, stream, value


class ReLU(Elementwise):
    """`max(0, x)`, whose gradient at 0 is 0.

    Raises:
        ValueError: `inplace` is set.

    Example:
        >>> import jax.numpy as jnp
        >>> print(ReLU()(jnp.array([-1.0, 2.0])))
        [0. 2.]

    Torch: `torch.nn.ReLU`.
    """

    _fun = staticmethod(functional.relu)


class ReLU6(Elementwise):
    """ReLU with an upper bound of 6.

    Example:
        >>> import jax.numpy as jnp
        >>> print(ReLU6()(jnp.array([-1.0, 7.0])))
        [0. 6.]

    Torch: `torch.nn.ReLU6`.
    """

    _fun = staticmethod(functional.relu6)


class LeakyReLU(Layer):
    """The identity for positive elements and a line with a small slope for the others.

    Args:
        negative_slope: Slope for negative elements.

    Example:
        >>> import jax.numpy as jnp
        >>> print(LeakyReLU(0.5)(jnp.array([-2.0, 2.0])))
        [-1.  2.]

    Torch: `torch.nn.LeakyReLU`.
    """

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__()
        new_array(inplace, self)
        self.negative_slope = negative_slope

    def __call__(self, input: Array) -> Array:
        return functional.leaky_relu(input, self.negative_slope)


class PReLU(Layer):
    """LeakyReLU with a trainable slope, one for all channels or one per channel.

    Args:
        num_parameters: Number of slopes: 1, or the number of channels (dim 1).
        init: Initial value of every slope.
        dtype: Dtype of the slopes; None means float32.

    Example:
        >>> import jax.numpy as jnp
        >>> print(PReLU()(jnp.array([-2.0, 2.0], "float32")))
        [-0.5  2. ]

    Torch: `torch.nn.PReLU`.
    """

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        dtype: Dtype = None,
        *,
        rngs: nnx.Rngs | None = None,
    ) -> None:
        del rngs
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.parameter("weight", constant(init), None, (num_parameters,), dtype)

    def __call__(self, input: Array) -> Array:
        return functional.prelu(input, value(self.weight))


class RReLU(Layer):
    """LeakyReLU with random slopes in training, and with their mean in evaluation.

    Args:
        lower: Lower bound of the slope.
        upper: Upper bound of the slope.
        inplace: Must be False.
        rngs: Keys, whose `dropout` stream is forked; if None, a training call needs `key=`.

    Raises:
        ValueError: `inplace` is set, or a training call has no key.

    Example:
        >>> import jax.numpy as jnp
        >>> from flax import nnx
        >>> layer = RReLU(0.25, 0.75, rngs=nnx.Rngs(0))
        >>> layer.eval()
        >>> print(layer(jnp.array([-2.0, 2.0])))
        [-1.  2.]

    Torch: `torch.nn.RReLU`.
    """

    rngs: Any

    def __init__(
        self,
        lower: float = 1 / 8,
        upper: float = 1 / 3,
        inplace: bool = False,
        *,
        rngs: nnx.Rngs | None = None,
    ) -> None:
        super().__init__()
        new_array(inplace, self)
        self.lower, self.upper = lower, upper
        self.rngs = stream(rngs, "RReLU")

    def __call__(self, input: Array, *, key: Array | None = None) -> Array:
        if key is None and self.training and self.rngs is not None:
            key = self.rngs()
        return functional.rrelu(input, self.lower, self.upper, self.training, key=key)


class Threshold(Layer):
    """The elements above a threshold, and a constant instead of the others.

    Args:
        threshold: The elements above it are kept.
        value: Replaces the other elements.

    Example:
        >>> import jax.numpy as jnp
        >>> print(Threshold(1.0, 9.0)(jnp.array([0.0, 2.0])))
        [9. 2.]

    Torch: `torch.nn.Threshold`.
    """

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        new_array(inplace, self)
        self.threshold, self.value = threshold, value

    def __call__(self, input: Array) -> Array:
        return functional.threshold(input, self.threshold, self.value)

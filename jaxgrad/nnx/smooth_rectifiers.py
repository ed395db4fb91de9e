"""ELU, GELU, SiLU and other smooth relatives of ReLU as layers."""

from __future__ import annotations

from jaxgrad import functional
from jaxgrad.nnx.module import Array, Elementwise, Layer, new_array


class ELU(Layer):
    """The identity for positive elements, and `alpha * (exp(x) - 1)` for the others.

    Args:
        alpha: Minus the limit for negative elements.

    Example:
        >>> import jax.numpy as jnp
        >>> print(ELU()(jnp.array([0.0, 2.0])))
        [0. 2.]

    Torch: `torch.nn.ELU`.
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        new_array(inplace, self)
        self.alpha = alpha

    def __call__(self, input: Array) -> Array:
        return functional.elu(input, self.alpha)


class CELU(Layer):
    """The identity for positive elements, and `alpha * (exp(x / alpha) - 1)` for the others.

    Args:
        alpha: Minus the limit for negative elements.
        inplace: Must be False.
        torch_gradient: Whether to use torch's gradient, which rounds `alpha` to float32.

    Example:
        >>> import jax.numpy as jnp
        >>> print(CELU()(jnp.array([0.0, 2.0])))
        [0. 2.]

    Torch: `torch.nn.CELU`.
    """

    def __init__(
        self, alpha: float = 1.0, inplace: bool = False, *, torch_gradient: bool = False
    ) -> None:
        super().__init__()
        new_array(inplace, self)
        self.alpha, self.torch_gradient = alpha, torch_gradient

    def __call__(self, input: Array) -> Array:
        return functional.celu(input, self.alpha, torch_gradient=self.torch_gradient)


class SELU(Elementwise):
    """ELU with constants that preserve mean and variance.

    Example:
        >>> import jax.numpy as jnp
        >>> print(SELU()(jnp.array([0.0])))
        [0.]

    Torch: `torch.nn.SELU`.
    """

    _fun = staticmethod(functional.selu)


class GELU(Layer):
    """`x` times the standard normal distribution function of `x`.

    Args:
        approximate: Either "none" or "tanh".

    Example:
        >>> import jax.numpy as jnp
        >>> print(GELU()(jnp.array([0.0])))
        [0.]

    Torch: `torch.nn.GELU`.
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def __call__(self, input: Array) -> Array:
        return functional.gelu(input, self.approximate)


class SiLU(Elementwise):
    """`x * sigmoid(x)`, which is also called swish.

    Example:
        >>> import jax.numpy as jnp
        >>> print(SiLU()(jnp.array([0.0])))
        [0.]

    Torch: `torch.nn.SiLU`.
    """

    _fun = staticmethod(functional.silu)


class Mish(Elementwise):
    """`x * tanh(softplus(x))`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(Mish()(jnp.array([0.0])))
        [0.]

    Torch: `torch.nn.Mish`.
    """

    _fun = staticmethod(functional.mish)


class Hardswish(Elementwise):
    """`x * relu6(x + 3) / 6`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(Hardswish()(jnp.array([-3.0, 3.0])))
        [-0.  3.]

    Torch: `torch.nn.Hardswish`.
    """

    _fun = staticmethod(functional.hardswish)


class GLU(Layer):
    """The first half of a dim times the sigmoid of its second half.

    Args:
        dim: The dim that is halved.

    Example:
        >>> import jax.numpy as jnp
        >>> print(GLU()(jnp.array([2.0, 0.0])))
        [1.]

    Torch: `torch.nn.GLU`.
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def __call__(self, input: Array) -> Array:
        return functional.glu(input, self.dim)

"""Distances between vectors, and normalisation across neighbouring channels."""

from __future__ import annotations

from jaxgrad import functional
from jaxgrad.nnx.module import Array, Layer


class CosineSimilarity(Layer):
    """The cosine of the angle between two vectors.

    Args:
        dim: The dim of the vectors.
        eps: Lower bound of the product of their norms.

    Example:
        >>> import jax.numpy as jnp
        >>> print(CosineSimilarity(0)(jnp.ones(2), -jnp.ones(2)).round(4))
        -1.0

    Torch: `torch.nn.CosineSimilarity`.
    """

    def __init__(self, dim: int = 1, eps: float = 1e-08) -> None:
        super().__init__()
        self.dim, self.eps = dim, eps

    def __call__(self, x1: Array, x2: Array) -> Array:
        return functional.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Layer):
    """The p-norm of the difference of two vectors, along the last dim.

    Args:
        p: Exponent of the norm.
        eps: Is added to the difference, to avoid a division by zero in the gradient.
        keepdim: Whether the reduced dim remains, with size 1.

    Example:
        >>> import jax.numpy as jnp
        >>> print(PairwiseDistance()(jnp.zeros((1, 2)), jnp.array([[3.0, 4.0]])).round(4))
        [5.]

    Torch: `torch.nn.PairwiseDistance`.
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-06, keepdim: bool = False) -> None:
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def __call__(self, x1: Array, x2: Array) -> Array:
        return functional.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class LocalResponseNorm(Layer):
    """Divide by a power of the mean of the squares of neighbouring channels.

    Args:
        size: Number of neighbouring channels.
        alpha: Factor of the mean.
        beta: Exponent of the divisor.
        k: Summand of the divisor.

    Example:
        >>> import jax.numpy as jnp
        >>> print(LocalResponseNorm(2)(jnp.zeros((1, 2, 3))).shape)
        (1, 2, 3)

    Torch: `torch.nn.LocalResponseNorm`.
    """

    def __init__(
        self, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1.0
    ) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def __call__(self, input: Array) -> Array:
        return functional.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

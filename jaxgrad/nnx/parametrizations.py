"""spectral_norm and weight_norm: a weight that is computed from others at each use.

The parameter stays what it was, under torch's key `parametrizations.<name>.original`; nothing is
written over it. flax's `nnx.SpectralNorm` and `nnx.WeightNorm` write the result into it.
"""

from __future__ import annotations

import functools
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from flax import nnx

from jaxgrad.nnx.convolutions import _Transposed
from jaxgrad.nnx.module import Array, Layer, value


M = TypeVar("M", bound=nnx.Module)


def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """A copy of a module whose weight is `g * v / norm(v)`.

    Args:
        module: A module that has the parameter; it stays as it is.
        name: Of the parameter.
        dim: The norm is over every other dim; None: over all.

    Returns:
        The module with `parametrizations.<name>.original0` (g, at first the norm of the weight)
        and `original1` (v, the weight): its function is unchanged.

    Raises:
        ValueError: There is no such parameter.

    Example:
        >>> from flax import nnx
        >>> from jaxgrad.nnx import Linear, state_dict
        >>> layer = weight_norm(Linear(3, 2, rngs=nnx.Rngs(0)))
        >>> for key, x in state_dict(layer).items():
        ...     print(key, x.shape)
        bias (2,)
        parametrizations.weight.original0 (2, 1)
        parametrizations.weight.original1 (2, 3)

    Torch: `torch.nn.utils.parametrizations.weight_norm`.

    Differs from flax in:
        1. The scale begins as the norm (`nnx.WeightNorm`: 1), and the parameter is not overwritten.
    """
    return _parametrized(module, name, lambda weight: _WeightNorm(weight, dim))


def spectral_norm(
    module: M,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
    *,
    rngs: nnx.Rngs,
) -> M:
    """A copy of a module whose weight is divided by its largest singular value.

    Args:
        module: A module that has the parameter; it stays as it is.
        name: Of the parameter.
        n_power_iterations: Each use of the weight when training does so many.
        eps: The least norm that is divided by.
        dim: The dim of the outputs. None: 0, and 1 for a transposed convolution.
        rngs: Draws the first vectors, which 15 power iterations then improve.

    Returns:
        The module with `parametrizations.<name>.original` and the vectors `0._u`, `0._v`.

    Raises:
        ValueError: There is no such parameter, or the iterations are not positive.

    Example:
        >>> import jax.numpy as jnp
        >>> from flax import nnx
        >>> from jaxgrad.nnx import Linear
        >>> layer = spectral_norm(Linear(3, 2, rngs=nnx.Rngs(0)), rngs=nnx.Rngs(1))
        >>> print(f"{jnp.linalg.norm(layer.weight, 2):.3f}")
        1.000

    Torch: `torch.nn.utils.parametrizations.spectral_norm`.

    Differs from flax in:
        1. The parameter is not overwritten (`nnx.SpectralNorm`: it is), and the vectors are good
           from the start.
    """
    if n_power_iterations <= 0:
        raise ValueError(
            "Expected n_power_iterations to be positive, but got "
            f"n_power_iterations={n_power_iterations}"
        )
    if dim is None:
        dim = 1 if isinstance(module, _Transposed) else 0
    key = rngs.params()
    return _parametrized(
        module, name, lambda weight: _SpectralNorm(weight, n_power_iterations, eps, dim, key)
    )


class _WeightNorm(Layer):
    def __init__(self, weight: Array, dim: int | None) -> None:
        super().__init__()
        self.dim = None if dim is None or dim == -1 else dim % weight.ndim
        self.original0 = nnx.Param(self._norm(weight))
        self.original1 = nnx.Param(weight)

    def __call__(self) -> Array:
        v = value(self.original1)
        return v * (value(self.original0) / self._norm(v))

    def _norm(self, v: Array) -> Array:
        if self.dim is None:
            return jnp.sqrt(jnp.sum(v * v))
        dims = tuple(d for d in range(v.ndim) if d != self.dim)
        return jnp.sqrt(jnp.sum(v * v, dims, keepdims=True))


class _SpectralNorm(Layer):
    def __init__(self, weight: Array, iterations: int, eps: float, dim: int, key: Array) -> None:
        super().__init__()
        self.original = nnx.Param(weight)
        vectors = _Vectors(weight, eps, dim, key)
        setattr(self, "0", vectors)  # torch's key: the first parametrization of the list
        self.iterations, self.eps, self.dim = iterations, eps, dim

    def __call__(self) -> Array:
        weight = value(self.original)
        if weight.ndim == 1:
            return weight / jnp.maximum(jnp.linalg.norm(weight), self.eps)
        matrix = _matrix(weight, self.dim)
        vectors = getattr(self, "0")
        if self.training:
            vectors.improve(matrix, self.iterations, self.eps)
        sigma = jnp.vdot(value(vectors._u), matrix @ value(vectors._v))
        return weight / sigma


class _Vectors(nnx.Module):
    """The singular vectors, as good as the iterations made them."""

    _u: Any
    _v: Any

    def __init__(self, weight: Array, eps: float, dim: int, key: Array) -> None:
        if weight.ndim == 1:
            return
        matrix = _matrix(weight, dim)
        ends = zip(("_u", "_v"), matrix.shape, jax.random.split(key), strict=True)
        for name, size, end in ends:
            drawn = jax.random.normal(end, (size,), weight.dtype)
            setattr(self, name, nnx.BatchStat(_unit(drawn, eps)))
        self.improve(matrix, 15, eps)

    def improve(self, matrix: Array, iterations: int, eps: float) -> None:
        """Power iterations, without a gradient."""
        matrix = jax.lax.stop_gradient(matrix)
        u, v = value(self._u), value(self._v)
        for _ in range(iterations):
            u = _unit(matrix @ v, eps)
            v = _unit(matrix.T @ u, eps)
        self._u[...], self._v[...] = u, v


def _unit(x: Array, eps: float) -> Array:
    return x / jnp.maximum(jnp.linalg.norm(x), eps)


def _matrix(weight: Array, dim: int) -> Array:
    return jnp.moveaxis(weight, dim, 0).reshape(weight.shape[dim], -1)


class _Parametrizations(nnx.Module):
    """By the name of the parameter."""


def _parametrized(module: Any, name: str, make: Any) -> Any:
    if not isinstance(getattr(module, name, None), nnx.Variable):
        what = type(module).__name__
        raise ValueError(f"Module '{what}' does not have a parameter with name '{name}'")
    module = nnx.clone(module)
    made = make(value(getattr(module, name)))
    if hasattr(module, "deterministic"):
        made.deterministic = module.deterministic
    delattr(module, name)
    module.__class__ = _class_with(type(module), name)
    if not hasattr(module, "parametrizations"):
        module.parametrizations = _Parametrizations()
    setattr(module.parametrizations, name, made)
    return module


@functools.cache
def _class_with(cls: Any, name: str) -> Any:
    """A subclass whose attribute is computed at each use. One for each, so that types are equal."""

    class Parametrized(cls):
        pass

    def compute(self: Any) -> Array:
        return getattr(self.parametrizations, name)()

    setattr(Parametrized, name, property(compute))
    Parametrized.__name__ = Parametrized.__qualname__ = f"Parametrized{cls.__name__}"
    return Parametrized

"""spectral_norm and weight_norm: a weight is computed from other parameters at each use.

The original parameter is kept under torch's key `parametrizations.<name>.original` and is never
overwritten. flax's `nnx.SpectralNorm` and `nnx.WeightNorm` overwrite it with the result.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from flax import nnx

from jaxgrad.nnx.convolutions import Transposed
from jaxgrad.nnx.module import Array, Layer, needed, value


M = TypeVar("M", bound=nnx.Module)


def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """Return a copy of a module whose weight is `g * v / norm(v)`.

    Args:
        module: Module with the parameter; it is not changed.
        name: Name of the parameter.
        dim: Dim that is not reduced by the norm; None reduces all dims.

    Returns:
        A module with the parameters `parametrizations.<name>.original0` (g, which starts as the
        norm of the weight) and `original1` (v, the weight). It computes the same function.

    Raises:
        ValueError: The module does not have this parameter.

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
        1. The scale starts as the norm (`nnx.WeightNorm`: 1), and the parameter is not overwritten.
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
    """Return a copy of a module whose weight is divided by its largest singular value.

    Args:
        module: Module with the parameter; it is not changed.
        name: Name of the parameter.
        n_power_iterations: Number of power iterations at each use of the weight in training.
        eps: Lower bound for the norms used as divisors.
        dim: Dim of the outputs; None means 0, or 1 for a transposed convolution.
        rngs: Keys for the initial vectors, which 15 power iterations then improve.

    Returns:
        A module with the weight as `parametrizations.<name>.original`, and vectors `0._u`, `0._v`.

    Raises:
        ValueError: The parameter does not exist, or `n_power_iterations` is not positive.

    Example:
        >>> import jax.numpy as jnp
        >>> from flax import nnx
        >>> from jaxgrad.nnx import Linear
        >>> layer = spectral_norm(Linear(3, 2, rngs=nnx.Rngs(0)), rngs=nnx.Rngs(1))
        >>> print(f"{jnp.linalg.norm(layer.weight, 2):.3f}")
        1.000

    Torch: `torch.nn.utils.parametrizations.spectral_norm`.

    Differs from flax in:
        1. The parameter is not overwritten (`nnx.SpectralNorm`: it is), and power iterations have
           already improved the initial vectors.
    """
    if n_power_iterations <= 0:
        raise ValueError(
            "Expected n_power_iterations to be positive, but got "
            f"n_power_iterations={n_power_iterations}"
        )
    if dim is None:
        dim = 1 if isinstance(module, Transposed) else 0
    key = needed(rngs, "spectral_norm").params()
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
        setattr(self, "0", vectors)  # torch's key: index of the first parametrization
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
    """Estimates of the first left and right singular vectors."""

    _u: Any
    _v: Any

    def __init__(self, weight: Array, eps: float, dim: int, key: Array) -> None:
        if weight.ndim == 1:
            return
        matrix = _matrix(weight, dim)
        keys = jax.random.split(key)
        for name, size, vector_key in zip(("_u", "_v"), matrix.shape, keys, strict=True):
            vector = jax.random.normal(vector_key, (size,), weight.dtype)
            setattr(self, name, nnx.BatchStat(_unit(vector, eps)))
        self.improve(matrix, 15, eps)

    def improve(self, matrix: Array, iterations: int, eps: float) -> None:
        """Run power iterations, without a gradient."""
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
    """Hold the parametrizations of a module, keyed by parameter name."""


def _parametrized(module: Any, name: str, parametrize: Callable[[Array], Layer]) -> Any:
    if not isinstance(getattr(module, name, None), nnx.Variable):
        cls = type(module).__name__
        raise ValueError(f"Module '{cls}' does not have a parameter with name '{name}'")
    module = nnx.clone(module)
    parametrization = parametrize(value(getattr(module, name)))
    if hasattr(module, "deterministic"):
        parametrization.deterministic = module.deterministic
    delattr(module, name)
    module.__class__ = _class_with(type(module), name)
    if not hasattr(module, "parametrizations"):
        module.parametrizations = _Parametrizations()
    setattr(module.parametrizations, name, parametrization)
    return module


@functools.cache
def _class_with(cls: Any, name: str) -> Any:
    """Return a cached subclass that computes the named attribute at each use."""

    class Parametrized(cls):
        pass

    def compute(self: Any) -> Array:
        return getattr(self.parametrizations, name)()

    setattr(Parametrized, name, property(compute))
    Parametrized.__name__ = Parametrized.__qualname__ = f"Parametrized{cls.__name__}"
    return Parametrized

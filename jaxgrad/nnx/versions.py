"""`nnx.at`: the layers as one version of torch computes them."""

from __future__ import annotations

from jaxgrad._core.torch_versions import supported
from jaxgrad._core.versioned import Versioned


def at(version: str) -> Versioned:
    """Return the layers with the gradients of a version of torch; see `functional.at`.

    Args:
        version: A supported version, such as `"2.13"` or `torch.__version__`.

    Raises:
        ValueError: jaxgrad does not know this version.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from jaxgrad import nnx
        >>> older = nnx.at("2.13").HingeEmbeddingLoss()
        >>> print(jax.grad(older)(jnp.array([1.0]), jnp.array([-1])))
        [-1.]
        >>> print(jax.grad(nnx.HingeEmbeddingLoss())(jnp.array([1.0]), jnp.array([-1])))
        [0.]

    Torch: none; docs/versions.md lists what each version changed.
    """
    return Versioned(supported(version), "jaxgrad.nnx")

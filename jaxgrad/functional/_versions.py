"""`functional.at`: the operators as one version of torch computes them."""

from __future__ import annotations

from jaxgrad._core.torch_versions import supported
from jaxgrad._core.versioned import Versioned


def at(version: str) -> Versioned:
    """Return the operators with the values, gradients and errors of a version of torch.

    `jaxgrad.functional` itself follows the newest supported torch. An operator that torch has
    changed takes the version as its keyword argument `torch=`, and `at` binds this argument; every
    other operator is returned as it is. The version is part of the function, so that `jit` never
    confuses two versions, and no global state decides it.

    Args:
        version: A supported version, such as `"2.13"`, `"2.13.0+cpu"` or `torch.__version__`.

    Raises:
        ValueError: jaxgrad does not know this version.

    Example:
        >>> import jax
        >>> from jaxgrad import functional
        >>> older = functional.at("2.13")
        >>> print(jax.grad(lambda x: older.clamp(x, -1.0, 1.0))(1.0))
        1.0
        >>> print(jax.grad(lambda x: functional.clamp(x, -1.0, 1.0))(1.0))
        0.0

    Torch: none; docs/versions.md lists what each version changed.
    """
    return Versioned(supported(version), "jaxgrad.functional")

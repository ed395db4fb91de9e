"""`functional.at`: the operators as one version of torch computes them."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from jaxgrad._core.torch_versions import supported


@dataclasses.dataclass(frozen=True)
class Operators:
    """The operators of `jaxgrad.functional`, or of a namespace in it, for one version of torch."""

    torch: str
    module: str = "jaxgrad.functional"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            value = getattr(sys.modules[self.module], name)
        except AttributeError:
            raise AttributeError(f"{self.module} has no operator {name!r}") from None
        if isinstance(value, ModuleType):
            return Operators(self.torch, value.__name__)
        return _bound(value, self.torch) if callable(value) else value

    def __dir__(self) -> list[str]:
        return [name for name in dir(sys.modules[self.module]) if not name.startswith("_")]

    def __repr__(self) -> str:
        return f"<{self.module} as in torch {self.torch}>"


def at(version: str) -> Operators:
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
    return Operators(supported(version))


@functools.cache
def _bound(function: Callable[..., Any], torch: str) -> Callable[..., Any]:
    """Return the function with `torch=` bound if it takes it; always the same object."""
    if inspect.isclass(function) or "torch" not in inspect.signature(function).parameters:
        return function
    bound = functools.partial(function, torch=torch)
    functools.update_wrapper(bound, function)
    del bound.__wrapped__  # the signature has the bound version as the default
    return bound

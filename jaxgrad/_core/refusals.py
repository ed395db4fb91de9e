"""Refuse torch's values and functions, and non-functions, where a JAX user's program gives them.

torch need not be installed: its classes are recognized by name.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from jaxgrad._core import paths


def type_of(value: Any) -> str:
    """Return the type of a value with its article.

    Example:
        >>> type_of(1), type_of(1.5), type_of([]), type_of(None)
        ('an int', 'a float', 'a list', 'None')
    """
    name = type(value).__name__
    return "None" if value is None else f"a{'n' * bool(_VOWEL.match(name))} {name}"


_VOWEL = re.compile("[aeioAEIO]|ndarray$")


def torch_values(what: str, tree: Any) -> None:
    """Raise a TypeError if a leaf of `tree`, the argument `what`, is a torch tensor or module."""
    if not any(_of_torch(type(leaf)) for leaf in jax.tree.leaves(tree)):
        return
    for path, leaf in paths.named(tree):
        if kind := _of_torch(type(leaf)):
            name = f"{path!r} of {what}" if path else what
            raise TypeError(f"{name} cannot be a torch {kind}; {_REMEDIES[kind]}")


def non_function(where: str, name: str, value: Any) -> None:
    """Raise a TypeError if the argument `name` cannot be called, or is a function of torch."""
    if not callable(value):
        raise TypeError(f"{where}: {name} must be a function, but got {value!r}")
    torch_function(f"{where}: {name}", value)


def non_number(where: str, name: str, value: Any) -> None:
    """Raise a TypeError if the argument `name` is None or a container, such as the gradients."""
    if value is None or not jax.tree_util.all_leaves([value]):
        raise TypeError(f"{where}: {name} must be a number, but got {type_of(value)}")


def torch_function(what: str, fun: Callable[..., Any]) -> None:
    """Raise a TypeError if `fun`, the argument `what`, is a torch module or a function of torch."""
    if _of_torch(type(fun)) == "module":
        kind = f"a torch module, {type(fun).__name__}; pass its JAX port, a function of arrays"
    elif (getattr(fun, "__module__", None) or "").partition(".")[0] == "torch":
        name = getattr(fun, "__name__", type(fun).__name__)
        known = (f", such as {text}.{name}" for text, m in _NAMESPACES.items() if hasattr(m, name))
        kind = f"torch's {name}; pass a function of JAX arrays{next(known, '')}"
    else:
        return
    raise TypeError(f"{what} must be a JAX function, but got {kind}")


def other_arguments(
    what: str, fun: Callable[..., Any], names: tuple[str, ...], example: str
) -> None:
    """Raise a TypeError if `fun`, the argument `what`, cannot be called with `names`."""
    try:
        signature = inspect.signature(fun)
    except (TypeError, ValueError):  # a builtin without a signature
        return
    try:
        signature.bind(*names)
    except TypeError:
        raise TypeError(
            f"{what} is called with ({', '.join(names)}), but it takes {signature}; write it as in "
            f"{example}"
        ) from None


def other_structure(where: str, **trees: Any) -> ValueError:
    """Return the error for two trees, given by their arguments' names, that differ in structure."""
    leaves = {
        name: [path for path, _ in paths.named(tree, lambda x: x is None)]
        for name, tree in trees.items()
    }
    (first, mine), (second, theirs) = leaves.items()
    parts = [
        f"{', '.join(map(repr, names))} only in {name}"
        for name, names in (
            (first, [path for path in mine if path not in theirs]),
            (second, [path for path in theirs if path not in mine]),
        )
        if names
    ]
    found = f"the paths {' and '.join(parts)}" if parts else "other containers"
    return ValueError(
        f"{where}: {first} and {second} must have the same structure, but have {found}"
    )


_REMEDIES = {
    "tensor": "pass a JAX array, as in jnp.asarray(x.detach().numpy())",
    "module": "pass its arrays, as in "
    "{name: jnp.asarray(p.detach().numpy()) for name, p in module.named_parameters()}",
}
_NAMESPACES = {"jnp": jnp, "jax.nn": jax.nn, "jax.lax": jax.lax}
_CLASSES = {("torch", "Tensor"): "tensor", ("torch.nn.modules.module", "Module"): "module"}


@functools.cache
def _of_torch(cls: type) -> str:
    """Return "tensor" or "module" for such a class of torch, and "" for any other."""
    names = ((base.__module__, base.__name__) for base in cls.__mro__)
    return next((_CLASSES[name] for name in names if name in _CLASSES), "")


class NotDifferentiableError(RuntimeError):
    """An argument without a derivative is differentiated; torch raises a RuntimeError there too."""

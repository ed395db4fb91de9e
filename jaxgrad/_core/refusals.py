"""Refuse torch tensors, torch modules and non-functions where a JAX user's program gives them.

torch need not be installed: its classes are recognized by name.
"""

from __future__ import annotations

import functools
from typing import Any

import jax

from jaxgrad._core import paths


def torch_values(what: str, tree: Any) -> None:
    """Raise a TypeError if a leaf of `tree`, the argument `what`, is a torch tensor or module."""
    if not any(_of_torch(type(leaf)) for leaf in jax.tree.leaves(tree)):
        return
    for path, leaf in paths.named(tree):
        if kind := _of_torch(type(leaf)):
            name = f"{path!r} of {what}" if path else what
            raise TypeError(f"{name} cannot be a torch {kind}; {_REMEDIES[kind]}")


def non_function(where: str, name: str, value: Any) -> None:
    """Raise a TypeError if the argument `name` cannot be called."""
    if not callable(value):
        raise TypeError(f"{where}: {name} must be a function, but got {value!r}")


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
_CLASSES = {("torch", "Tensor"): "tensor", ("torch.nn.modules.module", "Module"): "module"}


@functools.cache
def _of_torch(cls: type) -> str:
    """Return "tensor" or "module" for such a class of torch, and "" for any other."""
    names = ((base.__module__, base.__name__) for base in cls.__mro__)
    return next((_CLASSES[name] for name in names if name in _CLASSES), "")

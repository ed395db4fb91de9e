"""Put torch's tensors into a flax module, by their names in torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx


def part(model: Any, path: str) -> Any:
    """Return a part of a flax module by its path in the torch module, or None."""
    for name in path.split(".") if path else ():
        holder = model.layers if isinstance(model, nnx.Sequential) else model
        model = getattr(holder, name, None)
    return model


def fill(model: Any, arrays: Mapping[str, Any]) -> None:
    """Give the variables of a model these values, in the dtypes of the arrays."""
    for path, array in arrays.items():
        variable = part(model, path)
        if isinstance(variable, nnx.Variable):
            variable[...] = jnp.asarray(array)


def set_modes(model: Any, training: Mapping[str, bool]) -> None:
    """Put each module in its mode: its path in the torch module -> whether it is train mode."""
    for path, is_training in training.items():
        module = part(model, path)
        if hasattr(module, "deterministic"):
            module.deterministic = not is_training


def names(model: Any) -> dict[str, str]:
    """Return torch's name of each variable, by its path as in `jax.tree_util.keystr`."""
    state = nnx.to_pure_dict(nnx.state(model))
    found: dict[str, str] = {}
    for keys, _ in jax.tree_util.tree_leaves_with_path(state):
        owner: Any = model
        parts: list[str] = []
        for key in jax.tree_util.keystr(keys, simple=True, separator="/").split("/"):
            if not isinstance(owner, nnx.Sequential):
                parts.append(key)
            owner = getattr(owner, key, None)
        found[jax.tree_util.keystr(keys, simple=True, separator="/")] = ".".join(parts)
    return found

"""Put torch's tensors into a flax module, by their names in torch."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
from flax import nnx

from jaxgrad._core import paths


def part(model: Any, path: str) -> Any:
    """Return a part of a flax module by its path in the torch module, or None."""
    for name in path.split(".") if path else ():
        holder = model.layers if isinstance(model, nnx.Sequential) else model
        model = getattr(holder, name, None)
    return model


def filled(
    kind: Callable[..., Any], arrays: Mapping[str, Any], mode: Mode, rngs: nnx.Rngs | None = None
) -> Any:
    """Return a model with the tensors and the mode of a torch module.

    Args:
        kind: The class of the model.
        arrays: The values of its variables by their names in torch, whose dtypes they get.
        mode: The mode of its modules.
        rngs: Keys for its draws; None means `nnx.Rngs(0)`.
    """
    model = kind(rngs=rngs or nnx.Rngs(0)) if takes_rngs(kind) else kind()
    for path, array in arrays.items():
        variable = part(model, path)
        if isinstance(variable, nnx.Variable):
            variable.set_value(jnp.asarray(array))
    (model.train if mode.training else model.eval)()
    for path in mode.others:
        module = part(model, path)
        if hasattr(module, "deterministic"):
            module.deterministic = mode.training
    return model


def abstract(kind: Callable[..., Any]) -> Any:
    """Return a model of a class with the shapes of its variables and no numbers."""
    return nnx.eval_shape(lambda: kind(rngs=nnx.Rngs(0)) if takes_rngs(kind) else kind())


def takes_rngs(kind: Callable[..., Any]) -> bool:
    """Return whether a class of models needs keys."""
    return "rngs" in inspect.signature(kind.__init__).parameters


class Mode(NamedTuple):
    """The mode of a torch module, and the paths of its modules that are in the other mode."""

    training: bool
    others: Sequence[str] = ()


def trained(model: Any, flags: Mapping[str, bool]) -> Callable[[str], bool]:
    """Return whether torch trains a variable, by its path as `prove` writes it."""
    torch_names = names(model)
    return lambda path: flags.get(torch_names.get(path, ""), False)


def names(model: Any) -> dict[str, str]:
    """Return torch's name of each variable by its path."""
    state = nnx.to_pure_dict(nnx.state(model))
    found: dict[str, str] = {}
    for path, _ in paths.named(state):
        owner: Any = model
        parts: list[str] = []
        for key in path.split("/"):
            if not isinstance(owner, nnx.Sequential):
                parts.append(key)
            owner = getattr(owner, key, None)
        found[path] = ".".join(parts)
    return found

"""The correspondence between a JAX parameter tree and the parameters of a torch optimizer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from jaxgrad._core.typing import PyTree
from jaxgrad.optim._core import flat_state


def counterparts(
    params: PyTree, state_dict: Mapping[str, Any], names: PyTree, order: Sequence[str] | None
) -> dict[Any, tuple[int, tuple[int, ...] | None]]:
    """Map each parameter's path to its index in torch's optimizer and its axis permutation."""
    groups, indices = state_dict["param_groups"], indices_of(state_dict)
    known = [name for group in groups for name in group.get("param_names", ())]
    index_of_name = dict(zip(order or known, indices, strict=False))
    paths = [path for path, _ in jax.tree_util.tree_leaves_with_path(params)]
    if names is not None:
        torch_names = jax.tree.structure(params).flatten_up_to(names)
    elif isinstance(params, list | tuple) and not index_of_name:
        torch_names = list(range(len(paths)))
    else:
        torch_names = [dotted(path) for path in paths]
    result = {}
    for path, name in zip(paths, torch_names, strict=True):
        name, axes = name if isinstance(name, tuple) else (name, None)  # noqa: PLW2901
        index = index_of_name.get(name) if isinstance(name, str) else name
        if index not in indices:
            hint = f"torch's names are {list(index_of_name)}"
            if not index_of_name:
                hint = "it stores no names: construct it from `named_parameters()` or pass `order=`"
            raise ValueError(
                f"{jax.tree_util.keystr(path)} corresponds to torch's {name!r}, which is not among "
                f"the optimizer's parameters: {hint}"
            )
        result[path] = (index, axes)
    return result


def indices_of(state_dict: Mapping[str, Any]) -> list[int]:
    """Return torch's indices of the optimizer's parameters, in the optimizer's order."""
    return [i for group in state_dict["param_groups"] for i in group["params"]]


def positions(params: PyTree, counterpart: Mapping[Any, Any], indices: Sequence[int]) -> np.ndarray:
    """Return the position of every JAX parameter element in torch's flat parameter vector."""
    leaves = jax.tree_util.tree_leaves_with_path(params)
    targets = [counterpart[path] for path, _ in leaves]
    return flat_state.positions([x for _, x in leaves], targets, indices)


def swaps_last(axes: Sequence[int]) -> bool:
    """Whether the permutation `axes` only swaps the last two axes."""
    n = len(axes)
    return n > 1 and tuple(axes) == (*range(n - 2), n - 1, n - 2)


def dotted(path: Any) -> str:
    """Format a path as torch does: `encoder.0.bias`."""
    return jax.tree_util.keystr(path, simple=True, separator=".")

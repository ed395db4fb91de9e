"""Which of torch's parameters each of ours is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from jaxgrad._core.typing import PyTree
from jaxgrad.optim._core import flat_state as _flat_state
from jaxgrad.optim.groups import dotted


def counterparts(
    params: PyTree, state_dict: Mapping[str, Any], names: PyTree, order: Sequence[str] | None
) -> dict[Any, tuple[int, tuple[int, ...] | None]]:
    """For the path of every parameter its number in torch's optimizer, and the axes."""
    groups, numbers = state_dict["param_groups"], numbers_of(state_dict)
    known = [name for group in groups for name in group.get("param_names", ())]
    number = dict(zip(order or known, numbers, strict=False))
    paths = [path for path, _ in jax.tree_util.tree_leaves_with_path(params)]
    if names is not None:
        given = jax.tree.structure(params).flatten_up_to(names)
    elif isinstance(params, list | tuple) and not number:
        given = list(range(len(paths)))
    else:
        given = [dotted(path) for path in paths]
    found = {}
    for path, name in zip(paths, given, strict=True):
        name, axes = name if isinstance(name, tuple) else (name, None)  # noqa: PLW2901
        index = number.get(name) if isinstance(name, str) else name
        if index not in numbers:
            hint = f"torch's names are {list(number)}"
            if not number:
                hint = "it knows no names: make it of `named_parameters()`, or pass `order=`"
            raise ValueError(
                f"{jax.tree_util.keystr(path)} is torch's {name!r}, which is not among the "
                f"optimizer's parameters: {hint}"
            )
        found[path] = (index, axes)
    return found


def numbers_of(state_dict: Mapping[str, Any]) -> list[int]:
    """torch's numbers of its parameters, in its order."""
    return [i for group in state_dict["param_groups"] for i in group["params"]]


def places(params: PyTree, counterpart: Mapping[Any, Any], numbers: Sequence[int]) -> np.ndarray:
    """Where in torch's vector of all parameters each number of ours is."""
    named = jax.tree_util.tree_leaves_with_path(params)
    return _flat_state.places([x for _, x in named], [counterpart[p] for p, _ in named], numbers)


def swaps_last(axes: Sequence[int]) -> bool:
    """Whether these axes are those of a matrix transposed, or of a stack of them."""
    n = len(axes)
    return n > 1 and tuple(axes) == (*range(n - 2), n - 1, n - 2)

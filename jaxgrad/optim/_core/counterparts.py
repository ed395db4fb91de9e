"""The correspondence between a JAX parameter tree and the parameters of a torch optimizer."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from jaxgrad._core import paths
from jaxgrad._core.typing import PyTree
from jaxgrad.optim._core import flat_state


FROM_TORCH, TO_TORCH = "state_from_torch(tx, params", "state_to_torch(state, params"  # the calls
_REMEDY = """pass the optimizer itself and its module, in which parameters are found by identity:

    {call}, optimizer, {names}order=model)

With a state_dict alone, pass the names of the parameters in the optimizer's order:

    name_of = {{id(p): name for name, p in model.named_parameters()}}
    order = [name_of[id(p)] for group in optimizer.param_groups for p in group["params"]]
    {call}, state_dict, {names}order=order)

An optimizer that is constructed from model.named_parameters() stores the names itself."""


@dataclasses.dataclass(frozen=True)
class TorchOptimizer:
    """A torch optimizer's state_dict, and the names of its parameters if they are known.

    Attributes:
        state_dict: The result of `optimizer.state_dict()`.
        names: The names of the parameters in the optimizer's order; empty if they are not known.
        call: The beginning of the user's call, for error messages.
    """

    state_dict: Mapping[str, Any]
    names: tuple[str, ...]
    call: str

    @property
    def groups(self) -> Sequence[Mapping[str, Any]]:
        """The parameter groups."""
        return self.state_dict["param_groups"]

    @property
    def indices(self) -> list[int]:
        """torch's indices of the parameters, in the optimizer's order."""
        return [i for group in self.groups for i in group["params"]]

    def remedy(self, names: str = "") -> str:
        """Return the code with which the order becomes known, for an error message.

        Args:
            names: The arguments of the user's call before `order=`, such as `"names, "`.
        """
        return _REMEDY.format(call=self.call, names=names)

    @property
    def sizes(self) -> str:
        """The number of parameters of each group, for an error message."""
        counts = [str(len(group["params"])) for group in self.groups]
        return f"{len(counts)} groups of {' and '.join(counts)} parameters"


def torch_optimizer(optimizer: Any, order: Any, call: str = FROM_TORCH) -> TorchOptimizer:
    """Read a torch optimizer, or its state_dict, and find the names of its parameters.

    Args:
        optimizer: A `torch.optim.Optimizer`, or its state_dict.
        order: Names in the optimizer's order, or the module whose parameters a
            `torch.optim.Optimizer` has; None if the state_dict holds the names.
        call: The beginning of the user's call, for error messages.

    Raises:
        ValueError: The names do not fit the optimizer.
    """
    held = hasattr(optimizer, "param_groups") and hasattr(optimizer, "state_dict")
    state_dict = optimizer.state_dict() if held else optimizer
    if not (isinstance(state_dict, Mapping) and {"state", "param_groups"} <= set(state_dict)):
        got = f"a dict with {list(state_dict)}" if isinstance(state_dict, Mapping) else None
        raise TypeError(
            f"{call}, state_dict): the state_dict must be torch's optimizer.state_dict(), with "
            f"'state' and 'param_groups', but got {got or type(state_dict).__name__}"
        )
    stored = _stored_names(state_dict["param_groups"])
    read = TorchOptimizer(state_dict, stored, call)
    if order is None:
        return read
    if hasattr(order, "named_parameters"):
        if not held:
            raise ValueError(
                f"order= is the module {type(order).__name__}, in which parameters are found by "
                "identity, but a state_dict has indices in place of parameters: pass the optimizer "
                f"itself, as in {call}, optimizer, names, order=model)"
            )
        return dataclasses.replace(read, names=_by_identity(optimizer, order))
    names, count = tuple(order), len(read.indices)
    if isinstance(order, str) or len(names) != count:
        raise ValueError(
            f"torch's optimizer has {count} parameters, but order= has {len(names)} names, "
            f"{_some(names)}: pass the name of each parameter in the optimizer's order"
        )
    if len(set(names)) < count:
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"order= has the name {twice!r} {names.count(twice)} times")
    if stored and set(stored) == set(names) and stored != names:
        i = next(i for i, pair in enumerate(zip(stored, names, strict=True)) if len({*pair}) > 1)
        raise ValueError(
            f"order= has {names[i]!r} for parameter {i} of torch's optimizer, whose own name for "
            f"it (param_names) is {stored[i]!r}: leave order= out"
        )
    return dataclasses.replace(read, names=names)


def counterparts(
    params: PyTree, optimizer: TorchOptimizer, names: PyTree
) -> dict[Any, tuple[int, tuple[int, ...] | None]]:
    """Map each parameter's path to its index in torch's optimizer and its axis permutation."""
    if hasattr(names, "moments_to_jax"):
        raise ValueError(
            "names= is a WeightMap, with which only state_from_torch works: give a tree of torch "
            "names, or of (name, axes)"
        )
    indices, leaves = optimizer.indices, paths.by_keys(params)
    index_of_name = dict(zip(optimizer.names, indices, strict=True)) if optimizer.names else {}
    if names is not None:
        torch_names = jax.tree.structure(params).flatten_up_to(names)
    elif isinstance(params, list | tuple) and not index_of_name:
        _check_positions(params, optimizer, len(leaves))
        torch_names = indices
    else:
        torch_names = [path.replace("/", ".") for path in leaves.values()]
    result = {}
    owners: dict[int, str] = {}
    for (keys, path), name in zip(leaves.items(), torch_names, strict=True):
        name, axes = name if isinstance(name, tuple) else (name, None)  # noqa: PLW2901
        index = index_of_name.get(name) if isinstance(name, str) else name
        if index not in indices:
            if isinstance(name, str) and not index_of_name:
                raise ValueError(
                    "the state_dict of torch's optimizer stores no names, so it is not known which "
                    f"of its {len(indices)} parameters is {name!r} (the leaf {path!r}): "
                    f"{optimizer.remedy('' if names is None else 'names, ')}"
                )
            hint = f"torch's indices are {indices}"
            if index_of_name:
                hint = paths.nearest(optimizer.names, [str(name)], "names")
            raise ValueError(
                f"{path!r} corresponds to torch's {name!r}, which is not among the optimizer's "
                f"parameters. {hint}"
            )
        if index in owners:
            raise ValueError(
                f"{owners[index]!r} and {path!r} both correspond to torch's {name!r}: give each "
                "leaf its own parameter in names="
            )
        owners[index] = path
        result[keys] = (index, axes)
    return result


def positions(params: PyTree, counterpart: Mapping[Any, Any], indices: Sequence[int]) -> np.ndarray:
    """Return the position of every JAX parameter element in torch's flat parameter vector."""
    leaves = jax.tree_util.tree_leaves_with_path(params)
    targets = [counterpart[path] for path, _ in leaves]
    return flat_state.positions([x for _, x in leaves], targets, indices)


def swaps_last(axes: Sequence[int]) -> bool:
    """Whether the permutation `axes` only swaps the last two axes."""
    n = len(axes)
    return n > 1 and tuple(axes) == (*range(n - 2), n - 1, n - 2)


def _stored_names(groups: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the names in a state_dict, or () if it has none."""
    named = [group for group in groups if "param_names" in group]
    if not named:
        return ()
    for number, group in enumerate(groups):
        count, names = len(group["params"]), group.get("param_names", ())
        if len(names) != count:
            raise ValueError(
                f"group {number} of torch's optimizer has {count} parameters, but {len(names)} "
                "names in param_names: the state_dict was changed"
            )
    return tuple(name for group in named for name in group["param_names"])


def _by_identity(optimizer: Any, module: Any) -> tuple[str, ...]:
    """Return the module's names of an optimizer's parameters."""
    names = {id(p): name for name, p in module.named_parameters()}
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    for number, p in enumerate(parameters):
        if id(p) not in names:
            raise ValueError(
                f"parameter {number} of torch's optimizer, of shape {tuple(p.shape)}, is not a "
                f"parameter of the {type(module).__name__} in order=: pass the module that the "
                "optimizer trains, not a copy of it"
            )
    return tuple(names[id(p)] for p in parameters)


def _check_positions(params: PyTree, optimizer: TorchOptimizer, count: int) -> None:
    """Raise unless a list of parameters can be in the order of torch's optimizer."""
    if len(optimizer.groups) > 1:
        raise ValueError(
            f"torch's optimizer has {optimizer.sizes} and stores no names, so it is not known in "
            f"which order the list of {count} parameters is. Give names= the index of each, as in "
            f"names={list(range(count))}"
        )
    if not _is_sequence(params):
        raise ValueError(
            "the list of parameters contains a tree that is not a list, so its leaves may not "
            f"be in the order of torch's parameters: give names=, and {optimizer.remedy('names, ')}"
        )
    if count != len(optimizer.indices):
        raise ValueError(
            f"torch's optimizer has {len(optimizer.indices)} parameters, but the list has {count} "
            "leaves, so they cannot be matched by position: give names= the index of each"
        )


def _is_sequence(x: Any) -> bool:
    """Whether a tree has only lists and tuples above its leaves."""
    if isinstance(x, list | tuple):
        return all(map(_is_sequence, x))
    return x is None or jax.tree_util.all_leaves([x])


def _some(names: Sequence[str]) -> str:
    return f"{list(names[:4])}" if len(names) <= 4 else f"{list(names[:4])} and more"

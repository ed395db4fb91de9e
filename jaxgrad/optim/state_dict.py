"""Convert optimizer state from and to torch's `state_dict`, to continue a training run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from jaxgrad._core import argument_names, paths
from jaxgrad._core.typing import PyTree
from jaxgrad.optim._core import flat_state, optax_state
from jaxgrad.optim._core.by_map import ByMap
from jaxgrad.optim._core.counterparts import (
    TO_TORCH,
    counterparts,
    positions,
    swaps_last,
    torch_optimizer,
)
from jaxgrad.optim._lbfgs.history import LBFGSState


JAX_ONLY = ("started", "count")  # fields that torch's state does not have
SCALARS = ("step", "mu_product", "eta", "mu")  # 0-dim fields
SQUARES = ("exp_avg_sq", "max_exp_avg_sq", "square_avg", "sum", "acc_delta", "exp_inf")
TRANSPOSED = {"row_var": "col_var", "col_var": "row_var"}  # swapped if a matrix is transposed


@argument_names.spelt
def state_from_torch(
    tx: optax.GradientTransformation,
    params: PyTree,
    state_dict: Any,
    names: PyTree = None,
    *,
    order: Any = None,
    count: int | None = None,
) -> PyTree:
    """Convert the state of a torch optimizer to the state of `tx`.

    The learning rate, betas and eps stay those of `tx` and are not compared with
    `state_dict["param_groups"]`: a transformation holds them in its functions, where they cannot be
    read. The state of `optax.inject_hyperparams` does hold them: set its `hyperparams` afterwards.

    Args:
        tx: The same optimizer with the same options, bare, in `param_groups` or in an optax chain;
            or optax's own optimizer, if its state is made of the same moments as torch's.
        params: The parameters, any tree.
        state_dict: `optimizer.state_dict()`, whose values are tensors or numpy arrays; or the
            torch optimizer itself.
        names: The torch parameter for each leaf of `params`: a tree of torch names or `state_dict`
            indices, or of `(name, axes)` if the leaf is `transpose(torch_parameter, axes)`. By
            default a leaf's path is its torch name (`fc/weight` is `fc.weight`), and a list is in
            the order of torch's single parameter group. Or a `jaxgrad.parity.WeightMap`, which also
            converts stacked and fused leaves.
        order: torch's names in the order of the optimizer's parameters; or, together with the torch
            optimizer itself, the module that it trains, in which each parameter is found by
            identity. Required to use names if the optimizer was not constructed from
            `named_parameters()`. A weight map does without it for a single group, which it takes in
            the order of `model.parameters()`.
        count: Number of steps a schedule has taken; by default the largest of torch's step counts.

    Returns:
        The state of `tx`. A parameter without state in torch gets its initial state. Scalars
        (`step`, `mu_product`, ...) keep torch's dtype.

    Raises:
        ValueError: A parameter has no counterpart or the same as another one, or its state has a
            different shape or fields, or a part of optax's state has no counterpart in torch. Also
            if torch has several groups and neither names nor `order` say which parameter is which.

    Example:
        >>> import jax.numpy as jnp, numpy as np, jaxgrad
        >>> tx, params = jaxgrad.optim.sgd(0.1, momentum=0.9), [jnp.array([1.0, 2.0])]
        >>> torch_state = {
        ...     "state": {0: {"momentum_buffer": np.array([0.5, 0.25])}},
        ...     "param_groups": [{"params": [0]}],
        ... }
        >>> print(jaxgrad.optim.state_from_torch(tx, params, torch_state).momentum_buffer[0])
        [0.5  0.25]

    Torch: `optimizer.load_state_dict(state_dict)`.
    """
    optimizer = torch_optimizer(state_dict, order)
    state_dict, indices = optimizer.state_dict, optimizer.indices
    by_map = ByMap(names, optimizer, params) if hasattr(names, "moments_to_jax") else None
    counterpart = {} if by_map else counterparts(params, optimizer, names)
    shown = paths.by_keys(params)
    leaves = dict(jax.tree_util.tree_leaves_with_path(params))
    entries = state_dict["state"]
    steps = [float(_numpy(entry["step"])) for entry in entries.values() if "step" in entry]
    if count is None:
        count = int(max(steps, default=0))

    def read(field: str, power: int, path: Any) -> np.ndarray | None:
        if by_map:
            return by_map.read(field, power, path)
        index, axes = counterpart[path]
        if entries.get(index, {}).get(field) is None:
            return None
        value = _numpy(entries[index][field])
        value = value if axes is None else value.transpose(axes)
        if value.shape != jnp.shape(leaves[path]):
            raise ValueError(
                f"torch's {field} of {shown[path]!r} has shape {value.shape}, here it has "
                f"{jnp.shape(leaves[path])}: give the permutation of the axes in names=, as in "
                "('fc.weight', (1, 0)), or a jaxgrad.parity.weight_map"
            )
        return value

    def load(state: Any) -> Any:
        if isinstance(state, LBFGSState):
            if by_map:
                raise ValueError(
                    "L-BFGS has one flat state: give names= as a tree, not a weight map"
                )
            at = positions(params, counterpart, indices)
            state = flat_state.load(state, entries.get(indices[0], {}), at, _numpy)
            return state._replace(count=None if state.count is None else jnp.asarray(count))
        changed = {}
        for field in _fields(state):

            def one(path: Any, first: Any, field: str = field) -> Any:
                index, axes = (None, None) if by_map else counterpart[path]
                entry = by_map.entry(path) if by_map else entries.get(index, {})
                if field == "started":
                    return jnp.asarray(entry.get("momentum_buffer") is not None)
                if all(value is None for value in entry.values()):
                    return first
                if by_map and field not in SCALARS:
                    power = 2 if field in SQUARES else 1
                    value = by_map.read(field, power, path)
                    return first if value is None else jnp.asarray(value, first.dtype)
                swapped = field in TRANSPOSED and axes is not None and swaps_last(axes)
                value = _value(entry, TRANSPOSED[field] if swapped else field, shown[path])
                param = leaves[path]
                if swapped:
                    value = value.transpose(axes)
                elif field not in SCALARS and jnp.shape(first) == jnp.shape(param):
                    value = (value if axes is None else value.transpose(axes)).astype(first.dtype)
                if value.shape != jnp.shape(first):
                    raise ValueError(
                        f"torch's {field} of {shown[path]!r} has shape {value.shape}, here it has "
                        f"{jnp.shape(first)}: give the permutation of the axes in names=, as in "
                        "('fc.weight', (1, 0))"
                    )
                return jnp.asarray(value)

            changed[field] = jax.tree_util.tree_map_with_path(one, getattr(state, field))
        if state.count is not None:
            changed["count"] = jnp.full_like(state.count, count)
        return state._replace(**changed)

    fields = {field for entry in entries.values() for field in entry}
    state = optax_state.filled(tx.init(params), read, fields, count)
    if not any(map(optax_state.is_own, _states(state))):
        optax_state.remark_options(tx, params, state_dict["param_groups"])
    return _map_states(load, state)


@argument_names.spelt
def state_to_torch(
    state: PyTree,
    params: PyTree,
    state_dict: Any,
    names: PyTree = None,
    *,
    order: Any = None,
) -> dict[str, Any]:
    """Convert optimizer state to the `state_dict` of a torch optimizer.

    Args:
        state: A `jaxgrad` optimizer's state, bare, in parameter groups or in an optax chain.
        params: The parameters, any tree.
        state_dict: The torch optimizer to load into, or its `state_dict()`; its groups and their
            options are kept.
        names, order: As for `state_from_torch`, but `names` is not a weight map.

    Returns:
        The argument of the optimizer's `load_state_dict`, with torch tensors if torch is imported
        and numpy arrays otherwise.

    Raises:
        ValueError: A parameter has no counterpart or the same as another one, or torch has several
            groups and neither names nor `order` say which parameter is which.

    Example:
        >>> import jax.numpy as jnp, jaxgrad
        >>> tx, params = jaxgrad.optim.sgd(0.1, momentum=0.9), [jnp.array([1.0, 2.0])]
        >>> params, state = tx.step([jnp.array([1.0, 1.0])], tx.init(params), params)
        >>> fresh = {"state": {}, "param_groups": [{"params": [0]}]}
        >>> saved = jaxgrad.optim.state_to_torch(state, params, fresh)
        >>> print([float(x) for x in saved["state"][0]["momentum_buffer"]])
        [1.0, 1.0]

    Torch: `optimizer.state_dict()`.
    """
    optimizer = torch_optimizer(state_dict, order, TO_TORCH)
    state_dict, indices = optimizer.state_dict, optimizer.indices
    counterpart = counterparts(params, optimizer, names)
    shapes = {path: jnp.shape(p) for path, p in jax.tree_util.tree_leaves_with_path(params)}
    entries: dict[int, dict[str, Any]] = {}

    def save(state: Any) -> Any:
        if isinstance(state, LBFGSState):
            at = positions(params, counterpart, indices)
            entries[indices[0]] = flat_state.save(state, at, _tensor)
            return state
        fields = {
            f: dict(jax.tree_util.tree_leaves_with_path(getattr(state, f))) for f in _fields(state)
        }
        # torch creates Muon's buffer as zeros, so it can always be written
        always = dict.fromkeys(fields.get("momentum_buffer", ()), True)
        begun = fields.get("started", fields.get("step", always))
        for path, started in begun.items():
            if not started and "sum" not in fields:  # Adagrad's state exists before the first step
                continue
            index, axes = counterpart[path]
            for field, leaves in fields.items():
                if field in JAX_ONLY or path not in leaves:
                    continue
                value, name = np.asarray(leaves[path]), field
                if field in TRANSPOSED and axes is not None and swaps_last(axes):
                    value, name = value.transpose(np.argsort(axes)), TRANSPOSED[field]
                elif axes is not None and value.shape == shapes[path]:
                    value = value.transpose(np.argsort(axes))
                entries.setdefault(index, {})[name] = _tensor(value)
        return state

    _map_states(save, state)
    return {**state_dict, "state": entries}


def _map_states(fun: Callable[[Any], Any], tree: PyTree) -> PyTree:
    """Apply `fun` to every optimizer state of this package inside an optax state."""

    is_own = optax_state.is_own
    return jax.tree.map(lambda x: fun(x) if is_own(x) else x, tree, is_leaf=is_own)


def _states(tree: PyTree) -> list[Any]:
    return jax.tree.leaves(tree, is_leaf=optax_state.is_own)


def _fields(state: Any) -> Iterator[str]:
    return (field for field in state._fields if field != "count")


def _value(entry: Mapping[str, Any], field: str, path: str) -> np.ndarray:
    if entry.get(field) is None:
        raise ValueError(
            f"torch's state of {path!r} has no {field!r}, it has "
            f"{list(entry)}: does it come from a different optimizer, or from different options?"
        )
    value = entry[field]
    # torch before 1.12 stored a Python number as the step count
    return np.array(value, np.float32) if isinstance(value, float) else _numpy(value)


def _numpy(x: Any) -> np.ndarray:
    if hasattr(x, "detach"):
        x = x.detach().cpu()
        x = (x.float() if str(x.dtype) == "torch.bfloat16" else x).numpy()
    return np.array(x)


def _tensor(x: np.ndarray) -> Any:
    torch: Any = sys.modules.get("torch")  # a user with a torch optimizer has imported torch
    if np.issubdtype(x.dtype, np.integer):
        return int(x)  # SparseAdam's count is a Python integer
    if torch is None:
        return x.copy()
    if x.dtype == jnp.bfloat16:
        return torch.tensor(x.astype(np.float32)).bfloat16()
    return torch.tensor(x)

"""The state of an optimizer to torch and back, so that training goes on where it was."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from jaxgrad._core.typing import PyTree
from jaxgrad.optim._core import flat_state as _flat_state
from jaxgrad.optim._core.counterparts import counterparts, numbers_of, places, swaps_last
from jaxgrad.optim._lbfgs.history import LBFGSState


OURS = ("started", "count")  # what a state here has and torch's has not
SCALARS = ("step", "mu_product", "eta", "mu")  # whatever the parameter is, of shape ()
TRANSPOSED = {"row_var": "col_var", "col_var": "row_var"}  # of a matrix whose axes are swapped


def state_from_torch(
    tx: optax.GradientTransformation,
    params: PyTree,
    state_dict: Mapping[str, Any],
    names: PyTree = None,
    *,
    order: Sequence[str] | None = None,
    count: int | None = None,
) -> PyTree:
    """The state with which `tx` goes on where a torch optimizer was.

    Args:
      tx: The same optimizer with the same options, alone, in `param_groups` or in an optax chain.
      params: The parameters, any tree.
      state_dict: `optimizer.state_dict()`; its values are tensors or numpy arrays.
      names: Which of torch's parameters each of `params` is: a tree like `params` of torch's names
        or of the numbers in `state_dict`; `(name, axes)` where the parameter here is
        `transpose(theirs, axes)`. Without it the paths are torch's names (`fc.weight`), and a list
        of parameters is in torch's order.
      order: torch's names in the order of the optimizer's parameters. Needed with names if the
        optimizer was not made of `named_parameters()`.
      count: How many steps a schedule has taken; the largest of torch's step counts if not given.

    Returns:
      The state of `tx`. A parameter of which torch has no state yet has its first state. Scalars
      (`step`, `mu_product`, ...) keep torch's dtype, which is that of its default dtype.

    Raises:
      ValueError: A parameter has no counterpart, or its state another shape or other fields.

    Example:
      >>> import jax.numpy as jnp, numpy as np, jaxgrad
      >>> tx, params = jaxgrad.optim.sgd(0.1, momentum=0.9), [jnp.array([1.0, 2.0])]
      >>> theirs = {
      ...     "state": {0: {"momentum_buffer": np.array([0.5, 0.25])}},
      ...     "param_groups": [{"params": [0]}],
      ... }
      >>> print(jaxgrad.optim.state_from_torch(tx, params, theirs).momentum_buffer[0])
      [0.5  0.25]

    Torch: `optimizer.load_state_dict(state_dict)`.
    """
    counterpart = counterparts(params, state_dict, names, order)
    leaves = dict(jax.tree_util.tree_leaves_with_path(params))
    entries = state_dict["state"]
    steps = [float(_numpy(entry["step"])) for entry in entries.values() if "step" in entry]
    if count is None:
        count = int(max(steps, default=0))
    numbers = numbers_of(state_dict)

    def load(state: Any) -> Any:
        if isinstance(state, LBFGSState):
            state = _flat_state.load(
                state, entries.get(numbers[0], {}), places(params, counterpart, numbers), _numpy
            )
            return state._replace(count=None if state.count is None else jnp.asarray(count))
        changed = {}
        for field in _fields(state):

            def one(path: Any, first: Any, field: str = field) -> Any:
                index, axes = counterpart[path]
                entry = entries.get(index, {})
                if field == "started":
                    return jnp.asarray(entry.get("momentum_buffer") is not None)
                if all(value is None for value in entry.values()):
                    return first
                swapped = field in TRANSPOSED and axes is not None and swaps_last(axes)
                value = _value(entry, TRANSPOSED[field] if swapped else field, path)
                param = leaves[path]
                if swapped:
                    value = value.transpose(axes)
                elif field not in SCALARS and jnp.shape(first) == jnp.shape(param):
                    value = (value if axes is None else value.transpose(axes)).astype(first.dtype)
                if value.shape != jnp.shape(first):
                    raise ValueError(
                        f"torch's {field} of {jax.tree_util.keystr(path)} has shape {value.shape}, "
                        f"here it has {jnp.shape(first)}: say in names= which axes go where, as in "
                        "('fc.weight', (1, 0))"
                    )
                return jnp.asarray(value)

            changed[field] = jax.tree_util.tree_map_with_path(one, getattr(state, field))
        if state.count is not None:
            changed["count"] = jnp.full_like(state.count, count)
        return state._replace(**changed)

    return _map_states(load, tx.init(params))


def state_to_torch(
    state: PyTree,
    params: PyTree,
    state_dict: Mapping[str, Any],
    names: PyTree = None,
    *,
    order: Sequence[str] | None = None,
) -> dict[str, Any]:
    """The `state_dict` with which a torch optimizer goes on from `state`.

    Args:
      state: The state of an optimizer of this package, alone, in groups or in an optax chain.
      params: The parameters, any tree.
      state_dict: `optimizer.state_dict()` of the torch optimizer that is to go on: its groups and
        their options stay.
      names: As for `state_from_torch`.
      order: As for `state_from_torch`.

    Returns:
      What the optimizer's `load_state_dict` takes: torch tensors where torch is loaded, else numpy
      arrays.

    Raises:
      ValueError: A parameter has no counterpart.

    Example:
      >>> import jax.numpy as jnp, jaxgrad
      >>> tx, params = jaxgrad.optim.sgd(0.1, momentum=0.9), [jnp.array([1.0, 2.0])]
      >>> params, state = tx.step([jnp.array([1.0, 1.0])], tx.init(params), params)
      >>> theirs = {"state": {}, "param_groups": [{"params": [0]}]}
      >>> there = jaxgrad.optim.state_to_torch(state, params, theirs)
      >>> print([float(x) for x in there["state"][0]["momentum_buffer"]])
      [1.0, 1.0]

    Torch: `optimizer.state_dict()`.
    """
    counterpart = counterparts(params, state_dict, names, order)
    shapes = {path: jnp.shape(p) for path, p in jax.tree_util.tree_leaves_with_path(params)}
    entries: dict[int, dict[str, Any]] = {}

    def save(state: Any) -> Any:
        if isinstance(state, LBFGSState):
            numbers = numbers_of(state_dict)
            at = places(params, counterpart, numbers)
            entries[numbers[0]] = _flat_state.save(state, at, _tensor)
            return state
        fields = {
            f: dict(jax.tree_util.tree_leaves_with_path(getattr(state, f))) for f in _fields(state)
        }
        # Muon's buffer starts as the zeros that torch makes at the first step
        always = dict.fromkeys(fields.get("momentum_buffer", ()), True)
        begun = fields.get("started", fields.get("step", always))
        for path, started in begun.items():
            if not started and "sum" not in fields:  # Adagrad's state is there from the start
                continue
            index, axes = counterpart[path]
            for field, leaves in fields.items():
                if field in OURS or path not in leaves:
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
    """`fun` of every state of this package's in a state of optax's."""

    def is_state(x: Any) -> bool:
        ours = type(x).__module__.startswith("jaxgrad.optim")
        return ours and getattr(x, "_fields", ())[-1:] == ("count",)

    return jax.tree.map(lambda x: fun(x) if is_state(x) else x, tree, is_leaf=is_state)


def _fields(state: Any) -> Iterator[str]:
    return (field for field in state._fields if field != "count")


def _value(entry: Mapping[str, Any], field: str, path: Any) -> np.ndarray:
    if entry.get(field) is None:
        raise ValueError(
            f"torch's state of {jax.tree_util.keystr(path)} has no {field!r}, it has "
            f"{list(entry)}: is it of another optimizer, or made with other options?"
        )
    value = entry[field]
    # torch before 1.12 counted in Python's numbers
    return np.array(value, np.float32) if isinstance(value, float) else _numpy(value)


def _numpy(x: Any) -> np.ndarray:
    if hasattr(x, "detach"):
        x = x.detach().cpu()
        x = (x.float() if str(x.dtype) == "torch.bfloat16" else x).numpy()
    return np.array(x)


def _tensor(x: np.ndarray) -> Any:
    torch: Any = sys.modules.get("torch")  # who has an optimizer of torch's has loaded it
    if np.issubdtype(x.dtype, np.integer):
        return int(x)  # SparseAdam counts in Python's integers
    if torch is None:
        return x.copy()
    if x.dtype == jnp.bfloat16:
        return torch.tensor(x.astype(np.float32)).bfloat16()
    return torch.tensor(x)

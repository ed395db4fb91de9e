"""Convert L-BFGS state, whose vectors concatenate all parameters, to torch and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np


VECTORS = ("d", "prev_flat_grad")
HISTORIES = ("old_dirs", "old_stps", "ro")
NUMBERS = ("t", "H_diag", "prev_loss")
COUNTS = ("func_evals", "n_iter")


def positions(
    leaves: Sequence[Any], targets: Sequence[tuple[int, Any]], indices: Sequence[int]
) -> np.ndarray:
    """Return the position of every element of `leaves` in torch's flat parameter vector.

    Args:
        leaves: The JAX parameters, in the order of their tree.
        targets: Each leaf's torch index, and the axes that transpose torch's array to the leaf.
        indices: torch's parameter indices, in the order of torch's optimizer.
    """
    sizes = {i: (np.size(leaf), leaf) for leaf, (i, _) in zip(leaves, targets, strict=True)}
    if set(indices) != set(sizes):
        raise ValueError(
            "the state of L-BFGS covers all parameters of torch's optimizer, which are "
            f"{sorted(indices)}, but only {sorted(sizes)} have a counterpart"
        )
    starts, at = {}, 0
    for i in indices:
        size, leaf = sizes[i]
        starts[i] = at
        at += size * (2 if jnp.iscomplexobj(leaf) else 1)
    out = [np.zeros(0, int)]
    for leaf, (i, axes) in zip(leaves, targets, strict=True):
        order = np.arange(np.size(leaf))
        if axes is not None:
            torch_shape = np.array(np.shape(leaf))[np.argsort(axes)]
            order = order.reshape(torch_shape).transpose(axes).ravel()
        if jnp.iscomplexobj(leaf):
            order = np.stack([2 * order, 2 * order + 1], -1).ravel()
        out.append(starts[i] + order)
    return np.concatenate(out)


def load(
    state: Any, entry: Mapping[str, Any], at: np.ndarray, numpy: Callable[[Any], np.ndarray]
) -> Any:
    """Return `state` with the values in torch's `entry`; `numpy` converts tensors to arrays."""
    new = {name: numpy(entry.get(name, 0)) for name in COUNTS}
    if entry.get("d") is not None:
        new |= {name: numpy(entry[name])[at] for name in VECTORS}
        new |= {name: numpy(entry[name]) for name in NUMBERS}
        used = len(entry["ro"])
        if used > len(state.ro):
            raise ValueError(
                f"torch remembers {used} iterations, but history_size is {len(state.ro)} here: set "
                "it to torch's"
            )
        for name in HISTORIES:
            history = np.array(getattr(state, name))
            for i, value in enumerate(entry[name]):
                history[i] = numpy(value) if name == "ro" else numpy(value)[at]
            new[name] = history
        new["num_old"] = np.asarray(used)
    return state._replace(
        **{k: jnp.asarray(v, getattr(state, k).dtype).reshape(getattr(state, k).shape)
           for k, v in new.items()}
    )  # fmt: skip


def save(state: Any, at: np.ndarray, tensor: Callable[[np.ndarray], Any]) -> dict[str, Any]:
    """Return torch's state for the first parameter, where torch stores the state of all of them."""
    entry: dict[str, Any] = {name: int(getattr(state, name)) for name in COUNTS}
    if not entry["n_iter"]:
        return entry

    def vector(x: Any) -> Any:
        flat = np.empty_like(x)
        flat[at] = x
        return tensor(flat)

    used = int(state.num_old)
    entry |= {name: vector(np.asarray(getattr(state, name))) for name in VECTORS}
    entry |= {name: float(getattr(state, name)) for name in NUMBERS}
    for name in ("old_dirs", "old_stps"):
        entry[name] = [vector(row) for row in np.asarray(getattr(state, name))[:used]]
    entry["ro"] = [tensor(x) for x in np.asarray(state.ro)[:used]]
    entry["al"] = [None] * len(state.ro)
    return entry

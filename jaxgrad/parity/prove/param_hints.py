"""Say which parameter makes the port raise: one with another name, or a transposed one."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from jaxgrad._core import paths
from jaxgrad.parity.prove.record.jax_side import program as jax_program
from jaxgrad.parity.prove.users import raised_later


_ORDERS = {  # of the axes of a weight: a matrix, and kernels in torch's and in flax's order
    2: ((1, 0),),
    3: ((2, 1, 0),),
    4: ((2, 3, 1, 0), (3, 2, 0, 1)),
    5: ((2, 3, 4, 1, 0), (4, 3, 0, 1, 2)),
}
_TRACES = 64  # of the port, at most


def hint(
    error: BaseException,
    params: Any,
    state: Mapping[str, np.ndarray],
    trace: Callable[[Any], BaseException | None],
) -> str:
    """Return the advice for an error that the port raised, or an empty string.

    Args:
        error: The error.
        params: The port's params.
        state: torch's parameters and buffers by name.
        trace: Function that traces the port with other params, and returns the error it raises.
    """
    if isinstance(error, KeyError) or (isinstance(error, AttributeError) and _of_params(error)):
        return _misspelt(error, params, state)
    if isinstance(error, TypeError) and _are_swapped(error, params):
        return "fn is called as fn(params, *inputs): does it take params first?"
    if isinstance(error, TypeError | ValueError):
        return _transposed(error, params, state, trace)
    return ""


def _are_swapped(error: TypeError, params: Any) -> bool:
    """Whether the port may have taken an input for params, and a dict of params for an array."""
    text = str(error)
    return isinstance(params, Mapping) and ("string indexing" in text or "'dict'" in text)


def _misspelt(error: BaseException, params: Any, state: Mapping[str, np.ndarray]) -> str:
    """Name the params whose paths resemble a key that is not there."""
    key = error.args[0] if error.args else None
    key = getattr(error, "name", None) if isinstance(error, AttributeError) else key
    names = [path for path, _ in paths.named(params)]
    if not isinstance(key, str | int) or not names or _has(names, str(key)):
        return ""
    near = paths.nearest(names, [str(key)])
    if str(key) in state:
        shape = state[str(key)].shape
        near = f"torch's tensor of this name has the shape {shape}: add it to params. {near}"
    return f"No path in params has the key {key!r}. {near}"


def _of_params(error: AttributeError) -> bool:
    """Whether the attribute may be a parameter's: not that of an array, a tuple or a module."""
    record = hasattr(error.obj, "_fields")
    plain = tuple | list | str | int | float | types.ModuleType
    return record or not (isinstance(error.obj, plain) or jax_program.is_array(error.obj))


def _has(names: Sequence[str], key: str) -> bool:
    return any(f"/{key}/" in f"/{name}/" for name in names)


def _transposed(
    error: BaseException,
    params: Any,
    state: Mapping[str, np.ndarray],
    trace: Callable[[Any], BaseException | None],
) -> str:
    """Name the first of the leaves with which, transposed, the port raises no error."""
    found: list[str] = []  # the leaves that are transposed, each of which let the port run further
    advice, traces = "", 0
    while True:
        leaves = {p: x for p, x in paths.named(params) if jax_program.is_array(x)}
        for path, order in _orders({p: x for p, x in leaves.items() if p not in found}):
            changed = _moved(params, path, order)
            after, traces = trace(changed), traces + 1
            if after is None or raised_later(after, error):
                break
            if traces == _TRACES:
                return ""
        else:
            return ""
        advice = advice or _advice(path, np.asarray(leaves[path]), order, state)
        if after is None:
            return advice
        found, params, error = [*found, path], changed, after


def _moved(params: Any, path: str, order: tuple[int, ...]) -> Any:
    """Return params with the axes of one leaf in another order."""
    return paths.map_named(
        lambda p, x: np.transpose(np.asarray(x), order) if p == path else x, params
    )


def _orders(leaves: Mapping[str, Any]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the other orders of the axes of weights that change their shape."""
    for path, leaf in leaves.items():
        for order in _ORDERS.get(np.ndim(leaf), ()):
            if tuple(leaf.shape[axis] for axis in order) != leaf.shape:
                yield path, order


def _advice(
    path: str, leaf: np.ndarray, order: tuple[int, ...], state: Mapping[str, np.ndarray]
) -> str:
    """Say how a leaf relates to torch's parameter, and what to change."""
    moved = tuple(leaf.shape[axis] for axis in order)
    gone = f"with its axes in the order {order}, the shape {moved}, fn does not raise this error"
    name = _name(path, leaf, state)
    if name is None:
        return f"{path!r} in params has the shape {leaf.shape}; {gone}"
    torchs = state[name].shape
    both = f"{path!r} has the shape {leaf.shape} in params, and torch's {name} has {torchs}; {gone}"
    if leaf.shape == torchs:
        why = ": torch's Linear computes x @ weight.T" if leaf.ndim == 2 else ""
        return f"{both}. Transpose it in fn{why}"
    return f"{both}. Transpose it either in params or in fn, but not in both"


def _name(path: str, leaf: np.ndarray, state: Mapping[str, np.ndarray]) -> str | None:
    """Return torch's name of a leaf: its path, or the only tensor that has its elements."""
    dotted = path.replace("/", ".")
    if dotted in state:
        return dotted
    elements = np.sort(np.asarray(leaf, np.float64), axis=None)
    same = [
        name
        for name, x in state.items()
        if x.size == leaf.size and np.allclose(np.sort(x, axis=None), elements, rtol=1e-6)
    ]
    return same[0] if len(same) == 1 else None


def traced_with(trace: Callable[[Any], Any]) -> Callable[[Any], BaseException | None]:
    """Return a function that traces the port with given params and returns the error it raises."""

    def run(params: Any) -> BaseException | None:
        try:
            trace(params)
        except Exception as error:
            return error.__cause__ or error
        return None

    return run

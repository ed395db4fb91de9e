"""Find the leaves of a state that a function returns with another value, by tracing it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np

from jaxgrad.parity.port.source.refusals import PortError


def updated(fn: Callable[..., Any], state: Any, inputs: Any) -> set[str] | None:
    """Return the paths of the leaves that a function changes, as `layers.0.weight`.

    Args:
        fn: A function of a state and the inputs, which returns the new state.
        state: Its state, a tree of arrays.
        inputs: A tuple of arrays, or a mapping for named arguments.

    Returns:
        The paths; None if the function raises, as one does that has a hole.

    Raises:
        PortError: The returned state has another tree structure.
    """
    args, options = ((), dict(inputs)) if isinstance(inputs, Mapping) else (tuple(inputs), {})
    paths = [path for path, _ in jax.tree_util.tree_leaves_with_path(state)]
    names = [jax.tree_util.keystr(path, simple=True, separator=".") for path in paths]
    try:
        closed, shapes = jax.make_jaxpr(fn, return_shape=True)(state, *args, **options)
    except jax.errors.ConcretizationTypeError:  # it reads values, as a mixture of experts may
        return _eagerly(fn, state, args, options, names)
    except Exception:  # the proof says where it raises
        return None
    _require_structure(state, shapes)
    given = closed.jaxpr.invars[: len(names)]
    pairs = zip(names, given, closed.jaxpr.outvars, strict=True)
    return {name for name, old, new in pairs if new is not old}


def _require_structure(state: Any, returned: Any) -> None:
    old, new = jax.tree.structure(state), jax.tree.structure(returned)
    if old != new:
        raise PortError(
            f"the port returns params of the structure {new}, and was given {old}"
            "; this is a fault of jaxgrad, please report it"
        )


def _eagerly(
    fn: Callable[..., Any], state: Any, args: Any, options: Any, names: list[str]
) -> set[str] | None:
    try:
        returned = fn(state, *args, **options)
    except Exception:  # the proof says where it raises
        return None
    _require_structure(state, returned)
    triples = zip(names, jax.tree.leaves(state), jax.tree.leaves(returned), strict=True)
    return {
        name for name, old, new in triples
        if not np.array_equal(old, new, equal_nan=np.asarray(old).dtype.kind in "fc")
    }  # fmt: skip

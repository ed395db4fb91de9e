"""Inputs that are settings, such as a flag: they become defaults of `forward`."""

from __future__ import annotations

import contextlib
import functools
import inspect
import types
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from torch import nn

from jaxgrad._core.typing import PyTree
from jaxgrad.parity.interop import map_leaves
from jaxgrad.parity.port.source.refusals import PortError
from jaxgrad.parity.prove.users import kind_of


FLAGS = (bool, str)
NUMBERS = (*FLAGS, int, float)
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def require_tuple(name: str, inputs: Any) -> None:
    """Check that inputs are a tuple or a mapping, in which a lone array is easily forgotten.

    Args:
        name: The user's argument, for the error message.
        inputs: Its value.

    Raises:
        PortError: They are a single value, such as an array.
    """
    if not isinstance(inputs, tuple | list | Mapping):
        raise PortError(
            f"{name} needs a tuple of arrays, one for each argument of forward, as in (x,), got "
            f"{kind_of(inputs)}"
        )


def has_numbers(inputs: PyTree) -> bool:
    """Return whether an input is a number of Python's, which may be an array or a setting."""
    values = inputs.values() if isinstance(inputs, Mapping) else inputs
    return any(type(x) in (int, float) for x in values)


@contextlib.contextmanager
def settled(
    module: nn.Module, inputs: PyTree, also: Sequence[PyTree], kinds: Sequence[type] = FLAGS
) -> Iterator[tuple[PyTree, list[PyTree]]]:
    """Make the settings among the inputs defaults of `forward`, and yield the other inputs.

    Args:
        module: The module; its `forward` is its own again after the block.
        inputs: The example inputs.
        also: Further inputs, with the same settings.
        kinds: The types of a setting.
    """
    forward = module.forward
    function = getattr(forward, "__func__", None)
    names = _names(forward) if isinstance(function, types.FunctionType) else []
    named = dict(inputs) if isinstance(inputs, Mapping) else dict(zip(names, inputs, strict=False))
    settings = {name: x for name, x in named.items() if type(x) in kinds}
    if not settings or len(named) != len(inputs):
        yield _arrays(inputs), [_arrays(x) for x in also]
        return
    before = vars(module).get("forward")
    module.forward = types.MethodType(_with_defaults(function, settings), module)
    try:
        yield _without(inputs, names, settings), [_without(x, names, settings) for x in also]
    finally:
        if before is None:
            del module.forward
        else:
            module.forward = before


def _names(forward: Any) -> list[str]:
    parameters = inspect.signature(forward).parameters.values()
    return [p.name for p in parameters if p.kind in _POSITIONAL]


def _with_defaults(function: Any, settings: Mapping[str, Any]) -> types.FunctionType:
    """Return a copy of a function that has the settings as defaults.

    The caller passes the parameters after a setting by name. A decorated function gets the
    defaults inside of its decorator.
    """
    inner, cells = getattr(function, "__wrapped__", None), function.__closure__ or ()
    changed = _with_defaults(inner, settings) if isinstance(inner, types.FunctionType) else None
    if changed is not None:
        cells = [types.CellType(changed) if x.cell_contents is inner else x for x in cells]
    new = types.FunctionType(
        function.__code__, function.__globals__, function.__name__, None, tuple(cells)
    )
    functools.update_wrapper(new, function)
    new.__defaults__, new.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    if changed is not None:
        new.__dict__["__wrapped__"] = changed
        return new
    del new.__dict__["__wrapped__"]
    defaults = {}
    for name, parameter in inspect.signature(function).parameters.items():
        is_default = name in settings or parameter.default is not parameter.empty
        if parameter.kind in _POSITIONAL and (is_default or defaults):
            defaults[name] = settings.get(name, parameter.default)
    new.__defaults__ = tuple(defaults.values())
    own = function.__kwdefaults__ or {}
    new.__kwdefaults__ = {**own, **{k: x for k, x in settings.items() if k not in defaults}}
    return new


def _without(inputs: PyTree, names: Sequence[str], settings: Mapping[str, Any]) -> PyTree:
    """Return the inputs that are no settings: a tuple if those are the first ones."""
    if isinstance(inputs, Mapping):
        return _arrays({name: x for name, x in inputs.items() if name not in settings})
    named = dict(zip(names, inputs, strict=False))
    left = {name: x for name, x in named.items() if name not in settings}
    first = tuple(left) == tuple(named)[: len(left)]
    return _arrays(tuple(left.values()) if first else left)


def _arrays(inputs: PyTree) -> PyTree:
    """Return inputs with arrays in place of Python's numbers."""

    def one(x: Any) -> Any:
        return np.float32(x) if type(x) is float else np.int64(x) if type(x) is int else x

    return map_leaves(one, inputs)

"""Call functions of the configuration: their results are constants in the port."""

from __future__ import annotations

import ast
import contextlib
import random
import types
from collections.abc import Iterator
from typing import Any
from unittest import mock

import numpy as np
import torch

from jaxgrad.parity.port.functions import made_objects
from jaxgrad.parity.port.values.scope import Scope
from jaxgrad.parity.port.values.value_types import Folded, Value
from jaxgrad.parity.port.values.values import is_computed, real_of


def folded_call(
    function: Any, args: list[Value], keywords: dict[str, Value], scope: Scope, node: ast.AST
) -> Value | None:
    """Return the result of a Python function of the configuration.

    None means that the function has to be interpreted, because it reads or makes tensors.
    """
    if not isinstance(function, types.FunctionType):
        return run(function, args, keywords, scope, node)
    if any(map(is_computed, [*args, *keywords.values()])):
        return None
    if made_objects.holds_tensors([*args, *keywords.values()], scope.run):
        return None
    before = _generators()
    try:
        with _tracing() if scope.run.tracing else contextlib.nullcontext():
            made = function(*map(real_of, args), **{k: real_of(v) for k, v in keywords.items()})
    except Exception:
        return None
    if has_tensor(made):
        return None
    _require_no_draw(before, function, scope, node)
    return Folded(made)


@contextlib.contextmanager
def _tracing() -> Iterator[None]:
    """Let a function that asks torch whether it is being traced get the answer yes."""
    with contextlib.ExitStack() as stack:
        for owner, name in _QUESTIONS:
            stack.enter_context(mock.patch.object(owner, name, return_value=True))
        yield


_QUESTIONS: list[tuple[Any, str]] = [
    (torch.jit, "is_tracing"), (torch.compiler, "is_compiling"), (torch.compiler, "is_exporting")
]  # fmt: skip


def has_tensor(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(map(has_tensor, value))
    if isinstance(value, dict):
        return any(map(has_tensor, value.values()))
    return isinstance(value, torch.Tensor)


def run(
    real: Any, args: list[Value], keywords: dict[str, Value], scope: Scope, node: ast.AST
) -> Value:
    """Call configuration: nothing of it is in the port."""
    if any(map(is_computed, [*args, *keywords.values()])):
        label = getattr(real, "__qualname__", repr(real))
        raise scope.refuse(
            f"{label} has no counterpart in JAX; write it as tensor operations", node
        )
    before = _generators()
    result = real(*map(real_of, args), **{k: real_of(v) for k, v in keywords.items()})
    _require_no_draw(before, real, scope, node)
    if has_tensor(result):
        label = getattr(real, "__qualname__", repr(real))
        raise scope.refuse(
            f"{label} makes a tensor, and its source cannot be read"
            "; compute the tensor in the module, or register it as a buffer",
            node,
        )
    if isinstance(real, type):
        made_objects.add(result, scope.run)
    return Folded(result)


def _require_no_draw(before: tuple[Any, ...], real: Any, scope: Scope, node: ast.AST) -> None:
    """Raise if the generator of Python or numpy has another state than before."""
    if _generators() != before:
        label = getattr(real, "__qualname__", repr(real))
        raise scope.refuse(
            f"{label} draws from the generator of Python or numpy, and the port would have this "
            "one number for ever; draw with torch",
            node,
        )


def _generators() -> tuple[Any, ...]:
    """Return the states of the generators of Python and numpy."""
    kind, keys, *rest = np.random.get_state()  # noqa: NPY002  # a module may use it
    return random.getstate(), kind, np.asarray(keys).tobytes(), *rest

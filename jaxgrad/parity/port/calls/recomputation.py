"""An `autograd.Function` that runs a function again in its backward pass, as a checkpoint does."""

from __future__ import annotations

import ast
from typing import Any

import torch

from jaxgrad.parity.port.calls import hooks
from jaxgrad.parity.port.functions import autograd_functions
from jaxgrad.parity.port.values.scope import CallSite, Scope
from jaxgrad.parity.port.values.value_types import (
    Closure,
    Folded,
    Method,
    Module,
    Tensor,
    Value,
)
from jaxgrad.parity.port.values.values import real_of


def apply(
    kind: type, args: list[Value], keywords: dict[str, Value], scope: Scope, node: ast.AST
) -> Value:
    """Interpret `Function.apply(...)`, which is `checkpoint(f, ...)` if it runs f again."""
    checkpointed = of_function(kind, args)
    if checkpointed is not None:
        return hooks.checkpoint(CallSite(checkpointed, {}, scope, node))
    return autograd_functions.apply(kind, args, keywords, scope, node)


def of_function(kind: Any, args: list[Value]) -> list[Value] | None:
    """Return the function and its inputs, if `kind.apply(*args)` is a checkpoint of the function.

    This is tried in torch with another function in its place: the Function must give it some of
    the tensors, return what it returns, call it once in each pass, and have its gradients.
    """
    functions = [n for n, x in enumerate(args) if _is_function(x)]
    if len(functions) != 1 or kind.__dict__.get("setup_context") is not None:
        return None
    with torch.enable_grad(), torch.random.fork_rng(devices=[]):
        inputs = _inputs(kind, args, functions[0])
    return None if inputs is None else [args[functions[0]], *(args[n] for n in inputs)]


def _is_function(value: Value) -> bool:
    if isinstance(value, Folded):
        return callable(value.real) and not isinstance(value.real, type)
    return isinstance(value, Closure | Method | Module)


def _inputs(kind: Any, args: list[Value], at: int) -> list[int] | None:
    """Return which arguments the Function gives to its function, or None if it is no checkpoint."""
    given = [_leaf(x) for x in args]
    tensors = {n: x for n, x in enumerate(given) if isinstance(x, torch.Tensor)}
    calls: list[list[Any]] = []

    def probe(*inputs: Any) -> torch.Tensor:
        calls.append(list(inputs))
        return _probe(inputs)

    given[at] = probe
    try:
        output = kind.apply(*given)
        inputs = [next(n for n, x in tensors.items() if x is y) for y in calls[0]]
        expected = _probe([tensors[n] for n in inputs])
        leaves = [tensors[n] for n in inputs if tensors[n].requires_grad]
        found = torch.autograd.grad(output, leaves)
        wanted = torch.autograd.grad(expected, leaves)
    except Exception:
        return None
    same = all(map(torch.equal, (output, *found), (expected, *wanted)))
    return inputs if leaves and same and len(calls) == 2 else None


def _leaf(value: Value) -> Any:
    """Return an argument as a leaf of torch's graph, apart from the graph of the run."""
    if not isinstance(value, Tensor):
        return None if _is_function(value) else real_of(value)
    real: torch.Tensor = value.real.detach().clone()
    return real.requires_grad_(real.is_floating_point() or real.is_complex())


def _probe(inputs: Any) -> torch.Tensor:
    """Return a number whose gradient differs from input to input."""
    terms = [(n + x.real.double()).square().sum() for n, x in enumerate(inputs, 1)]
    return torch.stack(terms).sum()

"""Write torch's optimizer as that of `jaxgrad.optim`."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Sequence
from typing import Any

import torch

from jaxgrad import optim
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.refusals import PortError
from jaxgrad.parity.port.training.schedules import Rates


_IMPLEMENTATION = ("foreach", "fused", "capturable", "differentiable", "exact")


def rebuilt(optimizer: torch.optim.Optimizer) -> torch.optim.Optimizer:
    """Return a new optimizer of the same parameters and options, without state.

    A scheduler may have changed the learning rates; the new optimizer has the initial ones.
    """
    accepted = inspect.signature(type(optimizer)).parameters
    defaults = {k: v for k, v in optimizer.defaults.items() if k in accepted}
    groups = [
        {k: v for k, v in group.items() if k != "initial_lr"}
        | {"lr": group.get("initial_lr", group["lr"])}
        for group in optimizer.param_groups
    ]
    return type(optimizer)(groups, **defaults)


def write_optimizer(
    optimizer: torch.optim.Optimizer, rates: Rates, kept: Sequence[int]
) -> ast.expr:
    """Return the transformation of an optimizer, with the options that are not its defaults.

    Args:
        optimizer: torch's optimizer.
        rates: The learning rates and momenta of its groups.
        kept: The numbers of the groups that train a parameter.

    Raises:
        PortError: The optimizer has no counterpart.
    """
    name, factory = _counterpart(optimizer)
    options = list(zip(optimizer.param_groups, rates.lrs, rates.momenta, strict=True))
    groups = [
        _options(group, factory, lr, momentum)
        for group, lr, momentum in (options[number] for number in kept)
    ]
    if len(groups) == 1:
        return syntax.call(f"optim.{name}", **groups[0])
    first, *others = groups
    common = {
        key: code for key, code in first.items()
        if all(key in group and syntax.same(group[key], code) for group in others)
    }  # fmt: skip
    own = [{k: v for k, v in group.items() if k not in common} for group in groups]
    listed = [ast.Dict([syntax.constant(k) for k in g], list(g.values())) for g in own]
    codes = [syntax.dotted(f"optim.{name}"), ast.List(list(listed), ast.Load())]
    return syntax.call("optim.param_groups", *codes, syntax.name("group_of"), **common)


def _counterpart(optimizer: torch.optim.Optimizer) -> tuple[str, Any]:
    kind = type(optimizer)
    name = "sparse_adam" if kind.__name__ == "SparseAdam" else kind.__name__.lower()
    factory = getattr(optim, name, None)
    if factory is None or getattr(torch.optim, kind.__name__, None) is not kind:
        raise PortError(
            f"the optimizer {kind.__name__} has no counterpart in jaxgrad.optim"
            "; port without optimizer=, and write the training step by hand"
        )
    if name == "lbfgs":
        raise PortError("a step of LBFGS evaluates the loss several times; write it by hand")
    return name, factory


def _options(
    group: dict[str, Any], factory: Any, lr: ast.expr, momentum: ast.expr | None
) -> dict[str, ast.expr]:
    found: dict[str, ast.expr] = {}
    for name, parameter in inspect.signature(factory).parameters.items():
        if name not in group or name in _IMPLEMENTATION:
            continue
        value = group[name]
        value = value.item() if isinstance(value, torch.Tensor) else value
        if name == "lr":
            found[name] = lr
        elif momentum is not None and name == "betas":
            rest = [syntax.literal(beta) for beta in group[name][1:]]
            found[name] = ast.Tuple([momentum, *rest], ast.Load())
        elif momentum is not None and name == "momentum" and "betas" not in group:
            found[name] = momentum
        elif value != parameter.default:
            found[name] = syntax.literal(value)
    return found


def group_names(optimizer: torch.optim.Optimizer, names: dict[int, str]) -> Sequence[Sequence[str]]:
    """Return the names of the parameters of each group.

    Raises:
        PortError: The optimizer has a parameter that the module does not have.
    """
    found: list[list[str]] = []
    for group in optimizer.param_groups:
        if any(id(p) not in names for p in group["params"]):
            raise PortError(
                "the optimizer has parameters that the module does not have"
                "; give it parameters of this module alone"
            )
        found.append([names[id(p)] for p in group["params"]])
    return found

"""Write torch's optimizer and scheduler as those of `jaxgrad.optim`."""

from __future__ import annotations

import ast
import inspect
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import torch

from jaxgrad import optim
from jaxgrad.parity.port import syntax
from jaxgrad.parity.port.naming import snake
from jaxgrad.parity.port.refusals import PortError


_IMPLEMENTATION = ("foreach", "fused", "capturable", "differentiable", "exact")
_Rate = Callable[[float], ast.expr]


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


def write_optimizer(optimizer: torch.optim.Optimizer, scheduler: Any) -> ast.expr:
    """Return the transformation of an optimizer, with the options that are not its defaults.

    Raises:
        PortError: The optimizer or the scheduler has no counterpart.
    """
    name, factory = _counterpart(optimizer)
    rate = syntax.literal if scheduler is None else lambda lr: write_schedule(scheduler, lr)
    groups = [_options(group, factory, rate) for group in optimizer.param_groups]
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
        raise PortError(f"the optimizer {kind.__name__} has no counterpart in jaxgrad.optim")
    if name == "lbfgs":
        raise PortError("a step of LBFGS evaluates the loss several times; write it by hand")
    return name, factory


def _options(group: dict[str, Any], factory: Any, rate: _Rate) -> dict[str, ast.expr]:
    found: dict[str, ast.expr] = {}
    for name, parameter in inspect.signature(factory).parameters.items():
        if name not in group or name in _IMPLEMENTATION:
            continue
        value = group[name]
        value = value.item() if isinstance(value, torch.Tensor) else value
        if name == "lr":
            found[name] = rate(float(group.get("initial_lr", value)))
        elif value != parameter.default:
            found[name] = syntax.literal(value)
    return found


def write_schedule(scheduler: Any, lr: float) -> ast.expr:
    """Return the schedule of a scheduler for one learning rate.

    Raises:
        PortError: The scheduler has no counterpart, or one whose settings cannot be read.
    """
    kind = type(scheduler)
    name = snake(kind.__name__)
    factory = getattr(optim.lr_scheduler, name, None)
    if factory is None:
        raise PortError(f"the scheduler {kind.__name__} has no counterpart in jaxgrad.optim")
    function, start = f"optim.lr_scheduler.{name}", syntax.literal(lr)
    if isinstance(scheduler, torch.optim.lr_scheduler.SequentialLR):
        parts = [write_schedule(s, lr) for s in scheduler._schedulers]
        milestones = syntax.literal(list(scheduler._milestones))
        return syntax.call(function, start, ast.List(parts, ast.Load()), milestones)
    keywords: dict[str, ast.expr] = {}
    for argument, parameter in list(inspect.signature(factory).parameters.items())[1:]:
        if argument == "last_epoch":
            continue
        if argument not in vars(scheduler):
            raise PortError(
                f"the settings of {kind.__name__} cannot be read from it (it has no {argument!r}); "
                "write the schedule by hand"
            )
        value = vars(scheduler)[argument]
        value = sorted(value.elements()) if isinstance(value, Counter) else value
        if value != parameter.default:
            keywords[argument] = syntax.literal(value)
    return syntax.call(function, start, **keywords)


def group_names(optimizer: torch.optim.Optimizer, names: dict[int, str]) -> Sequence[Sequence[str]]:
    """Return the names of the parameters of each group.

    Raises:
        PortError: The optimizer has a parameter that the module does not have.
    """
    found: list[list[str]] = []
    for group in optimizer.param_groups:
        if any(id(p) not in names for p in group["params"]):
            raise PortError("the optimizer has parameters that the module does not have")
        found.append([names[id(p)] for p in group["params"]])
    return found

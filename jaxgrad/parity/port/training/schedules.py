"""Write torch's scheduler as schedules of `jaxgrad.optim.lr_scheduler`."""

from __future__ import annotations

import ast
import copy
import dataclasses
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch.optim import lr_scheduler

from jaxgrad import optim
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.naming import snake
from jaxgrad.parity.port.source.refusals import PortError
from jaxgrad.parity.port.source.written import Written
from jaxgrad.parity.port.training.schedule_bodies import plain
from jaxgrad.parity.port.training.schedule_functions import POINTS, write_function
from jaxgrad.parity.port.training.scheduler_settings import Settings, scheduler_of


SettingsOf = Callable[[Any], Settings]
UNIT = tuple(n / 8 for n in range(9))  # the arguments of a `scale_fn`
SHORT = 80  # characters of a schedule that is written for each group
COMPOSED = (lr_scheduler.SequentialLR, lr_scheduler.ChainedScheduler)


@dataclasses.dataclass
class Rates:
    """The learning rates of an optimizer in the file.

    Attributes:
        scheduler: torch's scheduler, if there is one.
        lrs: The expression of each group's learning rate: a number or a schedule.
        momenta: The expression of each group's momentum, where the scheduler cycles it.
        section: The functions and the assignments that these expressions read.
    """

    scheduler: Any = None
    lrs: list[ast.expr] = dataclasses.field(default_factory=list)
    momenta: list[ast.expr | None] = dataclasses.field(default_factory=list)
    section: list[Written | ast.stmt] = dataclasses.field(default_factory=list)


def write_rates(
    optimizer: torch.optim.Optimizer, factory: Callable[[Any], Any] | None, taken: Iterable[str],
    kept: Sequence[int] | None = None,
) -> Rates:  # fmt: skip
    """Return the learning rates of an optimizer, which its scheduler may change.

    Args:
        optimizer: torch's optimizer, before its first step.
        factory: Returns torch's scheduler of an optimizer.
        taken: Names that the functions of the port use.
        kept: The numbers of the groups that the port writes; all of them unless given.

    Raises:
        PortError: The scheduler has no counterpart.
    """
    starts = [float(group["lr"]) for group in optimizer.param_groups]
    if factory is None:
        return Rates(None, [syntax.literal(lr) for lr in starts], [None] * len(starts))
    scheduler, settings_of = scheduler_of(factory, optimizer)
    rates, names = Rates(scheduler), set(taken)
    named: dict[str, ast.expr] = {}
    cycled = _cycles_momentum(settings_of(scheduler))
    for number, start in enumerate(starts):
        lr = syntax.literal(start)
        rates.lrs.append(_schedule(scheduler, settings_of, lr, number, rates.section, names))
    if not cycled:
        lr = syntax.name("lr")
        forms = [
            _schedule(scheduler, settings_of, lr, number, rates.section, names)
            for number in range(len(starts))
        ]
        _share(rates, forms, starts, range(len(starts)) if kept is None else kept, names)
    for number, code in enumerate(rates.lrs):
        momentum = None
        if cycled:
            name = next((n for n, x in named.items() if syntax.same(x, code)), "")
            if not name:
                name = syntax.unique("SCHEDULE", named)
                named[name] = code
                rates.section.append(ast.Assign([ast.Name(name, ast.Store())], code))
            rates.lrs[number] = syntax.name(name)
            momentum = syntax.attribute(syntax.name(name), "momentum")
        rates.momenta.append(momentum)
    return rates


def _share(
    rates: Rates, forms: Sequence[ast.expr], starts: Sequence[float], kept: Sequence[int],
    taken: set[str],
) -> None:  # fmt: skip
    """Write a long schedule of several groups once, as a function of the initial learning rate.

    Args:
        rates: The learning rates of the groups, which become calls of that function.
        forms: The schedule of each group with `lr` in place of its initial learning rate.
        starts: The initial learning rate of each group.
        kept: The numbers of the groups that the port writes.
        taken: Names that the port uses.
    """
    rest = list(kept)
    while rest:
        form = forms[rest[0]]
        alike = [n for n in rest if syntax.same(forms[n], form)]
        rest = [n for n in rest if n not in alike]
        if len({starts[n] for n in alike}) == 1 and len(alike) == len(kept):
            continue  # the optimizer has one learning rate for all groups
        if len(alike) < 2 or len(syntax.text(rates.lrs[alike[0]])) <= SHORT:
            continue
        name = syntax.unique("schedule", taken)
        taken.add(name)
        doc = "Return the schedule of a parameter group from its initial learning rate."
        node = syntax.function(name, ["lr"], [ast.Return(form)])
        written = Written.helper(syntax.text(node), doc, _share)
        written.pinned = True
        rates.section.append(written)
        for n in alike:
            rates.lrs[n] = syntax.call(name, syntax.literal(starts[n]))


def _cycles_momentum(settings: Settings) -> bool:
    cyclic = (lr_scheduler.OneCycleLR, lr_scheduler.CyclicLR)
    return settings.kind in cyclic and settings.arguments.get("cycle_momentum", True)


def _schedule(
    scheduler: Any, settings_of: SettingsOf, lr: ast.expr, group: int,
    section: list[Written | ast.stmt], taken: set[str],
) -> ast.expr:  # fmt: skip
    """Return the schedule of one parameter group; its functions are added to `section`."""
    settings = settings_of(scheduler)
    if settings.kind is lr_scheduler.ReduceLROnPlateau:
        raise PortError(
            "ReduceLROnPlateau reads a metric after each epoch, which the training step does not "
            "have; step jaxgrad.optim.lr_scheduler.reduce_lr_on_plateau outside of it"
        )
    name = snake(settings.kind.__name__)
    factory = getattr(optim.lr_scheduler, name, None)
    if factory is None:
        raise PortError(
            f"the scheduler {settings.kind.__name__} has no counterpart in jaxgrad.optim"
            "; use another one, or port without scheduler="
        )
    function, start = f"optim.lr_scheduler.{name}", copy.deepcopy(lr)
    if settings.kind in COMPOSED:
        inner: Sequence[Any] = scheduler._schedulers
        if any(_cycles_momentum(settings_of(part)) for part in inner):
            raise PortError(
                f"a scheduler inside {settings.kind.__name__} cycles the momentum; pass "
                "cycle_momentum=False to it, or use it alone"
            )
        parts = [_schedule(part, settings_of, lr, group, section, taken) for part in inner]
        listed: list[ast.expr] = [ast.List(parts, ast.Load())]
        if "milestones" in settings.arguments:
            listed.append(syntax.literal(list(settings.arguments["milestones"])))
        return syntax.call(function, start, *listed)
    keywords: dict[str, ast.expr] = {}
    for argument, parameter in list(inspect.signature(factory).parameters.items())[1:]:
        value = settings.arguments.get(argument, parameter.default)
        value = value[group] if _is_listed(argument, value) else value
        if callable(value):
            keywords[argument] = _function(value, argument, section, taken)
        elif argument != "last_epoch" and value != parameter.default:
            keywords[argument] = syntax.literal(value)
    return syntax.call(function, start, **keywords)


def _is_listed(argument: str, value: Any) -> bool:
    """Return whether a setting has a value for each group."""
    return isinstance(value, list | tuple) and argument != "milestones"


def _function(
    function: Callable[..., Any], argument: str, section: list[Written | ast.stmt], taken: set[str]
) -> ast.expr:
    """Return the code of a function that a scheduler calls: a lambda, or the name of its `def`."""
    own = getattr(function, "__name__", "") or plain(function)[0].__name__
    own = snake(type(function).__name__) if own == "__call__" else own.strip("_")
    label = syntax.unique(own if own.isidentifier() else argument, taken)
    points = UNIT if argument == "scale_fn" else POINTS
    node = write_function(function, label, points)
    if isinstance(node, ast.Lambda):
        return node
    equal = (w for w in section if isinstance(w, Written) and syntax.same_function(w.node, node))
    if (other := next(equal, None)) is not None:
        return syntax.name(other.name)
    taken.add(label)
    doc = "Return the factor of the learning rate in an epoch."
    written = Written.helper(syntax.text(node), doc, write_function)
    written.pinned = True
    section.append(written)
    return syntax.name(label)

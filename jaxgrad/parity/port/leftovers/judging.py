"""Refuse a module that leaves an attribute behind which its port cannot return, or say so."""

from __future__ import annotations

from torch import nn

from jaxgrad.parity.port.leftovers.left_behind import LeftBehind
from jaxgrad.parity.port.leftovers.snapshots import Difference
from jaxgrad.parity.port.source.refusals import Place, PortError
from jaxgrad.parity.port.source.written import Assumption
from jaxgrad.parity.port.values.scope import Run


def left_out(left: LeftBehind, run: Run) -> list[Assumption]:
    """Return the attributes that a call leaves behind and the interpretation does not know.

    Args:
        left: What torch's own run leaves behind.
        run: The interpretation of the module in the same mode.

    Raises:
        PortError: The next call depends on an attribute, or an object is changed in place.
    """
    for x in left.of_kind("flag"):
        raise PortError(
            f"`requires_grad` of {x.path!r} is changed while the module runs; set it before the "
            "call, so that the optimizer knows what it trains",
            left.line(x),
        )
    attributes = [x for x in left.of_kind("set", "changed") if x.path not in run.constants]
    if attributes and not left.repeats:
        first = attributes[0]
        raise PortError(
            f"`{first.path}` is changed while the module runs, and the next call gives another "
            "result with the same inputs; take it as an argument and return it, or register a "
            "buffer for it",
            left.line(first),
        )
    for x in attributes:
        if run.settings.was_ever_set(x.owner, x.name):
            continue  # it is read again in the same call, or listed as left out
        raise PortError(
            f"`{x.path}` is changed while the module runs, and the port cannot return it; return "
            "it from forward, or leave the change out",
            left.line(x),
        )
    return [_mode(x, left) for x in left.of_kind("mode")] + [
        Assumption(left.line(x) or NOWHERE, f"`{x.path}`, which is changed in place")
        for x in left.of_kind("argument")
    ]


NOWHERE = Place("torch", 0)


def _mode(x: Difference, left: LeftBehind) -> Assumption:
    owner = x.path.rpartition(".")[0] or "the module"
    return Assumption(left.line(x) or NOWHERE, f"`training` of {owner}")


def require_one_name(module: nn.Module, left: LeftBehind, run: Run) -> None:
    """Require that what a module changes is read under one of its names.

    A flax class has one variable under both names.

    Raises:
        PortError: A buffer of a layer with two names changes, and the module uses both names.
    """
    if run.classes is not None:
        return
    named = {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }
    for change in left.of_kind("tensor"):
        x = named.get(change.path)
        names = [n for n, other in named.items() if other is x and n in run.used]
        if x is not None and len(names) > 1:
            raise PortError(
                f"{names[0]!r} and {names[1]!r} are one tensor, which the module changes, and it "
                "is used under both names; use it under one of them",
                left.line(change),
            )

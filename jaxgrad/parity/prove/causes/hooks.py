"""Explain wrong gradients by hooks: one for each use of a value, one too few, or a wrong order.

JAX is rerun with one hook in place of several, torch without one of its hooks or with the hooks of
a value reversed. A cause is reported only if the gradients agree after the change, on every draw.
"""

from __future__ import annotations

import collections
from collections.abc import Sequence
from typing import Any

from jaxgrad.parity.prove import wording
from jaxgrad.parity.prove.causes.case import Case, Explanation
from jaxgrad.parity.prove.record.torch_side.values import Change, Hook


_CALLS = 16  # hooks of torch that are taken out, one at a time


def repeated(case: Case) -> Explanation | None:
    """Apply a hook once, to the sum over all uses of a value, and not once for each use."""
    kept, fixed = case.best(case.repeated, 1.0)
    if not kept:
        return None
    first = kept[0][0].first
    places = [case.place((path, 0)) for path in (first, *(gate.path for gate in kept[0]))]
    at = " and ".join(dict.fromkeys(places))
    eqn = case.evidence.port.program.equations[first]
    what = "hook" if eqn.params.get("name") == "hook" else "custom derivative"
    each = f"{len(places)} uses of one value each have a {what} of their own, at {at}"
    uses = f"one {what} gets the sum over all uses"
    difference = wording.Rerun(
        wording.Told(f"{each}; in torch {uses}", f"in torch {uses}; in JAX {each}"),
        f"rerunning JAX with one {what}, {case.names(fixed)}",
        ": apply it once, and use its result everywhere",
    )
    text = difference.says(case.evidence.reference)
    settings = dict.fromkeys((gate for group in kept for gate in group), 1.0)
    return Explanation(text, fixed, fixed == case.wrong, (first, 0), settings=settings)


def in_torch(case: Case) -> list[Explanation | None]:
    """Return the explanations by the order of torch's hooks, and by a hook that JAX lacks."""
    return [_wrong_order(case), _missing_hook(case)]


def _wrong_order(case: Case) -> Explanation | None:
    """Rerun torch with the hooks of one value reversed: its gradients should then be JAX's."""
    hooks: dict[str, list[Hook]] = {}
    for call in case.evidence.runs[case.draw].hooks[:_CALLS]:
        hooks.setdefault(call.of, []).append(call)
    several = [calls for calls in hooks.values() if len(calls) > 1]
    best = case.best_in_torch((calls, _reversed(calls)) for calls in several)
    if best is None:
        return None
    calls, fixed = best
    lines = " and at ".join(dict.fromkeys(call.line for call in calls))
    difference = wording.Rerun(
        wording.Mutual(
            f"torch runs the hooks on {calls[0].of} in the order in which they are registered, at "
            f"{lines}; JAX runs them in the opposite order"
        ),
        f"rerunning torch so, {case.names(fixed)}",
        "; of nested jaxgrad.hook calls, the outermost runs first",
        "; register them in the opposite order",
    )
    text = difference.says(case.evidence.reference)
    changes = tuple(_reversed(calls))
    line = tuple(dict.fromkeys(call.line for call in calls))
    return Explanation(text, fixed, fixed == case.wrong, changes=changes, lines=line)


def _reversed(calls: Sequence[Hook]) -> list[Change]:
    """Return the changes with which torch registers some hooks in the opposite order."""
    earlier: list[tuple[Any, Any]] = []

    def postpone(_: Any, args: Any, kwargs: Any) -> Any:
        earlier.append((args, kwargs))
        return _no_handle()

    def register(func: Any, args: Any, kwargs: Any) -> Any:
        handle = func(*args, **kwargs)
        while earlier:
            args, kwargs = earlier.pop()
            func(*args, **kwargs)
        return handle

    *first, last = (call.call_number for call in calls)
    return [*(Change(number, postpone) for number in first), Change(last, register)]


def _missing_hook(case: Case) -> Explanation | None:
    """Rerun torch without one of its hooks: its gradients should then be JAX's."""
    hooks = case.evidence.runs[case.draw].hooks[:_CALLS]

    def without(call: Hook) -> tuple[Change, ...]:
        return (Change(call.call_number, lambda *_: _no_handle()),)

    best = case.best_in_torch((call, without(call)) for call in hooks)
    if best is None:
        return None
    call, fixed = best
    difference = wording.Rerun(
        wording.Mutual(f"torch runs a hook on {call.of} (registered at {call.line}), JAX does not"),
        f"rerunning torch without it, {case.names(fixed)}",
        f"; wrap {_read_by(case, call)} in jaxgrad.hook",
        "; leave the hook out",
    )
    text = difference.says(case.evidence.reference)
    changes, line = without(call), (call.line,)
    return Explanation(text, fixed, fixed == case.wrong, changes=changes, lines=line)


def _read_by(case: Case, call: Hook) -> str:
    """Name the value that has a hook by the calls that read it."""
    values = case.run.values
    readers = dict.fromkeys(v.in_words for v in values if call.value in v.inputs)
    if len(readers) > 2:
        return call.of
    verb = "reads" if len(readers) == 1 else "read"
    return f"the value that torch's {' and '.join(readers)} {verb}" if readers else "the value"


def _no_handle() -> Any:
    """Return the handle of a hook that was not registered."""
    from torch.utils.hooks import RemovableHandle

    return RemovableHandle(collections.OrderedDict())

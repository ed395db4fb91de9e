"""Mistakes in the arguments of any call: a default, another number or flag, exchanged operands."""

from __future__ import annotations

import inspect
import itertools
from typing import Any

import torch
from torch import Tensor

from jaxgrad.parity.prove.causes.mistakes.call import NUMBER, Mistakes, TorchCall
from jaxgrad.parity.prove.causes.mistakes.signatures import is_number
from jaxgrad.parity.prove.wording import NO_DIFFERENCE, Mutual, Setting, Told


# Arguments that change no number of the result, and those of other mistakes.
_OTHERS = frozenset(
    "inplace training keepdim dtype out reduction size_average reduce dim axis sparse".split()
)
_NUMBERS = 8  # of the JAX program, in place of a default of torch's
_EMPTY = inspect.Parameter.empty
_REFUSED = object()  # in place of the result of a call that raises


def defaults(call: TorchCall) -> Mistakes:
    """Leave out an argument that torch gives, so that the port has its default."""
    return _with_effect(call, _at_defaults(call))


def numbers(call: TorchCall) -> Mistakes:
    """Give an argument a number that the JAX program contains, or 0."""
    return _with_effect(call, _with_numbers(call))


def flags(call: TorchCall) -> Mistakes:
    """Give a flag its other value."""
    return _with_effect(call, _with_flags(call))


def exchanged(call: TorchCall) -> Mistakes:
    """Exchange two floating operands of one shape."""
    return _with_effect(call, _with_exchanged(call))


def _at_defaults(call: TorchCall) -> Mistakes:
    left_out: dict[str, tuple[Any, Any]] = {}  # torch's setting and the default
    for name, parameter in _parameters(call).items():
        used, default = call.named(name), parameter.default
        if default is _EMPTY or not _is_setting(default) or not _differ(used, default):
            continue
        if isinstance(used, Tensor) and default is None:
            shown = f"has the shape {list(used.shape)}" if used.ndim else f"is {used.item():g}"
            text = Told(f"no {name} is used, torch's {shown}", f"{name} {shown}, JAX uses none")
            yield call.replaced(text, **{name: None})
        elif isinstance(used, bool | int | float | str):
            left_out[name] = (used, default)
    alone: list[TorchCall] = []
    for name, (used, default) in left_out.items():
        text = Setting(name, _written(default), _written(used))
        wrong = call.replaced(text, _written(default), **{name: default})
        alone.append(wrong.fixed(call.op, f"{name}={used!r}"))
        yield alone[-1]
    if len(left_out) > 1:
        jaxs, torchs = (
            " and ".join(f"{name} {_written(pair[k])}" for name, pair in left_out.items())
            for k in (1, 0)
        )
        text = Told(f"{call.op} has {jaxs}, torch's has {torchs}",
                    f"{call.op} has {torchs}, JAX's has {jaxs}")  # fmt: skip
        wrong = call.replaced(text, **{name: default for name, (_, default) in left_out.items()})
        both = _result(wrong)
        if not any(_equal(_result(one), both) for one in alone):  # one explains as much
            yield wrong


def _with_numbers(call: TorchCall) -> Mistakes:
    for name, parameter in _parameters(call).items():
        used = call.named(name)
        if not is_number(parameter, used):
            continue
        given = call.numbers if name in call.bound else call.numbers[:_NUMBERS]
        default = _result(call.replaced(NO_DIFFERENCE, **{name: parameter.default}))
        for number in (*given, 0.0):
            whole = isinstance(used, int) and float(number).is_integer()  # integers stay integers
            other = int(number) if whole else number
            text = Setting(name, f"{other:g}", f"{used:g}")
            wrong = call.replaced(text, f"{other:g}", **{name: other})
            # A number below a bound may have the effect of the default.
            if f"{other:g}" != f"{used:g}" and not _equal(_result(wrong), default):
                yield wrong.fixed(f"{other:g}", f"{used:g}")


def _with_flags(call: TorchCall) -> Mistakes:
    for name in _parameters(call):
        used = call.named(name)
        if isinstance(used, bool):
            text = Setting(name, f"{not used}", f"{used}")
            yield call.replaced(text, f"{not used}", **{name: not used})


def _with_exchanged(call: TorchCall) -> Mistakes:
    given = call.bound
    if call.op.startswith("lerp") and isinstance(given.get("weight"), float):
        return  # with the operands exchanged, the weight is the other part of 1
    names = [name for name, x in given.items() if isinstance(x, Tensor) and x.is_floating_point()]
    for one, other in itertools.combinations(names, 2):
        if given[one].shape == given[other].shape:
            text = Mutual(f"{one} and {other} are exchanged")
            yield call.replaced(text, **{one: given[other], other: given[one]})


def _with_effect(call: TorchCall, mistakes: Mistakes) -> Mistakes:
    """Leave out the mistakes that change no number of the result on these operands.

    Mistakes that only some functions can have are more particular, and are told first.
    """
    own = None
    for wrong in mistakes:
        own = call.result if own is None else own
        result = _result(wrong)
        if result is not _REFUSED and not _equal(result, own):
            yield wrong._replace(general=NUMBER)


def _result(call: TorchCall) -> Any:
    """Return the result of a call, or `_REFUSED` if the function does not accept an argument."""
    try:
        with torch.no_grad():
            return call.result
    except Exception:
        return _REFUSED


def _equal(x: Any, y: Any) -> bool:
    if isinstance(x, Tensor) and isinstance(y, Tensor):
        return x.shape == y.shape and torch.equal(x, y)
    return isinstance(x, tuple) and isinstance(y, tuple) and all(map(_equal, x, y))


def _parameters(call: TorchCall) -> dict[str, inspect.Parameter]:
    known = call.signature
    every = {} if known is None else known.parameters
    return {name: x for name, x in every.items() if name not in _OTHERS}


def _is_setting(x: Any) -> bool:
    return x is None or isinstance(x, bool | int | float | str)


def _differ(x: Any, default: Any) -> bool:
    return x is not default and (isinstance(x, Tensor) or x != default)


def _written(x: Any) -> str:
    return repr(x) if x is None or isinstance(x, bool | str) else f"{x:g}"

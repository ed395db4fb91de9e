"""The arguments of a torch function: names, defaults, and which of them are numbers."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor


_NUMBERS = ("float", "number", "Scalar")  # what a signature or a schema calls them


def signature(
    func: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> inspect.Signature | None:
    """Return the signature of a function that was called with these arguments, if it is known.

    Functions that torch writes in C++ have no Python signature, but schemas with names and
    defaults.

    Example:
        >>> x = torch.ones(3)
        >>> str(signature(torch.nn.functional.softplus, (x, 2), {}))
        '(input, beta: float = 1, threshold: float = 20)'
    """
    try:
        return inspect.signature(func)
    except (TypeError, ValueError):
        given = [*args, *kwargs.values()]
        fitting = (s for s in _schemas(getattr(func, "__name__", "")) if _fits(s, args, kwargs))
        return next(fitting, None) if any(isinstance(x, Tensor) for x in given) else None


def is_python(func: Callable[..., Any]) -> bool:
    """Whether a function has a signature of Python's, so that a name can pass any argument."""
    try:
        inspect.signature(func)
    except (TypeError, ValueError):
        return False
    return True


def is_number(parameter: inspect.Parameter, used: object) -> bool:
    """Whether an argument is a number that need not be an integer.

    Args:
        parameter: The argument in the signature.
        used: Its value in a call.
    """
    if isinstance(used, bool) or not isinstance(used, int | float):
        return False
    kind = parameter.annotation
    written = getattr(kind, "__name__", str(kind)).removesuffix(" | None")
    return isinstance(used, float) or written in _NUMBERS


@functools.cache
def _schemas(name: str) -> tuple[inspect.Signature, ...]:
    """Return the signatures of a torch operator, in the order in which torch tries them."""
    packet = getattr(torch.ops.aten, name.strip("_"), None) if name else None
    if packet is None:
        return ()
    found = []
    for overload in packet.overloads():
        arguments = getattr(packet, overload)._schema.arguments
        tensor = arguments and str(arguments[0].type) == "Tensor"
        if tensor and not any(argument.name == "out" for argument in arguments):
            found.append(inspect.Signature([*map(_parameter, arguments)]))
    return tuple(found)


def _parameter(argument: Any) -> inspect.Parameter:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    named = inspect.Parameter.KEYWORD_ONLY
    written = str(argument.type).removeprefix("Optional[").removesuffix("]")
    return inspect.Parameter(
        "input" if argument.name == "self" else argument.name,
        named if argument.kwarg_only else kind,
        default=argument.default_value if argument.has_default_value() else inspect.Parameter.empty,
        annotation=float if written in _NUMBERS else inspect.Parameter.empty,
    )


def _fits(schema: inspect.Signature, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether a schema has these arguments, with numbers in the place of numbers."""
    try:
        bound = schema.bind(*args, **kwargs).arguments
    except TypeError:
        return False
    numbers = (x for name, x in bound.items() if schema.parameters[name].annotation is float)
    return not any(isinstance(x, Tensor) for x in numbers)

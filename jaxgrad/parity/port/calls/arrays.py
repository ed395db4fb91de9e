"""Calls of numpy on sizes, whose results are constants for each size of the inputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.refusals import PortError
from jaxgrad.parity.port.values.kinds_of_values import Folded, Size, Value
from jaxgrad.parity.port.values.values import code_of, real_of


def _is_numpy(function: Any) -> bool:
    """Return whether a function is one of numpy's own, such as `np.linspace`."""
    name = getattr(function, "__name__", None)
    return isinstance(name, str) and getattr(np, name, None) is function


def call(function: Any, args: list[Value], keywords: dict[str, Value]) -> Value | None:
    """Return the value of a call of numpy on sizes, or None for any other call."""
    if not _is_numpy(function):
        return None
    given = [*args, *keywords.values()]
    if not any(isinstance(x, Size) for x in given):
        return None
    if not all(isinstance(x, Size | Folded) for x in given):
        return None
    real = function(*map(real_of, args), **{k: real_of(v) for k, v in keywords.items()})
    try:
        codes = [code_of(x) for x in args]
        options = {k: code_of(v) for k, v in keywords.items()}
    except PortError:  # an argument has no literal
        return None
    return Size(real, syntax.call(f"np.{function.__name__}", *codes, **options))

"""Add the names of torch's arguments to the rows of a report: `input 2` is `next_state`."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

from jaxgrad.parity.prove.report import Surface


def named(surface: Surface, module: Any) -> Surface:
    """Add `argument` to the row of each input that is a positional argument of `forward`.

    Args:
        surface: A surface, with a row for each leaf that was compared.
        module: The torch module; None in a proof from a dump, which has no signature.
    """
    names = _arguments(module)
    rows = tuple(
        {**row, "argument": name} if (name := _argument(row["name"], names)) else row
        for row in surface.rows
    )
    return dataclasses.replace(surface, rows=rows)


def _arguments(module: Any) -> list[str]:
    if module is None:
        return []
    try:
        parameters = inspect.signature(module.forward).parameters.values()
    except (TypeError, ValueError):  # a scripted module
        return []
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [parameter.name for parameter in parameters if parameter.kind in positional]


def _argument(name: str, names: list[str]) -> str:
    """Return the argument of `input 2` or `input 2/key`, or an empty string."""
    kind, _, path = name.partition(" ")
    first = path.partition("/")[0]
    if kind != "input" or not first.isdigit() or int(first) >= len(names):
        return ""
    return names[int(first)]

"""The state that the stepper shows after one step of one framework."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class Frame(NamedTuple):
    """The state after a step: every number in it was read from a run."""

    key: str  # of the step
    row: str  # the row that the step is about
    cells: Mapping[str, Any]  # "row.column" -> numbers, names and kept values
    error: str = ""  # torch's exception, which ends the program


def numbers(x: Any) -> Any:
    """Return an array as nested lists; -0.0 becomes 0.0, and booleans stay booleans."""
    return _plain(x.tolist())


def _plain(x: Any) -> Any:
    if isinstance(x, list):
        return [_plain(item) for item in x]
    return x if isinstance(x, bool) else x + 0.0

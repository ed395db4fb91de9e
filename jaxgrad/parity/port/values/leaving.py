"""What ends the statements of a function or a loop before their end."""

from __future__ import annotations

from jaxgrad.parity.port.values.value_types import Value


class Returned(Exception):
    """The interpreted function has returned."""

    def __init__(self, value: Value) -> None:
        self.value = value


class Broken(Exception):
    """A `break` of the innermost loop."""


class Continued(Exception):
    """A `continue` of the innermost loop."""


class Left(Exception):
    """The block of a context manager was left by one of the others, `how`."""

    def __init__(self, how: Exception) -> None:
        self.how = how


LEAVING = (Returned, Broken, Continued, Left)

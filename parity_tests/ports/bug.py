"""Describe a common porting mistake and the place where a prover must find it."""

import dataclasses
import re
from typing import Any, Literal


Surface = Literal["structure", "forward", "backward", "gradients", "precision", "updates"]


@dataclasses.dataclass(frozen=True)
class Bug:
    """A bug in the JAX program of a pair.

    Args:
        name: Name of the bug, in words joined by underscores.
        surface: The first surface on which the two programs differ.
        where: A glob for the dotted name of the torch module or parameter that the bug affects; or
            several, if the bug lies between modules: the one that computes a value and the one that
            reads it.
        silent: Whether outputs and loss are unchanged by the bug.
        unseen: Whether nothing differs for the given inputs and steps; such a bug is silent too.
        about: The mistake, in one sentence.
        plant: The keyword arguments of the port's `pair` that introduce the bug.
        cause: A regular expression that a true statement of the cause matches, and a false one does
            not. In the statement, a place in a port is followed by its source line in backticks.
    """

    name: str
    surface: Surface
    where: str | tuple[str, ...]
    silent: bool = dataclasses.field(default=False, kw_only=True)
    unseen: bool = dataclasses.field(default=False, kw_only=True)
    about: str = dataclasses.field(default="", kw_only=True)
    plant: dict[str, Any] = dataclasses.field(default_factory=dict, kw_only=True)
    cause: str = dataclasses.field(default="", kw_only=True)

    @property
    def places(self) -> tuple[str, ...]:
        """The globs of all places."""
        return (self.where,) if isinstance(self.where, str) else self.where

    def __post_init__(self) -> None:
        object.__setattr__(self, "silent", self.silent or self.unseen)
        re.compile(self.cause)


def extra_stop(line: str) -> str:
    """Return the cause of a bug that stops the gradient on a line of the port.

    Args:
        line: A regular expression for the line's code.

    Returns:
        A regular expression for `Bug.cause`.

    Example:
        >>> text = "an extra stop_gradient at a.py:3 `y = stop_x(x)`"
        >>> [re.search(extra_stop(line), text) is not None for line in ("stop_x", "stop_y")]
        [True, False]
    """
    return rf"an extra stop_gradient at \S+ `[^`]*(?:{line})"


def missing_stop(torch: str, jax: str) -> str:
    """Return the cause of a bug that lacks a `stop_gradient` where torch detaches.

    Args:
        torch: A regular expression for the line of torch's module that stops the gradient.
        jax: A regular expression for the lines of the port through which the gradient flows.

    Returns:
        A regular expression for `Bug.cause`.
    """
    stops = "torch (?:stops the gradient|passes the gradient straight through)"
    there = rf"{stops} at \S+ `[^`]*(?:{torch})"
    here = rf"JAX's gradient also flows through (?:the call at )?\S+ `[^`]*(?:{jax})"
    return f"{there}|{here}"

"""Describe a common porting mistake and the place where a prover must find it."""

import dataclasses
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
    """

    name: str
    surface: Surface
    where: str | tuple[str, ...]
    silent: bool = dataclasses.field(default=False, kw_only=True)
    unseen: bool = dataclasses.field(default=False, kw_only=True)
    about: str = dataclasses.field(default="", kw_only=True)
    plant: dict[str, Any] = dataclasses.field(default_factory=dict, kw_only=True)

    @property
    def places(self) -> tuple[str, ...]:
        """The globs of all places."""
        return (self.where,) if isinstance(self.where, str) else self.where

    def __post_init__(self) -> None:
        object.__setattr__(self, "silent", self.silent or self.unseen)

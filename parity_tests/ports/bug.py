"""A mistake that people make when they port a model, and where a prover must find it."""

import dataclasses
from typing import Any, Literal


Surface = Literal["structure", "forward", "backward", "gradients", "updates"]


@dataclasses.dataclass(frozen=True, init=False)
class Bug:
    """One bug, planted in the JAX side of a pair by the keyword arguments in `plant`.

    Args:
      name: Of the bug, in words joined by underscores.
      surface: The first one on which the two sides differ.
      where: Dotted name of the torch module or parameter in which it stands; a glob.
      silent: Whether outputs and loss are the same with the bug.
      about: What the person did, in one line.
      plant: Keyword arguments of the twin's `pair`.
    """

    name: str
    surface: Surface
    where: str
    silent: bool
    about: str
    plant: dict[str, Any]

    def __init__(
        self,
        name: str,
        surface: Surface,
        where: str,
        *,
        silent: bool = False,
        about: str = "",
        **plant: Any,
    ):
        given = dict(name=name, surface=surface, where=where, silent=silent, about=about)
        for field, value in (given | {"plant": plant}).items():
            object.__setattr__(self, field, value)

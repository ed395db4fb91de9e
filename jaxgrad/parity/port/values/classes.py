"""What a port of flax classes calls as one module."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable

from torch import nn


@dataclasses.dataclass
class Classes:
    """What a port of classes calls as one module: a layer, or a sequence of modules.

    Attributes:
        is_layer: Whether a module of torch has a counterpart that is called as it is.
        sequences: The path of each `nn.Sequential` that is called as a whole -> the function that
            stands for each of its modules, or None for a module of the port.
    """

    is_layer: Callable[[nn.Module], bool]
    sequences: dict[str, list[ast.expr | None]] = dataclasses.field(default_factory=dict)

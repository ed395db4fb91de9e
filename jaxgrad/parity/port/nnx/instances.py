"""A module of a port, and what its flax class would be if it were the only one of its class."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Mapping

from torch import nn


@dataclasses.dataclass(frozen=True)
class Instance:
    """One module, and what its class would be if it were the only one.

    Attributes:
        path: Its path.
        module: torch's module.
        numbers: The attributes that are numbers.
        init: The other statements of `__init__`.
        methods: The other methods.
        submodules: What the constructor is given for each submodule that is an argument.
        whole: The same module without such arguments; None if it has none.
    """

    path: str
    module: nn.Module
    numbers: Mapping[str, ast.expr]
    init: list[ast.stmt]
    methods: list[ast.FunctionDef]
    submodules: Mapping[str, ast.expr] = dataclasses.field(default_factory=dict)
    whole: Instance | None = None

    @property
    def nodes(self) -> list[ast.stmt]:
        return [*self.init, *self.methods]

"""A function of the port, and a test of the torch program that the port assumes."""

from __future__ import annotations

import ast
import dataclasses
import types
from typing import Any

from jaxgrad._core.source import short_name
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.refusals import Hole, Place


@dataclasses.dataclass(eq=False)
class Written:
    """A function of the port, which passes change; two are the same if they are one object."""

    name: str
    function: types.FunctionType  # torch's function
    node: Any  # ast.FunctionDef, or ast.ClassDef for an autograd.Function
    owner: type | None  # the module's class, if the function is a method
    doc: str = ""
    pinned: bool = False  # the entry, or passed to a transformation: it takes no constants
    paths: set[str] = dataclasses.field(default_factory=set)  # the modules whose method it is
    hole: Hole | None = None  # what is to be written by hand in its place
    base: str = ""  # the name that it has if no other function has it
    # The modules that it was written for.
    module_paths: set[str] = dataclasses.field(default_factory=set)

    def take_body(self, body: list[ast.stmt]) -> None:
        """Replace the statements of the function."""
        self.node.body = body

    def take_arguments(self, arguments: list[ast.arg]) -> None:
        """Replace the positional parameters of the function."""
        self.node.args.args = arguments

    def take_identity(self, caller: Written) -> None:
        """Take the name and the modules of the only caller, which does nothing but this call."""
        self.name, self.base, self.module_paths = caller.name, caller.base, caller.module_paths
        self.pinned = self.pinned or caller.pinned
        self.paths.update(caller.paths)
        self.owner = caller.owner if self.owner is None else self.owner

    @classmethod
    def helper(cls, source: str, doc: str, writer: Any) -> Written:
        """Return a function that has no counterpart in torch, from its source.

        Args:
            source: The definition of the function.
            doc: Its docstring.
            writer: The function that adds it to the port.
        """
        (node,) = syntax.parsed(source)
        assert isinstance(node, ast.FunctionDef)
        return cls(node.name, writer, node, None, doc)


@dataclasses.dataclass(frozen=True)
class Assumption:
    """A test of the torch program that was folded, or a value that was left out."""

    place: Place
    text: str

    def __str__(self) -> str:
        return f"{self.place}: {self.text}"

    @property
    def listed(self) -> str:
        """Its line in the docstring of the port."""
        return f"- {self.text} ({short_name(self.place.file)}:{self.place.line})"

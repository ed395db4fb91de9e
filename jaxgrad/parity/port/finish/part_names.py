"""Name a part of a statement that gets a statement of its own."""

from __future__ import annotations

import ast
import builtins
import dataclasses
from collections.abc import Iterator, Mapping

from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.annotations import on_statement
from jaxgrad.parity.port.source.port_names import RESERVED


MAIN = "x"  # the variable that torch's programs give one value after the other
SPARE = ("y", "h", "z")  # variables for a part that has no name, which is read once


@dataclasses.dataclass(frozen=True)
class PartNames:
    """The names that a part of a statement in one function can have.

    Attributes:
        variables: The variables of the function.
        taken: The names that mean something in the function.
        functions: The functions of the port by their names.
    """

    variables: set[str]
    taken: set[str]
    functions: Mapping[str, ast.AST]

    def of(
        self, statement: ast.Assign | ast.Return, place: ast.expr, reads: set[str]
    ) -> str | None:
        """Return the variable of the statement, one whose value is not needed, or a new one.

        Args:
            statement: The statement.
            place: The part of it.
            reads: The names that the rest of the statement reads.
        """
        if _is_one_of_several(statement, place):
            pass  # the parts of a list do not overwrite what another of them reads
        elif isinstance(statement, ast.Assign):
            target = syntax.result_target(statement.targets[0])
            name = target.id if isinstance(target, ast.Name) else ""
            is_label = on_statement(statement).part and name not in (MAIN, *SPARE)
            if name and name not in reads and not is_label:
                return name
        elif MAIN in self.variables and MAIN in syntax.names_in(place) and MAIN not in reads:
            return MAIN
        labels = [x for x in self._labels(statement, place) if x.isidentifier()]
        labels = [x for x in labels if not (x in RESERVED or hasattr(builtins, x))]
        new = (n for n in (*labels, *SPARE) if n not in self.taken and n not in reads)
        return next(new, None)

    def _labels(self, statement: ast.stmt, place: ast.expr) -> Iterator[str]:
        """Yield the parameter that a part is passed for, and the module that it calls."""
        for call in ast.walk(statement):
            if not isinstance(call, ast.Call) or not syntax.is_written(call.func):
                continue
            yield from (k.arg for k in call.keywords if k.value is place and k.arg)
            called = self.functions.get(call.func.id)
            if isinstance(called, ast.FunctionDef):
                pairs = zip(called.args.args, call.args, strict=False)
                yield from (a.arg for a, x in pairs if x is place)
        yield syntax.params_key(place)


def _is_one_of_several(statement: ast.stmt, place: ast.expr) -> bool:
    """Return whether a part is an element of a list with others."""
    return any(
        len(node.elts) > 1 and any(x is place for x in node.elts)
        for node in ast.walk(statement)
        if isinstance(node, ast.List)
    )

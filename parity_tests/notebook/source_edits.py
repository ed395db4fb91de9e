"""Read and edit the source of a definition by position, which keeps its comments and layout."""

import ast
import builtins
import inspect
import re
import symtable
import textwrap
from typing import Any


Edit = tuple[int, int, bytes]  # first byte, last byte, replacement


def definition(piece: Any) -> str:
    """Return the source of a function or class, from `def` or `class` on and without remarks for
    linters.
    """
    remark = r"  # (noqa|pyright: ignore).*"
    text = re.sub(remark, "", textwrap.dedent(inspect.getsource(piece)).rstrip())
    node = ast.parse(text).body[0]
    assert isinstance(node, ast.FunctionDef | ast.ClassDef)
    return "\n".join(text.splitlines()[node.lineno - 1 :])


def plain(text: str) -> str:
    """Return the source without the annotations of functions and of their variables."""
    return edited(text, _annotations(ast.parse(text), text))


def free_names(text: str) -> list[str]:
    """Return the names that the source of a module or of a definition reads from outside."""
    table = symtable.symtable(text, "<core>", "exec")
    own, read = bound_names(text), dict[str, None]()

    def visit(table: symtable.SymbolTable) -> None:
        top = table.get_type() == "module"
        for symbol in table.get_symbols():
            if symbol.is_referenced() and (top or symbol.is_global()):
                read[symbol.get_name()] = None
        for child in table.get_children():
            visit(child)

    visit(table)
    return [name for name in read if name not in own and not hasattr(builtins, name)]


def bound_names(text: str) -> set[str]:
    """Return the names that the source of a module or of a definition binds."""
    symbols = symtable.symtable(text, "<core>", "exec").get_symbols()
    return {each.get_name() for each in symbols if each.is_assigned() or each.is_imported()}


def span(text: str, node: ast.expr | ast.arg) -> tuple[int, int]:
    """Return the first and the last byte of a node."""
    lines = text.encode().splitlines(keepends=True)
    starts = [sum(map(len, lines[:n])) for n in range(len(lines))]
    assert node.end_lineno is not None and node.end_col_offset is not None
    first, last = starts[node.lineno - 1], starts[node.end_lineno - 1]
    return first + node.col_offset, last + node.end_col_offset


def edited(text: str, edits: list[Edit]) -> str:
    data = text.encode()
    for start, end, new in sorted(edits, reverse=True):
        data = data[:start] + new + data[end:]
    return data.decode()


def _annotations(tree: ast.AST, text: str) -> list[Edit]:
    edits: list[Edit] = []
    inside = {
        id(statement)
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for statement in node.body
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and node.annotation is not None:
            start = span(text, node)[0] + len(node.arg.encode())
            end = span(text, node.annotation)[1]
            equals = text.encode()[end:].startswith(b" = ")
            edits.append((start, end + 3 * equals, b"=" * equals))
        elif isinstance(node, ast.FunctionDef) and node.returns is not None:
            start, end = span(text, node.returns)
            arrow = text.encode().rindex(b"->", 0, start)
            edits.append((arrow - 1, end, b""))
        elif isinstance(node, ast.AnnAssign) and id(node) not in inside and node.value is not None:
            edits.append((span(text, node.target)[1], span(text, node.annotation)[1], b""))
    return edits

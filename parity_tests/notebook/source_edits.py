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


def inlined(text: str, name: str, rule: str) -> tuple[str, list[str]]:
    """Replace the calls of a function by its body, and return the functions that stand there then.

    Args:
        text: The source of a definition.
        name: The name of the function that is called, with positional arguments only.
        rule: The function as the source of a lambda.
    """
    function = ast.parse(rule, mode="eval").body
    assert isinstance(function, ast.Lambda)
    names = [argument.arg for argument in function.args.args]
    body = ast.get_source_segment(rule, function.body) or ""
    called: list[str] = []
    while calls := [call for call in ast.walk(ast.parse(text)) if _calls(call, name)]:
        call = calls[-1]  # calls inside of the arguments of others come last
        assert isinstance(call, ast.Call)
        sources = [ast.get_source_segment(text, argument) or "" for argument in call.args]
        tree = ast.parse(body, mode="eval")
        reads = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id in names]
        edits = [(*span(body, n), sources[names.index(n.id)].encode()) for n in reads]
        value = edited(body, edits)
        called += [ast.unparse(n.func) for n in _outermost(ast.parse(value, mode="eval").body)]
        text = edited(text, [(*span(text, call), value.encode())])
    return text, called


def _calls(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def _outermost(value: ast.expr) -> list[ast.Call]:
    """Return the first call of an expression, if it has one."""
    return [node for node in ast.walk(value) if isinstance(node, ast.Call)][:1]


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

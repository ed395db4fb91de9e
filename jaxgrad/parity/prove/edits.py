"""Suggest a change of one source line, where the cause of a difference was tested."""

from __future__ import annotations

import ast
import dataclasses
import functools
import itertools
import linecache
import re
from collections.abc import Sequence

from jaxgrad._core.source import short_name


_ARGUMENT = re.compile(r"\w+=[\w.']+")  # of a call, by name


@dataclasses.dataclass(frozen=True)
class Edit:
    """A suggested change of one line of the port's source."""

    file: str
    line: int
    old: str  # the line as it is
    new: str  # the line as it should be
    complete: bool = True  # whether all outputs agree after it, or all gradients

    @property
    def place(self) -> str:
        """The file's name and the line."""
        return f"{short_name(self.file)}:{self.line}"

    def is_same(self, other: Edit | None) -> bool:
        """Whether another edit changes the same line in the same way."""
        return other is not None and dataclasses.replace(other, complete=self.complete) == self

    @property
    def title(self) -> str:
        """The place of the edit, and a remark if another difference remains after it."""
        rest = "" if self.complete else ", which alone does not remove every difference"
        return f"suggested change in {self.place}{rest}"

    def __str__(self) -> str:
        return f"{self.file}:{self.line}\n- {self.old.strip()}\n+ {self.new.strip()}"


@dataclasses.dataclass(frozen=True)
class InTorch:
    """What torch's code needs in order to do what the JAX code does."""

    argument: str = ""  # a further argument of the call, such as eps=1e-06
    removed: str = ""  # the function that is not called


def source_line(file: str, line: int) -> str:
    """Return one line of a source file, or an empty string if the file cannot be read."""
    return linecache.getline(file, line).rstrip("\n")


def suggest(file: str, line: int, wrong: str, right: str, column: int | None = None) -> Edit | None:
    """Suggest replacing `wrong` in a line, or else in the function that contains the line.

    Args:
        file: Path of the port's source file.
        line: Number of the line that computes the wrong value.
        wrong: What the code contains: a name, a number, an argument such as `axis=0`.
        right: What it should contain; empty to remove a call of the function `wrong`; an argument
            such as `approximate=False` to give it to the call of this function.
        column: Where in the line the wrong call starts, if the line contains several such calls.

    Returns:
        The change, or None if `wrong` does not occur exactly once.
    """
    if not wrong or not source_line(file, line):
        return None
    if _ARGUMENT.fullmatch(right) and wrong.isidentifier():
        lines = (line, *function_lines(file, line))
        found = (argument(file, n, wrong, right, replaces=True) for n in dict.fromkeys(lines))
        return next((edit for edit in found if edit is not None), None)
    for numbers in ([line], function_lines(file, line)):
        edits = [
            Edit(file, n, source_line(file, n), new)
            for n in numbers
            for new in _replaced(source_line(file, n), wrong, right, column if n == line else None)
        ]
        if len(edits) == 1:
            return edits[0]
        if edits:
            return None
    return None


Columns = tuple[int, int, int, int]  # of an expression: first line and column, last ones


def stop(file: str, uses: Sequence[tuple[Columns, int]]) -> Edit | None:
    """Suggest a stop_gradient around one operand of each of some expressions.

    Args:
        file: Path of the port's source file.
        uses: The columns of each expression, and the index of the operand whose gradient has to
            be stopped.

    Returns:
        The change, or None if the operands are not expressions next to each other in one line.
    """
    found = [(_expressions(file, span)[:1], operand) for span, operand in uses]
    wrapped = [_operand(node, operand) for nodes, operand in found for node in nodes]
    operands = {_span(node): node for node in wrapped if node is not None}
    complete = len(wrapped) == len(uses) and None not in wrapped
    return _stopped(file, list(operands.values())) if complete else None


def stop_whole(file: str, span: Columns) -> Edit | None:
    """Suggest a stop_gradient around an expression, as `stop` does around an operand."""
    return _stopped(file, _expressions(file, span)[:1])


def _expressions(file: str, span: Columns) -> list[ast.expr]:
    nodes = (node for node in ast.walk(_parsed(file)) if isinstance(node, ast.expr))
    return [node for node in nodes if _span(node) == span]


def _stopped(file: str, wrapped: Sequence[ast.expr]) -> Edit | None:
    """Suggest stop_gradients around expressions that lie in one line, one after the other."""
    last_first = sorted(wrapped, key=_span, reverse=True)
    spans = [_span(node) for node in last_first]
    apart = all(b[3] <= a[1] for a, b in itertools.pairwise(spans))
    if len({x for span in spans for x in (span[0], span[2])}) != 1 or not apart:
        return None
    number = spans[0][0]
    line = new = source_line(file, number)
    for node, (_, start, _, end) in zip(last_first, spans, strict=True):
        encoded = new.encode()
        before, code, after = (
            encoded[a:b].decode() for a, b in ((0, start), (start, end), (end, None))
        )
        if before.endswith("(") and after.startswith(")") and isinstance(node, ast.BinOp):
            before, after = before[:-1], after[1:]  # the parentheses of the call take their place
        new = f"{before}{_stop_name(_parsed(file))}({code}){after}"
    return Edit(file, number, line, new)


def detached(file: str, line: int) -> Edit | None:
    """Suggest `.detach()` after the value that a line of torch code assigns or returns.

    Returns:
        The change, or None if the line is not one such statement.
    """
    text = source_line(file, line)
    statements = (node for node in ast.walk(_parsed(file)) if isinstance(node, ast.stmt))
    here = [x for x in statements if isinstance(x, ast.Assign | ast.Return) and x.lineno == line]
    value = here[0].value if len(here) == 1 else None
    if value is None or value.lineno != value.end_lineno:
        return None
    encoded, (_, start, _, end) = text.encode(), _span(value)
    before, code, after = (
        encoded[a:b].decode() for a, b in ((0, start), (start, end), (end, None))
    )
    whole = code if _is_one_operand(code) else f"({code})"
    return Edit(file, line, text, f"{before}{whole}.detach(){after}")


def argument(
    file: str, line: int, function: str, text: str, *, replaces: bool = False
) -> Edit | None:
    """Suggest one more argument of the only call of a function in a line.

    Args:
        file: Path of the source file.
        line: Number of the line.
        function: The function's name, without its module.
        text: The argument, such as `eps=1e-06`.
        replaces: Whether the call may have the argument with another value, which is replaced, by
            its name, or as its only number.
    """
    old = source_line(file, line)
    calls = (node for node in ast.walk(_parsed(file)) if isinstance(node, ast.Call))
    named = [x for x in calls if x.end_lineno == line and _name_of(x.func) == function]
    name, _, value = text.partition("=")
    if len(named) != 1:
        return None
    given = next((x.value for x in named[0].keywords if x.arg == name), None)
    numbers = [x for x in named[0].args if _is_number(x)]
    if given is None and replaces and len(numbers) == 1:
        given = numbers[0]  # which the call has by its place
    if given is not None:
        same = not replaces or given.lineno != line or given.end_lineno != line
        return None if same else _in_place_of(file, given, value)
    encoded, end = old.encode(), (named[0].end_col_offset or 0) - 1
    before, after = encoded[:end].decode(), encoded[end:].decode()
    comma = ", " if named[0].args or named[0].keywords else ""
    return Edit(file, line, old, f"{before}{comma}{text}{after}")


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def _in_place_of(file: str, node: ast.expr, code: str) -> Edit | None:
    """Suggest other code in place of an expression in one line."""
    line = source_line(file, node.lineno)
    encoded, (_, start, _, end) = line.encode(), _span(node)
    new = f"{encoded[:start].decode()}{code}{encoded[end:].decode()}"
    return Edit(file, node.lineno, line, new) if new != line else None


def _name_of(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def attached(file: str, line: int) -> Edit | None:
    """Suggest leaving out the only `.detach()` of a line of torch code."""
    text = source_line(file, line)
    if text.count(".detach()") != 1:
        return None
    return Edit(file, line, text, text.replace(".detach()", ""))


def _parsed(file: str) -> ast.Module:
    """Return the syntax tree of a file; an empty one if it is not Python."""
    return _tree("".join(linecache.getlines(file)))


@functools.lru_cache(maxsize=32)
def _tree(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except SyntaxError:
        return ast.Module([], [])


def _span(node: ast.expr) -> Columns:
    end_line, end = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
    return node.lineno, node.col_offset, end_line, end


def _operand(node: ast.expr, number: int) -> ast.expr | None:
    """Return the operand of an operator, or the only argument of a call that can be an array."""
    if isinstance(node, ast.BinOp):
        return (node.left, node.right)[number] if number < 2 else None
    if isinstance(node, ast.UnaryOp):
        return node.operand
    if isinstance(node, ast.Call):
        arrays = [x for x in node.args if not isinstance(x, ast.Constant | ast.UnaryOp)]
        if isinstance(node.func, ast.Attribute) and not _is_module(node.func.value):
            arrays.append(node.func.value)  # a method of an array
        return arrays[0] if len(arrays) == 1 else None
    return None


def _is_module(node: ast.expr) -> bool:
    """Whether an expression is a name such as `jnp` or `jax.nn`, whose attributes are functions."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id in ("jax", "jnp", "lax", "np", "numpy", "optax")


def _stop_name(tree: ast.Module) -> str:
    """Return `lax.stop_gradient` if the file imports lax, or else the full name."""
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom))
    names = {alias.asname or alias.name for node in imports for alias in node.names}
    return "lax.stop_gradient" if "lax" in names else "jax.lax.stop_gradient"


def function_lines(file: str, line: int) -> list[int]:
    """Return the lines of the innermost function that contains a line."""
    return _lines_around(file, line, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))


def class_lines(file: str, line: int) -> list[int]:
    """Return the lines of the innermost class that contains a line."""
    return _lines_around(file, line, (ast.ClassDef,))


def _lines_around(file: str, line: int, kinds: tuple[type[ast.AST], ...]) -> list[int]:
    tree = _parsed(file)
    if not tree.body:
        return []
    spans = [
        (node.lineno, node.end_lineno or node.lineno)
        for node in ast.walk(tree)
        if isinstance(node, kinds) and isinstance(node, ast.stmt | ast.expr)
    ]
    inside = [(first, last) for first, last in spans if first <= line <= last]
    first, last = min(inside, key=lambda span: span[1] - span[0], default=(line, line))
    return list(range(first, last + 1))


def _replaced(text: str, wrong: str, right: str, column: int | None) -> list[str]:
    """Return the line with each occurrence of `wrong` replaced in turn.

    A function is replaced only in the call that starts at `column`, if that is known.
    """
    code = text.partition("#")[0]
    if not right:
        return _without_call(text, wrong)
    if _number(wrong) is not None:
        spans = [m.span() for m in re.finditer(r"(?<![\w.])\d[\d.]*(?:[eE][+-]?\d+)?", code)]
        spans = [(a, b) for a, b in spans if _number(code[a:b]) == _number(wrong)]
    else:
        spans = [m.span() for m in re.finditer(rf"(?<!\w){re.escape(wrong)}(?!\w)", code)]
        if wrong[:1] == "'":
            spans += [m.span() for m in re.finditer(re.escape(wrong.replace("'", '"')), code)]
    if wrong.isidentifier() and column is not None:
        spans = [(a, b) for a, b in spans if column <= a and _is_called(text[column:a])]
    return [text[:a] + right + text[b:] for a, b in spans]


def _is_called(before: str) -> bool:
    """Whether an attribute that follows `before` belongs to the expression with this start."""
    while before != (shorter := re.sub(r"\([^()]*\)|\[[^\[\]]*\]", "", before)):
        before = shorter
    return re.fullmatch(r"(\w+\.)*", before) is not None


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _without_call(text: str, name: str) -> list[str]:
    """Return the line with each call of a function replaced by the call's only argument."""
    lines = []
    code = text.partition("#")[0]
    for match in re.finditer(rf"(?:\w+\.)*(?<!\w){re.escape(name)}\(", code):
        depth, end = 1, match.end()
        while end < len(text) and depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        inner = text[match.end() : end - 1]
        if depth or not inner.strip():
            continue
        whole = inner if _is_one_operand(inner) else f"({inner})"
        lines.append(text[: match.start()] + whole + text[end:])
    return lines


def _is_one_operand(code: str) -> bool:
    """Whether an expression, such as a call, needs no parentheses as an operand."""
    try:
        node = ast.parse(code.strip(), mode="eval").body
    except SyntaxError:
        return False
    return isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.Constant)

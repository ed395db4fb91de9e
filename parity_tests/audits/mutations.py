"""Edits of a syntax tree for mutation testing: pieces that are removed, and general mutations.

A removal takes out a `stop_gradient`, hook, clip, mask, check for `None`, or epsilon. A general
mutation changes a comparison, an operator, a number, or a condition.
"""

import ast
from collections.abc import Callable, Iterator
from typing import Any


PASS_THROUGH = {
    "backward_hook",
    "checkpoint",
    "checkpoint_name",
    "clip",
    "clip_grad_value",
    "hook",
    "maximum",
    "minimum",
    "nan_to_num",
    "optimization_barrier",
    "retain_grad",
    "reverse_gradient",
    "stop_gradient",
    "straight_through",
}
EPSILON = 1e-3  # a positive literal up to this value counts as an epsilon
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}

Edit = tuple[str, Callable[[], ast.AST | None]]  # a description, and a function for the new node


def removals(node: ast.AST) -> Iterator[Edit]:
    """Yield the edits of a syntax node that remove an operation."""
    if isinstance(node, ast.Call):
        name = _name(node.func)
        if name in PASS_THROUGH and node.args:
            yield f"without {name}", lambda: node.args[0]
        elif name == "where" and len(node.args) == 3:
            yield "mask always on", lambda: node.args[1]
            yield "mask always off", lambda: node.args[2]
        elif name == "select" and len(node.args) == 3:
            yield "select always on", lambda: node.args[1]
            yield "select always off", lambda: node.args[2]
    elif isinstance(node, ast.IfExp) and (_is_none(node.body) or _is_none(node.orelse)):
        kept = node.orelse if _is_none(node.body) else node.body
        yield "never None", lambda: kept
    elif isinstance(node, ast.Compare) and len(node.ops) == 1 and _is_none(node.comparators[0]):
        if isinstance(node.ops[0], ast.Is):
            yield "`is None` never", lambda: ast.Constant(False)
        elif isinstance(node.ops[0], ast.IsNot):
            yield "`is not None` always", lambda: ast.Constant(True)
    elif isinstance(node, ast.Constant) and type(node.value) is float and 0 < node.value <= EPSILON:
        yield f"epsilon {node.value:g} is 0", lambda: ast.Constant(0.0)
    elif isinstance(node, ast.arguments):
        for place, default in enumerate(node.kw_defaults):
            name = _name(default) if default is not None else ""
            if name in PASS_THROUGH:
                yield f"default {name} is the identity", lambda place=place: _default(node, place)


def general(node: ast.AST) -> Iterator[Edit]:
    """Yield the edits of a syntax node that change a comparison, operator, number or condition."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        other = COMPARISONS[type(node.ops[0])]()
        compare = ast.Compare(node.left, [other], node.comparators)
        yield f"{ast.unparse(compare)} for {ast.unparse(node)}", lambda: compare
    elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS and not _is_text(node):
        binary = ast.BinOp(node.left, OPERATORS[type(node.op)](), node.right)
        yield f"{ast.unparse(binary)} for {ast.unparse(node)}", lambda: binary
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        number: Any = node.value
        changed = number + 1 if isinstance(number, int) or number == 0 else 2 * number
        yield f"{changed} for {number}", lambda: ast.Constant(changed)
    elif isinstance(node, ast.BoolOp):
        other_op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        joined = ast.BoolOp(other_op, node.values)
        yield f"{ast.unparse(joined)} for {ast.unparse(node)}", lambda: joined
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield f"without `not` in {ast.unparse(node)}", lambda: node.operand
    elif isinstance(node, ast.If | ast.IfExp) and not _is_complemented(node.test):
        negated = ast.UnaryOp(ast.Not(), node.test)
        yield f"not ({ast.unparse(node.test)})", lambda: _with_test(node, negated)


def _is_complemented(test: ast.expr) -> bool:
    """Return whether the mutation of a comparison already negates a condition."""
    orders = ast.Lt | ast.LtE | ast.Gt | ast.GtE
    return isinstance(test, ast.Compare) and not isinstance(test.ops[0], orders)


def _with_test(node: ast.If | ast.IfExp, test: ast.expr) -> ast.AST:
    node.test = test
    return node


def _default(node: ast.arguments, place: int) -> ast.arguments:
    node.kw_defaults[place] = ast.parse("lambda x, *args, **kwargs: x", mode="eval").body
    return node


def _name(node: ast.AST | None) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_text(node: ast.BinOp) -> bool:
    """Return whether an operation is between strings or types, which no other operator takes."""
    parts = [n for n in ast.walk(node) if isinstance(n, ast.Constant | ast.JoinedStr)]
    return any(isinstance(n, ast.JoinedStr) or not isinstance(n.value, int | float) for n in parts)


class Editor(ast.NodeTransformer):
    """Apply the edit of the given number to a syntax tree, or only count edits if it is -1.

    Asserts and annotations are for the type checker, so they are left as they are, and so is the
    code under `if TYPE_CHECKING`, which never runs.
    """

    def __init__(self, edits_of: Callable[[ast.AST], Iterator[Edit]], target: int = -1):
        self.edits_of, self.target = edits_of, target
        self.edits: list[tuple[int, str]] = []  # the line and description of each edit
        self.annotations: set[int] = set()  # the ids of nodes

    def visit(self, node: ast.AST) -> ast.AST:
        parts = getattr(node, "annotation", None), getattr(node, "returns", None)
        self.annotations.update(id(part) for part in parts if part is not None)
        if isinstance(node, ast.Assert) or id(node) in self.annotations or _never_runs(node):
            return node
        replacement = node
        for what, edit in self.edits_of(node):
            if len(self.edits) == self.target:
                edited = edit()
                assert edited is not None
                replacement = ast.copy_location(edited, node)
            self.edits.append((getattr(node, "lineno", _line(node)), what))
        if replacement is not node:
            self.target = -2
        return self.generic_visit(replacement)


def _never_runs(node: ast.AST) -> bool:
    """Return whether tests never run a branch: it is for the type checker, or for a script."""
    if not isinstance(node, ast.If):
        return False
    main = isinstance(node.test, ast.Compare) and _name(node.test.left) == "__name__"
    return main or _name(node.test) == "TYPE_CHECKING"


def _line(node: ast.AST) -> int:
    return min((n.lineno for n in ast.walk(node) if hasattr(n, "lineno")), default=0)  # pyright: ignore[reportAttributeAccessIssue]


EDITS = {"removal": removals, "general": general}

"""Build and compare the expressions of the port, which are `ast` nodes until they are written."""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import math
import operator
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeGuard, TypeVar

import numpy as np
import torch

from jaxgrad import functional
from jaxgrad.parity.port.ir import ArrayProperty, Helper, Op, Stop
from jaxgrad.parity.port.source.annotations import on_expression, on_statement
from jaxgrad.parity.port.source.refusals import PortError


def name(text: str) -> ast.Name:
    return ast.Name(text, ast.Load())


def constant(value: Any) -> ast.Constant:
    return ast.Constant(value)


def item(base: ast.expr, index: Any) -> ast.expr:
    """Return `base[index]` for an int or a string; of `[x]`, element 0 is `x`."""
    if isinstance(base, ast.List) and len(base.elts) == 1 and index == 0:
        return base.elts[0]
    return ast.Subscript(base, literal(index), ast.Load())


def attribute(base: ast.expr, field: str) -> ast.expr:
    return ast.Attribute(base, field, ast.Load())


def shape(array: ast.expr) -> ast.Attribute:
    return _property(array, ArrayProperty.SHAPE)


def ndim(array: ast.expr) -> ast.Attribute:
    return _property(array, ArrayProperty.NDIM)


def size(array: ast.expr) -> ast.Attribute:
    return _property(array, ArrayProperty.SIZE)


def dtype_of(array: ast.expr) -> ast.Attribute:
    return _property(array, ArrayProperty.DTYPE)


def _property(array: ast.expr, field: ArrayProperty) -> ast.Attribute:
    node = ast.Attribute(array, field.value, ast.Load())
    on_expression(node).array_property = field
    return node


def is_shape(code: ast.AST | None) -> TypeGuard[ast.Attribute]:
    """Return whether an expression is the shape of an array."""
    return isinstance(code, ast.Attribute) and (
        on_expression(code).array_property is ArrayProperty.SHAPE
    )


def append_to(items: ast.expr, value: ast.expr, *, method: str = "append") -> ast.Expr:
    """Return the statement that appends to a list, or extends it."""
    node = ast.Expr(call(attribute(items, method), value))
    on_statement(node).appends = True
    return node


def unique(base: str, taken: Container[str]) -> str:
    """Return a name that is not taken: `x`, else `x_2`, `x_3` and so on."""
    found, number = base, 2
    while found in taken:
        found, number = f"{base}_{number}", number + 1
    return found


def call_written(function: str, *args: ast.expr) -> ast.Call:
    """Return the call of a function of the port, whose name may change until it is written."""
    node = call(function, *args)
    on_expression(node.func).written = True
    return node


def is_written(node: ast.AST) -> TypeGuard[ast.Name]:
    """Return whether a node is the name of a function of the port, not of a local variable."""
    return isinstance(node, ast.Name) and on_expression(node).written


def is_name(code: ast.AST | None, text: str) -> TypeGuard[ast.Name]:
    """Return whether an expression is a certain name."""
    return isinstance(code, ast.Name) and code.id == text


def is_itself(statement: ast.stmt) -> bool:
    """Return whether a statement is `x = x`."""
    match statement:
        case ast.Assign([ast.Name(target)], ast.Name(value)):
            return target == value
    return False


def negated(test: ast.expr) -> ast.expr:
    """Return `a != b` for `a == b`, likewise for `in` and `is`, and `not test` for another test.

    `a < b` and `a >= b` are both false for NaN, so that an ordering gets its `not` too.
    """
    match test:
        case ast.UnaryOp(ast.Not(), operand):
            return operand
        case ast.Compare(left, [op], [right]) if type(op) in _NEGATED:
            return ast.Compare(left, [_NEGATED[type(op)]()], [right])
    return ast.UnaryOp(ast.Not(), test)


_NEGATED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip


def dotted_name(code: ast.AST | None) -> str:
    """Return `jnp.split` for the attribute of a name, and "" for an expression that is none."""
    names: list[str] = []
    while isinstance(code, ast.Attribute):
        names.insert(0, code.attr)
        code = code.value
    return ".".join([code.id, *names]) if isinstance(code, ast.Name) else ""


def called(code: ast.AST | None) -> str:
    """Return `jnp.split` for a call of it, and "" for code that is not the call of a name."""
    return dotted_name(code.func) if isinstance(code, ast.Call) else ""


_Code = TypeVar("_Code", bound=ast.expr)


def computing(name: str, code: _Code) -> _Code:
    """Return an expression with the name of the torch operator that it computes."""
    on_expression(code).computes = Op(name)
    return code


def call_functional(name: str, *args: ast.expr, **keywords: ast.expr) -> ast.Call:
    """Return the call of a function of `jaxgrad.functional`."""
    node = call(f"F.{name}", *args, **keywords)
    on_expression(node).computes = Op(name, functional=True)
    return node


def is_op(code: ast.AST | None, names: Container[str]) -> bool:
    """Return whether an expression computes one of some torch operators."""
    op = None if code is None else on_expression(code).computes
    return op is not None and op.name in names


def functional_of(code: ast.AST | None) -> Callable[..., Any] | None:
    """Return the function of `jaxgrad.functional` that a call calls, or None."""
    op = None if code is None else on_expression(code).computes
    return operator.attrgetter(op.name)(functional) if op is not None and op.functional else None


def parameters_of(code: ast.AST | None) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of the function of `jaxgrad.functional` that a call calls, by name."""
    function = functional_of(code)
    return {} if function is None else inspect.signature(function).parameters


def helper(function: Helper) -> ast.expr:
    """Return the expression of a helper function."""
    node = dotted(function.value)
    on_expression(node).helper = function
    return node


def call_helper(function: Helper, *args: ast.expr, **keywords: ast.expr) -> ast.Call:
    """Return the call of a helper function."""
    return call(helper(function), *args, **keywords)


def calls(code: ast.AST | None, *functions: Helper) -> TypeGuard[ast.Call]:
    """Return whether an expression is the call of one of some helper functions."""
    return isinstance(code, ast.Call) and on_expression(code.func).helper in functions


def change_variables(codes: Sequence[ast.AST]) -> bool:
    """Return whether code calls a module of the port that changes its variables."""
    nodes = (n for code in codes for n in ast.walk(code) if isinstance(n, ast.expr))
    return any(on_expression(n).changes for n in nodes)


def template(lines: Iterable[str]) -> list[ast.stmt]:
    """Return the statements of a template."""
    (function,) = parsed("\n".join(["def _():", *("    " + line for line in lines)]))
    assert isinstance(function, ast.FunctionDef)
    return function.body


def parsed(source: str) -> list[ast.stmt]:
    """Return statements of the port that are given as text, with annotations.

    They say which calls are of `jaxgrad.functional` and of helpers, and what is a shape.
    """
    tree = ast.parse(source)
    for node in ast.walk(tree):
        module, _, label = called(node).partition(".")
        if module == "F":
            on_expression(node).computes = Op(label, functional=True)
        elif isinstance(node, ast.Call) and called(node) in _HELPERS:
            on_expression(node.func).helper = _HELPERS[called(node)]
        elif isinstance(node, ast.Attribute) and node.attr == ArrayProperty.SHAPE.value:
            on_expression(node).array_property = ArrayProperty.SHAPE
    return tree.body


_HELPERS = {helper.value: helper for helper in Helper}


def stopped(code: ast.expr) -> ast.Call:
    """Return a value through which no gradient goes."""
    node = call("lax.stop_gradient", code)
    on_expression(node).stop = Stop()
    return node


def inside_stop(code: ast.AST | None) -> ast.expr | None:
    """Return the value that an expression stops the gradient of, or None for another expression."""
    if isinstance(code, ast.Call) and on_expression(code).stop is not None:
        return code.args[0]
    return None


def rename_written(node: ast.AST, names: Mapping[str, str]) -> None:
    """Give the functions of the port that a node names other names."""
    for inner in ast.walk(node):
        if is_written(inner):
            inner.id = names.get(inner.id, inner.id)


def call(function: str | ast.expr, *args: ast.expr, **keywords: ast.expr) -> ast.Call:
    func = dotted(function) if isinstance(function, str) else function
    return ast.Call(func, list(args), [ast.keyword(k, v) for k, v in keywords.items()])


def function(
    label: str, parameters: Sequence[str], body: list[ast.stmt], star: str | None = None
) -> ast.FunctionDef:
    """Return a function definition."""
    names = [ast.arg(n) for n in parameters]
    arguments = ast.arguments([], names, ast.arg(star) if star else None, [], [], None, [])
    node = ast.FunctionDef(label, arguments, body, [], None)
    if sys.version_info >= (3, 12):
        node.type_params = []
    return node


def class_definition(
    label: str,
    bases: Sequence[ast.expr],
    body: Sequence[ast.stmt],
    decorators: Sequence[ast.expr] = (),
) -> ast.ClassDef:
    """Return a class definition."""
    node = ast.ClassDef(label, list(bases), [], list(body), list(decorators))
    if sys.version_info >= (3, 12):
        node.type_params = []
    return node


def dotted(text: str) -> ast.expr:
    first, *rest = text.split(".")
    return functools.reduce(attribute, rest, name(first))


def text(node: ast.AST) -> str:
    """Return the source of a node, with the brackets of `-(x**2)` and `(q * scale) @ k`."""
    operators = [n for n in ast.walk(node) if isinstance(n, ast.BinOp | ast.UnaryOp)]
    if operators or not isinstance(node, ast.expr):  # the copy takes longer than the rest
        node = ast.fix_missing_locations(_Brackets().visit(copy.deepcopy(node)))
    return ast.unparse(node).replace(f"{_GROUP}(", "(")


_GROUP = "_group_"


class _Brackets(ast.NodeTransformer):
    """Mark what gets brackets with a call: a power after a minus, a product before a matrix one."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.BinOp:
        self.generic_visit(node)
        if isinstance(node.op, ast.MatMult) and isinstance(node.left, ast.BinOp):
            if isinstance(node.left.op, ast.Mult | ast.Div):
                node.left = call(_GROUP, node.left)
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.UnaryOp:
        self.generic_visit(node)
        if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.BinOp):
            if isinstance(node.operand.op, ast.Pow):
                node.operand = call(_GROUP, node.operand)
        return node


def same(left: ast.AST | Sequence[ast.AST], right: ast.AST | Sequence[ast.AST]) -> bool:
    """Return whether two trees, or two lists of trees, are written alike."""
    if isinstance(left, ast.AST) and isinstance(right, ast.AST):
        return ast.dump(left) == ast.dump(right)
    if isinstance(left, ast.AST) or isinstance(right, ast.AST):
        return False
    return [ast.dump(x) for x in left] == [ast.dump(x) for x in right]


def same_function(left: ast.FunctionDef, right: ast.FunctionDef) -> bool:
    """Return whether two functions differ in their names alone."""
    return same([left.args, *left.body], [right.args, *right.body])


def substitute(node: Any, parts: Mapping[str, ast.expr]) -> Any:
    """Return a copy of a node with local variables replaced by expressions."""
    return _Substitute(parts).visit(copy.deepcopy(node))


class _Substitute(ast.NodeTransformer):
    def __init__(self, parts: Mapping[str, ast.expr]) -> None:
        self.parts = parts

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id not in self.parts or is_written(node):
            return node
        part = self.parts[node.id]
        return as_target(part) if isinstance(node.ctx, ast.Store) else copy.deepcopy(part)


def with_part(node: Any, part: ast.expr, new: ast.expr) -> Any:
    """Return a copy of a node with one of its parts replaced."""
    return with_parts(node, [(part, new)])


def with_parts(node: Any, parts: Iterable[tuple[ast.expr, ast.expr]]) -> Any:
    """Return a copy of a node with several of its parts replaced."""
    return copy.deepcopy(node, {id(old): new for old, new in parts})


def replace(node: Any, parts: Sequence[tuple[ast.expr, ast.expr]]) -> Any:
    """Replace parts of a node, each of which is in the node itself; return what is there then."""
    return _Replace(parts).visit(node)


class _Replace(ast.NodeTransformer):
    def __init__(self, parts: Sequence[tuple[ast.expr, ast.expr]]) -> None:
        self.parts = parts

    def visit(self, node: ast.AST) -> Any:
        new = next((new for old, new in self.parts if old is node), None)
        return self.generic_visit(node) if new is None else new


def in_order(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a tree in the order in which they are written."""
    yield node
    inner = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.IfExp):
        inner = [node.body, node.test, node.orelse]
    for child in inner:
        yield from in_order(child)


def params_key(code: ast.AST | None) -> str:
    """Return `attn` for the call `attention(p["attn"], x)`, and "" for other code."""
    place = code.args[0] if isinstance(code, ast.Call) and code.args else None
    if not (isinstance(code, ast.Call) and is_written(code.func)):
        return ""
    key = place.slice if isinstance(place, ast.Subscript) else None
    label = key.value if isinstance(key, ast.Constant) else ""
    return label if isinstance(label, str) and label.isidentifier() else ""


def result_target(target: ast.expr | None) -> ast.expr | None:
    """Return `x` of a target `x`, and of `x, p["norm"]`, where the rest are places in params."""
    if not isinstance(target, ast.Tuple):
        return target
    first, *rest = target.elts
    return first if all(isinstance(x, ast.Subscript) for x in rest) else None


def rename_variables(statement: ast.stmt, names: Mapping[str, str]) -> ast.stmt:
    """Give variables of a statement other names, where they are read or assigned."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and not is_written(node):
            node.id = names.get(node.id, node.id)
    return statement


def renamed_parts(node: ast.expr, names: Sequence[tuple[ast.expr, str]]) -> ast.expr:
    """Return a copy of an expression with a name in place of each part that is written alike."""
    return _RenameParts(names).visit(copy.deepcopy(node))


class _RenameParts(ast.NodeTransformer):
    def __init__(self, names: Sequence[tuple[ast.expr, str]]) -> None:
        self.names = names

    def visit(self, node: ast.AST) -> Any:
        new = next((new for part, new in self.names if same(part, node)), None)
        return self.generic_visit(node) if new is None else name(new)


def names_in(node: ast.AST) -> list[str]:
    """Return every name that is read in a node, once per use."""
    return [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]


def variables_read(node: ast.AST) -> list[str]:
    """Return every variable that a node reads, once per use, without the port's functions."""
    names = [n for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
    return [n.id for n in names if not is_written(n)]


def stored_names(node: ast.AST) -> list[str]:
    """Return every name that is assigned in a node, once per assignment."""
    return [
        n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    ]


def all_names(node: ast.AST) -> set[str]:
    """Return the names in a node: variables, functions and parameters, of nested functions too.

    They are the names that a new variable of a function cannot have.
    """
    inner = list(ast.walk(node))
    names = {n.id for n in inner if isinstance(n, ast.Name)}
    names |= {n.name for n in inner if isinstance(n, ast.FunctionDef) and n is not node}
    return names | {n.arg for n in inner if isinstance(n, ast.arg)}


def written_names(node: ast.AST) -> list[str]:
    """Return the functions of the port that a node names, once per use."""
    return [n.id for n in ast.walk(node) if is_written(n)]


def assigned(node: ast.AST) -> set[str]:
    """Return the names that a function or a statement assigns, or gives new parts as params."""
    return {*stored_names(node)} | updated(node)


def updated(node: ast.AST) -> set[str]:
    """Return the variables of params that a function or a statement updates."""
    return {root(place) for n in ast.walk(node) if (place := update_place(n)) is not None}


def update_place(node: ast.AST) -> ast.expr | None:
    """Return the part of the params that a statement updates, or None for another node."""
    if not isinstance(node, ast.Assign) or on_statement(node).update is None:
        return None
    target = node.targets[0]
    return target.elts[-1] if isinstance(target, ast.Tuple) else target


def as_target(place: ast.expr) -> ast.expr:
    """Return a variable, an element or an attribute as the target of an assignment."""
    new = copy.deepcopy(place)
    new.ctx = ast.Store()  # pyright: ignore[reportAttributeAccessIssue]
    return new


def root(code: ast.expr) -> str:
    """Return the variable that an expression is a part of, or "" if it is a part of a call."""
    while isinstance(code, ast.Subscript | ast.Attribute):
        code = code.value
    return code.id if isinstance(code, ast.Name) else ""


def nonlocals(node: ast.AST) -> set[str]:
    """Return the names of the function around it that a function declares as its own to assign."""
    return {name for n in ast.walk(node) if isinstance(n, ast.Nonlocal) for name in n.names}


def dtype(name: str) -> ast.expr:
    """Return the expression of a dtype."""
    node = dotted(name)
    on_expression(node).dtype = True
    return node


LARGEST = 64  # numbers of an array that are written out
DTYPES = {
    torch.float64: "jnp.float64",
    torch.float32: "jnp.float32",
    torch.float16: "jnp.float16",
    torch.bfloat16: "jnp.bfloat16",
    torch.complex64: "jnp.complex64",
    torch.complex128: "jnp.complex128",
    torch.int64: "int",
    torch.int32: "jnp.int32",
    torch.int16: "jnp.int16",
    torch.int8: "jnp.int8",
    torch.uint8: "jnp.uint8",
    torch.bool: "bool",
}


def literal(value: Any) -> ast.expr:
    """Return the expression of a folded value.

    Raises:
        PortError: The value cannot be written in the port.
    """
    if isinstance(value, bool | str | bytes) or value is None or value is Ellipsis:
        return constant(value)
    if isinstance(value, int):
        return ast.UnaryOp(ast.USub(), constant(-int(value))) if value < 0 else constant(int(value))
    if isinstance(value, float):
        if math.isinf(value):
            return dotted("jnp.inf") if value > 0 else ast.UnaryOp(ast.USub(), dotted("jnp.inf"))
        if math.isnan(value):
            return dotted("jnp.nan")
        value = float(value)  # numpy's numbers have another literal
        return ast.UnaryOp(ast.USub(), constant(-value)) if value < 0 else constant(value)
    if isinstance(value, complex):
        return constant(complex(value))
    if isinstance(value, torch.dtype):
        return dtype(DTYPES[value])
    if isinstance(value, type) and issubclass(value, np.generic | bool | int | float):
        return dtype(f"np.{value.__name__}" if issubclass(value, np.generic) else value.__name__)
    if isinstance(value, tuple):
        return ast.Tuple([literal(x) for x in value], ast.Load())
    if isinstance(value, list):
        return ast.List([literal(x) for x in value], ast.Load())
    if isinstance(value, dict):
        return ast.Dict([literal(k) for k in value], [literal(v) for v in value.values()])
    if isinstance(value, np.ndarray | np.generic) and value.size <= LARGEST:
        return call_helper(Helper.ARRAY, literal(value.tolist()))
    if isinstance(value, slice):
        parts = (value.start, value.stop, value.step)
        return ast.Slice(*(None if x is None else literal(x) for x in parts))
    raise PortError(
        f"a value of type {type(value).__name__} cannot be written in the port"
        "; register a tensor as a buffer, or pass the value as an argument"
    )

"""Find a condition of the torch source that has different values in two copies of a function."""

from __future__ import annotations

import ast
import copy
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from jaxgrad.parity.port.source import param_paths, syntax
from jaxgrad.parity.port.source.param_paths import PARAMS
from jaxgrad.parity.port.source.port_names import RESERVED
from jaxgrad.parity.port.source.source import is_torch, source_of
from jaxgrad.parity.port.source.written import Written


@dataclasses.dataclass(frozen=True)
class Test:
    """A test of the configuration that tells two copies of a function from each other.

    Attributes:
        code: The test in the port.
        answer: What it is for the first copy; it is the opposite for the second one.
        keywords: The keywords that it reads, with the value for each copy.
    """

    code: ast.expr
    answer: bool
    keywords: Mapping[str, tuple[Any, Any]]
    times: int = 1  # how often the torch function has it


def test_between(left: Written, right: Written, module: nn.Module) -> Test | None:
    """Return the first test of the torch function on which the modules of two copies differ."""
    if is_torch(left.function) or not left.module_paths or not right.module_paths:
        return None
    try:
        sides = [[module.get_submodule(path) for path in w.module_paths] for w in (left, right)]
    except AttributeError:
        return None
    source = source_of(left.function).node
    tests = [n.test for n in ast.walk(source) if isinstance(n, ast.If | ast.IfExp)]
    parts = [part for test in tests for part in _parts(test)]
    own = [n for n in ast.walk(source) if isinstance(n, ast.expr) and _own(n)]
    take_params = all(PARAMS in (a.arg for a in w.node.args.args) for w in (left, right))

    def presence(part: ast.expr) -> Test | None:
        return _presence(part, sides) if take_params else None

    candidates = (
        *((part, presence(part) or _on_attributes(part, sides)) for part in parts),
        *((part, _on_parameter(part, left, right)) for part in parts),
        *((part, presence(part)) for part in own),
    )
    for part, test in candidates:
        if test is not None:
            times = sum(syntax.same(part, x) for x in (parts if part in parts else own))
            return dataclasses.replace(test, times=times)
    return None


def _parts(test: ast.expr) -> Iterator[ast.expr]:
    yield test
    if isinstance(test, ast.BoolOp):
        yield from test.values


def _own(node: ast.AST) -> str:
    """Return `a` of `self.a`."""
    is_own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    return node.attr if is_own and node.value.id == "self" else ""  # pyright: ignore[reportAttributeAccessIssue]


def _on_parameter(node: ast.expr, left: Written, right: Written) -> Test | None:
    """Return `memory is not None` for an argument that only one of two copies takes."""
    name = node.left.id if isinstance(node, ast.Compare) and isinstance(node.left, ast.Name) else ""
    have = [name in (a.arg for a in w.node.args.args) for w in (left, right)]
    if have[0] == have[1] or not name.isidentifier() or "None" not in syntax.text(node):
        return None
    code = ast.Compare(syntax.name(name), [ast.IsNot()], [syntax.constant(None)])
    return Test(code, have[0], {})


def _presence(node: ast.expr, sides: Sequence[Sequence[nn.Module]]) -> Test | None:
    """Return `"downsample" in p` for a part that one side has and the other one has not."""
    inner = node.operand if isinstance(node, ast.UnaryOp) else node
    inner = inner.left if isinstance(inner, ast.Compare) else inner
    name = _own(inner)
    if not name:
        return None
    have = [{_has_state(getattr(m, name, None)) for m in side} for side in sides]
    if have[0] == have[1] or any(len(x) != 1 for x in have):
        return None
    code: ast.expr = ast.Compare(syntax.constant(name), [ast.In()], [param_paths.params()])
    if any(_is_empty(getattr(m, name, None)) for side in sides for m in side):
        code = syntax.call(syntax.attribute(param_paths.params(), "get"), syntax.constant(name))
    return Test(code, have[0] == {True}, {})


def _is_empty(part: Any) -> bool:
    """Return whether a part is a list of no modules, which may have a place in the params."""
    return isinstance(part, nn.ModuleList | nn.Sequential) and not part._modules


def _has_state(part: Any) -> bool:
    if isinstance(part, nn.Module):
        return bool(part.state_dict())
    return isinstance(part, torch.Tensor)


def _on_attributes(node: ast.expr, sides: Sequence[Sequence[nn.Module]]) -> Test | None:
    """Return a test that reads nothing but numbers, texts and flags of the module."""
    names = {_own(n) for n in ast.walk(node) if isinstance(n, ast.Attribute)}
    reads = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    if not names or "" in names or reads != {"self"} or names & RESERVED:
        return None
    if any(isinstance(n, ast.Call | ast.Subscript | ast.Lambda) for n in ast.walk(node)):
        return None
    values = {n: [{_plain(getattr(m, n, None)) for m in side} for side in sides] for n in names}
    if any(len(side) != 1 or side == {None} for pair in values.values() for side in pair):
        return None
    pairs = {n: tuple(next(iter(side)) for side in pair) for n, pair in values.items()}
    code = compile(ast.Expression(ast.fix_missing_locations(copy.deepcopy(node))), "", "eval")
    answers = [bool(eval(code, {"self": side[0]})) for side in sides]
    if answers[0] == answers[1]:
        return None
    return Test(_Names().visit(copy.deepcopy(node)), answers[0], pairs)  # pyright: ignore[reportArgumentType]


def _plain(value: Any) -> Any:
    """Return configuration that a keyword can have, and None of anything else."""
    return value if isinstance(value, bool | int | float | str) else None


class _Names(ast.NodeTransformer):
    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return syntax.name(node.attr)

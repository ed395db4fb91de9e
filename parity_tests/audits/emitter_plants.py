"""Ways to inject a fault into the emitter of `jaxgrad.port`: replace one of its functions."""

from __future__ import annotations

import ast
import contextlib
import copy
import functools
from collections.abc import Callable
from typing import Any
from unittest import mock

from jaxgrad.parity.port.expressions import operators
from jaxgrad.parity.port.functions import autograd_functions, functions
from jaxgrad.parity.port.rules import functional, table
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.values import draws
from jaxgrad.parity.port.values.params import Layout
from jaxgrad.parity.port.values.value_types import Folded, Tensor


Plant = Callable[[], contextlib.AbstractContextManager[Any]]
RULES = dict(table.RULES)  # as they are without a fault


def replaced(owner: Any, name: str, change: Callable[[Any], Any]) -> Plant:
    """Replace a function of the emitter by one that `change` makes of it."""
    original = getattr(owner, name)
    return functools.partial(mock.patch.object, owner, name, change(original))


def rule(name: str, new: Callable[[Any], Any]) -> Plant:
    """Give an operator another rule."""
    return lambda: mock.patch.dict(table.RULES, {name: new})


def rewritten(name: str, change: Callable[[Any], Any]) -> Plant:
    """Change the code that the rule of an operator returns."""

    def new(op: Any) -> Any:
        given = RULES[name](op) if name in RULES else None
        return change(copy.deepcopy(functional.write(op) if given is None else given))

    return rule(name, new)


def after(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return an edit that changes the result of a function."""
    return lambda original: lambda *args, **options: change(original(*args, **options))


def instead(result: Callable[..., Any]) -> Callable[[Any], Any]:
    """Return an edit that replaces a function altogether."""
    return lambda _: result


def called(name: str) -> Callable[[Any], Any]:
    """Return an edit that replaces the function of a call."""

    def change(code: Any) -> Any:
        code.func = syntax.dotted(name)
        return code

    return change


def swapped(first: int, second: int) -> Callable[[Any], Any]:
    """Return an edit that swaps two arguments of a call."""

    def change(code: Any) -> Any:
        code.args[first], code.args[second] = code.args[second], code.args[first]
        return code

    return change


def lacking(*names: str) -> Callable[[Any], Any]:
    """Return an edit that drops keyword arguments of a call."""

    def change(code: Any) -> Any:
        code.keywords = [k for k in code.keywords if k.arg not in names]
        return code

    return change


def with_axis(axis: int) -> Callable[[Any], Any]:
    """Return an edit that gives a call another axis."""

    def change(code: Any) -> Any:
        code = lacking("axis")(code)
        code.keywords.append(ast.keyword("axis", syntax.literal(axis)))
        return code

    return change


def reverse(code: Any) -> Any:
    """Swap the operands of an operator, or reverse the arguments of a call."""
    if isinstance(code, ast.BinOp):
        code.left, code.right = code.right, code.left
    elif isinstance(code, ast.Call):
        code.args = code.args[::-1]
    return code


def stop(code: ast.expr) -> ast.expr:
    return syntax.stopped(code)


def argument(code: Any) -> Any:
    return code.args[0]


def max_of_jnp(code: Any) -> Any:
    """Write `F.max(x, dim=-1)` with the gradient of `jnp.max`, which splits it between ties."""
    maximum = syntax.call("jnp.max", code.args[0], axis=syntax.literal(-1))
    column = syntax.call("jnp.expand_dims", maximum, syntax.literal(-1))
    code.args[0] = syntax.call("jnp.broadcast_to", column, syntax.attribute(code.args[0], "shape"))
    return code


def clip_of_jnp(code: Any) -> Any:
    """Write `F.clamp` with the gradient of `jnp.clip`, which is halved at a bound."""
    bounds = [k.value for k in code.keywords]
    return syntax.call("jnp.clip", code.args[0], *bounds)


def own_operator(kind: type[ast.operator], change: Callable[[Any], Any]) -> Plant:
    """Change the code of one of Python's operators."""

    def faulty(original: Any) -> Any:
        def binary_code(op: ast.operator, left: Any, right: Any) -> Any:
            code = original(op, left, right)
            return change(code) if isinstance(op, kind) else code

        return binary_code

    return replaced(operators, "binary_code", faulty)


def backward_method(change: Callable[[ast.Return], None]) -> Plant:
    """Change what the backward pass of an autograd.Function returns."""

    def faulty(original: Any) -> Any:
        def method(kind: type, name: str, *rest: Any) -> Any:
            node, result = original(kind, name, *rest)
            if name == "backward":
                change(node.body[-1])
            return node, result

        return method

    return replaced(autograd_functions, "_method", faulty)


def passes_gradient(node: ast.Return) -> None:
    """Let the backward pass return the gradient that it takes."""
    count = len(node.value.elts) if isinstance(node.value, ast.Tuple) else 1
    rest: list[ast.expr] = [syntax.constant(None) for _ in range(count - 1)]
    grad = syntax.name("grad")
    node.value = ast.Tuple([grad, *rest], ast.Load()) if rest else grad


def reverses_gradients(node: ast.Return) -> None:
    if isinstance(node.value, ast.Tuple):
        node.value.elts.reverse()


def swapped_twins(original: Any) -> Any:
    """Give the layers `one` and `two` each other's weights."""

    def params(self: Layout, state_dict: Any) -> Any:
        tree = original(self, state_dict)
        return {**tree, "one": tree["two"], "two": tree["one"]} if "two" in tree else tree

    return params


def fixed_sizes(original: Any) -> Any:
    def read(value: Any, name: str, scope: Any, node: Any) -> Any:
        return Folded(value.real.shape) if name == "shape" else original(value, name, scope, node)

    return read


def lost_write(target: Any, code: Any, real: Any, scope: Any, node: Any) -> Any:
    return Tensor(real, code)


def adding(original: Any) -> Any:
    """Let a change of a view add to what is there."""

    def base(place: Any, new: Any, ndim: int) -> Any:
        name, code = original(place, new, ndim)
        for inner in ast.walk(code):
            if isinstance(inner, ast.Attribute) and inner.attr == "set":
                inner.attr = "add"
        return name, code

    return base


def other_arms(original: Any) -> Any:
    def cond(test: Any, then: Any, otherwise: Any, results: Any, *rest: Any) -> Any:
        return original(test, otherwise, then, results[::-1], *rest)

    return cond


def first_key(original: Any) -> Any:
    """Let every draw of a statement have the key of the first."""

    def name_keys(body: list[ast.stmt], taken: set[str]) -> None:
        original(body, taken)
        for keys in map(draws.own_keys, body):
            for key in keys:
                key.id = keys[0].id

    return name_keys


def without_autocast(node: ast.With, context: Any, scope: Any) -> None:
    with context:
        scope.run.execute(node.body, scope)


def without_text(text: str, instead_of_it: str = "") -> Callable[[Any], Any]:
    """Return an edit that removes a piece of the lines of a recurrent module."""
    return after(lambda lines: [line.replace(text, instead_of_it) for line in lines])


def default_numbers(original: Any) -> Any:
    """Let the default of an option stand for every number."""

    def is_default(value: Any, default: Any) -> bool:
        number = isinstance(getattr(value, "real", None), float)
        return (number and isinstance(default, float)) or original(value, default)

    return is_default


def merging_copies(original: Any) -> Any:
    """Let copies of a function that differ be the same."""

    def add(*args: Any) -> Any:
        with mock.patch.object(functions, "_same_body", return_value=True):
            return original(*args)

    return add

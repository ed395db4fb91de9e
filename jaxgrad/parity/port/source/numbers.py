"""Write a number as a person does, and find the numbers in an expression.

A number that the torch program names, as in `self.head_dim**-0.5`, is written with this name: as a
keyword of the function, or as a constant of the file. Elsewhere it is a literal, or a formula such
as `1 / 3`, `8**-0.5` and `math.log(2)` in place of many digits.
"""

from __future__ import annotations

import ast
import collections
import copy
import dataclasses
import math
from collections.abc import Callable, Iterator
from typing import Any, TypeGuard

from jaxgrad.parity.port.ir import Form, NameOf, Number
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.annotations import on_expression


DIGITS = 8  # characters of a number that is written as it is
LONGEST = 40  # characters of a formula
LARGEST = 10**6  # the largest integer in a formula that is found from its value


def of(code: Any) -> Number | None:
    """Return the number that is written as its value, or None if the code is something else."""
    if not isinstance(code, ast.expr):
        return None
    number = on_expression(code).number
    if number is not None:
        is_value = number.form in (Form.VALUE, Form.OMITTED)
        return number if is_value and is_number(number.value) else None
    if isinstance(code, ast.Constant) and is_number(code.value):
        return Number(code.value)
    if isinstance(code, ast.UnaryOp) and isinstance(code.op, ast.USub):
        inner = of(code.operand)
        return Number(-inner.value) if inner is not None and is_number(inner.value) else None
    return None


def is_number(value: Any) -> TypeGuard[int | float]:
    """Return whether a value of the run is a number, which a bool is not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_literal(code: Any) -> bool:
    """Return whether an expression is a number that is written with its digits."""
    if isinstance(code, ast.UnaryOp) and isinstance(code.op, ast.USub):
        code = code.operand
    return isinstance(code, ast.Constant) and is_number(code.value)


def is_flag(code: Any) -> bool:
    """Return whether an expression is True or False."""
    return isinstance(code, ast.Constant) and isinstance(code.value, bool)


def is_keyword(code: Any) -> bool:
    """Return whether an expression is a keyword in place of a number in which copies differ."""
    number = on_expression(code).number if isinstance(code, ast.Name) else None
    return number is not None and number.form is Form.KEYWORD


def annotated(code: ast.expr, number: Number | None) -> ast.expr:
    """Annotate an expression with the number that it is, and return it."""
    on_expression(code).number = number
    return code


def keyword(name: str, number: Number) -> ast.expr:
    """Return a keyword of the function in place of a number."""
    new = dataclasses.replace(number.without_author(), form=Form.KEYWORD)
    return annotated(syntax.name(name), new)


def numeral(number: Number) -> ast.expr:
    """Return a number as a literal, or as a formula in place of many digits."""
    code = formula_of(number.value) if is_long(number.value) else None
    return annotated(code or syntax.literal(number.value), number)


def literals(code: ast.AST) -> Iterator[ast.expr]:
    """Yield the numbers and flags that are written with their digits, those with a sign whole."""
    inner = collections.deque([code])
    while inner:
        node = inner.popleft()
        if isinstance(node, ast.expr) and (is_flag(node) or is_literal(node)):
            yield node
        else:
            inner.extend(ast.iter_child_nodes(node))


def value_of(code: ast.expr) -> Any:
    """Return the value of a literal that is a number or a flag."""
    number = of(code)
    return ast.literal_eval(code) if number is None else number.value


def label(code: ast.expr, name: str) -> ast.expr:
    """Name the numbers and flags in an expression after the option that it is passed for."""
    for literal in literals(code):
        annotated(literal, Number(value_of(literal), name))
    return code


# -- formulas --------------------------------------------------------------------------------------


def is_long(value: Any) -> bool:
    """Return whether a number has too many digits to say what it is."""
    return (
        isinstance(value, float) and math.isfinite(value) and len(repr(float(abs(value)))) > DIGITS
    )


def formula_of(value: Any) -> ast.expr | None:
    """Return a formula whose value is exactly a number, or None."""
    size = float(abs(value))
    if not 1 / LARGEST < size < LARGEST:
        return None
    for text in _candidates(size):
        code = ast.parse(text, mode="eval").body
        if eval(text, {"math": math}) == size:
            return ast.UnaryOp(ast.USub(), code) if value < 0 else code
    return None


def _candidates(x: float) -> Iterator[str]:
    yield from ("math.pi", "2 * math.pi", "math.sqrt(2 * math.pi)", "math.log(2 * math.pi)")
    yield "0.5 * math.log(2 * math.pi)"
    powers = (
        ("1 / {}", 1 / x), ("{}**-0.5", x**-2), ("1 / math.sqrt({})", x**-2), ("{}**0.5", x**2),
    )  # fmt: skip
    for text, guess in powers:
        if 2 <= round(guess) <= LARGEST:
            yield text.format(round(guess))
    if x < math.log(LARGEST):
        yield f"math.log({max(round(math.exp(x)), 2)})"


def short(code: ast.expr) -> ast.expr | None:
    """Return a formula, or None if it is long."""
    return code if len(syntax.text(code)) <= LONGEST else None


# -- the author's names ----------------------------------------------------------------------------


def named(code: Any) -> Number | None:
    """Return the number that an expression is, if the port may write the author's name for it."""
    number = on_expression(code).number if isinstance(code, ast.expr) else None
    return number if number is not None and number.has_author_name else None


def is_formula(code: Any) -> bool:
    """Return whether an expression computes a number from numbers that the author has named."""
    number = named(code)
    return number is not None and number.name_of is NameOf.FORMULA


def has_author_name(code: ast.expr) -> bool:
    """Return whether the torch program names a number in an expression."""
    return any(named(n) is not None for n in ast.walk(code))


def has_name(code: ast.expr) -> bool:
    """Return whether a number in an expression has any name, such as that of an option."""
    numbers = (on_expression(n).number for n in ast.walk(code))
    return any(number is not None and number.name for number in numbers)


def with_names(code: ast.AST, chosen: Callable[[Number], ast.expr | None]) -> Any:
    """Return code with names for the numbers that get one.

    A formula is written as its value if one of its numbers gets no name, unless a keyword is in it.

    Args:
        code: The code, which is changed.
        chosen: Returns what is written for a number, or None for its value.
    """
    return _WithNames(chosen).visit(code)


class _WithNames(ast.NodeTransformer):
    def __init__(self, chosen: Callable[[Number], ast.expr | None]) -> None:
        self.chosen = chosen

    def visit(self, node: ast.AST) -> ast.AST:
        number = named(node)
        if number is None:
            return self.generic_visit(node)
        assert isinstance(node, ast.expr)
        if number.name_of is not NameOf.FORMULA:
            return self.chosen(number) or annotated(node, number.without_author())
        parts = [x for n in ast.walk(node) if (x := named(n)) and x.name_of is not NameOf.FORMULA]
        has_keyword = any(is_keyword(n) for n in ast.walk(node))
        if not has_keyword and any(self.chosen(x) is None for x in parts):
            return without_names(node, number)
        return self.chosen(number) or self.generic_visit(node)


def without_names(code: ast.expr, number: Number) -> ast.expr:
    """Return a formula of numbers with names as its value, or of their values if it is long."""
    if not is_long(number.value):
        return numeral(number.without_author())
    new = annotated(copy.deepcopy(code), None)
    return with_names(new, lambda _: None)

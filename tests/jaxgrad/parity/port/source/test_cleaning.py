"""Functions of a port lose what nothing reads."""

import ast
import textwrap

import pytest

from jaxgrad.parity.port.source.annotations import on_expression
from jaxgrad.parity.port.source.cleaning import cleaned


def lines(source: str) -> list[str]:
    """Return the lines that are left of the body of a function."""
    body = cleaned(ast.parse(textwrap.dedent(source)).body)
    return ast.unparse(ast.Module(body, [])).splitlines()


@pytest.mark.parametrize(
    ("source", "left"),
    [
        ("y = a\ny = b\nreturn y", ["y = b", "return y"]),
        ("h, w = a\nh = b\nw = h\nreturn h * w", ["h = b", "w = h", "return h * w"]),
        ("y = a\nfor i in b:\n    y = i\nreturn y", None),  # the loop may run no iteration
        ("y = a\ny = y + 1\nreturn y", None),
        ("y, z = a\ny = b\nreturn y + z", None),
        ("y = a\np['w'] = y\ny = b\nreturn f(y, p)", None),
        ("y = a\n\ndef f(x):\n    return x + y\nz = f(a)\ny = b\nreturn y + z", None),
        ("assert a > 1\nx = f()\nassert a > 1\nreturn x", ["assert a > 1", "x = f()", "return x"]),
        ("y = a\nz = f(y)\nz = g(z)\nreturn y", None),  # as in the last iteration of a loop
        ("if a:\n    y = f(b)\nelse:\n    y = g(b)\nassert h(y)\ny = a\nreturn y", None),
        ("y = b\nif a:\n    y = f(y)\nreturn b", ["return b"]),
        ("z = b\nif a:\n    y = f(b)\nelse:\n    z = g(b)\nreturn z",
         ["z = b", "if not a:", "    z = g(b)", "return z"]),
        ("assert a > 1\na = f(a)\nassert a > 1\nreturn a", None),
    ],
)  # fmt: skip
def test_what_is_replaced_before_it_is_read_and_what_is_said_twice(source, left):
    kept = [line for line in source.splitlines() if line]
    assert [line for line in lines(source) if line] == (kept if left is None else left)


@pytest.mark.parametrize(
    ("source", "call"),
    [("y = m(x)\nreturn x", "m(x)"), ("y = m(x)\ny = a\nreturn y", "y = m(x)")],
)
def test_a_call_that_changes_the_modules_variables_stays(source, call):
    """A batch norm updates its running statistics even if nothing reads its output."""
    body = ast.parse(source).body
    assert isinstance(body[0], ast.Assign)
    on_expression(body[0].value).changes = True

    first = cleaned(body)[0]

    assert ast.unparse(first) == call

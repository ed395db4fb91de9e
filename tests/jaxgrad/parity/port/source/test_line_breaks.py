"""Long statements are broken where ruff breaks them."""

import ast
import subprocess
import sys
import textwrap

import pytest

from jaxgrad.parity.port.source.line_breaks import WIDTH, fit
from jaxgrad.parity.port.source.writer import statement_lines


A, B, C = "a" * 40, "f(b" + "b" * 40 + ")", "(c + " + "d" * 40 + ")"


@pytest.mark.parametrize(
    "source",
    [
        f"x = {A} + {B} - 2 * {C}",
        f"return {C} * {A} / {B}",
        f"x = {A} * f({B}, {B})",
        f"x = {A}",
        f"return {A}, {B}, x[..., f({B})]",
        f"x = -({A} * {B} + {B}[..., 0] * {C})",
        f"x = f({A} * {B} / {B})",
        f"x = g((h * {A} - {B}[..., 0] * {C}).sum(), x)",
    ],
)
def test_a_long_statement_is_broken_as_ruff_breaks_it(source, tmp_path):
    """Three terms and the parts of a result get a line each; a long call is broken inside."""
    file = tmp_path / "f.py"
    file.write_text("\n".join(["def f():", *fit(source, 4), ""]))
    options = ["--isolated", "--line-length=100", "--check", str(file)]
    subprocess.run([sys.executable, "-m", "ruff", "format", *options], check=True)


@pytest.mark.parametrize("text", ["holds", "this port holds for a test " + "of many words " * 5])
def test_the_text_of_an_assertion_is_broken(text):
    """A test that fits stays on one line; a longer text gets lines of its own."""
    node = ast.parse(f"assert first.ndim != 4, {text!r}").body[0]
    lines = statement_lines(node, 4)
    assert max(map(len, lines)) <= WIDTH
    assert ast.dump(ast.parse(textwrap.dedent("\n".join(lines)))) == ast.dump(
        ast.Module([node], [])
    )
    assert (len(lines) == 1) == (text == "holds")

"""Long statements are broken where ruff breaks them."""

import subprocess
import sys

import pytest

from jaxgrad.parity.port.source.line_breaks import fit


A, B, C = "a" * 40, "f(b" + "b" * 40 + ")", "(c + " + "d" * 40 + ")"


@pytest.mark.parametrize(
    "source",
    [f"x = {A} + {B} - 2 * {C}", f"return {C} * {A} / {B}", f"x = {A} * f({B}, {B})", f"x = {A}"],
)
def test_a_long_statement_is_broken_as_ruff_breaks_it(source, tmp_path):
    """Three terms get a line each, and a call of two long arguments is broken in its brackets."""
    file = tmp_path / "f.py"
    file.write_text("\n".join(["def f():", *fit(source, 4), ""]))
    options = ["--isolated", "--line-length=100", "--check", str(file)]
    subprocess.run([sys.executable, "-m", "ruff", "format", *options], check=True)

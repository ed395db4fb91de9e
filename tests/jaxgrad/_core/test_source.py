"""Every equation records the source line and name stack that it comes from."""

from __future__ import annotations

import pathlib
import re
import sys
import types
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from jaxgrad._core import source
from tests.jaxgrad._core.jaxpr.programs import evaluated, sines_of


def test_source_lines_and_names() -> None:
    """Evaluating a jaxpr keeps the source line and the name stack of each equation."""

    def f(x: Any) -> Any:
        with jax.named_scope("layer"):
            return jnp.sin(x)

    jaxpr = jax.make_jaxpr(evaluated(f))(1.0)
    (place,) = sines_of(jaxpr)
    assert re.search(r"test_source\.py:\d+", source.source_line(place.eqn))
    assert str(place.eqn.source_info.name_stack) == "layer"


def test_the_expression_of_an_equation() -> None:
    """The span of an equation is the expression in the innermost line of the user."""

    def f(x: Any) -> Any:
        return 2.0 + 3.0 * jnp.sin(x)

    sin, mul, _ = jax.make_jaxpr(f)(1.0).jaxpr.eqns
    spans = [source.user_span(eqn) for eqn in (sin, mul)]
    assert None not in spans
    lines = pathlib.Path(__file__).read_text(encoding="utf-8").splitlines()
    texts = [lines[s.line - 1][s.column : s.end_column] for s in spans if s is not None]
    assert texts == ["jnp.sin(x)", "3.0 * jnp.sin(x)"]


@jax.custom_vjp
def rounded(x: Any) -> Any:
    return jnp.round(x)


def rounded_bwd(_: Any, grad: Any) -> Any:
    return (grad,)


rounded.defvjp(lambda x: (rounded(x), None), rounded_bwd)


@jax.custom_jvp
def floored(x: Any) -> Any:
    return jnp.floor(x)


@floored.defjvp
def floored_jvp(primals: Any, tangents: Any) -> Any:
    return floored(*primals), tangents[0]


def test_the_rule_of_a_custom_derivative_has_a_line() -> None:
    """It is that of the `def`, even below a decorator."""
    for function, rule in ((rounded, rounded_bwd), (floored, floored_jvp)):
        (eqn,) = jax.make_jaxpr(function)(1.0).jaxpr.eqns
        found = source.rule_of(eqn)
        assert found is not None and found.name == rule.__name__
        line = pathlib.Path(found.path).read_text(encoding="utf-8").splitlines()[found.line - 1]
        assert line.startswith(f"def {rule.__name__}(")


def test_a_rule_that_is_a_lambda_has_no_name_and_one_of_jax_no_line() -> None:
    """A place in JAX's own code tells the user nothing."""

    @jax.custom_vjp
    def negated(x: Any) -> Any:
        return x

    negated.defvjp(lambda x: (x, None), lambda _, grad: (-grad,))
    (eqn,) = jax.make_jaxpr(negated)(1.0).jaxpr.eqns
    found = source.rule_of(eqn)
    assert found is not None and found.name == "rule"
    line = pathlib.Path(found.path).read_text(encoding="utf-8").splitlines()[found.line - 1]
    assert "lambda _, grad" in line
    (eqn,) = jax.make_jaxpr(jax.nn.relu)(1.0).jaxpr.eqns
    assert source.rule_of(eqn) is None
    (eqn,) = jax.make_jaxpr(jnp.sin)(1.0).jaxpr.eqns
    assert source.rule_of(eqn) is None


def test_a_cell_of_a_notebook_has_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """A place in a cell names the cell's number, as IPython does, not its temporary file."""
    cells = {"/tmp/ipykernel_7/226.py": "In[3]", "<ipython-input-4-ab12>": "In[4]"}

    def label(name: str) -> tuple[str, str] | None:
        return ("Cell", cells[name]) if name in cells else None

    shell = types.SimpleNamespace(compile=types.SimpleNamespace(format_code_name=label))
    fake = types.SimpleNamespace(get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython", fake)
    code = "from jax import lax\ndef f(x):\n    return lax.sin(x)\n"

    assert source.short_name("/home/me/port.py") == "port.py"
    assert source.short_name("/home/me/port.py", folders=1) == "me/port.py"
    assert source.short_name("/tmp/ipykernel_7/226.py", folders=1) == "cell 3"
    for path, number in (("/tmp/ipykernel_7/226.py", 3), ("<ipython-input-4-ab12>", 4)):
        scope: dict[str, Any] = {}
        exec(compile(code, path, "exec"), scope)
        (eqn,) = jax.make_jaxpr(scope["f"])(1.0).jaxpr.eqns
        assert source.short_name(path) == f"cell {number}"
        assert source.user_line(eqn) == source.short_line(eqn) == f"cell {number}:3"
        assert source.user_lines(eqn)[0] == f"cell {number}:3"
        assert source.file_of([eqn], f"cell {number}:3") == path


@pytest.mark.parametrize("fake", [None, types.SimpleNamespace(get_ipython=lambda: None)])
def test_without_a_shell_a_place_has_the_name_of_the_file(
    fake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file keeps its name if IPython is not imported, or imported and not running."""
    if fake is None:
        monkeypatch.delitem(sys.modules, "IPython", raising=False)
    else:
        monkeypatch.setitem(sys.modules, "IPython", fake)

    assert source.short_name("/tmp/ipykernel_7/226.py") == "226.py"

"""Every equation records the source line and name stack that it comes from."""

from __future__ import annotations

import pathlib
import re
from typing import Any

import jax
import jax.numpy as jnp

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

"""Every equation records the source line and name stack that it comes from."""

from __future__ import annotations

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

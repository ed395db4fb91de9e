"""A path identifies an equation, and a place lists the primitives that enclose it."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from jaxgrad._core import jaxpr as _jaxpr
from tests.jaxgrad._core.jaxpr.programs import X


def test_paths_and_places() -> None:
    """Paths are unique, and a place lists the scans and higher-order primitives that enclose it."""

    def f(x: Any) -> Any:
        return lax.map(lambda row: lax.map(jax.jit(jnp.sin), row), x)

    jaxpr = _jaxpr.trace(f, jnp.array(X)).jaxpr
    sines = [p for p in _jaxpr.walk(jaxpr) if p.eqn.primitive.name == "sin"]
    assert [(p.lengths, p.within[:2]) for p in sines] == [((2, 3), ("scan", "scan"))]
    assert _jaxpr.slot_shape(sines[0]).shape == (2, 3)
    assert len({p.path for p in _jaxpr.walk(jaxpr)}) == len(list(_jaxpr.walk(jaxpr)))

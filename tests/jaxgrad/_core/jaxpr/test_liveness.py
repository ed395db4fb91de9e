"""`live_inputs` finds the inputs that a derivative of the outputs can reach."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from jaxgrad._core import jaxpr as _jaxpr


def test_refs_are_followed() -> None:
    """A value that is written into a mutable array and read back still depends on its inputs."""

    def f(x: Any, y: Any) -> Any:
        ref = jax.new_ref(jnp.zeros_like(x))
        ref[...] = x * y
        return ref[...].sum(), y.sum()

    jaxpr = _jaxpr.trace(f, jnp.ones(3), jnp.ones(3)).jaxpr
    assert _jaxpr.live_inputs(jaxpr, [True, False]) == [True, True]
    assert _jaxpr.live_inputs(jaxpr, [False, True]) == [False, True]

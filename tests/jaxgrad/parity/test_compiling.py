"""Programs that run a few times are compiled with options that fit their equations."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend import core as jex_core

from jaxgrad.parity.compiling import quick_jit


X = jnp.linspace(0.0, 1.0, 8)


def equations(number: int, *, kinds: int = 1) -> list[jex_core.JaxprEqn]:
    """Return equations that slice an array; slices of one kind start at the same place."""
    x = jnp.zeros(kinds + 1)
    jaxpr = jax.make_jaxpr(lambda x: [jax.lax.slice(x, (i,), (i + 1,)) for i in range(kinds)])(x)
    return (jaxpr.eqns * number)[:number]


def compiled(*args: Any, **kwargs: Any) -> jax.stages.Wrapped:
    """Compile three operations, which XLA fuses; JAX compiles the same function only once."""
    return quick_jit(lambda x: jnp.tanh(jnp.sin(x) * 2), *args, **kwargs)


def is_fused(jitted: jax.stages.Wrapped) -> bool:
    """Return whether the compiled program has a fused kernel."""
    return "fused_computation" in (jitted.lower(X).compile().as_text() or "")


@pytest.mark.parametrize(("number", "fused"), [(10, True), (10_000, False)])
def test_a_deep_program_is_compiled_without_fusion(number: int, fused: bool) -> None:
    """A small program is fused; a large one is not, and both compute the same."""
    jitted = compiled(equations(number))

    assert is_fused(jitted) == fused
    np.testing.assert_allclose(jitted(X), jnp.tanh(jnp.sin(X) * 2), rtol=1e-6)


@pytest.mark.parametrize(("kinds", "fused"), [(200, False), (300, True)])
def test_a_program_of_different_kernels_is_fused(kinds: int, fused: bool) -> None:
    """Without fusion each kind of equation is a kernel, and many kernels compile slowly."""
    assert is_fused(compiled(equations(2000, kinds=kinds))) == fused


def test_compiling_needs_no_equations() -> None:
    """Without equations the program counts as small."""
    assert jax.tree.leaves(quick_jit(lambda x: {"a": x})(1.0)) == [1.0]


@pytest.mark.parametrize(("differentiates", "fused"), [(False, True), (True, False)])
def test_a_backward_pass_counts_as_much_as_the_forward_pass(differentiates, fused) -> None:
    """A program of 1000 equations is deep only if it is differentiated."""
    jitted = compiled(equations(1000), differentiates=differentiates)
    assert is_fused(jitted) == fused

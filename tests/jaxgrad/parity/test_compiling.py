"""Programs that run a few times are compiled with options that fit their size."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgrad.parity.compiling import quick_jit


@pytest.mark.parametrize(("equations", "fused"), [(10, True), (100_000, False)])
def test_a_deep_program_is_compiled_without_fusion(equations: int, fused: bool) -> None:
    """A small program is fused; a large one is not, and both compute the same."""
    x = jnp.linspace(0.0, 1.0, 8)
    jitted = quick_jit(lambda x: jnp.tanh(jnp.sin(x) * 2), equations)

    assert ("fused" in jitted.lower(x).compile().as_text()) == fused
    np.testing.assert_allclose(jitted(x), jnp.tanh(jnp.sin(x) * 2), rtol=1e-6)


def test_compiling_needs_no_size() -> None:
    """Without a number of equations the program counts as small."""
    assert jax.tree.leaves(quick_jit(lambda x: {"a": x})(1.0)) == [1.0]


@pytest.mark.parametrize(("differentiates", "fused"), [(False, True), (True, False)])
def test_a_backward_pass_counts_as_much_as_the_forward_pass(differentiates, fused) -> None:
    """A program of 1000 equations is deep only if it is differentiated."""
    jitted = quick_jit(lambda x: jnp.tanh(jnp.sin(x) * 2), 1000, differentiates=differentiates)
    assert ("fused" in jitted.lower(jnp.ones(8)).compile().as_text()) == fused

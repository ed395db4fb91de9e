"""The operators of `jaxgrad/functional/pointwise` agree with torch, including mixed derivatives."""

import jax
import jax.numpy as jnp
import pytest
import torch

from parity_tests.operators import jax_side, load, torch_side
from parity_tests.operators._harness.suite import agreement_test


OPERATORS = load()
test_operator = agreement_test("pointwise")


@pytest.mark.parametrize(("name", "edge"), [("xlogy", 0.0), ("special.xlog1py", -1.0)])
def test_mixed_derivatives_are_summed_element_by_element(name, edge):
    """A mixed derivative sums inf and -inf over a broadcast argument to NaN, as in torch."""
    x, y, c = (torch.tensor(x).requires_grad_() for x in ([1.0, 2.0], [edge], [1.0, -3.0]))
    (by_x,) = torch.autograd.grad(torch_side(OPERATORS[name])(x, y), x, c, create_graph=True)
    (expected,) = torch.autograd.grad(by_x.sum(), y)

    def slope(y):
        function = jax_side(OPERATORS[name])
        _, pullback = jax.vjp(lambda x: function(x, y), jnp.array([1.0, 2.0]))
        return jnp.sum(pullback(jnp.array([1.0, -3.0]))[0])

    assert expected.isnan()
    assert jnp.isnan(jax.grad(slope)(jnp.array([edge])))

"""The operators of `jaxgrad/functional/distributions` agree with torch, even at infinite slopes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from jaxgrad.parity.interop import to_torch
from parity_tests.operators import jax_side, load, torch_side
from parity_tests.operators._harness.suite import agreement_test


OPERATORS = load()
test_operator = agreement_test("distributions")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("name", "value", "params", "infinite"),
    [
        ("gamma", [1.0], ([0.0], [1.0, 2.0]), 1),
        ("inverse_gamma", [1.0], ([0.0], [1.0, 2.0]), 1),
        ("negative_binomial", [1.0], ([0.0], [0.5, 0.25]), 1),
        ("pareto", [2.0, 2.0], ([1.0, 1.0], [0.0]), 2),
        ("poisson", [np.inf], ([1.0, 2.0],), 0),
        ("normal", [np.inf], ([0.0], [1.0, 2.0]), 0),
        ("half_normal", [np.inf], ([1.0, 2.0],), 0),
        ("relaxed_bernoulli", [0.75], ([np.inf], [0.5, 0.25]), 0),
    ],
)
def test_infinite_slopes_are_summed_element_by_element(name, value, params, infinite):
    """As in torch, derivatives of inf and -inf sum to NaN when an argument is broadcast."""
    args, cotangent = [np.array(x) for x in (value, *params)], np.array([1.0, -3.0])
    record = OPERATORS[f"distributions.{name}_log_prob"]
    tensors = [x.requires_grad_() for x in to_torch(args)]
    expected = torch.autograd.grad(torch_side(record)(*tensors), tensors, to_torch([cotangent])[0])
    _, pullback = jax.vjp(jax_side(record), *map(jnp.asarray, args))

    assert expected[infinite].isnan().all()
    for actual, gradient in zip(pullback(jnp.asarray(cotangent)), expected, strict=True):
        np.testing.assert_allclose(actual, gradient)

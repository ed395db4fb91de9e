"""`jaxgrad.nnx` rectifiers match torch's."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from jaxgrad import nnx as layers
from tests.jaxgrad.nnx._helpers import (
    check_call,
    check_round_trip,
    check_training,
    draw,
    layer_case,
    plain_case,
    rngs,
)


X = draw(4, 6) * 3
CASES = {
    "ReLU": plain_case("ReLU", X),
    "ReLU6": plain_case("ReLU6", X),
    "LeakyReLU": plain_case("LeakyReLU", X),
    "LeakyReLU/slope": plain_case("LeakyReLU", X, 0.3),
    "Threshold": plain_case("Threshold", X, 0.5, -2.0),
}


@pytest.mark.parametrize("name", CASES)
def test_rectifiers_match_torch(name):
    """Rectifiers have torch's outputs and gradients."""
    check_call(CASES[name])


PRELU = {
    "one": layer_case("PReLU", X),
    "each": layer_case("PReLU", X, 6, 0.1),
}


@pytest.mark.parametrize("name", PRELU)
def test_prelu_trains_as_in_torch(name):
    """The slopes of `PReLU` have torch's gradients and key."""
    check_training(PRELU[name], jit=True)
    check_round_trip(PRELU[name])


def test_rrelu_draws_slopes_in_training_only():
    """`RReLU` draws a slope for each negative element, and uses their mean in evaluation."""
    layer, x = layers.RReLU(0.2, 0.4, rngs=rngs()), -jnp.ones(2000, jnp.float32)
    slopes = [np.asarray(-layer(x)) for _ in range(2)]
    torch.manual_seed(0)
    wanted = -torch.nn.RReLU(0.2, 0.4)(-torch.ones(2000)).numpy()
    for drawn in slopes:
        assert abs(drawn.mean() - wanted.mean()) < 0.01 and abs(drawn.std() - wanted.std()) < 0.01
        assert drawn.min() >= 0.2 and drawn.max() <= 0.4
    assert (slopes[0] != slopes[1]).any()
    key = jax.random.key(3)
    np.testing.assert_array_equal(layer(x, key=key), layer(x, key=key))
    layer.eval()
    reference = torch.nn.RReLU(0.2, 0.4).eval()
    np.testing.assert_allclose(layer(x), reference(-torch.ones(2000)).numpy(), rtol=1e-6)


def test_writing_to_the_input_is_refused():
    """`inplace=True` raises and says what to write instead."""
    with pytest.raises(ValueError, match=r"ReLU\(inplace=True\): JAX arrays are immutable"):
        layers.ReLU(inplace=True)

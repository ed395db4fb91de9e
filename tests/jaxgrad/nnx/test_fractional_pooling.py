"""`jaxgrad.nnx` fractional pooling layers match torch's."""

import jax.numpy as jnp
import pytest

from jaxgrad import nnx as layers
from tests.jaxgrad.nnx._helpers import (
    check_call,
    check_constructor_error,
    draw,
    plain_case,
    rngs,
)


CASES = {
    "2d/size": plain_case(
        "FractionalMaxPool2d", draw(2, 3, 9, 8), 2, 4, _random_samples=draw(2, 3, 2) % 1
    ),
    "2d/ratio": plain_case(
        "FractionalMaxPool2d",
        draw(2, 3, 9, 8),
        2,
        output_ratio=(0.5, 0.6),
        _random_samples=draw(2, 3, 2) % 1,
    ),
    "3d": plain_case(
        "FractionalMaxPool3d", draw(1, 2, 6, 7, 5), 2, 3, _random_samples=draw(1, 2, 3) % 1
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_fractional_pooling_layers_match_torch(name):
    """With torch's samples, the layers have torch's outputs and gradients."""
    check_call(CASES[name])


def test_each_call_draws_windows_in_both_modes():
    """As in torch, a layer with random keys draws new windows at every call, even in eval mode."""
    layer, x = layers.FractionalMaxPool2d(2, 9, rngs=rngs()), jnp.asarray(draw(1, 1, 30, 30))
    layer.eval()
    assert (layer(x) != layer(x)).any()


PROBLEMS = {
    "neither": ({}, "requires specifying either an output size, or a pooling ratio"),
    "both": ({"output_size": 2, "output_ratio": 0.5}, "only one of output_size and output_ratio"),
    "ratio": ({"output_ratio": 1.5}, "output_ratio must be between 0 and 1 (got"),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_size_or_ratio_must_be_usable(name):
    """Exactly one of `output_size` and `output_ratio` is needed, and the ratio is below 1."""
    options, message = PROBLEMS[name]
    check_constructor_error(lambda nn: nn.FractionalMaxPool2d(2, **options), message)

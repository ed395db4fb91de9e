"""`jaxgrad.nnx` adaptive pooling layers match torch's."""

import jax.numpy as jnp
import numpy as np
import pytest
import torch

from jaxgrad import nnx as layers
from jaxgrad.parity.interop import to_torch
from tests.jaxgrad.nnx._helpers import (
    check_call,
    draw,
    plain_case,
)


CASES = {
    "AdaptiveAvgPool1d": plain_case("AdaptiveAvgPool1d", draw(2, 3, 9), 4),
    "AdaptiveMaxPool1d": plain_case("AdaptiveMaxPool1d", draw(2, 3, 9), 4),
    "AdaptiveAvgPool2d": plain_case("AdaptiveAvgPool2d", draw(2, 3, 9, 8), 4),
    "AdaptiveMaxPool2d": plain_case("AdaptiveMaxPool2d", draw(2, 3, 9, 8), 4),
    "AdaptiveAvgPool3d": plain_case("AdaptiveAvgPool3d", draw(1, 2, 6, 7, 5), 4),
    "AdaptiveMaxPool3d": plain_case("AdaptiveMaxPool3d", draw(1, 2, 6, 7, 5), 4),
    "AdaptiveAvgPool2d/None": plain_case("AdaptiveAvgPool2d", draw(2, 3, 9, 8), (None, 5)),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CASES)
def test_adaptive_pooling_layers_match_torch(name):
    """Adaptive pooling layers have torch's outputs and gradients."""
    check_call(CASES[name])


def test_adaptive_max_pooling_returns_indices_on_request():
    """`return_indices=True` returns torch's indices next to the maxima."""
    x = draw(2, 3, 7)
    wanted = torch.nn.AdaptiveMaxPool1d(3, return_indices=True)(to_torch([x])[0])
    got = layers.AdaptiveMaxPool1d(3, return_indices=True)(jnp.asarray(x))
    for left, right in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(left, right)

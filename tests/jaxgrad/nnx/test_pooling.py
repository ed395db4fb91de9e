"""`jaxgrad.nnx` pooling layers match torch's."""

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
    "MaxPool1d": plain_case("MaxPool1d", draw(2, 3, 9), 2),
    "MaxPool1d/options": plain_case("MaxPool1d", draw(2, 3, 9), 3, 2, 1, ceil_mode=True),
    "AvgPool1d": plain_case("AvgPool1d", draw(2, 3, 9), 3, 2, 1, True, False),
    "LPPool1d": plain_case("LPPool1d", draw(2, 3, 9) ** 2, 3, 2),
    "MaxPool2d": plain_case("MaxPool2d", draw(2, 3, 9, 8), 2),
    "MaxPool2d/options": plain_case("MaxPool2d", draw(2, 3, 9, 8), 3, 2, 1, ceil_mode=True),
    "AvgPool2d": plain_case("AvgPool2d", draw(2, 3, 9, 8), 3, 2, 1, True, False),
    "LPPool2d": plain_case("LPPool2d", draw(2, 3, 9, 8) ** 2, 3, 2),
    "MaxPool3d": plain_case("MaxPool3d", draw(1, 2, 6, 7, 5), 2),
    "MaxPool3d/options": plain_case("MaxPool3d", draw(1, 2, 6, 7, 5), 3, 2, 1, ceil_mode=True),
    "AvgPool3d": plain_case("AvgPool3d", draw(1, 2, 6, 7, 5), 3, 2, 1, True, False),
    "LPPool3d": plain_case("LPPool3d", draw(1, 2, 6, 7, 5) ** 2, 3, 2),
    "AvgPool2d/divisor": plain_case("AvgPool2d", draw(2, 3, 9, 8), (2, 3), divisor_override=5),
    "MaxPool2d/sizes": plain_case("MaxPool2d", draw(2, 3, 9, 8), (2, 3), (1, 2), (1, 0), (2, 1)),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CASES)
def test_pooling_layers_match_torch(name):
    """Pooling layers have torch's outputs and gradients."""
    check_call(CASES[name])


def test_max_pooling_returns_indices_on_request():
    """`return_indices=True` returns torch's indices next to the maxima."""
    x = draw(2, 3, 8, 8)
    wanted = torch.nn.MaxPool2d(2, return_indices=True)(to_torch([x])[0])
    got = layers.MaxPool2d(2, return_indices=True)(jnp.asarray(x))
    for left, right in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(left, right)

"""`jaxgrad.nnx` sigmoids and shrinkage match torch's."""

import pytest
import torch

from jaxgrad import nnx as layers
from tests.jaxgrad.nnx._helpers import (
    LayerCase,
    check_call,
    draw,
    plain_case,
)


X = draw(4, 6) * 3
CASES = {
    "Sigmoid": plain_case("Sigmoid", X),
    "Tanh": plain_case("Tanh", X),
    "LogSigmoid": plain_case("LogSigmoid", X),
    "Softsign": plain_case("Softsign", X),
    "Tanhshrink": plain_case("Tanhshrink", X),
    "Hardsigmoid": LayerCase(
        torch.nn.Hardsigmoid, lambda: layers.Hardsigmoid(torch_gradient=True), [X]
    ),
    "Hardtanh": plain_case("Hardtanh", X),
    "Softplus": plain_case("Softplus", X),
    "Hardshrink": plain_case("Hardshrink", X),
    "Softshrink": plain_case("Softshrink", X),
    "Hardtanh/bounds": plain_case("Hardtanh", X, -0.5, 2.0),
    "Softplus/beta": plain_case("Softplus", X, 2.0, 4.0),
    "Hardshrink/lambd": plain_case("Hardshrink", X, 1.0),
    "Softshrink/lambd": plain_case("Softshrink", X, 1.0),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CASES)
def test_sigmoids_match_torch(name):
    """Activations have torch's outputs and gradients."""
    check_call(CASES[name])


def test_hardtanh_rejects_an_empty_interval_and_deprecated_names():
    """`max_val` must exceed `min_val`, and torch's old names of both raise."""
    with pytest.raises(ValueError, match="max_val must be larger than min_val: got 0.0 and 1.0"):
        layers.Hardtanh(1.0, 0.0)
    with pytest.raises(ValueError, match="use min_val= and max_val="):
        layers.Hardtanh(min_value=0.0)

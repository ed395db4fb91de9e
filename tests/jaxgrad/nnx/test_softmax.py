"""`jaxgrad.nnx` softmax layers match torch's."""

import pytest

from tests.jaxgrad.nnx._helpers import (
    check_call,
    check_call_error,
    draw,
    plain_case,
)


X = draw(4, 6) * 3
CASES = {
    "Softmax": plain_case("Softmax", X, dim=1),
    "Softmax/first": plain_case("Softmax", X, 0),
    "Softmin": plain_case("Softmin", X, dim=1),
    "Softmin/first": plain_case("Softmin", X, 0),
    "LogSoftmax": plain_case("LogSoftmax", X, dim=1),
    "LogSoftmax/first": plain_case("LogSoftmax", X, 0),
    "Softmax2d": plain_case("Softmax2d", draw(2, 3, 4, 2)),
}


@pytest.mark.parametrize("name", CASES)
def test_softmax_layers_match_torch(name):
    """Softmax layers have torch's outputs and gradients."""
    check_call(CASES[name])


def test_softmax2d_needs_an_image():
    """`Softmax2d` rejects a matrix with torch's message."""
    message = "Softmax2d: expected input to be 3D or 4D, got 2D instead"
    check_call_error(lambda nn: nn.Softmax2d(), (2, 2), ValueError, message)

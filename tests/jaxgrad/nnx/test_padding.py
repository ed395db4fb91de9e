"""`jaxgrad.nnx` padding layers match torch's."""

import pytest

from tests.jaxgrad.nnx._helpers import (
    check_call,
    draw,
    plain_case,
)


CASES = {
    "ZeroPad1d": plain_case("ZeroPad1d", draw(2, 3, 9), (2, 1)),
    "ZeroPad2d": plain_case("ZeroPad2d", draw(2, 3, 9, 8), (2, 1, 1, 2)),
    "ZeroPad3d": plain_case("ZeroPad3d", draw(1, 2, 6, 7, 5), (2, 1, 1, 2, 0, 1)),
    "ZeroPad2d/one": plain_case("ZeroPad2d", draw(2, 3, 9, 8), 1),
    "ReflectionPad1d": plain_case("ReflectionPad1d", draw(2, 3, 9), (2, 1)),
    "ReflectionPad2d": plain_case("ReflectionPad2d", draw(2, 3, 9, 8), (2, 1, 1, 2)),
    "ReflectionPad3d": plain_case("ReflectionPad3d", draw(1, 2, 6, 7, 5), (2, 1, 1, 2, 0, 1)),
    "ReflectionPad2d/one": plain_case("ReflectionPad2d", draw(2, 3, 9, 8), 1),
    "ReplicationPad1d": plain_case("ReplicationPad1d", draw(2, 3, 9), (2, 1)),
    "ReplicationPad2d": plain_case("ReplicationPad2d", draw(2, 3, 9, 8), (2, 1, 1, 2)),
    "ReplicationPad3d": plain_case("ReplicationPad3d", draw(1, 2, 6, 7, 5), (2, 1, 1, 2, 0, 1)),
    "ReplicationPad2d/one": plain_case("ReplicationPad2d", draw(2, 3, 9, 8), 1),
    "CircularPad1d": plain_case("CircularPad1d", draw(2, 3, 9), (2, 1)),
    "CircularPad2d": plain_case("CircularPad2d", draw(2, 3, 9, 8), (2, 1, 1, 2)),
    "CircularPad3d": plain_case("CircularPad3d", draw(1, 2, 6, 7, 5), (2, 1, 1, 2, 0, 1)),
    "CircularPad2d/one": plain_case("CircularPad2d", draw(2, 3, 9, 8), 1),
    "ConstantPad1d": plain_case("ConstantPad1d", draw(2, 3, 9), (2, -1), 1.5),
    "ConstantPad2d": plain_case("ConstantPad2d", draw(2, 3, 9, 8), (2, -1, 1, 2), 1.5),
    "ConstantPad3d": plain_case("ConstantPad3d", draw(1, 2, 6, 7, 5), (2, -1, 1, 2, 0, 1), 1.5),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CASES)
def test_padding_layers_match_torch(name):
    """Padding layers have torch's outputs and gradients."""
    check_call(CASES[name])

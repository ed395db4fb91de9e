"""`jaxgrad.nnx` ELU, GELU, SiLU and others match torch's."""

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
    "ELU": plain_case("ELU", X),
    "CELU": plain_case("CELU", X),
    "SELU": plain_case("SELU", X),
    "GELU": plain_case("GELU", X),
    "SiLU": plain_case("SiLU", X),
    "Mish": plain_case("Mish", X),
    "Hardswish": plain_case("Hardswish", X),
    "GLU": plain_case("GLU", X),
    "ELU/alpha": plain_case("ELU", X, 0.5),
    "CELU/alpha": LayerCase(
        lambda: torch.nn.CELU(1.7), lambda: layers.CELU(1.7, torch_gradient=True), [X]
    ),
    "GELU/tanh": plain_case("GELU", X, approximate="tanh"),
    "GLU/dim": plain_case("GLU", X, 0),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CASES)
def test_smooth_rectifiers_match_torch(name):
    """Activations have torch's outputs and gradients."""
    check_call(CASES[name])


def test_writing_to_the_input_is_refused():
    """`inplace=True` raises and says what to write instead."""
    with pytest.raises(ValueError, match=r"SiLU\(inplace=True\): JAX arrays are immutable"):
        layers.SiLU(inplace=True)

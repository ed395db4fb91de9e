"""`jaxgrad.nnx` layers that change shapes match torch's."""

import pytest
import torch

from jaxgrad import nnx as layers
from tests.jaxgrad.nnx._helpers import (
    check_call,
    check_call_error,
    draw,
    plain_case,
)


CASES = {
    "Identity": plain_case("Identity", draw(2, 3), 54, unused=1),
    "Flatten": plain_case("Flatten", draw(2, 3, 4)),
    "Flatten/dims": plain_case("Flatten", draw(2, 3, 4), 0, -2),
    "Flatten/scalar": plain_case("Flatten", draw(), 0),
    "Unflatten": plain_case("Unflatten", draw(2, 6, 2), 1, (2, -1)),
    "Unflatten/last": plain_case("Unflatten", draw(2, 6), -1, (3, 1, 2)),
    "Fold": plain_case("Fold", draw(2, 8, 12), (4, 5), 2),
    "Unfold": plain_case("Unfold", draw(2, 3, 5, 4), 2, padding=1, stride=2),
}


@pytest.mark.parametrize("name", CASES)
def test_reshaping_layers_match_torch(name):
    """Layers that change shapes have torch's outputs and gradients."""
    check_call(CASES[name])


CALLS = {
    "order": (lambda nn: nn.Flatten(2, 1), (RuntimeError,), "start_dim cannot come after end_dim"),
    "range": (
        lambda nn: nn.Flatten(3),
        (IndexError,),
        "expected to be in range of [-3, 2], but got 3",
    ),
    "size": (
        lambda nn: nn.Unflatten(1, (2, 2)),
        (RuntimeError,),
        "Provided sizes [2, 2] don't multiply up",
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_unusable_dims_raise_as_in_torch(name):
    """Dims that the input lacks and sizes that do not fit raise torch's messages."""
    construct, kind, message = CALLS[name]
    check_call_error(construct, (2, 3, 4), kind, message)


@pytest.mark.parametrize("size, found", [(3, "type int"), ((2, 1.5), "type float at pos 1")])
def test_unflatten_needs_integers(size, found):
    """`Unflatten` rejects sizes that are not a sequence of integers, as in torch."""
    for package in (torch.nn, layers):
        with pytest.raises(TypeError, match=f"unflattened_size must be .* {found}"):
            package.Unflatten(0, size)

"""`jaxgrad.nnx` unpooling layers match torch's."""

import numpy as np
import pytest
import torch

from jaxgrad import nnx as layers
from jaxgrad.parity.interop import to_jax, to_numpy, to_torch
from tests.jaxgrad.nnx._helpers import check_call, draw, plain_case


IMAGES = {1: draw(2, 3, 8), 2: draw(2, 3, 8, 8), 3: draw(1, 2, 4, 6, 4)}


@pytest.mark.parametrize("ndim", IMAGES)
def test_unpooling_layers_match_torch(ndim):
    """With torch's indices, the layers have torch's outputs and gradients."""
    pool = getattr(torch.nn, f"MaxPool{ndim}d")(2, return_indices=True)
    inputs = list(to_numpy(pool(to_torch([IMAGES[ndim]])[0])))
    check_call(plain_case(f"MaxUnpool{ndim}d", inputs, 2))


def test_the_size_of_the_output_may_be_given():
    """`output_size=` selects one of the sizes that give the same pooled size."""
    pool = torch.nn.MaxPool1d(2, 2, return_indices=True)
    inputs = list(to_numpy(pool(to_torch([draw(2, 3, 9)])[0])))
    got = layers.MaxUnpool1d(2, 2)(*to_jax(inputs), output_size=(2, 3, 9))
    wanted = torch.nn.MaxUnpool1d(2, 2)(*to_torch(inputs), output_size=(2, 3, 9))
    np.testing.assert_array_equal(got, wanted)

"""The gradients check finds a stop_gradient on one use of a tied weight."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import torch
from jax import lax
from torch import Tensor, nn

from jaxgrad.parity import prove
from tests.jaxgrad.parity.prove._helpers import arrays


def test_a_stop_gradient_on_one_use_of_a_weight_is_reported():
    """A stop_gradient on one use of a tied weight is reported as the likely cause."""
    torch.manual_seed(0)

    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(6, 3)

        def forward(self, ids: Tensor) -> Tensor:
            return torch.tanh(self.embed(ids)) @ self.embed.weight.T

    module = Tied()

    def apply(p: Any, ids: Any) -> Any:
        embed = p["embed.weight"]
        return jnp.tanh(embed[ids]) @ lax.stop_gradient(embed).T

    first = prove(module, apply, arrays(module), (np.array([[1, 4, 2, 0]]),)).first
    assert first is not None
    assert (first.surface, first.torch) == ("gradients", "embed.weight")
    line = apply.__code__.co_firstlineno + 2
    assert f"an extra stop_gradient at test_gradients.py:{line} (stop_gradient)" in first.cause
    assert first.cause.endswith("(rerunning JAX without it, all gradients agree)")

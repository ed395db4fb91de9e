"""Calls that are computed step by step return what torch's kernels return."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from jaxgrad.parity.prove.torch_side import opened


torch.manual_seed(0)
Q, K, V = torch.randn(3, 2, 4, 5, dtype=torch.float64).unbind()
KEEP = torch.ones(4, 4, dtype=torch.bool).tril()


@pytest.mark.parametrize(
    "options",
    [{}, {"is_causal": True}, {"attn_mask": KEEP}, {"attn_mask": KEEP.double()}, {"scale": 0.3}],
    ids=["plain", "causal", "boolean", "additive", "scale"],
)
def test_attention_step_by_step(options):
    """Attention with each kind of mask and with a scale equals torch's, and its parts are named."""
    labels: list[str] = []
    compute = opened.steps("scaled_dot_product_attention", (Q, K, V), options, labels.append)
    assert compute is not None
    expected = functional.scaled_dot_product_attention(Q, K, V, **options)

    torch.testing.assert_close(compute(), expected, rtol=0, atol=1e-14)
    assert labels[-2:] == ["the attention weights", "the weighted values"]


def gru(length: int):
    layer = nn.GRU(3, 4, 2)
    x, h = torch.randn(length, 1, 3), torch.zeros(2, 1, 4)
    return x, h, layer._flat_weights, True, 2, 0.0, False, False, False


def test_only_known_and_short_calls_are_opened():
    """A long sequence, grouped queries and other functions keep torch's kernel."""
    assert opened.steps("gru", gru(32), {}, print) is not None
    assert opened.steps("gru", gru(33), {}, print) is None
    assert opened.steps("layer_norm", (Q, (5,)), {}, print) is None
    grouped = {"enable_gqa": True}
    assert opened.steps("scaled_dot_product_attention", (Q, K, V), grouped, print) is None

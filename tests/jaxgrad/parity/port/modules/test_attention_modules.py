"""nn.MultiheadAttention is written as projections around attention, where it does no more."""

import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.port.port import port
from tests.jaxgrad.parity.port._ports import source


X = np.random.default_rng(0).standard_normal((3, 5, 8))
Y = np.random.default_rng(1).standard_normal((3, 5, 8))


class Attention(nn.Module):
    def __init__(self, own: bool, **options):
        super().__init__()
        self.own, self.attn = own, nn.MultiheadAttention(8, 2, **options)

    def forward(self, x, y):
        y = x if self.own else y
        return self.attn(x, y, y, need_weights=False)[0]


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("options", [{"batch_first": True, "dropout": 0.1}, {"bias": False}])
def test_a_call_without_masks_is_projected_and_attended(own: bool, options: dict):
    torch.manual_seed(0)
    ported = port(Attention(own, **options).double(), (X, Y))
    assert ported.report is not None and ported.report.verdict == "pass"
    assert "F.scaled_dot_product_attention(" in ported.source
    assert "multi_head_attention_forward" not in ported.source


def test_weights_are_returned_by_torchs_own_function():
    class Weights(Attention):
        def forward(self, x, y):
            return self.attn(x, y, y)

    text = source(Weights(own=False), X, Y)
    assert "embed_dim_to_check=8" in text and "num_heads=2" in text

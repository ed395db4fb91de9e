"""nn.MultiheadAttention is written as projections around attention, with its masks and weights."""

import jax
import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.port.port import port


X = np.random.default_rng(0).standard_normal((3, 5, 8))
Y = np.random.default_rng(1).standard_normal((3, 5, 8))


class Attention(nn.Module):
    def __init__(self, own: bool, **options):
        super().__init__()
        self.own, self.attn = own, nn.MultiheadAttention(8, 2, **options)

    def forward(self, x, y):
        y = x if self.own else y
        return self.attn(x, y, y, need_weights=False)[0]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("options", [{"batch_first": True, "dropout": 0.1}, {"bias": False}])
def test_a_call_without_masks_is_projected_and_attended(own: bool, options: dict):
    torch.manual_seed(0)
    ported = port(Attention(own, **options).double(), (X, Y))
    assert ported.report is not None and ported.report.verdict == "pass"
    assert "F.scaled_dot_product_attention(" in ported.source
    assert "multi_head_attention_forward" not in ported.source


PADDING = np.arange(5) >= np.array([[5], [4], [3]])
CAUSAL = np.triu(np.ones((5, 5), bool), 1)
PER_HEAD = np.random.default_rng(2).standard_normal((6, 5, 5))


class Masked(nn.Module):
    def __init__(self, call: dict, **options):
        super().__init__()
        self.pads, self.masks = call.get("pads", False), call.get("masks", True)
        self.needed, self.average = call.get("need_weights", True), call.get("average", True)
        self.causal = call.get("is_causal", False)
        self.attn = nn.MultiheadAttention(8, 2, batch_first=True, **options)

    def forward(self, x, y, padding, mask):
        return self.attn(
            x, y, y, key_padding_mask=padding if self.pads else None, need_weights=self.needed,
            attn_mask=mask if self.masks else None, average_attn_weights=self.average,
            is_causal=self.causal,
        )[: 1 + self.needed]  # fmt: skip


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("call", "options", "mask"),
    [
        ({"pads": True, "masks": False}, {}, CAUSAL),
        ({"pads": True}, {"dropout": 0.1}, CAUSAL),
        ({"pads": True, "average": False}, {"bias": False}, CAUSAL),
        ({"pads": True, "need_weights": False}, {"dropout": 0.1}, CAUSAL),
        ({"need_weights": False}, {}, PER_HEAD),
        ({"pads": True, "need_weights": False}, {}, np.where(CAUSAL, -np.inf, 0.0)),
        ({"need_weights": False, "is_causal": True}, {}, CAUSAL),
        ({}, {}, PER_HEAD),
        ({"masks": False}, {"add_bias_kv": True, "add_zero_attn": True}, CAUSAL),
    ],
)
@pytest.mark.filterwarnings("ignore:Support for mismatched key_padding_mask")
def test_masks_and_weights_are_written_out(call: dict, options: dict, mask: np.ndarray):
    """Boolean masks, masks that are added and masks for each head; the weights averaged or not."""
    torch.manual_seed(0)
    ported = port(Masked(call, **options).double(), (X, Y, PADDING, mask))
    assert ported.report is not None and ported.report.verdict == "pass"
    assert "multi_head_attention_forward" not in ported.source
    causal = call.get("is_causal", False)
    assert ("is_causal=True" in ported.source) == causal


@pytest.mark.slow
def test_keys_and_values_of_other_sizes_have_weights_of_their_own():
    """The module has a projection each, and the length is the first dimension."""

    class Sizes(nn.Module):
        def __init__(self):
            super().__init__()
            self.attn = nn.MultiheadAttention(8, 2, kdim=5, vdim=3)

        def forward(self, x, y):
            return self.attn(x, y[..., :5], y[..., 5:])

    torch.manual_seed(0)
    ported = port(Sizes().double(), (X, Y))
    assert ported.report is not None and ported.report.verdict == "pass"
    assert 'F.linear(key.swapaxes(0, 1), p["k_proj_weight"], b_k)' in ported.source


def test_a_fully_masked_row_is_torchs():
    """Its weights are NaN; without weights its output is that of zeros."""
    padding = np.ones((3, 5), bool)
    for needed in (True, False):
        module = Masked({"pads": True, "masks": False, "need_weights": needed}).double()
        ported = port(module, (X, Y, PADDING, CAUSAL), prove=False)
        inputs = (X, Y, padding, CAUSAL)
        wanted = module(*map(torch.tensor, inputs))
        with jax.enable_x64():
            result = ported.space[ported.name](ported.params(module.state_dict()), *inputs)
        np.testing.assert_allclose(result[0], wanted[0].detach(), atol=1e-12)

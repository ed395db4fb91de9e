"""Calls that are computed step by step return what torch's kernels return."""

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from jaxgrad.parity.prove.record.torch_side import opened


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


def test_attention_step_by_step_has_a_rectangular_mask_and_dropout():
    """A causal mask has a row for each query, and dropout is the last part but one."""
    q = Q[..., :3, :]
    cases: list[Any] = [{"is_causal": True}, {"dropout_p": 1.0}]
    for options in cases:
        labels: list[str] = []
        compute = opened.steps("scaled_dot_product_attention", (q, K, V), options, labels.append)
        assert compute is not None
        expected = functional.scaled_dot_product_attention(q, K, V, **options)
        torch.testing.assert_close(compute(), expected, rtol=0, atol=1e-14)
        assert ("the dropout" in labels) == ("dropout_p" in options)


@pytest.mark.parametrize(
    ("dropout", "train", "opens"), [(0.0, True, True), (0.5, False, True), (0.5, True, False)]
)
def test_a_recurrent_layer_with_dropout_keeps_torchs_kernel(dropout, train, opens):
    """A recurrent layer with dropout is not opened, as its kernel draws the random numbers."""
    call = (*gru(3)[:5], dropout, train, False, False)
    assert (opened.steps("gru", call, {}, print) is not None) == opens


def test_the_length_of_a_sequence_is_its_axis_of_time():
    """A large batch is no long sequence."""
    x, h, *rest = gru(5)
    wide = (x.expand(5, 99, 3), h.expand(2, 99, 4), *rest)
    assert opened.steps("gru", wide, {}, print) is not None
    first = (x.expand(5, 99, 3).transpose(0, 1), h.expand(2, 99, 4), *rest[:-1], True)
    assert opened.steps("gru", first, {}, print) is not None

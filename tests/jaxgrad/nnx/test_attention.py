"""`jaxgrad.nnx.MultiheadAttention` matches torch's."""

import numpy as np
import pytest

from tests.jaxgrad.nnx._helpers import (
    check_constructor_error,
    check_initial_distribution,
    check_round_trip,
    check_training,
    draw,
    layer_case,
    runs,
)


CAUSAL = np.triu(np.ones((4, 4), bool), 1)
PADDING = np.array([[False, False, False, True], [False, False, True, True]])
CASES = {
    "MultiheadAttention": layer_case("MultiheadAttention", [draw(4, 2, 6)] * 3, 6, 2),
    "MultiheadAttention/masks": layer_case(
        "MultiheadAttention",
        [draw(2, 4, 6), draw(2, 4, 6) + 1, draw(2, 4, 6) - 1],
        6,
        3,
        batch_first=True,
        call={"attn_mask": CAUSAL, "key_padding_mask": PADDING, "average_attn_weights": False},
    ),
    "MultiheadAttention/floats": layer_case(
        "MultiheadAttention",
        [draw(4, 2, 6)] * 3,
        6,
        2,
        bias=False,
        call={"attn_mask": draw(4, 4, 4), "need_weights": False},
    ),
    "MultiheadAttention/more keys": layer_case(
        "MultiheadAttention",
        [draw(4, 2, 6), draw(5, 2, 3), draw(5, 2, 2)],
        6,
        2,
        kdim=3,
        vdim=2,
        add_bias_kv=True,
        add_zero_attn=True,
        call={"attn_mask": draw(4, 5)},
    ),
    "MultiheadAttention/unbatched": layer_case(
        "MultiheadAttention",
        [draw(4, 6)] * 3,
        6,
        2,
        call={"attn_mask": CAUSAL, "is_causal": True, "need_weights": False},
    ),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name, jit", runs(CASES))
def test_attention_layers_train_as_in_torch(name, jit):
    """With torch's weights, attention layers have torch's outputs, gradients and states."""
    check_training(CASES[name], jit)


@pytest.mark.parametrize("name", CASES)
def test_state_dicts_of_attention_layers_round_trip(name):
    """The state dict of an attention layer goes from torch to JAX and back bit for bit."""
    check_round_trip(CASES[name])


def test_fresh_attention_layers_are_distributed_as_in_torch():
    """Fresh projections of an attention layer match torch's in mean, spread and bounds."""
    check_initial_distribution("MultiheadAttention", 64, 2)


def test_an_embedding_that_does_not_divide_into_heads_is_rejected():
    """`MultiheadAttention` requires `embed_dim` to be divisible by `num_heads`."""
    check_constructor_error(
        lambda nn: nn.MultiheadAttention(5, 2), "embed_dim must be divisible by num_heads"
    )

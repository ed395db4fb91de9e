"""`jaxgrad.nnx` encoder, decoder and transformer match torch's."""

import jax.numpy as jnp
import numpy as np
import pytest
import torch

from jaxgrad import nnx as layers
from tests.jaxgrad.nnx._helpers import (
    F64,
    LayerCase,
    check_call,
    check_initial_distribution,
    check_round_trip,
    draw,
    layer_case,
    rngs,
)


CAUSAL = np.triu(np.full((4, 4), -np.inf), 1)
PADDING = draw(2, 4)
# torch says why its fast path for inference is not available.
NESTED = "ignore:enable_nested_tensor is True"
SOURCE, TARGET = draw(5, 2, 6), draw(4, 2, 6)


def stack(kind, inputs, count, norm, call):
    """Return the case of a stack of layers without dropout."""

    def make(package, **keys):
        layer = getattr(package, f"Transformer{kind}Layer")(6, 2, 5, 0.0, **keys)
        keys = {"dtype": keys["dtype"]}
        return getattr(package, f"Transformer{kind}")(
            layer, count, package.LayerNorm(6, **keys) if norm else None
        )

    return LayerCase(
        lambda: make(torch.nn, dtype=F64),
        lambda: make(layers, dtype=jnp.float64, rngs=rngs()),
        inputs,
        call,
    )


CASES = {
    "encoder": stack("Encoder", [TARGET], 2, False, {"mask": CAUSAL}),
    "encoder/norm": stack(
        "Encoder", [TARGET], 2, True, {"mask": draw(4, 4), "src_key_padding_mask": PADDING}
    ),
    "decoder": stack("Decoder", [TARGET, SOURCE], 2, True, {"tgt_mask": CAUSAL}),
    "transformer": layer_case(
        "Transformer", [SOURCE, TARGET], 6, 2, 1, 2, 5, 0.0, call={"tgt_mask": CAUSAL}
    ),
    "transformer/options": layer_case(
        "Transformer",
        [draw(2, 4, 6), draw(2, 4, 6) * 2],
        6,
        2,
        1,
        1,
        5,
        0.0,
        "gelu",
        layer_norm_eps=1e-3,
        batch_first=True,
        norm_first=True,
        bias=False,
        call={
            "src_mask": draw(4, 4),
            "tgt_mask": CAUSAL,
            "memory_mask": draw(4, 4) / 2,
            "src_key_padding_mask": PADDING,
            "tgt_key_padding_mask": -PADDING,
            "memory_key_padding_mask": PADDING,
        },
    ),
}


@pytest.mark.sampled(3)
@pytest.mark.filterwarnings(NESTED)
@pytest.mark.parametrize("name", CASES)
def test_transformers_match_torch(name):
    """With torch's weights, stacks have torch's outputs and gradients."""
    check_call(CASES[name])
    check_round_trip(CASES[name])


def test_copies_have_equal_parameters_and_masks_of_their_own():
    """The layers of an encoder begin with equal parameters, as in torch, but drop differently."""
    layer = layers.TransformerEncoderLayer(6, 2, 5, 0.5, rngs=rngs())
    first, second = layers.TransformerEncoder(layer, 2).layers
    states = [layers.state_dict(x) for x in (layer, first, second)]
    assert all((states[0][k] == x[k]).all() for x in states for k in states[0])
    assert first.linear1.weight is not layer.linear1.weight
    x = jnp.ones((4, 2, 6), jnp.float32)
    assert (first.dropout(x) != second.dropout(x)).any()


@pytest.mark.filterwarnings(NESTED)
def test_the_parameters_of_a_transformer_are_drawn_as_in_torch():
    """Every matrix is Xavier-uniform, and the layers of a stack differ."""
    check_initial_distribution("Transformer", 32, 2, 1, 1, 64)
    encoder = layers.Transformer(4, 2, 2, 1, 5, rngs=rngs()).encoder
    weights = [x.linear1.weight[...] for x in encoder.layers]
    assert (weights[0] != weights[1]).all()


def test_the_causal_mask_is_torchs():
    """`generate_square_subsequent_mask` returns torch's mask in torch's dtype."""
    for dtype in (None, "float64"):
        got = layers.Transformer.generate_square_subsequent_mask(3, dtype=dtype)
        wanted = torch.nn.Transformer.generate_square_subsequent_mask(
            3, dtype=dtype and getattr(torch, dtype)
        )
        np.testing.assert_array_equal(got, wanted)
        assert got.dtype == wanted.numpy().dtype


def test_a_transformer_takes_other_stacks():
    """`custom_encoder` and `custom_decoder` replace the stacks."""
    model = layers.Transformer(
        6,
        custom_encoder=lambda src, **masks: src * 2,
        custom_decoder=lambda tgt, memory, **masks: tgt + memory,
        rngs=rngs(),
    )
    x = jnp.ones((1, 2, 6))
    np.testing.assert_array_equal(model(x, x), 3 * x)


@pytest.mark.filterwarnings(NESTED)
def test_source_and_target_must_fit():
    """Source and target must have `d_model` features and one batch size, as in torch."""
    for package, keys, ones in ((torch.nn, {}, torch.ones), (layers, {"rngs": rngs()}, jnp.ones)):
        model = package.Transformer(6, 2, 1, 1, 5, **keys)
        with pytest.raises(RuntimeError, match="feature number of src and tgt must be equal to"):
            model(ones((3, 2, 5)), ones((3, 2, 5)))
        with pytest.raises(RuntimeError, match="the batch number of src and tgt must be equal"):
            model(ones((3, 2, 6)), ones((3, 1, 6)))

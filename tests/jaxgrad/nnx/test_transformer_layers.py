"""`jaxgrad.nnx` transformer layers match torch's."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from jaxgrad import functional
from jaxgrad import nnx as layers
from tests.jaxgrad.nnx._helpers import (
    F64,
    LayerCase,
    check_call,
    check_initial_distribution,
    check_round_trip,
    check_training,
    draw,
    layer_case,
    rngs,
)


CAUSAL = np.triu(np.full((4, 4), -np.inf), 1)
PADDING = np.array([[False, False, False, True], [False, False, True, True]])
SOURCE, TARGET = draw(4, 2, 6), draw(3, 2, 6)
NAMES = {"encoder": "TransformerEncoderLayer", "decoder": "TransformerDecoderLayer"}


def case(kind, inputs, *args, **kw):
    """Return the case of an encoder or decoder layer without dropout."""
    return layer_case(NAMES[kind], inputs, 6, 2, 5, 0.0, *args, **kw)


def own(torch_function, jax_function, **kw):
    """Return the case of an encoder layer with an activation of the user's."""
    return LayerCase(
        lambda: torch.nn.TransformerEncoderLayer(6, 2, 5, 0.0, torch_function(), dtype=F64, **kw),
        lambda: layers.TransformerEncoderLayer(
            6, 2, 5, 0.0, jax_function(), dtype=jnp.float64, rngs=rngs(), **kw
        ),
        [SOURCE],
    )


CASES = {
    "encoder": case("encoder", SOURCE),
    "encoder/norm_first": case("encoder", SOURCE, "gelu", 1e-3, norm_first=True, bias=False),
    "encoder/batch_first": case(
        "encoder",
        draw(2, 4, 6),
        batch_first=True,
        call={"src_mask": CAUSAL, "is_causal": True},
    ),
    "encoder/masks": case(
        "encoder",
        SOURCE,
        call={"src_mask": -np.inf == CAUSAL, "src_key_padding_mask": PADDING},
    ),
    "encoder/function": own(lambda: torch.nn.functional.silu, lambda: functional.silu),
    "encoder/layer": own(
        lambda: torch.nn.PReLU(dtype=F64), lambda: layers.PReLU(dtype=jnp.float64)
    ),
    "decoder": case("decoder", [TARGET, SOURCE]),
    "decoder/norm_first": case("decoder", [TARGET, SOURCE], "gelu", norm_first=True, bias=False),
    "decoder/masks": case(
        "decoder",
        [draw(4, 2, 6) * 2, SOURCE],
        call={
            "tgt_mask": CAUSAL,
            "tgt_is_causal": True,
            "memory_mask": draw(4, 4),
            "memory_key_padding_mask": draw(2, 4),
        },
    ),
    "decoder/unbatched": case("decoder", [draw(3, 6), draw(4, 6)]),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CASES)
def test_transformer_layers_train_as_in_torch(name):
    """With torch's weights, the layers have torch's outputs and gradients in both modes."""
    check_training(CASES[name], jit=True)
    check_round_trip(CASES[name])


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", NAMES)
def test_transformer_layers_match_torch_in_float32(kind):
    """In float32 the layers are as close to float64 as torch's are."""
    inputs = [SOURCE] if kind == "encoder" else [TARGET, SOURCE]
    check_call(
        LayerCase(
            lambda: getattr(torch.nn, NAMES[kind])(6, 2, 5, 0.0),
            lambda: getattr(layers, NAMES[kind])(6, 2, 5, 0.0, rngs=rngs()),
            inputs,
        ),
        np.float32,
    )


def test_the_values_of_torchs_fast_path_agree():
    """In eval mode without gradients, torch's fused encoder layer returns the same values."""
    torch.manual_seed(0)
    reference = torch.nn.TransformerEncoderLayer(6, 2, 5, batch_first=True, dtype=F64).eval()
    layer = layers.TransformerEncoderLayer(
        6, 2, 5, batch_first=True, dtype=jnp.float64, rngs=rngs()
    )
    layers.load_state_dict(layer, reference.state_dict())
    layer.eval()
    x = draw(2, 4, 6)
    with torch.no_grad():
        wanted = reference(torch.tensor(x), src_key_padding_mask=torch.tensor(PADDING))
    got = jax.jit(lambda x: layer(x, src_key_padding_mask=jnp.asarray(PADDING)))(x)
    np.testing.assert_allclose(got[~PADDING], wanted.numpy()[~PADDING], rtol=1e-12)


def test_dropout_acts_in_training_only_at_torchs_places():
    """Two training calls differ, and a rate of 1 leaves only the residual path, as in torch."""
    layer = layers.TransformerEncoderLayer(6, 2, 5, 0.5, rngs=rngs())
    x = jnp.asarray(SOURCE, jnp.float32)
    assert (layer(x) != layer(x)).any()
    layer.eval()
    assert (layer(x) == layer(x)).all()
    all_dropped = layers.TransformerEncoderLayer(6, 2, 5, 1.0, norm_first=True, rngs=rngs())
    reference = torch.nn.TransformerEncoderLayer(6, 2, 5, 1.0, norm_first=True)
    np.testing.assert_array_equal(reference(torch.tensor(x.tolist())).detach(), x)
    np.testing.assert_array_equal(all_dropped(x), x)


def test_fresh_layers_are_distributed_as_in_torch():
    """Fresh parameters match torch's in mean, spread and bounds."""
    check_initial_distribution("TransformerDecoderLayer", 32, 2, 64)


def test_an_unknown_activation_is_rejected_as_in_torch():
    """`activation` must be "relu", "gelu" or a function."""
    for package, keys in ((torch.nn, {}), (layers, {"rngs": rngs()})):
        with pytest.raises(RuntimeError, match="activation should be relu/gelu, not tanh"):
            package.TransformerEncoderLayer(4, 2, activation="tanh", **keys)


def test_a_causal_hint_needs_the_mask():
    """`is_causal=True` without a mask raises torch's error."""
    layer = layers.TransformerEncoderLayer(6, 2, 5, rngs=rngs())
    with pytest.raises(RuntimeError, match="Need attn_mask if specifying the is_causal hint"):
        layer(jnp.asarray(SOURCE, jnp.float32), is_causal=True)

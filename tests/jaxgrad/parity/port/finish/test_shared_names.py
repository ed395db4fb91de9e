"""A function of several modules has a name that is right for all of them."""

import numpy as np
from torch import nn

from jaxgrad.parity.port.finish.shared_names import common, is_layer
from tests.jaxgrad.parity.port._ports import agrees, source


X = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)


def mlp() -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3))


def block() -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.LayerNorm(3))


class Net(nn.Module):
    def __init__(self, *names, made=block):
        super().__init__()
        self.names = names
        for name in names:
            setattr(self, name, made())

    def forward(self, x):
        for name in self.names:
            x = x + getattr(self, name)(x)
        return x


def test_two_modules_without_a_common_word_are_both_named():
    """The call of the decoder does not read as one of the encoder."""
    text = source(Net("encoder", "decoder"), X)
    assert "def encoder_or_decoder(p, x):" in text
    assert 'encoder_or_decoder(p["decoder"], x)' in text
    assert agrees(Net("encoder", "decoder"), X)


def test_linear_layers_without_a_common_word_are_an_mlp():
    """The name says what both modules are."""
    text = source(Net("encoder", "decoder", made=mlp), X)
    assert "def mlp(p, x):" in text and 'mlp(p["decoder"], x)' in text
    assert "def encoder(p, x):" in source(Net("encoder", made=mlp), X)


def test_a_common_word_is_the_name():
    """Numbers at the end are left out, and words at either end are kept."""
    assert common(["down1", "down2"]) == common(["down_1", "down_2", "down_3"]) == "down"
    assert common(["self_attn", "cross_attn"]) == "attn"
    assert common(["q1", "q2_targ", "q1_targ"]) == "q" and common(["fc1"]) == "fc1"
    assert common(["first", "second", "third"]) == "layers"


def test_a_sequence_named_like_a_layer_is_named_after_its_class_too():
    """The name `conv` alone reads as a convolution, and `body` is the name of no operator."""
    assert is_layer("conv") and is_layer("linear") and not is_layer("body")
    text = source(Net("conv"), X)
    assert "def net_conv(p, x):" in text and 'net_conv(p["conv"], x)' in text
    assert "def body(p, x):" in source(Net("body"), X)

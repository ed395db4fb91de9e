"""Functions of a port have torch's names, and docstrings that say where the torch source is."""

import numpy as np
import pytest
from torch import nn

from jaxgrad.parity.port.port import port
from jaxgrad.parity.port.source.naming import snake


X = np.ones((5, 3), np.float32)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))

    def forward(self, x):
        return self.body(x).sum()


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("LayerNorm2d", "layer_norm2d"),
        ("Conv1D", "conv1d"),
        ("GPT2Model", "gpt2_model"),
        ("MyMLP", "my_mlp"),
        ("ReLU", "relu"),
        ("PReLU", "prelu"),
        ("ConvBNReLU", "conv_bn_relu"),
        ("SiLU", "silu"),
        ("ResNet", "resnet"),
        ("UNet", "unet"),
        ("MobileNetV2", "mobilenet_v2"),
        ("NeRF", "nerf"),
        ("SwiGLU", "swiglu"),
        ("Pix2PixGenerator", "pix2pix_generator"),
        ("MobileViT", "mobile_vit"),
        ("ViTBlock", "vit_block"),
        ("DenseMoE", "dense_moe"),
        ("T5Block", "t5_block"),
        ("TransformerEncoderLayer", "transformer_encoder_layer"),
    ],
)
def test_a_class_is_written_in_snake_case(name, written):
    """An acronym and a number of dims stay one word."""
    assert snake(name) == written


def test_a_docstring_names_torchs_class_or_the_users_file():
    """A class of torch has its public name; a class of the user has its file and line."""
    text = port(Net(), (X,), prove=False).source

    assert "Net.body (source/test_naming.py:" in text and "torch.nn.Sequential" not in text
    assert '"""torch.nn.BatchNorm1d: x (N, 3) -> (N, 3), updated p."""' in text
    assert "Net (source/test_naming.py:" in text


def test_a_method_of_torch_keeps_its_name():
    """A method other than `forward` is named after its class."""
    layer = nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True)
    text = port(layer, (np.ones((2, 3, 4), np.float32),), prove=False).source

    assert "torch.nn.TransformerEncoderLayer._ff_block" in text


class Lambda(nn.Module):
    def forward(self, x):
        return x * max(2.0, x.shape[0])


def test_names_of_python_are_completed():
    """The function of a class named `Lambda` is `lambda_forward`: `lambda` is a keyword."""
    assert "def lambda_forward(p, x):" in port(Lambda(), (X,), prove=False).source

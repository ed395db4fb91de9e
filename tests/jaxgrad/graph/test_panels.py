"""Real models fit on a page, because detail is reduced until they do."""

# torch, flax and numpy declare results as unions; the tests know the actual type.
# pyright: reportArgumentType=false, reportCallIssue=false, reportIncompatibleMethodOverride=false

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from flax import linen
from torch import nn

from jaxgrad.graph import Setting, backward_graph, side_by_side
from jaxgrad.parity.torch_graph import record
from tests.jaxgrad.graph.programs import X, loss, net, texts, torch_step


class Attention(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        return self.out(torch.softmax(q @ k.T, -1) @ v)


class Block(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.norm1, self.attn = nn.LayerNorm(width), Attention(width)
        self.norm2 = nn.LayerNorm(width)
        self.ff = nn.Sequential(nn.Linear(width, 16), nn.GELU(), nn.Linear(16, width))

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.ff(self.norm2(x))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, 8)
        self.layers = nn.Sequential(Block(8), Block(8))
        self.head = nn.Linear(8, 11)

    def forward(self, tokens):
        return self.head(self.layers(self.embed(tokens)))


class JaxAttention(linen.Module):
    @linen.compact
    def __call__(self, x):
        q, k, v = jnp.split(linen.Dense(24, name="qkv")(x), 3, -1)
        return linen.Dense(8, name="out")(jax.nn.softmax(q @ k.T) @ v)


class JaxBlock(linen.Module):
    @linen.compact
    def __call__(self, x):
        x = x + JaxAttention(name="attn")(linen.LayerNorm(name="norm1")(x))
        h = linen.Dense(16, name="ff1")(linen.LayerNorm(name="norm2")(x))
        return x + linen.Dense(8, name="ff2")(jax.nn.gelu(h))


class JaxTransformer(linen.Module):
    @linen.compact
    def __call__(self, tokens):
        x = linen.Embed(11, 8, name="embed")(tokens)
        for i in range(2):
            x = JaxBlock(name=f"layers.{i}")(x)
        return linen.Dense(11, name="head")(x)


@pytest.mark.slow
def test_a_transformer_is_legible():
    """A two-block transformer with over 150 operations has under 70 boxes, in named lanes."""
    torch.manual_seed(0)
    tokens = np.arange(5)
    model, twin = Transformer(), JaxTransformer()
    labels = torch.tensor(tokens)
    (left,) = record(lambda: nn.functional.cross_entropy(model(labels), labels).backward())
    params = twin.init(jax.random.key(0), tokens)

    def objective(params):
        return -jnp.mean(
            jax.nn.log_softmax(jnp.asarray(twin.apply(params, tokens)))[tokens, tokens]
        )

    right = backward_graph(objective, params)
    svg = side_by_side({"transformer": Setting(left, right)})
    words = texts(svg)

    for lane in ("embed", "layers.0", "layers.1", "head", "loss"):
        assert words.count(lane) == 2
    assert len(left.ops) + len(right.ops) > 150
    assert len(re.findall("<title>", svg)) < 70
    assert {"norm1", "attn", "norm2"} <= set(words)
    assert "stop_gradient" not in words, "log_softmax stops a maximum; its other way is open"
    width = float(re.findall(r'width="([\d.]+)"', svg)[0])
    assert width < 1450, "too small to read on a page of 900 pixels"


def test_a_jax_panel_has_torchs_order_of_parameters_and_versions_have_no_build():
    """JAX sorts the keys of a dict; the gradients of all rows stand in torch's order."""
    rows = {
        "torch": Setting(torch=torch_step()._replace(version="2.13.0+cpu")),
        "port": Setting(jax=backward_graph(loss, net(6, 4, 1), X)),
    }
    words = texts(side_by_side(rows, width=900))
    assert "torch 2.13.0" in words
    grads = [word.split()[0] for word in words if word.startswith(("∇weight", "∇bias"))]
    assert grads == ["∇weight", "∇bias"] * 4

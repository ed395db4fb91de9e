"""Tables that each framework rounds to float32 differently do not hide a decoder's bugs."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from flax import linen
from jax import lax
from torch import Tensor, nn

from jaxgrad.parity import Report, prove
from parity_tests.case import identity
from tests.jaxgrad.parity.prove._helpers import arrays


class Rotary(nn.Module):
    inv_freq: Tensor

    def __init__(self, size: int):
        super().__init__()
        steps = torch.arange(0, size, 2, dtype=torch.float32) / size
        self.register_buffer("inv_freq", 1.0 / 10000.0**steps, persistent=False)

    def forward(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        angles = positions[:, :, None].float() * self.inv_freq
        angles = torch.cat((angles, angles), -1)
        return angles.cos(), angles.sin()


class Decoder(nn.Module):
    """A decoder with one head and one layer, whose submodules are named as in a real model."""

    def __init__(self, size: int = 8):
        super().__init__()
        self.embed_tokens = nn.Embedding(11, size)
        self.rotary_emb = Rotary(size)
        self.q_proj = nn.Linear(size, size, bias=False)
        self.k_proj = nn.Linear(size, size, bias=False)
        self.act_fn = nn.GELU()

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Any:
        x = self.embed_tokens(input_ids)
        cos, sin = self.rotary_emb(torch.arange(x.shape[1])[None])

        def rotated(y: Tensor) -> Tensor:
            left, right = y.chunk(2, -1)
            return y * cos + torch.cat((-right, left), -1) * sin

        q, k = rotated(self.q_proj(x)), rotated(self.k_proj(x))
        low = torch.finfo(x.dtype).min
        bias = (1 - attention_mask[:, None, :].to(x.dtype)) * low
        weights = ((q @ k.mT) / 8**0.5 + bias).softmax(-1)
        x = x + self.act_fn(weights @ x)
        return {"logits": x @ self.embed_tokens.weight.T}


def halves(x: Any) -> Any:
    return jnp.concatenate([-x[..., x.shape[-1] // 2 :], x[..., : x.shape[-1] // 2]], -1)


def negated(x: Any) -> Any:
    """Rotate the two halves with a bug: negate the wrong one."""
    return -halves(x)


class LinenDecoder(linen.Module):
    """A port that computes in float32 whatever its inputs are."""

    rotate: Callable[[Any], Any] = halves
    gelu: Callable[[Any], Any] = lambda x: jax.nn.gelu(x, approximate=False)
    stop: Callable[[Any], Any] = identity

    @linen.compact
    def __call__(self, input_ids: Any, attention_mask: Any) -> Any:
        embed = linen.Embed(11, 8, dtype=jnp.float32, name="embed_tokens")
        x = embed(input_ids)
        inv_freq = 1.0 / (10000 ** (np.arange(0, 8, 2) / 8))
        angles = np.einsum("i,j->ij", np.arange(x.shape[1]), inv_freq).astype("float32")
        table = jnp.asarray(np.concatenate([angles, angles], -1))[None].repeat(2, 0)
        cos, sin = jnp.cos(table), jnp.sin(table)
        q = linen.Dense(8, use_bias=False, dtype=jnp.float32, name="q_proj")(x)
        k = linen.Dense(8, use_bias=False, dtype=jnp.float32, name="k_proj")(self.stop(x))
        q, k = (y * cos + self.rotate(y) * sin for y in (q, k))
        bias = jnp.where(attention_mask[:, None, :] > 0, 0.0, jnp.finfo(jnp.float32).min)
        weights = jax.nn.softmax(q @ k.swapaxes(1, 2) / jnp.sqrt(8).astype(jnp.float32) + bias)
        x = x + self.gelu(weights @ x)
        return {"logits": embed.attend(x)}


def decoder(**changes: Any) -> Report:
    torch.manual_seed(0)
    module = Decoder()
    state = arrays(module)
    params = {
        "embed_tokens": {"embedding": state["embed_tokens.weight"]},
        "q_proj": {"kernel": state["q_proj.weight"].T},
        "k_proj": {"kernel": state["k_proj.weight"].T},
        # A converter stores the tied weight twice, and the port ignores this copy.
        "lm_head": {"kernel": state["embed_tokens.weight"].T},
    }
    mask = np.ones((2, 5), np.int64)
    mask[1, 3:] = 0
    inputs = {"input_ids": np.arange(10).reshape(2, 5), "attention_mask": mask}
    return prove(module, LinenDecoder(**changes), {"params": params}, inputs)


def test_a_float32_port_with_an_unused_tied_copy_passes():
    """A port that computes in float32 and stores a tied weight twice passes."""
    decoder().check()


@pytest.mark.parametrize(
    ("changes", "surface", "where"),
    [
        ({"rotate": negated}, "forward", "(root)"),
        ({"gelu": jax.nn.gelu}, "forward", "act_fn"),
        ({"stop": lax.stop_gradient}, "backward", "k_proj"),
    ],
)
def test_a_bug_is_located_despite_a_rounded_table(changes: Any, surface: str, where: str):
    """A bug is located in its module although a rotary table differs by rounding."""
    first = decoder(**changes).first
    assert first is not None
    assert (first.surface, first.torch) == (surface, where)
    assert "test_lifting.py" in first.jax


@pytest.mark.parametrize("inplace", [False, True])
@pytest.mark.parametrize("slope", [6.0, 6.00001])
def test_a_hardsigmoid_has_its_exact_gradient(inplace, slope):
    """torch's float64 kernel has a float32 1/6; a port passes, and a wrong slope is found."""
    module = nn.Sequential(nn.Linear(3, 4), nn.Hardsigmoid(inplace))

    def port(p: Any, x: Any) -> Any:
        return jnp.clip(x @ p["0.weight"].T + p["0.bias"] + 3, 0, 6) / slope

    report = prove(module, port, arrays(module), (np.linspace(-2, 2, 15).reshape(5, 3),))
    assert report.verdict == ("pass" if slope == 6 else "fail"), report

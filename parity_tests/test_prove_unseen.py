"""Pairs in the style of other people's code: what a prover meets outside of its own twins."""

import re
import warnings
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


def arrays(module: nn.Module) -> dict[str, np.ndarray]:
    return {name: x.detach().numpy() for name, x in module.state_dict().items()}


def draw(*shape: int) -> np.ndarray:
    return np.random.default_rng(3).standard_normal(shape).astype(np.float32)


# A decoder: a table of positions that each side rounds in its own way, and tied embeddings.


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
    """One head, one layer, the names of a well-known one."""

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

        def turned(y: Tensor) -> Tensor:
            left, right = y.chunk(2, -1)
            return y * cos + torch.cat((-right, left), -1) * sin

        q, k = turned(self.q_proj(x)), turned(self.k_proj(x))
        low = torch.finfo(x.dtype).min
        bias = (1 - attention_mask[:, None, :].to(x.dtype)) * low
        weights = ((q @ k.mT) / 8**0.5 + bias).softmax(-1)
        x = x + self.act_fn(weights @ x)
        return {"logits": x @ self.embed_tokens.weight.T}


def halves(x: Any) -> Any:
    return jnp.concatenate([-x[..., x.shape[-1] // 2 :], x[..., : x.shape[-1] // 2]], -1)


def tiled(x: Any) -> Any:
    """The wrong half has the minus."""
    return -halves(x)


class LinenDecoder(linen.Module):
    """Computes in float32 whatever it is given."""

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


def decoder(**planted: Any) -> Report:
    torch.manual_seed(0)
    module = Decoder()
    state = arrays(module)
    params = {
        "embed_tokens": {"embedding": state["embed_tokens.weight"]},
        "q_proj": {"kernel": state["q_proj.weight"].T},
        "k_proj": {"kernel": state["k_proj.weight"].T},
        # A converter writes the tied weight once more, and nobody reads it.
        "lm_head": {"kernel": state["embed_tokens.weight"].T},
    }
    mask = np.ones((2, 5), np.int64)
    mask[1, 3:] = 0
    inputs = {"input_ids": np.arange(10).reshape(2, 5), "attention_mask": mask}
    return prove(module, LinenDecoder(**planted), {"params": params}, inputs)


def test_a_port_that_computes_in_float32_and_holds_a_spare_copy_is_right():
    decoder().check()


@pytest.mark.parametrize(
    ("planted", "surface", "where"),
    [
        ({"rotate": tiled}, "forward", "(the module)"),
        ({"gelu": jax.nn.gelu}, "forward", "act_fn"),
        ({"stop": lax.stop_gradient}, "backward", "k_proj"),
    ],
)
def test_a_bug_beside_a_rounded_table_is_placed(planted: Any, surface: str, where: str):
    first = decoder(**planted).first
    assert first is not None
    assert (first.surface, first.torch) == (surface, where)
    assert "test_prove_unseen.py" in first.jax


# torch's own encoder layer: its attention is seen from inside.


def encoder(scale: float = 0.5, stop: Callable[[Any], Any] = identity) -> Report:
    torch.manual_seed(0)
    module = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    p = {name.replace(".", "_"): x for name, x in arrays(module).items()}

    def norm(p: Any, name: str, x: Any) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / jnp.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
        return scaled * p[name + "_weight"] + p[name + "_bias"]

    def apply(p: Any, x: Any, mask: Any) -> Any:
        packed = x @ p["self_attn_in_proj_weight"].T + p["self_attn_in_proj_bias"]
        q, k, v = (y.reshape(2, 5, 2, 4).swapaxes(1, 2) for y in jnp.split(packed, 3, -1))
        scores = q @ k.swapaxes(2, 3) * scale
        scores = jnp.where(mask[:, None, None, :], -jnp.inf, scores)
        mixed = jax.nn.softmax(scores) @ stop(v)
        mixed = mixed.swapaxes(1, 2).reshape(2, 5, 8)
        x = x + mixed @ p["self_attn_out_proj_weight"].T + p["self_attn_out_proj_bias"]
        x = norm(p, "norm1", x)
        y = jax.nn.relu(x @ p["linear1_weight"].T + p["linear1_bias"])
        return norm(p, "norm2", x + y @ p["linear2_weight"].T + p["linear2_bias"])

    mask = np.zeros((2, 5), bool)
    mask[1, 3:] = True

    class Masked(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = module

        def forward(self, x: Tensor, mask: Tensor) -> Tensor:
            return self.layer(x, src_key_padding_mask=mask)

    return prove(Masked(), apply, p, (draw(2, 5, 8), mask))


def test_the_inside_of_multi_head_attention_is_seen():
    encoder().check()
    wrong = encoder(scale=0.25).first
    assert wrong is not None
    assert (wrong.torch, wrong.op) == ("layer.self_attn", "scaled_dot_product_attention")
    assert wrong.cause.startswith("scale 1/d")
    stopped = encoder(stop=lax.stop_gradient).first
    assert stopped is not None
    assert (stopped.surface, stopped.torch) == ("backward", "layer.self_attn")
    assert re.search(r"test_prove_unseen.py:\d+ \(stop_gradient\)", stopped.jax)


# A recurrence in a scripted function, and the same value read by several calls.


def step(h: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return a * h + b


with warnings.catch_warnings():  # torch advises against it; people's code is full of it
    warnings.simplefilter("ignore", DeprecationWarning)
    step = torch.jit.script(step)


class Recurrence(nn.Module):
    def __init__(self):
        super().__init__()
        self.log_decay = nn.Parameter(torch.linspace(-1.0, 0.5, 4))
        self.skip = nn.Parameter(torch.ones(4))
        self.enter = nn.Linear(3, 4)

    def forward(self, x: Tensor) -> Tensor:
        u = self.enter(x).transpose(0, 1)
        decay = torch.exp(-torch.exp(self.log_decay))
        h, out = torch.zeros_like(u[0]), []
        for t in range(len(u)):
            h = step(h, decay, u[t])
            out.append(h)
        return torch.stack(out, 1) + self.skip * u.transpose(0, 1)


def recurrence(
    sign: float = -1.0,
    stop_carry: Callable[[Any], Any] = identity,
    stop_skip: Callable[[Any], Any] = identity,
) -> Report:
    torch.manual_seed(0)
    module = Recurrence()
    p = {name.replace(".", "_"): x for name, x in arrays(module).items()}

    def apply(p: Any, x: Any) -> Any:
        u = x @ p["enter_weight"].T + p["enter_bias"]
        decay = jnp.exp(sign * jnp.exp(p["log_decay"]))

        def body(h: Any, v: Any) -> Any:
            h = decay * stop_carry(h) + v
            return h, h

        _, out = lax.scan(body, jnp.zeros((2, 4), x.dtype), u.swapaxes(0, 1))
        return out.swapaxes(0, 1) + p["skip"] * stop_skip(u)

    return prove(module, apply, p, (draw(2, 5, 3),))


def test_what_a_scripted_function_made_is_followed():
    recurrence().check()
    wrong = recurrence(sign=-0.5).first
    assert wrong is not None
    assert (wrong.surface, wrong.op) == ("forward", "neg")
    carry = recurrence(stop_carry=lax.stop_gradient).first
    assert carry is not None
    assert carry.surface == "backward"


def test_one_of_several_readers_of_a_value_is_blamed():
    first = recurrence(stop_skip=lax.stop_gradient).first
    assert first is not None
    assert (first.surface, first.op) == ("backward", "mul")
    assert "stop_gradient" in first.jax

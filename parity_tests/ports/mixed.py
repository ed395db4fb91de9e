"""A transformer block in mixed precision, and its port to functions with the same casts."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import torch
from jax import lax
from torch import nn
from torch.nn import functional

from parity_tests.case import identity
from parity_tests.ports._weights import arrays, build, dense
from parity_tests.ports.bug import Bug, extra_stop


WIDTH, HIDDEN, BATCH, TOKENS, EPS = 4, 6, 2, 3, 1e-6


class Block(nn.Module):
    """An RMS norm in float32, attention and a gated layer; `low` runs the products in bfloat16."""

    def __init__(self, low: bool):
        super().__init__()
        self.low = low
        self.scale = nn.Parameter(torch.ones(WIDTH))
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.proj = nn.Linear(WIDTH, WIDTH)
        self.up = nn.Linear(WIDTH, HIDDEN)
        self.down = nn.Linear(HIDDEN, WIDTH)

    def norm(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + EPS) * self.scale

    def forward(self, x):
        with torch.autocast("cpu", torch.bfloat16, enabled=self.low):
            q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
            weights = (q @ k.transpose(1, 2) / WIDTH**0.5).float().softmax(-1)
            x = x + self.proj(weights.to(v.dtype) @ v)
            return x + self.down(functional.silu(self.up(self.norm(x))))


def torch_loss(out: Any) -> Any:
    return out.square().mean()


def low(x: Any) -> Any:
    return x.astype(jnp.bfloat16)


def half(x: Any) -> Any:
    return x.astype(jnp.float16)


def single(x: Any) -> Any:
    return x.astype(jnp.float32)


class Port(NamedTuple):
    """The JAX port and its casts."""

    qkv: Callable[[Any], Any] = identity
    scores: Callable[[Any], Any] = identity
    mix: Callable[[Any], Any] = identity
    proj: Callable[[Any], Any] = identity
    up: Callable[[Any], Any] = identity
    down: Callable[[Any], Any] = identity
    norm: Callable[[Any], Any] = identity
    softmax: Callable[[Any], Any] = identity
    residual: Callable[[Any], Any] = identity
    loss_in: Callable[[Any], Any] = identity
    stop_norm: Callable[[Any], Any] = identity

    def linear(self, cast: Callable[[Any], Any], p: Any, x: Any) -> Any:
        y = cast(x) @ cast(p["kernel"])
        return y + cast(p["bias"]) if "bias" in p else y

    def normalised(self, scale: Any, x: Any) -> Any:
        y = self.norm(x)
        size = self.stop_norm(jnp.mean(y * y, -1, keepdims=True))
        return y * lax.rsqrt(size + EPS) * self.norm(scale)

    def apply(self, p: Any, x: Any) -> Any:
        q, k, v = jnp.split(self.linear(self.qkv, p["qkv"], self.normalised(p["scale"], x)), 3, -1)
        scores = self.scores(q) @ jnp.swapaxes(self.scores(k), 1, 2) / WIDTH**0.5
        wide = single if scores.dtype == jnp.bfloat16 else identity
        weights = jax.nn.softmax(self.softmax(wide(scores)))
        h = self.linear(self.proj, p["proj"], self.mix(weights) @ self.mix(v))
        x = self.residual(x + h)
        h = self.linear(self.up, p["up"], self.normalised(p["scale"], x))
        return x + self.linear(self.down, p["down"], jax.nn.silu(h))

    def loss(self, out: Any) -> Any:
        return jnp.mean(self.loss_in(out) ** 2)


AUTOCAST: dict[str, Any] = dict(qkv=low, scores=low, mix=low, proj=low, up=low, down=low)


def convert(state: Any) -> Any:
    """Return the weights of a `Block`."""
    w = arrays(state)
    names = "proj", "up", "down"
    layers = {n: dense(w, n) for n in names}
    return layers | {"scale": w["scale"], "qkv": {"kernel": w["qkv.weight"].T}}


def pair(seed: int = 0, *, autocast: bool = False, **casts: Any) -> dict[str, Any]:
    """Return the block in float32 and its port; with `autocast` both use bfloat16."""
    module = build(lambda: Block(autocast), seed).float()
    port = Port(**((AUTOCAST if autocast else {}) | casts))
    x = np.random.default_rng(seed).standard_normal((BATCH, TOKENS, WIDTH))
    return dict(
        module=module,
        fn=port.apply,
        params=convert(module.state_dict()),
        converter=convert,
        inputs=(x.astype(np.float32),),
        loss=(torch_loss, port.loss),
    )


CONFIGURATIONS: dict[str, dict[str, Any]] = {"default": {}, "autocast": dict(autocast=True)}

BUGS: tuple[Bug, ...] = (
    Bug(
        "layer_in_bfloat16",
        "precision",
        "up",
        plant=dict(up=low),
        about="A layer computes in bfloat16 where torch has float32.",
        cause="bfloat16",
    ),
    Bug(
        "attention_in_bfloat16",
        "precision",
        "",
        plant=dict(scores=low),
        about="The scores of the attention are computed in bfloat16.",
        cause="bfloat16",
    ),
    Bug(
        "softmax_in_float16",
        "precision",
        "",
        plant=dict(softmax=half),
        about="The softmax is computed in float16.",
        cause=r"\bfloat16",
    ),
    Bug(
        "norm_in_bfloat16",
        "precision",
        "",
        plant=dict(norm=low),
        about="The norm is computed in bfloat16.",
        cause="bfloat16",
    ),
    Bug(
        "residual_in_bfloat16",
        "precision",
        "",
        plant=dict(residual=lambda x: low(x).astype(x.dtype)),
        about="The residual stream is rounded to bfloat16.",
        cause="bfloat16",
    ),
    Bug(
        "loss_in_bfloat16",
        "precision",
        "loss",
        plant=dict(loss_in=low),
        about="The loss is computed in bfloat16.",
        cause="bfloat16",
    ),
    Bug(
        "autocast_softmax_in_bfloat16",
        "precision",
        "",
        plant=dict(autocast=True, softmax=low),
        about="The softmax is computed in bfloat16 where torch computes it in float32.",
        cause="bfloat16",
    ),
    Bug(
        "autocast_norm_in_bfloat16",
        "precision",
        "",
        plant=dict(autocast=True, norm=low),
        about="The norm is computed in bfloat16 where autocast leaves it in float32.",
        cause="bfloat16",
    ),
    Bug(
        "autocast_layer_in_float32",
        "precision",
        "up",
        plant=dict(autocast=True, up=identity),
        about="A layer computes in float32 where autocast has bfloat16.",
        cause="float32",
    ),
    Bug(
        "norm_stopped",
        "backward",
        "",
        silent=True,
        plant=dict(stop_norm=lax.stop_gradient),
        about="The root mean square is detached.",
        cause=extra_stop("stop_norm"),
    ),
)

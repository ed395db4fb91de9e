"""GPT-2, a decoder with fused qkv and a tied head, and its port to plain functions of a dict."""

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import torch
from jax import lax
from torch import nn
from torch.nn import functional

from parity_tests.case import identity
from parity_tests.ports._adamw import (
    adamw,
    clip_each,
    is_matrix,
    torch_adamw,
    uncorrected_adam,
    warm_up,
)
from parity_tests.ports._weights import arrays, build
from parity_tests.ports.bug import Bug, extra_stop


VOCABULARY, WIDTH, HEADS, LAYERS, BATCH, TOKENS = 17, 16, 4, 2, 2, 7


class Conv1D(nn.Module):
    """A linear layer with an (in, out) weight, as in the published checkpoints."""

    def __init__(self, inner: int, outer: int):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(inner, outer).normal_(std=0.2))
        self.bias = nn.Parameter(torch.zeros(outer))

    def forward(self, x):
        return torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight).view(*x.shape[:-1], -1)


class Attention(nn.Module):
    bias: torch.Tensor

    def __init__(self, dense: Any):
        super().__init__()
        self.c_attn = dense(WIDTH, 3 * WIDTH)
        self.c_proj = dense(WIDTH, WIDTH)
        self.attn_dropout = nn.Dropout(0.1)
        mask = torch.ones(TOKENS, TOKENS, dtype=torch.bool).tril().view(1, 1, TOKENS, TOKENS)
        self.register_buffer("bias", mask)

    def forward(self, x):
        b, t, c = x.size()
        q, k, v = (
            part.view(b, t, HEADS, c // HEADS).transpose(1, 2)
            for part in self.c_attn(x).split(WIDTH, dim=2)
        )
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(~self.bias[:, :, :t, :t], float("-inf"))
        att = self.attn_dropout(functional.softmax(att, dim=-1))
        return self.c_proj((att @ v).transpose(1, 2).contiguous().view(b, t, c))


class MLP(nn.Module):
    def __init__(self, dense: Any):
        super().__init__()
        self.c_fc = dense(WIDTH, 4 * WIDTH)
        self.act = nn.GELU(approximate="tanh")
        self.c_proj = dense(4 * WIDTH, WIDTH)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        return self.dropout(self.c_proj(self.act(self.c_fc(x))))


class Block(nn.Module):
    def __init__(self, dense: Any):
        super().__init__()
        self.ln_1 = nn.LayerNorm(WIDTH)
        self.attn = Attention(dense)
        self.ln_2 = nn.LayerNorm(WIDTH)
        self.mlp = MLP(dense)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT2(nn.Module):
    def __init__(self, dense: Any):
        super().__init__()
        self.wte = nn.Embedding(VOCABULARY, WIDTH)
        self.wpe = nn.Embedding(TOKENS + 2, WIDTH)
        self.drop = nn.Dropout(0.1)
        self.h = nn.ModuleList([Block(dense) for _ in range(LAYERS)])
        self.ln_f = nn.LayerNorm(WIDTH)
        self.lm_head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, idx):
        pos = torch.arange(idx.size(1), device=idx.device)
        x = self.drop(self.wte(idx) + self.wpe(pos))
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x))


def torch_loss(logits: Any, idx: Any) -> Any:
    return functional.cross_entropy(logits[:, :-1].flatten(0, 1), idx[:, 1:].flatten())


@dataclasses.dataclass(frozen=True)
class Port:
    """The JAX port `apply(params, tokens)` with its options, most of which are mistakes."""

    scan: bool = False
    remat: bool = False
    eps: float = 1e-5
    scale: float = (WIDTH // HEADS) ** -0.5
    mask_value: float = -jnp.inf
    future: Callable[[Any], Any] = jnp.tril
    axis: int = -1
    first_position: int = 0
    heads_first: bool = False
    gelu: Callable[[Any], Any] = jax.nn.gelu
    stop_attention: Callable[[Any], Any] = identity
    stop_statistics: Callable[[Any], Any] = identity
    stop_skip: Callable[[Any], Any] = identity
    through: Callable[[Any], Any] = identity
    mean: Callable[[Any], Any] = jnp.mean

    def norm(self, p: Any, x: Any) -> Any:
        mean = jnp.mean(x, -1, keepdims=True)
        variance = jnp.mean(jnp.square(x - mean), -1, keepdims=True)
        mean, variance = self.stop_statistics((mean, variance))
        return (x - mean) * lax.rsqrt(variance + self.eps) * p["g"] + p["b"]

    def split(self, x: Any) -> Any:
        """Reshape (batch, tokens, width) to (batch, tokens, heads, size)."""
        if self.heads_first:
            return jnp.swapaxes(x.reshape(*x.shape[:2], -1, HEADS), -1, -2)
        return x.reshape(*x.shape[:2], HEADS, -1)

    def attention(self, p: Any, x: Any) -> Any:
        q, k, v = map(self.split, jnp.split(dense(p["qkv"], x), 3, axis=-1))
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * self.scale
        seen = self.future(jnp.ones(scores.shape[-2:], bool))
        probabilities = jax.nn.softmax(jnp.where(seen, scores, self.mask_value), axis=self.axis)
        mixed = jnp.einsum("bhqk,bkhd->bqhd", self.stop_attention(probabilities), v)
        return dense(p["out"], mixed.reshape(x.shape))

    def layer(self, x: Any, p: Any) -> Any:
        x = self.stop_skip(x) + self.attention(p["attention"], self.norm(p["before"], x))
        y = dense(p["down"], self.gelu(dense(p["up"], self.norm(p["between"], x))))
        return self.through(x + y)

    def apply(self, params: Any, tokens: Any) -> Any:
        positions = self.first_position + jnp.arange(tokens.shape[1])
        x = params["embed"][tokens] + params["positions"][positions]
        layer = jax.checkpoint(self.layer) if self.remat else self.layer
        if self.scan:
            x, _ = lax.scan(lambda x, p: (layer(x, p), None), x, params["layers"])
        else:
            for p in params["layers"]:
                x = layer(x, p)
        return self.norm(params["last"], x) @ params.get("head", params["embed"]).T

    def loss(self, logits: Any, tokens: Any) -> Any:
        each = optax.softmax_cross_entropy_with_integer_labels(logits[:, :-1], tokens[:, 1:])
        return self.mean(each)


def dense(p: Any, x: Any) -> Any:
    return x @ p["w"] + p["b"]


def convert(
    state: Any,
    *,
    scan: bool = False,
    linear: bool = False,
    tied: bool = True,
    proj: Callable[[Any], Any] = identity,
) -> dict[str, Any]:
    """Return the params of `Port` with the weights of `GPT2`."""
    w = arrays(state)
    turn = jnp.transpose if linear else identity

    def layer(i: int) -> dict[str, Any]:
        def pair_of(name: str, change: Callable[[Any], Any] = identity) -> dict[str, Any]:
            return {
                "w": change(turn(w[f"h.{i}.{name}.weight"])),
                "b": w[f"h.{i}.{name}.bias"],
            }

        return {
            "before": {"g": w[f"h.{i}.ln_1.weight"], "b": w[f"h.{i}.ln_1.bias"]},
            "attention": {"qkv": pair_of("attn.c_attn"), "out": pair_of("attn.c_proj", proj)},
            "between": {"g": w[f"h.{i}.ln_2.weight"], "b": w[f"h.{i}.ln_2.bias"]},
            "up": pair_of("mlp.c_fc"),
            "down": pair_of("mlp.c_proj"),
        }

    layers = [layer(i) for i in range(LAYERS)]
    params = {
        "embed": w["wte.weight"],
        "positions": w["wpe.weight"],
        "layers": jax.tree.map(lambda *x: jnp.stack(x), *layers) if scan else layers,
        "last": {"g": w["ln_f.weight"], "b": w["ln_f.bias"]},
    }
    return params if tied else params | {"head": w["lm_head.weight"]}


def decays(path: Any, x: Any) -> bool:
    """Decide by name whether a leaf decays, because stacked biases are matrices."""
    return path[-1].key not in ("g", "b")


ADAMW = adamw(decays)


def pair(
    seed: int = 0,
    *,
    fresh: bool = False,
    scan: bool = False,
    linear: bool = False,
    tied: bool = True,
    proj: Callable[[Any], Any] = identity,
    tx: optax.GradientTransformation = ADAMW,
    **tools: Any,
) -> dict[str, Any]:
    """Return GPT-2 and its port; `linear` replaces each Conv1D by `nn.Linear`."""
    dense = nn.Linear if linear else Conv1D
    module = build(lambda: GPT2(dense), seed, fresh=fresh)
    port = Port(scan=scan, **tools)
    weights = functools.partial(convert, scan=scan, linear=linear, tied=tied, proj=proj)
    tokens = np.random.default_rng(seed).integers(0, VOCABULARY, (BATCH, TOKENS))
    return dict(
        module=module,
        fn=port.apply,
        params=weights(module.state_dict()),
        inputs=(tokens,),
        loss=(torch_loss, port.loss),
        optimizer=(torch_adamw, tx),
        steps=3,
        weights=weights,
    )


@jax.custom_vjp
def clip_gradient(x: Any) -> Any:
    return x


clip_gradient.defvjp(lambda x: (x, None), lambda _, g: (jnp.clip(g, -1e-3, 1e-3),))


CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "fresh": dict(fresh=True),
    "scan": dict(scan=True),
    "remat": dict(remat=True),
    "scan_remat": dict(scan=True, remat=True),
    "linear": dict(linear=True),
    "linear_scan": dict(linear=True, scan=True),
    "finite_mask": dict(mask_value=-1e30),
}

BUGS: tuple[Bug, ...] = (
    Bug(
        "layer_norm_eps",
        "forward",
        "h.*.ln_*",
        plant=dict(eps=1e-6),
        about="The port uses flax's default epsilon.",
        cause="eps is 1e-06, torch uses 1e-05",
    ),
    Bug(
        "gelu_exact",
        "forward",
        "h.*.mlp*",
        plant=dict(gelu=functools.partial(jax.nn.gelu, approximate=False)),
        about="The port uses the exact GELU; GPT-2 uses the tanh approximation.",
        cause="GELU is the exact form",
    ),
    Bug(
        "scale_missing",
        "forward",
        "h.*.attn",
        plant=dict(scale=1.0),
        about="The attention scores are not divided by sqrt(d).",
        cause="torch's mul( by [^ ]+)? is missing|number in mul is 1,",
    ),
    Bug(
        "scale_1_over_d",
        "forward",
        "h.*.attn",
        plant=dict(scale=HEADS / WIDTH),
        about="The attention scores are divided by d instead of sqrt(d).",
        cause=r"number in mul is 0\.25, torch uses 0\.5|scale is 1/d",
    ),
    Bug(
        "mask_value",
        "forward",
        "h.*.attn",
        plant=dict(mask_value=-1.0),
        about="Masked scores are -1, which damps the future without hiding it.",
        cause=r"masked elements are -1\b|number in masked_fill is -1,",
    ),
    Bug(
        "mask_sense",
        "forward",
        "h.*.attn",
        plant=dict(future=jnp.triu),
        about="The causal mask is inverted: each token attends to the future.",
        cause="mask is transposed",
    ),
    Bug(
        "softmax_axis",
        "forward",
        "h.*.attn",
        plant=dict(axis=-2),
        about="The softmax is over the queries instead of the keys.",
        cause="softmax is over dim -?2|over the queries",
    ),
    Bug(
        "head_split",
        "forward",
        "h.*.attn",
        plant=dict(heads_first=True),
        about="The heads are split as (size, heads) instead of (heads, size).",
        cause="two factors exchanged|heads are split as",
    ),
    Bug(
        "position_offset",
        "forward",
        "wpe",
        plant=dict(first_position=1),
        about="Positions start at one.",
        cause=r"indices are shifted by 1\b",
    ),
    Bug(
        "transposed_proj",
        "forward",
        "h.*.attn.c_proj*",
        plant=dict(proj=jnp.transpose),
        about="A square Conv1D weight is transposed as if it belonged to a Linear.",
        cause="weight is transposed|second operand is transposed",
    ),
    Bug(
        "linear_not_transposed",
        "forward",
        "h.*.attn.c_proj*",
        plant=dict(linear=True, proj=jnp.transpose),
        about="The square weight of a Linear is not transposed.",
        cause="square weight is transposed",
    ),
    Bug(
        "attention_stopped",
        "backward",
        "h.*.attn*",
        silent=True,
        plant=dict(stop_attention=lax.stop_gradient),
        about="The attention map is detached, as for plotting it.",
        cause=extra_stop("stop_attention"),
    ),
    Bug(
        "statistics_stopped",
        "backward",
        "*ln_*",
        silent=True,
        plant=dict(stop_statistics=lax.stop_gradient),
        about="The layer norm's mean and variance are detached.",
        cause=extra_stop("stop_statistics"),
    ),
    Bug(
        "statistics_stopped_in_scan",
        "backward",
        "*ln_*",
        silent=True,
        plant=dict(scan=True, stop_statistics=lax.stop_gradient),
        about="The layer norm's mean and variance are detached inside a scan over layers.",
        cause=extra_stop("stop_statistics"),
    ),
    Bug(
        "skip_stopped",
        "backward",
        "h.*",
        silent=True,
        plant=dict(stop_skip=lax.stop_gradient),
        about="The skip connection is detached.",
        cause=extra_stop("stop_skip"),
    ),
    Bug(
        "gradient_clipped_inside",
        "backward",
        "h.*",
        silent=True,
        plant=dict(through=clip_gradient),
        about="A debugging clip of the cotangent is still there.",
        cause="clip|custom derivative",
    ),
    Bug(
        "untied",
        "structure",
        "wte.weight",
        silent=True,
        plant=dict(tied=False),
        about="The head has its own copy of the embedding.",
        cause="leaves diverge",
    ),
    Bug(
        "loss_sum",
        "forward",
        "loss",
        plant=dict(mean=jnp.sum),
        about="The loss is summed over tokens instead of averaged.",
        cause=r"reduced by sum, torch uses mean|times 12\b",
    ),
    Bug(
        "eps_in_sqrt",
        "updates",
        "*",
        silent=True,
        plant=dict(tx=adamw(decays, adam=optax.scale_by_adam(eps=0.0, eps_root=1e-8))),
        about="Adam's epsilon is inside the square root.",
        cause="eps.* (inside|outside)",
    ),
    Bug(
        "bias_correction",
        "updates",
        "*",
        silent=True,
        plant=dict(tx=adamw(decays, adam=uncorrected_adam())),
        about="Adam's bias correction is missing.",
        cause="bias correction is missing|bias corrections are missing",
    ),
    Bug(
        "b2",
        "updates",
        "*",
        silent=True,
        plant=dict(tx=adamw(decays, adam=optax.scale_by_adam(b2=0.99))),
        about="Adam's second decay rate is 0.99 instead of 0.999; the first step is the same.",
        cause=r"beta2 is 0\.99\b",
    ),
    Bug(
        "coupled_decay",
        "updates",
        "*weight",
        silent=True,
        plant=dict(tx=adamw(decays, coupled=True)),
        about="Weight decay is added to the gradient, as in Adam instead of AdamW.",
        cause="decay is added to the gradient",
    ),
    Bug(
        "decay_on_vectors",
        "updates",
        "*",
        silent=True,
        plant=dict(tx=adamw(lambda path, x: True)),
        about="Biases and norms decay too.",
        cause="decay applies to all weights|decay is applied to",
    ),
    Bug(
        "decay_by_rank_of_stacked",
        "updates",
        "h.*",
        silent=True,
        plant=dict(scan=True, tx=adamw(is_matrix)),
        about="`ndim >= 2` selects what decays, but stacked biases are matrices.",
        cause="decay is applied to .*bias|decay applies to all weights",
    ),
    Bug(
        "clip_each_tensor",
        "updates",
        "*",
        silent=True,
        plant=dict(tx=adamw(decays, clip=clip_each)),
        about="Each gradient is clipped by its own norm.",
        cause="own norm",
    ),
    Bug(
        "schedule_off_by_one",
        "updates",
        "*",
        silent=True,
        plant=dict(tx=adamw(decays, rate=lambda count: warm_up(count - 1))),
        about="The warm-up starts at zero, one step late.",
        cause=r"one step behind|learning rate is 0\b",
    ),
    Bug(
        "skip_stopped_in_scan_remat",
        "backward",
        "h.*",
        silent=True,
        plant=dict(scan=True, remat=True, stop_skip=lax.stop_gradient),
        about="The skip connection is detached inside a checkpointed scan.",
        cause=extra_stop("stop_skip"),
    ),
    Bug(
        "adam_eps",
        "updates",
        "*",
        silent=True,
        plant=dict(tx=adamw(decays, adam=optax.scale_by_adam(eps=1e-6))),
        about="Adam's epsilon is 1e-6, as in BERT, instead of 1e-8.",
        cause="eps is 1e-06",
    ),
    Bug(
        "nesterov_adam",
        "updates",
        "*",
        silent=True,
        plant=dict(tx=adamw(decays, adam=optax.scale_by_adam(nesterov=True))),
        about="The optimizer is NAdam instead of Adam.",
        cause="nesterov|NAdam",
    ),
    Bug(
        "clip_forgotten",
        "updates",
        "*",
        silent=True,
        plant=dict(tx=adamw(decays, clip=identity)),
        about="Gradients are not clipped; Adam hides this in the first step.",
        cause="gradients are not clipped",
    ),
)

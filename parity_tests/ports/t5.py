"""T5, an encoder-decoder with RMS norms and relative or rotary positions, and its port to nnx."""

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch
from flax import nnx
from jax import lax
from torch import nn
from torch.nn import functional

from parity_tests.case import identity
from parity_tests.ports._weights import arrays, build
from parity_tests.ports.bug import Bug, extra_stop


VOCABULARY, WIDTH, HEADS, LAYERS, BUCKETS, FAR = 17, 16, 2, 2, 8, 12
SIZE = WIDTH // HEADS
BATCH, SOURCE, TARGET = 2, 9, 7


class T5LayerNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)


def rotate(x: torch.Tensor) -> torch.Tensor:
    """Apply rotary positions to (batch, heads, tokens, size), rotating the two halves as pairs."""
    frequency = 10000.0 ** (-torch.arange(0, SIZE, 2, dtype=x.dtype) / SIZE)
    angle = torch.outer(torch.arange(x.shape[2], dtype=x.dtype), frequency)
    angle = torch.cat([angle, angle], dim=-1)
    first, second = x.chunk(2, dim=-1)
    return x * angle.cos() + torch.cat([-second, first], dim=-1) * angle.sin()


class T5Attention(nn.Module):
    def __init__(self, bias: bool = False, causal: bool = False, rotary: bool = False):
        super().__init__()
        self.causal, self.rotary = causal, rotary
        self.q, self.k, self.v, self.o = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))
        if bias:
            self.relative_attention_bias = nn.Embedding(BUCKETS, HEADS)

    def position_bias(self, length: int):
        distance = torch.arange(length)[None, :] - torch.arange(length)[:, None]
        buckets = BUCKETS if self.causal else BUCKETS // 2
        offset = torch.zeros_like(distance) if self.causal else (distance > 0).long() * buckets
        distance = -distance.clamp(max=0) if self.causal else distance.abs()
        near = buckets // 2
        ratio = torch.log(distance.clamp(min=1).float() / near) / math.log(FAR / near)
        large = (near + (ratio * (buckets - near)).long()).clamp(max=buckets - 1)
        bucket = offset + torch.where(distance < near, distance, large)
        return self.relative_attention_bias(bucket).permute(2, 0, 1)[None]

    def forward(self, x, memory, bias):
        def heads(y):
            return y.view(*y.shape[:2], HEADS, SIZE).transpose(1, 2)

        q, k, v = heads(self.q(x)), heads(self.k(memory)), heads(self.v(memory))
        if self.rotary:
            q, k = rotate(q), rotate(k)
        weights = functional.softmax(q @ k.transpose(-1, -2) + bias, dim=-1)
        return self.o((weights @ v).transpose(1, 2).reshape(x.shape))


class T5Block(nn.Module):
    def __init__(self, decoder: bool, bias: bool, rotary: bool):
        super().__init__()
        self.norm1 = T5LayerNorm()
        self.self_attn = T5Attention(bias, causal=decoder, rotary=rotary)
        if decoder:
            self.norm2 = T5LayerNorm()
            self.cross_attn = T5Attention()
        self.norm3 = T5LayerNorm()
        self.wi = nn.Linear(WIDTH, 2 * WIDTH, bias=False)
        self.wo = nn.Linear(2 * WIDTH, WIDTH, bias=False)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x, bias, memory=None, memory_bias=None):
        y = self.norm1(x)
        x = x + self.dropout(self.self_attn(y, y, bias))
        if memory is not None:
            x = x + self.dropout(self.cross_attn(self.norm2(x), memory, memory_bias))
        return x + self.dropout(self.wo(functional.relu(self.wi(self.norm3(x)))))


class T5(nn.Module):
    def __init__(self, rotary: bool = False):
        super().__init__()
        self.rotary = rotary
        self.shared = nn.Embedding(VOCABULARY, WIDTH)
        first = [not rotary and i == 0 for i in range(LAYERS)]
        self.encoder: Any = nn.ModuleList([T5Block(False, bias, rotary) for bias in first])
        self.encoder_norm = T5LayerNorm()
        self.decoder: Any = nn.ModuleList([T5Block(True, bias, rotary) for bias in first])
        self.decoder_norm = T5LayerNorm()

    def forward(self, source, target):
        low = torch.finfo(self.shared.weight.dtype).min
        padding = (source == 0)[:, None, None, :].to(self.shared.weight.dtype) * low
        bias = padding
        if not self.rotary:
            bias = bias + self.encoder[0].self_attn.position_bias(source.shape[1])
        memory = self.shared(source)
        for block in self.encoder:
            memory = block(memory, bias)
        memory = self.encoder_norm(memory)
        x = self.shared(functional.pad(target[:, :-1], (1, 0)))
        length = target.shape[1]
        bias = torch.full((length, length), low, dtype=x.dtype).triu(1)
        if not self.rotary:
            bias = bias + self.decoder[0].self_attn.position_bias(length)
        for block in self.decoder:
            x = block(x, bias, memory, padding)
        return functional.linear(self.decoder_norm(x) * WIDTH**-0.5, self.shared.weight)


def torch_loss(logits: Any, source: Any, target: Any) -> Any:
    return functional.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=0)


@dataclasses.dataclass(frozen=True)
class Choices:
    """Options of the JAX port; most values other than the default are porting mistakes."""

    rotary: bool = False
    scan: bool = False
    remat: bool = False
    eps: float = 1e-6
    centre: Callable[[Any], Any] = jnp.zeros_like
    scale: float = 1.0
    interleaved: bool = False
    first_position: int = 0
    signed: bool = True
    bias_of: Callable[[int], bool] = lambda layer: True
    output_scale: float = WIDTH**-0.5
    shift: Callable[[Any], Any] = lambda target: jnp.pad(target[:, :-1], ((0, 0), (1, 0)))
    memory_mask: Callable[[Any], Any] = identity
    stop_statistics: Callable[[Any], Any] = identity
    stop_memory: Callable[[Any], Any] = identity
    stop_keys: Callable[[Any], Any] = identity
    stop_bias: Callable[[Any], Any] = identity
    stop_output: Callable[[Any], Any] = identity
    stop_skip: Callable[[Any], Any] = identity
    through: Callable[[Any], Any] = identity


def buckets_of(length: int, causal: bool, signed: bool) -> np.ndarray:
    """Return the bucket of each (query, key) pair, on a log scale for long distances."""
    away = np.arange(length)[:, None] - np.arange(length)
    count = BUCKETS if causal else BUCKETS // 2
    start = 0 if causal or not signed else np.where(away < 0, count, 0)
    away = np.maximum(away, 0) if causal else np.abs(away)
    near = count // 2
    log = np.log(np.maximum(away, near) / near) / np.log(FAR / near)
    far = np.minimum(near + np.floor(log * (count - near)).astype(int), count - 1)
    return start + np.where(away < near, away, far)


class RMS(nnx.Module):
    def __init__(self, c: Choices):
        self.c, self.gain = c, nnx.Param(jnp.ones(WIDTH))

    def __call__(self, x: Any) -> Any:
        x = x - self.c.centre(x)
        power = self.c.stop_statistics(jnp.mean(jnp.square(x), -1, keepdims=True))
        return x / jnp.sqrt(power + self.c.eps) * self.gain[...]


class Attend(nnx.Module):
    """Attention over (batch, tokens, width); `mixes` holds q, k, v as (width, heads, size)."""

    def __init__(self, c: Choices):
        self.c = c
        self.mixes = nnx.Dict(
            {name: nnx.Param(jnp.zeros((WIDTH, HEADS, SIZE))) for name in ("q", "k", "v")}
        )
        self.out = nnx.Param(jnp.zeros((HEADS, SIZE, WIDTH)))

    def rotary(self, x: Any) -> Any:
        """Apply rotary positions by complex multiplication."""
        angle = jnp.arange(x.shape[1])[:, None] + self.c.first_position
        angle = angle * 10000.0 ** (-jnp.arange(SIZE // 2) * 2.0 / SIZE)
        wheel = jnp.exp(1j * angle)[:, None, :]
        if self.c.interleaved:
            y = lax.complex(x[..., ::2], x[..., 1::2]) * wheel
            return jnp.stack([y.real, y.imag], axis=-1).reshape(x.shape)
        y = lax.complex(*jnp.split(x, 2, axis=-1)) * wheel
        return jnp.concatenate([y.real, y.imag], axis=-1)

    def __call__(self, x: Any, memory: Any, bias: Any, rotary: bool = False) -> Any:
        mixes = [self.mixes[name][...] for name in ("q", "k", "v")]
        parts = zip((x, memory, memory), mixes, strict=True)
        q, k, v = (jnp.einsum("btw,whs->bths", y, w) for y, w in parts)
        q, k = (self.rotary(q), self.rotary(k)) if rotary else (q, k)
        scores = jnp.einsum("bqhs,bkhs->bhqk", q * self.c.scale, self.c.stop_keys(k)) + bias
        mixed = jnp.einsum("bhqk,bkhs->bqhs", jax.nn.softmax(scores), v)
        return jnp.einsum("bqhs,hsw->bqw", mixed, self.out[...])


class Block(nnx.Module):
    def __init__(self, c: Choices, decoder: bool):
        self.c = c
        self.norms = nnx.List([RMS(c) for _ in range(3 if decoder else 2)])
        self.own = Attend(c)
        self.cross = Attend(c) if decoder else None
        self.up = nnx.Param(jnp.zeros((WIDTH, 2 * WIDTH)))
        self.down = nnx.Param(jnp.zeros((2 * WIDTH, WIDTH)))

    def __call__(self, x: Any, bias: Any, memory: Any = None, memory_bias: Any = None) -> Any:
        c, y = self.c, self.norms[0](x)
        x = c.stop_skip(x) + self.own(y, y, bias, c.rotary)
        if self.cross is not None:
            x = x + self.cross(self.norms[1](x), memory, memory_bias)
        y = jax.nn.relu(self.norms[-1](x) @ self.up[...])
        return c.through(x + y @ self.down[...])


class Stack(nnx.Module):
    """An encoder or decoder; with `scan`, it is one block with stacked weights."""

    def __init__(self, c: Choices, decoder: bool):
        self.c, self.causal = c, decoder
        self.blocks = nnx.List([Block(c, decoder) for _ in range(1 if c.scan else LAYERS)])
        self.table = None if c.rotary else nnx.Param(jnp.zeros((BUCKETS, HEADS)))
        self.last = RMS(c)

    def __call__(self, x: Any, mask: Any, *memory: Any) -> Any:
        c, bias = self.c, mask
        if self.table is not None:
            bucket = buckets_of(x.shape[1], self.causal, c.signed)
            bias = mask + c.stop_bias(self.table[...])[bucket].transpose(2, 0, 1)
        wrap = jax.checkpoint if c.remat else identity
        if c.scan:
            graph, stacked = nnx.split(self.blocks[0])

            def layer(x: Any, weights: Any) -> Any:
                return nnx.merge(graph, weights)(x, bias, *memory), None

            x, _ = lax.scan(wrap(layer), x, stacked)
        else:
            for i, block in enumerate(self.blocks):
                graph, weights = nnx.split(block)

                def run(weights: Any, x: Any, bias: Any, graph: Any = graph) -> Any:
                    return nnx.merge(graph, weights)(x, bias, *memory)

                x = wrap(run)(weights, x, bias if c.bias_of(i) else mask)
        return self.last(x)


class Seq2Seq(nnx.Module):
    def __init__(self, c: Choices):
        self.c, self.embed = c, nnx.Param(jnp.zeros((VOCABULARY, WIDTH)))
        self.encode, self.decode = Stack(c, False), Stack(c, True)

    def __call__(self, source: Any, target: Any) -> Any:
        c, table = self.c, self.embed[...]
        padding = jnp.where(source == 0, -1e30, 0.0)[:, None, None, :]
        memory = c.stop_memory(self.encode(table[source], padding))
        future = jnp.where(np.tri(target.shape[1], dtype=bool), 0.0, -1e30)
        x = self.decode(table[c.shift(target)], future, memory, c.memory_mask(padding))
        return jnp.einsum("btw,vw->btv", x * c.output_scale, c.stop_output(table))


def loss(logits: Any, source: Any, target: Any, *, counted: Any = lambda t: t != 0) -> Any:
    picked = jnp.take_along_axis(jax.nn.log_softmax(logits), target[..., None], -1)[..., 0]
    return -jnp.mean(picked, where=counted(target))


def convert(state: Any, *, choices: Choices, key: Callable[[Any], Any] = jnp.transpose) -> Any:
    """Return the state of a `Seq2Seq` with the weights of `T5`."""
    w = arrays(state)

    def attend(name: str) -> dict[str, Any]:
        turns = {"q": jnp.transpose, "k": key, "v": jnp.transpose}
        mixes = {
            n: turn(w[f"{name}.{n}.weight"]).reshape(WIDTH, HEADS, SIZE)
            for n, turn in turns.items()
        }
        return {"mixes": mixes, "out": w[f"{name}.o.weight"].T.reshape(HEADS, SIZE, WIDTH)}

    def block(name: str, decoder: bool) -> dict[str, Any]:
        norms = ["norm1", "norm2", "norm3"] if decoder else ["norm1", "norm3"]
        weights = {
            "norms": {i: {"gain": w[f"{name}.{norm}.weight"]} for i, norm in enumerate(norms)},
            "own": attend(f"{name}.self_attn"),
            "up": w[f"{name}.wi.weight"].T,
            "down": w[f"{name}.wo.weight"].T,
        }
        return weights | ({"cross": attend(f"{name}.cross_attn")} if decoder else {})

    def stack(name: str) -> dict[str, Any]:
        blocks = [block(f"{name}.{i}", name == "decoder") for i in range(LAYERS)]
        if choices.scan:
            blocks = [jax.tree.map(lambda *x: jnp.stack(x), *blocks)]
        weights = {"blocks": dict(enumerate(blocks)), "last": {"gain": w[f"{name}_norm.weight"]}}
        if not choices.rotary:
            weights["table"] = w[f"{name}.0.self_attn.relative_attention_bias.weight"]
        return weights

    pure = {"embed": w["shared.weight"], "encode": stack("encoder"), "decode": stack("decoder")}
    params = nnx.state(Seq2Seq(choices), nnx.Param)
    nnx.replace_by_pure_dict(params, pure)
    return params


def pair(
    seed: int = 0,
    *,
    fresh: bool = False,
    train: bool = False,
    key: Callable[[Any], Any] = jnp.transpose,
    counted: Callable[[Any], Any] = lambda target: target != 0,
    **choices: Any,
) -> dict[str, Any]:
    """Return T5 and its nnx port; `rotary` replaces relative positions, `train` adds a loss."""
    chosen = Choices(**choices)
    module = build(lambda: T5(chosen.rotary), seed, fresh=fresh)
    graph = nnx.graphdef(Seq2Seq(chosen))
    weights = functools.partial(convert, choices=chosen, key=key)
    rng = np.random.default_rng(seed)

    def tokens(length: int) -> np.ndarray:
        real = np.arange(length) < np.array([length, length - 3])[:, None]
        return rng.integers(1, VOCABULARY, (BATCH, length)) * real

    losses = (torch_loss, functools.partial(loss, counted=counted))
    return dict(
        module=module,
        fn=lambda params, source, target: nnx.merge(graph, params)(source, target),
        params=weights(module.state_dict()),
        inputs=(tokens(SOURCE), tokens(TARGET)),
        weights=weights,
        **(dict(loss=losses) if train else {}),
    )


@jax.custom_vjp
def clip_gradient(x: Any) -> Any:
    return x


clip_gradient.defvjp(lambda x: (x, None), lambda _, g: (jnp.clip(g, -0.1, 0.1),))

CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "fresh": dict(fresh=True),
    "scan": dict(scan=True),
    "remat": dict(remat=True),
    "rotary": dict(rotary=True),
    "rotary_scan_remat": dict(rotary=True, scan=True, remat=True),
    "train": dict(train=True),
}


def stopped(name: str, **more: Any) -> dict[str, Any]:
    return dict(silent=True, plant={name: lax.stop_gradient} | more)


def mean_of(x: Any) -> Any:
    return jnp.mean(x, -1, keepdims=True)


BUGS: tuple[Bug, ...] = (
    Bug(
        "rms_eps",
        "forward",
        "*norm*",
        plant=dict(eps=1e-5),
        about="The norm's epsilon is 1e-5 instead of 1e-6.",
        cause="1e-05 is added, torch adds 1e-06|number in add is 1e-05",
    ),
    Bug(
        "layer_norm_for_rms",
        "forward",
        "*norm*",
        plant=dict(centre=mean_of),
        about="The norm subtracts the mean, as a layer norm does.",
        cause="mean is subtracted|subtracts the mean",
    ),
    Bug(
        "scaled",
        "forward",
        "encoder.*.self_attn",
        plant=dict(scale=SIZE**-0.5),
        about="The scores are divided by sqrt(d); in T5 they are not.",
        cause=r"scale is|is divided by|torch's times 1/sqrt\(8\)",
    ),
    Bug(
        "rotary_interleaved",
        "forward",
        "encoder.*.self_attn",
        plant=dict(rotary=True, interleaved=True),
        about="Rotary positions rotate neighbouring features instead of the two halves.",
        cause="interleav|neighbour",
    ),
    Bug(
        "buckets_unsigned",
        "forward",
        "encoder.*.self_attn*",
        plant=dict(signed=False),
        about="The buckets ignore the sign of the distance.",
        cause="bucket|sign of the distance|indices",
    ),
    Bug(
        "bias_not_shared",
        "forward",
        "encoder.1.*",
        plant=dict(bias_of=lambda i: i == 0),
        about="Only the first block adds the relative position bias.",
        cause="bias is missing",
    ),
    Bug(
        "output_scale",
        "forward",
        "",
        plant=dict(output_scale=1.0),
        about="The tied head is not scaled by width**-0.5.",
        cause="torch's mul( by [^ ]+)? is missing|number in mul is 1,",
    ),
    Bug(
        "not_shifted",
        "forward",
        "shared",
        plant=dict(shift=identity),
        about="The decoder's input is not shifted, so it sees its target.",
        cause="torch's pad is missing|shifted|reads the integers of target, torch .* result of pad",
    ),
    Bug(
        "memory_mask",
        "forward",
        "decoder.*.cross_attn",
        plant=dict(memory_mask=jnp.zeros_like),
        about="The decoder attends to the encoder's padding.",
        cause="torch's add is missing|mask is (missing|ignored|unused)|term of the sum is missing",
    ),
    Bug(
        "key_not_transposed",
        "forward",
        "encoder.*.self_attn.k*",
        plant=dict(key=identity),
        about="The square key weight is not transposed.",
        cause="square weight is transposed",
    ),
    Bug(
        "memory_stopped",
        "structure",
        "encoder*",
        **stopped("stop_memory"),
        about="The encoder's output is detached, so the encoder never trains.",
        cause=extra_stop("stop_memory"),
    ),
    Bug(
        "keys_stopped",
        "structure",
        "*_attn.k.weight",
        **stopped("stop_keys"),
        about="The keys are detached, so they never train.",
        cause=extra_stop("stop_keys"),
    ),
    Bug(
        "bias_stopped",
        "structure",
        "*.relative_attention_bias.*",
        **stopped("stop_bias"),
        about="The relative position bias is detached, so it never trains.",
        cause=extra_stop("stop_bias"),
    ),
    Bug(
        "statistics_stopped",
        "backward",
        "*norm*",
        **stopped("stop_statistics"),
        about="The norm's statistics are detached.",
        cause=extra_stop("stop_statistics"),
    ),
    Bug(
        "statistics_stopped_scan",
        "backward",
        "*norm*",
        **stopped("stop_statistics", scan=True),
        about="The norm's statistics are detached inside a scan.",
        cause=extra_stop("stop_statistics"),
    ),
    Bug(
        "skip_stopped",
        "backward",
        "*coder.*",
        **stopped("stop_skip"),
        about="The skip connections are detached.",
        cause=extra_stop("stop_skip"),
    ),
    Bug(
        "skip_stopped_rotary",
        "backward",
        "*coder.*",
        **stopped("stop_skip", rotary=True),
        about="The skip connections are detached in a model with rotary positions.",
        cause=extra_stop("stop_skip"),
    ),
    Bug(
        "head_stopped",
        "gradients",
        "shared.weight",
        **stopped("stop_output"),
        about="The tied head's weight is detached, so only the embedding's use trains it.",
        cause=extra_stop("stop_output"),
    ),
    Bug(
        "keys_stopped_remat",
        "structure",
        "*_attn.k.weight",
        **stopped("stop_keys", remat=True),
        about="The keys are detached under `jax.checkpoint`, so they never train.",
        cause=extra_stop("stop_keys"),
    ),
    Bug(
        "gradient_clipped",
        "backward",
        "*coder.*",
        silent=True,
        plant=dict(through=clip_gradient),
        about="The cotangent is clipped inside the model.",
        cause="clip|custom derivative",
    ),
    Bug(
        "gradient_clipped_scan",
        "backward",
        "*coder.*",
        silent=True,
        plant=dict(scan=True, through=clip_gradient),
        about="The cotangent is clipped inside a scan over layers.",
        cause="clip|custom derivative",
    ),
    Bug(
        "padding_counted",
        "forward",
        "loss",
        plant=dict(train=True, counted=lambda t: t >= 0),
        about="The loss counts padding: there is no `ignore_index`.",
        cause="ignore_index|number of all labels",
    ),
)

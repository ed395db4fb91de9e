"""A two-layer GRU with a scaled embedding gradient, and its nnx port with one layer per gate."""

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


VOCABULARY, WIDTH, LAYERS, CLASSES, BATCH, TOKENS = 13, 8, 2, 4, 3, 7
SHRINK = 0.1


class Shrink(torch.autograd.Function):
    """Scale the gradient, which stabilises the training of embeddings."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        del ctx
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        del ctx
        return SHRINK * grad


class ShrinkGradient(nn.Module):
    def forward(self, x):
        return Shrink.apply(x)


class GRUClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH, padding_idx=0)
        self.shrink = ShrinkGradient()
        self.gru = nn.GRU(WIDTH, WIDTH, num_layers=LAYERS, batch_first=True, dropout=0.1)
        self.attention = nn.Linear(WIDTH, 1)
        self.out = nn.Linear(WIDTH, CLASSES)

    def forward(self, tokens):
        x = self.shrink(self.embedding(tokens)) * math.sqrt(WIDTH)
        out, last = self.gru(x)
        scores = self.attention(out).squeeze(-1).masked_fill(tokens == 0, -1e9)
        pooled = torch.einsum("bt,btd->bd", scores.softmax(dim=1), out)
        return self.out(pooled), last


def torch_loss(outputs: Any, tokens: Any) -> Any:
    logits, last = outputs
    return functional.cross_entropy(logits, tokens[:, 0] % CLASSES) + last.square().mean()


@dataclasses.dataclass(frozen=True)
class Choices:
    """Options of the JAX port; most values other than the default are porting mistakes."""

    remat: bool = False
    scale: float = WIDTH**0.5
    reset_first: bool = False  # Cho et al.: n = tanh(.. + W (r * h))
    keep: Callable[[Any, Any, Any], Any] = lambda z, h, n: (1 - z) * n + z * h
    one_bias: bool = False
    shrink: Callable[[Any], Any] = lambda x: SHRINK * x + lax.stop_gradient((1 - SHRINK) * x)
    padding: Callable[[Any, Any], Any] = lambda x, real: jnp.where(real, x, lax.stop_gradient(x))
    valid: Callable[[Any], Any] = lambda tokens: tokens > 0
    axis: int = 1
    stop_reset: Callable[[Any], Any] = identity
    stop_carry: Callable[[Any], Any] = identity
    stop_weights: Callable[[Any], Any] = identity
    last: Callable[[Any], Any] = lambda sequence: sequence[:, -1]


class Cell(nnx.Module):
    """One step of a GRU; torch's two biases are merged except for the candidate."""

    def __init__(self, choices: Choices, rngs: nnx.Rngs):
        self.choices = choices
        hidden = functools.partial(nnx.Linear, WIDTH, WIDTH, use_bias=False, rngs=rngs)
        self.reset_x = nnx.Linear(WIDTH, WIDTH, rngs=rngs)
        self.reset_h = hidden()
        self.update_x = nnx.Linear(WIDTH, WIDTH, rngs=rngs)
        self.update_h = hidden()
        self.new_x = nnx.Linear(WIDTH, WIDTH, rngs=rngs)
        self.new_h = nnx.Linear(WIDTH, WIDTH, use_bias=not choices.one_bias, rngs=rngs)

    def __call__(self, h: Any, x: Any) -> Any:
        c = self.choices
        h = c.stop_carry(h)
        r = c.stop_reset(nnx.sigmoid(self.reset_x(x) + self.reset_h(h)))
        z = nnx.sigmoid(self.update_x(x) + self.update_h(h))
        inner = self.new_h(r * h) if c.reset_first else r * self.new_h(h)
        return c.keep(z, h, nnx.tanh(self.new_x(x) + inner))


class Classifier(nnx.Module):
    def __init__(self, choices: Choices, rngs: nnx.Rngs):
        self.choices = choices
        self.table = nnx.Param(jnp.zeros((VOCABULARY, WIDTH)))
        self.cells = nnx.List([Cell(choices, rngs) for _ in range(LAYERS)])
        self.score = nnx.Linear(WIDTH, 1, rngs=rngs)
        self.logits = nnx.Linear(WIDTH, CLASSES, rngs=rngs)

    def __call__(self, tokens: Any) -> tuple[Any, Any]:
        c = self.choices
        x = c.padding(self.table[...][tokens], (tokens != 0)[..., None])
        x = c.shrink(x) * c.scale
        states = []
        for cell in self.cells:
            graph, weights = nnx.split(cell)

            def step(h: Any, y: Any, graph: Any = graph, weights: Any = weights) -> Any:
                h = nnx.merge(graph, weights)(h, y)
                return h, h

            step = jax.checkpoint(step) if c.remat else step
            _, out = lax.scan(step, jnp.zeros_like(x[:, 0]), jnp.swapaxes(x, 0, 1))
            x = jnp.swapaxes(out, 0, 1)
            states.append(c.last(x))
        scores = jnp.where(c.valid(tokens), self.score(x)[..., 0], -1e9)
        weights = c.stop_weights(jax.nn.softmax(scores, axis=c.axis))
        return self.logits(jnp.sum(weights[..., None] * x, axis=1)), jnp.stack(states)


def loss(outputs: Any, tokens: Any) -> Any:
    logits, last = outputs
    labels = jax.nn.one_hot(tokens[:, 0] % CLASSES, CLASSES, dtype=logits.dtype)
    return -jnp.mean(jnp.sum(labels * jax.nn.log_softmax(logits), -1)) + jnp.mean(last**2)


def convert(state: Any, *, choices: Choices, order: str = "rzn", turn: Any = identity) -> Any:
    """Return the state of a `Classifier`; `order` is the order of torch's gates."""
    w = arrays(state)

    def linear(weight: Any, bias: Any = None) -> dict[str, Any]:
        return {"kernel": weight.T} | ({} if bias is None else {"bias": bias})

    def cell(i: int) -> dict[str, Any]:
        def gates(name: str) -> dict[str, Any]:
            return dict(zip(order, jnp.split(w[f"gru.{name}_l{i}"], 3), strict=True))

        wi, wh, bi, bh = map(gates, ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
        return {
            "reset_x": linear(wi["r"], bi["r"] + bh["r"]),
            "reset_h": linear(wh["r"]),
            "update_x": linear(wi["z"], bi["z"] + bh["z"]),
            "update_h": linear(wh["z"]),
            "new_x": linear(wi["n"], bi["n"] + bh["n"] if choices.one_bias else bi["n"]),
            "new_h": linear(turn(wh["n"]), None if choices.one_bias else bh["n"]),
        }

    pure = {
        "table": w["embedding.weight"],
        "cells": {i: cell(i) for i in range(LAYERS)},
        "score": linear(w["attention.weight"], w["attention.bias"]),
        "logits": linear(w["out.weight"], w["out.bias"]),
    }
    params = nnx.state(Classifier(choices, nnx.Rngs(0)), nnx.Param)
    nnx.replace_by_pure_dict(params, pure)
    return params


def pair(
    seed: int = 0,
    *,
    fresh: bool = False,
    train: bool = False,
    order: str = "rzn",
    turn: Callable[[Any], Any] = identity,
    **choices: Any,
) -> dict[str, Any]:
    """Return `nn.GRU` and its nnx port; `train` adds a loss."""
    module = build(GRUClassifier, seed, fresh=fresh)
    chosen = Choices(**choices)
    graph = nnx.graphdef(Classifier(chosen, nnx.Rngs(0)))
    weights = functools.partial(convert, choices=chosen, order=order, turn=turn)
    rng = np.random.default_rng(seed)
    real = np.arange(TOKENS) < np.array([TOKENS, 5, 4])[:, None]
    return dict(
        module=module,
        fn=lambda params, tokens: nnx.merge(graph, params)(tokens),
        params=weights(module.state_dict()),
        inputs=(rng.integers(1, VOCABULARY, (BATCH, TOKENS)) * real,),
        weights=weights,
        **(dict(loss=(torch_loss, loss)) if train else {}),
    )


CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "fresh": dict(fresh=True),
    "remat": dict(remat=True),
    "train": dict(train=True),
}

BUGS: tuple[Bug, ...] = (
    Bug(
        "gate_order",
        "forward",
        "gru",
        plant=dict(order="zrn"),
        about="The update and reset gates are swapped.",
        cause="ordered update, reset, new",
    ),
    Bug(
        "reset_before_product",
        "forward",
        "gru",
        plant=dict(reset_first=True),
        about="The reset gate acts before the product, as in the original paper.",
        cause="reset gate multiplies the state before its weight",
    ),
    Bug(
        "one_bias",
        "forward",
        "gru",
        plant=dict(one_bias=True),
        about="`b_hn` is added outside the reset product, as in an LSTM.",
        cause="new gate's bias_hh is outside the reset gate",
    ),
    Bug(
        "update_sense",
        "forward",
        "gru",
        plant=dict(keep=lambda z, h, n: z * n + (1 - z) * h),
        about="In torch the update gate keeps the old state; in the paper it renews it.",
        cause="update gate is inverted",
    ),
    Bug(
        "new_not_transposed",
        "forward",
        "gru",
        plant=dict(turn=jnp.transpose),
        about="The square kernel of the candidate is not transposed.",
        cause="weight_hh of the new gate is transposed",
    ),
    Bug(
        "embedding_scale",
        "forward",
        "",
        plant=dict(scale=1.0),
        about="The embeddings are not scaled by sqrt(width).",
        cause="torch's mul( by [^ ]+)? is missing|number in mul is 1,",
    ),
    Bug(
        "padding_attended",
        "forward",
        "",
        plant=dict(valid=jnp.ones_like),
        about="The pooling attends to padding.",
        cause="the masks differ|torch's masked_fill is missing|mask is (missing|ignored|unused)",
    ),
    Bug(
        "pooling_axis",
        "forward",
        "",
        plant=dict(axis=0),
        about="The pooling's softmax is over the batch.",
        cause="softmax is over dim 0",
    ),
    Bug(
        "first_for_last",
        "forward",
        "gru",
        plant=dict(last=lambda x: x[:, 0]),
        about="The port returns the first state instead of the last.",
        cause="first (state|element|step)",
    ),
    Bug(
        "shrink_lost",
        "backward",
        "shrink",
        silent=True,
        plant=dict(shrink=identity),
        about="The custom backward function is missing.",
        cause="backward of its own|times torch's|custom (backward|derivative)",
    ),
    Bug(
        "shrink_detaches",
        "structure",
        "embedding.weight",
        silent=True,
        plant=dict(shrink=lax.stop_gradient),
        about="The embeddings are detached, so they never train.",
        cause=extra_stop(r"c\.shrink"),
    ),
    Bug(
        "padding_row_trained",
        "gradients",
        "embedding.weight",
        silent=True,
        plant=dict(padding=lambda x, real: x),
        about="The port ignores `padding_idx`, so the padding row receives a gradient.",
        cause="padding_idx no gradient, JAX gives it one",
    ),
    Bug(
        "reset_stopped",
        "structure",
        "gru.*",
        silent=True,
        plant=dict(stop_reset=lax.stop_gradient),
        about="The reset gate is detached, so it never trains.",
        cause=extra_stop("stop_reset"),
    ),
    Bug(
        "carry_stopped",
        "backward",
        "gru",
        silent=True,
        plant=dict(stop_carry=lax.stop_gradient),
        about="The state is detached at every step.",
        cause=extra_stop("stop_carry"),
    ),
    Bug(
        "pooling_stopped",
        "structure",
        "attention.*",
        silent=True,
        plant=dict(stop_weights=lax.stop_gradient),
        about="The pooling's weights are detached.",
        cause=extra_stop("stop_weights"),
    ),
    Bug(
        "carry_stopped_remat",
        "backward",
        "gru",
        silent=True,
        plant=dict(remat=True, stop_carry=lax.stop_gradient),
        about="The state is detached at every step, under `jax.checkpoint`.",
        cause=extra_stop("stop_carry"),
    ),
)

"""BERT: a post-norm encoder with a padding mask, and its port to flax linen."""

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
import torch
from jax import lax

from parity_tests.case import identity
from parity_tests.ports._weights import arrays, build, dense
from parity_tests.ports.bug import Bug, extra_stop


VOCABULARY, WIDTH, HEADS, LAYERS, BATCH, TOKENS = 19, 16, 4, 2, 3, 8
SIZE = WIDTH // HEADS
ALIKE: Any = nn.broadcast


class BertEmbeddings(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.word_embeddings = torch.nn.Embedding(VOCABULARY, WIDTH, padding_idx=0)
        self.position_embeddings = torch.nn.Embedding(TOKENS + 1, WIDTH)
        self.token_type_embeddings = torch.nn.Embedding(2, WIDTH)
        self.LayerNorm = torch.nn.LayerNorm(WIDTH, eps=1e-12)
        self.dropout = torch.nn.Dropout(0.1)

    def forward(self, input_ids, token_type_ids):
        positions = torch.arange(input_ids.shape[1], device=input_ids.device)[None]
        x = self.word_embeddings(input_ids) + self.token_type_embeddings(token_type_ids)
        return self.dropout(self.LayerNorm(x + self.position_embeddings(positions)))


class BertSelfAttention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.query = torch.nn.Linear(WIDTH, WIDTH)
        self.key = torch.nn.Linear(WIDTH, WIDTH)
        self.value = torch.nn.Linear(WIDTH, WIDTH)
        self.dropout = torch.nn.Dropout(0.1)

    def forward(self, x, mask):
        def heads(y):
            return y.view(*y.shape[:2], HEADS, SIZE).permute(0, 2, 1, 3)

        q, k, v = heads(self.query(x)), heads(self.key(x)), heads(self.value(x))
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(SIZE) + mask
        context = torch.matmul(self.dropout(scores.softmax(dim=-1)), v)
        return context.permute(0, 2, 1, 3).reshape(x.shape)


class BertResidual(torch.nn.Module):
    def __init__(self, inner: int):
        super().__init__()
        self.dense = torch.nn.Linear(inner, WIDTH)
        self.LayerNorm = torch.nn.LayerNorm(WIDTH, eps=1e-12)
        self.dropout = torch.nn.Dropout(0.1)

    def forward(self, hidden, x):
        return self.LayerNorm(self.dropout(self.dense(hidden)) + x)


class BertLayer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = BertSelfAttention()
        self.attention_output = BertResidual(WIDTH)
        self.intermediate = torch.nn.Linear(WIDTH, 2 * WIDTH)
        self.act = torch.nn.GELU()
        self.output = BertResidual(2 * WIDTH)

    def forward(self, x, mask):
        x = self.attention_output(self.attention(x, mask), x)
        return self.output(self.act(self.intermediate(x)), x)


@dataclasses.dataclass
class BertOutput:
    last_hidden_state: torch.Tensor
    pooler_output: torch.Tensor


class Bert(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embeddings = BertEmbeddings()
        self.layer = torch.nn.ModuleList([BertLayer() for _ in range(LAYERS)])
        self.pooler = torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.Tanh())

    def forward(self, input_ids, token_type_ids, attention_mask):
        x = self.embeddings(input_ids, token_type_ids)
        mask = (1.0 - attention_mask[:, None, None, :].to(x.dtype)) * torch.finfo(x.dtype).min
        for layer in self.layer:
            x = layer(x, mask)
        return BertOutput(last_hidden_state=x, pooler_output=self.pooler(x[:, 0]))


def exact_gelu(x: Any) -> Any:
    return x * jax.scipy.stats.norm.cdf(x)


@dataclasses.dataclass(frozen=True)
class Choices:
    """Options of the JAX port; most values other than the default are porting mistakes."""

    eps: float = 1e-12
    scale: float = SIZE**-0.5
    hidden_score: float = -1e30
    seen: Callable[[Any], Any] = lambda mask: mask == 1
    gelu: Callable[[Any], Any] = exact_gelu
    pooled: Callable[[Any], Any] = jnp.tanh
    pre_norm: bool = False
    segment: Callable[[Any], Any] = identity
    padding_row: Callable[[Any], Any] = lax.stop_gradient
    stop_attention: Callable[[Any], Any] = identity
    stop_statistics: Callable[[Any], Any] = identity
    stop_skip: Callable[[Any], Any] = identity
    stop_pooled: Callable[[Any], Any] = identity


class Norm(nn.Module):
    choices: Choices

    @nn.compact
    def __call__(self, x: Any) -> Any:
        scale = self.param("scale", nn.initializers.ones, (WIDTH,))
        shift = self.param("shift", nn.initializers.zeros, (WIDTH,))
        # flax computes the variance as the mean square minus the squared mean.
        mean = x.mean(-1, keepdims=True)
        variance = (x * x).mean(-1, keepdims=True) - mean**2
        mean, variance = self.choices.stop_statistics((mean, variance))
        return scale * ((x - mean) / jnp.sqrt(variance + self.choices.eps)) + shift


class Mixer(nn.Module):
    choices: Choices

    @nn.compact
    def __call__(self, x: Any, seen: Any) -> Any:
        project = functools.partial(nn.DenseGeneral, (HEADS, SIZE))
        query, key, value = project(name="q")(x), project(name="k")(x), project(name="v")(x)
        scores = jnp.einsum("...qhd,...khd->...hqk", query * self.choices.scale, key)
        scores = jnp.where(seen[:, None, None, :], scores, self.choices.hidden_score)
        weights = self.choices.stop_attention(nn.softmax(scores))
        mixed = jnp.einsum("...hqk,...khd->...qhd", weights, value)
        return nn.DenseGeneral(WIDTH, axis=(-2, -1), name="o")(mixed)


class Layer(nn.Module):
    choices: Choices

    @nn.compact
    def __call__(self, x: Any, seen: Any) -> tuple[Any, None]:
        c = self.choices
        mixer, first, second = Mixer(c), Norm(c, name="norm1"), Norm(c, name="norm2")
        up, down = nn.Dense(2 * WIDTH, name="up"), nn.Dense(WIDTH, name="down")
        if c.pre_norm:
            x = x + mixer(first(x), seen)
            return x + down(c.gelu(up(second(x)))), None
        x = first(c.stop_skip(x) + mixer(x, seen))
        return second(x + down(c.gelu(up(x)))), None


class Encoder(nn.Module):
    choices: Choices
    scan: bool = False
    remat: bool = False

    @nn.compact
    def __call__(self, tokens: Any, segments: Any, mask: Any) -> tuple[Any, Any]:
        c = self.choices
        table = self.param("tokens", nn.initializers.normal(), (VOCABULARY, WIDTH))
        table = table.at[0].set(c.padding_row(table[0]))  # torch never trains the row `padding_idx`
        places = self.param("places", nn.initializers.normal(), (TOKENS + 1, WIDTH))
        kinds = self.param("kinds", nn.initializers.normal(), (2, WIDTH))
        h = table[tokens] + places[: tokens.shape[1]] + kinds[c.segment(segments)]
        h, seen = Norm(c, name="norm")(h), c.seen(mask)
        layer = nn.remat(Layer) if self.remat else Layer
        if self.scan:
            split: Any = dict(variable_axes={"params": 0}, split_rngs={"params": True})
            layers = nn.scan(layer, **split, in_axes=ALIKE, length=LAYERS)
            h, _ = layers(c, name="layers")(h, seen)
        else:
            for i in range(LAYERS):
                h, _ = layer(c, name=f"layer_{i}")(h, seen)
        return h, c.pooled(nn.Dense(WIDTH, name="pool")(c.stop_pooled(h[:, 0])))


def convert(
    state: Any, *, scan: bool = False, query: Callable[[Any], Any] = jnp.transpose
) -> dict[str, Any]:
    """Return linen variables with the weights of `Bert`."""
    w = arrays(state)

    def norm(name: str) -> dict[str, Any]:
        return {"scale": w[f"{name}.weight"], "shift": w[f"{name}.bias"]}

    def heads(name: str, turn: Callable[[Any], Any] = jnp.transpose) -> dict[str, Any]:
        kernel = turn(w[f"{name}.weight"]).reshape(WIDTH, HEADS, SIZE)
        return {"kernel": kernel, "bias": w[f"{name}.bias"].reshape(HEADS, SIZE)}

    def layer(i: int) -> dict[str, Any]:
        out = dense(w, f"layer.{i}.attention_output.dense")
        mixer = {
            "q": heads(f"layer.{i}.attention.query", query),
            "k": heads(f"layer.{i}.attention.key"),
            "v": heads(f"layer.{i}.attention.value"),
            "o": out | {"kernel": out["kernel"].reshape(HEADS, SIZE, WIDTH)},
        }
        return {
            "Mixer_0": mixer,
            "norm1": norm(f"layer.{i}.attention_output.LayerNorm"),
            "up": dense(w, f"layer.{i}.intermediate"),
            "down": dense(w, f"layer.{i}.output.dense"),
            "norm2": norm(f"layer.{i}.output.LayerNorm"),
        }

    layers = [layer(i) for i in range(LAYERS)]
    stacked = {"layers": jax.tree.map(lambda *x: jnp.stack(x), *layers)}
    listed = {f"layer_{i}": p for i, p in enumerate(layers)}
    params = {
        "tokens": w["embeddings.word_embeddings.weight"],
        "places": w["embeddings.position_embeddings.weight"],
        "kinds": w["embeddings.token_type_embeddings.weight"],
        "norm": norm("embeddings.LayerNorm"),
        "pool": dense(w, "pooler.0"),
    }
    return {"params": params | (stacked if scan else listed)}


def torch_loss(outputs: Any, *inputs: Any) -> Any:
    hidden, pooled = outputs
    mask = inputs[2][..., None]
    return (hidden**2 * mask).sum() / mask.sum() + (pooled**3).mean()


def loss(outputs: Any, *inputs: Any) -> Any:
    hidden, pooled = outputs
    valid = inputs[2] == 1
    return jnp.mean(jnp.sum(hidden**2, -1), where=valid) + jnp.mean(pooled**3)


def loss_over_padding(outputs: Any, *inputs: Any) -> Any:
    hidden, pooled = outputs
    return jnp.mean(jnp.sum(hidden**2, -1)) + jnp.mean(pooled**3)


def torch_sgd(params: Any) -> torch.optim.Optimizer:
    return torch.optim.SGD(params, lr=1e-2, momentum=0.9, weight_decay=1e-2)


def sgd(*, nesterov: bool = False, coupled: bool = True, mask: Any = None) -> Any:
    """Return optax's SGD with the weight decay added to the gradient, as in torch."""
    decay = optax.add_decayed_weights(1e-2, mask)
    trace = optax.trace(0.9, nesterov=nesterov)
    return optax.chain(*((decay, trace) if coupled else (trace, decay)), optax.scale(-1e-2))


def no_padding_row(updates: Any, params: Any = None) -> Any:
    table = updates["params"]["tokens"].at[0].set(0)
    return {"params": updates["params"] | {"tokens": table}}


SGD = sgd()


def pair(
    seed: int = 0,
    *,
    fresh: bool = False,
    scan: bool = False,
    remat: bool = False,
    train: bool = False,
    query: Callable[[Any], Any] = jnp.transpose,
    loss: Callable[..., Any] = loss,
    tx: optax.GradientTransformation = SGD,
    **choices: Any,
) -> dict[str, Any]:
    """Return BERT and its linen port; `train` adds a loss over valid tokens and an optimizer."""
    module = build(Bert, seed, fresh=fresh)
    rng = np.random.default_rng(seed)
    tokens = rng.integers(1, VOCABULARY, (BATCH, TOKENS))
    mask = (np.arange(TOKENS) < np.array([TOKENS, 5, 3])[:, None]).astype(np.int64)
    weights = functools.partial(convert, scan=scan, query=query)
    training = dict(loss=(torch_loss, loss), optimizer=(torch_sgd, tx), steps=3)
    return dict(
        module=module,
        fn=Encoder(Choices(**choices), scan, remat).apply,
        params=weights(module.state_dict()),
        inputs=(tokens * mask, rng.integers(0, 2, (BATCH, TOKENS)), mask),
        outputs=(lambda out: (out.last_hidden_state, out.pooler_output), identity),
        weights=weights,
        **(training if train else {}),
    )


CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "fresh": dict(fresh=True),
    "scan": dict(scan=True),
    "remat": dict(remat=True),
    "train": dict(train=True),
    "train_scan_remat": dict(train=True, scan=True, remat=True),
    "mask_by_large_value": dict(hidden_score=-1e4),
}

BUGS: tuple[Bug, ...] = (
    Bug(
        "eps_of_torch",
        "forward",
        "*LayerNorm",
        plant=dict(eps=1e-5),
        about="The port uses torch's default epsilon of 1e-5; BERT uses 1e-12.",
        cause="eps is 1e-05, torch uses 1e-12",
    ),
    Bug(
        "gelu_tanh",
        "forward",
        "layer.*.act",
        plant=dict(gelu=jax.nn.gelu),
        about="`jax.nn.gelu` defaults to the tanh approximation.",
        cause="GELU is the tanh approximation",
    ),
    Bug(
        "scale_missing",
        "forward",
        "layer.*.attention",
        plant=dict(scale=1.0),
        about="The attention scores are not divided by sqrt(d).",
        cause="torch's div( by [^ ]+)? is missing|number in div is 1,|scale is missing",
    ),
    Bug(
        "mask_sense",
        "forward",
        "layer.*.attention",
        plant=dict(seen=lambda mask: mask == 0),
        about="The mask is inverted: its ones hide tokens.",
        cause="mask is inverted|torch's rsub is missing|branches of where are swapped",
    ),
    Bug(
        "mask_unused",
        "forward",
        "layer.*.attention",
        plant=dict(seen=jnp.ones_like),
        about="The padding mask is ignored.",
        cause="torch's add is missing|mask is (missing|ignored|unused)",
    ),
    Bug(
        "mask_value",
        "forward",
        "layer.*.attention",
        plant=dict(hidden_score=-1.0),
        about="Masked scores are -1 instead of -infinity.",
        cause=r"(masked (scores|elements)|mask) .*-1\b",
    ),
    Bug(
        "pre_norm",
        "forward",
        "layer.*",
        plant=dict(pre_norm=True),
        about="The layer norms are applied before each branch instead of after it.",
        cause="norm.* (before|first)",
    ),
    Bug(
        "segments_swapped",
        "forward",
        "embeddings.*",
        plant=dict(segment=lambda s: 1 - s),
        about="The segment ids 0 and 1 are swapped.",
        cause="indices 0 and 1 are swapped",
    ),
    Bug(
        "pooler_tanh",
        "forward",
        "pooler*",
        plant=dict(pooled=identity),
        about="The pooler has no tanh.",
        cause="torch's tanh is missing",
    ),
    Bug(
        "query_not_transposed",
        "forward",
        "layer.*.attention.query*",
        plant=dict(query=identity),
        about="The square query weight is not transposed.",
        cause="square weight is transposed",
    ),
    Bug(
        "attention_stopped",
        "structure",
        "layer.*.attention.*",
        silent=True,
        plant=dict(stop_attention=lax.stop_gradient),
        about="The attention probabilities are detached, so queries and keys never train.",
        cause=extra_stop("stop_attention"),
    ),
    Bug(
        "statistics_stopped",
        "backward",
        "*LayerNorm",
        silent=True,
        plant=dict(stop_statistics=lax.stop_gradient),
        about="The layer norm's mean and variance are detached.",
        cause=extra_stop("stop_statistics"),
    ),
    Bug(
        "skip_stopped",
        "backward",
        "layer.*",
        silent=True,
        plant=dict(stop_skip=lax.stop_gradient),
        about="The first skip connection is detached.",
        cause=extra_stop("stop_skip"),
    ),
    Bug(
        "skip_stopped_in_scan",
        "backward",
        "layer.*",
        silent=True,
        plant=dict(scan=True, stop_skip=lax.stop_gradient),
        about="The skip connection is detached inside a scan over layers.",
        cause=extra_stop("stop_skip"),
    ),
    Bug(
        "pooled_stopped",
        "backward",
        ("", "pooler*"),
        silent=True,
        plant=dict(stop_pooled=lax.stop_gradient),
        about="The pooler's input is detached, so the pooled output trains only the pooler.",
        cause=extra_stop("stop_pooled"),
    ),
    Bug(
        "padding_row_trained",
        "gradients",
        "embeddings.word_embeddings.weight",
        silent=True,
        plant=dict(padding_row=identity),
        about="The port ignores `padding_idx`, so the padding row receives a gradient.",
        cause="padding_idx no gradient, JAX gives it one",
    ),
    Bug(
        "loss_over_padding",
        "forward",
        "loss",
        plant=dict(train=True, loss=loss_over_padding),
        about="The loss is averaged over all tokens instead of the valid ones.",
        cause="over (all|the padding)|padding|mask is (missing|ignored|unused)",
    ),
    Bug(
        "nesterov",
        "updates",
        "*",
        silent=True,
        plant=dict(train=True, tx=sgd(nesterov=True)),
        about="The optimizer uses Nesterov momentum instead of heavy-ball momentum.",
        cause="nesterov",
    ),
    Bug(
        "decoupled_decay",
        "updates",
        "*",
        silent=True,
        plant=dict(train=True, tx=sgd(coupled=False)),
        about="Weight decay is applied after the momentum.",
        cause="decay .*(decoupled|after the momentum)",
    ),
    Bug(
        "padding_row_not_decayed",
        "updates",
        "embeddings.word_embeddings.weight",
        silent=True,
        plant=dict(train=True, tx=optax.chain(sgd(), optax.stateless(no_padding_row))),
        about="The padding row's update is masked, but torch decays that row.",
        cause="decay.* row|row.* decay",
    ),
    Bug(
        "statistics_stopped_in_scan",
        "backward",
        "*LayerNorm",
        silent=True,
        plant=dict(scan=True, stop_statistics=lax.stop_gradient),
        about="The layer norm's mean and variance are detached inside a scan over layers.",
        cause=extra_stop("stop_statistics"),
    ),
    Bug(
        "momentum_averages",
        "updates",
        "*",
        silent=True,
        plant=dict(
            train=True,
            tx=optax.chain(
                optax.add_decayed_weights(1e-2), optax.ema(0.9, debias=False), optax.scale(-1e-2)
            ),
        ),
        about="The momentum is a running mean of the gradients instead of a running sum.",
        cause=r"dampen|running mean|learning rate is 0\.1 times",
    ),
)

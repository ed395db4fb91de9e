"""CLIP with a learned temperature, and its port to equinox."""

import functools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import torch
from jax import lax
from torch import nn
from torch.nn import functional

from parity_tests.case import identity
from parity_tests.ports._weights import arrays, build
from parity_tests.ports.bug import Bug, extra_stop


PIXELS, VOCABULARY, TOKENS, WIDTH, BATCH = 6, 9, 4, 5, 4


class CLIP(nn.Module):
    def __init__(self):
        super().__init__()
        self.image = nn.Sequential(nn.Linear(PIXELS, WIDTH), nn.GELU(), nn.Linear(WIDTH, WIDTH))
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.text = nn.Linear(WIDTH, WIDTH, bias=False)
        self.scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, image, tokens):
        image = functional.normalize(self.image(image), dim=-1)
        end = self.embedding(tokens)[torch.arange(len(tokens)), tokens.argmax(-1)]
        text = functional.normalize(self.text(end), dim=-1)
        return self.scale.clamp(max=4.6).exp() * image @ text.T


def torch_loss(logits: Any) -> Any:
    labels = torch.arange(len(logits))
    return functional.cross_entropy(logits, labels) + functional.cross_entropy(logits.T, labels)


class Port(eqx.Module):
    """CLIP in equinox; options other than the default are porting mistakes."""

    image: Any
    embedding: Any
    text: Any
    scale: Any
    approximate: bool = eqx.field(static=True, default=False)
    last: bool = eqx.field(static=True, default=False)
    size: Callable[[Any], Any] = eqx.field(
        static=True, default=lambda x: jnp.linalg.norm(x, axis=-1, keepdims=True)
    )
    bound: Callable[[Any], Any] = eqx.field(static=True, default=lambda x: jnp.minimum(x, 4.6))
    stop_image: Callable[[Any], Any] = eqx.field(static=True, default=identity)
    stop_size: Callable[[Any], Any] = eqx.field(static=True, default=identity)

    def __call__(self, image: Any, tokens: Any) -> Any:
        first, second = self.image
        h = jax.nn.gelu(jax.vmap(first)(image), approximate=self.approximate)
        image = self.stop_image(jax.vmap(second)(h))
        end = jnp.full(len(tokens), -1) if self.last else jnp.argmax(tokens, -1)
        end = jnp.take_along_axis(tokens, end[:, None] % TOKENS, 1)[:, 0]
        text = jax.vmap(self.text)(jax.vmap(self.embedding)(end))
        image, text = (x / jnp.maximum(self.stop_size(self.size(x)), 1e-12) for x in (image, text))
        return jnp.exp(self.bound(self.scale)) * (image @ text.T)


def convert(state: Any, **options: Any) -> Any:
    """Return a `Port`."""
    w = arrays(state)

    def linear(name: str) -> eqx.nn.Linear:
        bias = w.get(f"{name}.bias")
        empty = eqx.nn.Linear(1, 1, use_bias=bias is not None, key=jax.random.key(0))
        full = eqx.tree_at(lambda m: m.weight, empty, w[f"{name}.weight"])
        return full if bias is None else eqx.tree_at(lambda m: m.bias, full, bias)

    embedding = eqx.nn.Embedding(weight=w["embedding.weight"])
    image = linear("image.0"), linear("image.2")
    return Port(image, embedding, linear("text"), w["scale"], **options)


def both(logits: Any, *, stop: Callable[[Any], Any] = identity) -> Any:
    labels = jnp.arange(len(logits))
    losses = optax.softmax_cross_entropy_with_integer_labels
    return jnp.mean(losses(logits, labels)) + jnp.mean(losses(stop(logits.T), labels))


def pair(
    seed: int = 0,
    *,
    hot: bool = False,
    loss: Callable[[Any], Any] = both,
    **options: Any,
) -> dict[str, Any]:
    """Return CLIP and its port; `hot` puts the temperature above its bound."""
    module = build(CLIP, seed)
    if hot:
        module.scale.data.fill_(5.0)
    rng = np.random.default_rng(seed)
    tokens = np.stack([rng.permutation(VOCABULARY)[:TOKENS] for _ in range(BATCH)])
    return dict(
        module=module,
        fn=lambda port, *inputs: port(*inputs),
        params=convert(module.state_dict(), **options),
        converter=functools.partial(convert, **options),
        inputs=(rng.standard_normal((BATCH, PIXELS)), tokens),
        loss=(torch_loss, loss),
    )


CONFIGURATIONS: dict[str, dict[str, Any]] = {"default": {}, "hot": dict(hot=True)}

BUGS: tuple[Bug, ...] = (
    Bug(
        "gelu_tanh",
        "forward",
        "image.1",
        plant=dict(approximate=True),
        about="JAX's default GELU is the tanh approximation.",
        cause="GELU is the tanh approximation",
    ),
    Bug(
        "last_token",
        "forward",
        "",
        plant=dict(last=True),
        about="The last token is pooled instead of the one with the largest id.",
        cause="last element",
    ),
    Bug(
        "one_direction",
        "forward",
        "loss",
        plant=dict(loss=lambda logits: both(logits, stop=jnp.transpose)),
        about="The loss goes from image to text in both terms.",
        cause="torch's T is missing",
    ),
    Bug(
        "l1_norm",
        "forward",
        "",
        plant=dict(size=lambda x: jnp.sum(jnp.abs(x), -1, keepdims=True)),
        about="The features are divided by their L1 norm.",
        cause=r"\b(p|ord) is 1\b|L1",
    ),
    Bug(
        "one_direction_stopped",
        "backward",
        "loss",
        silent=True,
        plant=dict(loss=lambda logits: both(logits, stop=lax.stop_gradient)),
        about="The loss from text to image trains nothing.",
        cause=extra_stop(r"stop\(logits"),
    ),
    Bug(
        "scale_stopped",
        "structure",
        "scale",
        silent=True,
        plant=dict(bound=lambda x: lax.stop_gradient(jnp.minimum(x, 4.6))),
        about="The temperature never trains.",
        cause=extra_stop("bound"),
    ),
    Bug(
        "scale_bound_straight_through",
        "gradients",
        "scale",
        silent=True,
        plant=dict(hot=True, bound=lambda x: x + lax.stop_gradient(jnp.minimum(x, 4.6) - x)),
        about="A temperature above its bound still trains.",
        cause=extra_stop("bound"),
    ),
    Bug(
        "image_stopped",
        "structure",
        "image.*",
        silent=True,
        plant=dict(stop_image=lax.stop_gradient),
        about="The image tower never trains.",
        cause=extra_stop("stop_image"),
    ),
    Bug(
        "norm_stopped",
        "backward",
        "",
        silent=True,
        plant=dict(stop_size=lax.stop_gradient),
        about="The norm of the features is detached.",
        cause=extra_stop("stop_size"),
    ),
)

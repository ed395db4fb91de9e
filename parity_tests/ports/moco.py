"""Momentum contrast with a queue of negatives, and its port to functions."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import torch
from jax import lax
from torch import nn
from torch.nn import functional

from parity_tests.case import identity
from parity_tests.ports._weights import arrays, build, dense
from parity_tests.ports.bug import Bug, extra_stop


PIXELS, HIDDEN, WIDTH, QUEUE, BATCH, TEMPERATURE = 5, 6, 4, 6, 3, 0.2


def encoder() -> nn.Sequential:
    return nn.Sequential(nn.Linear(PIXELS, HIDDEN), nn.ELU(), nn.Linear(HIDDEN, WIDTH))


class MoCo(nn.Module):
    queue: torch.Tensor

    def __init__(self):
        super().__init__()
        self.query, self.key = encoder(), encoder().requires_grad_(False)
        self.predictor = nn.Linear(WIDTH, WIDTH)
        self.register_buffer("queue", functional.normalize(torch.randn(QUEUE, WIDTH), dim=-1))

    def forward(self, first, second):
        q = functional.normalize(self.predictor(self.query(first)), dim=-1)
        with torch.no_grad():
            k = functional.normalize(self.key(second), dim=-1)
        positive = (q * k).sum(-1, keepdim=True)
        logits = torch.cat([positive, q @ self.queue.T], 1) / TEMPERATURE
        return functional.cross_entropy(logits, torch.zeros(len(q), dtype=torch.long))


class Port(NamedTuple):
    """The JAX port and its options; values other than the default are porting mistakes."""

    temperature: float = TEMPERATURE
    place: int = 0
    predicts: bool = True
    act: Callable[[Any], Any] = jax.nn.elu
    stop_key: Callable[[Any], Any] = lax.stop_gradient
    stop_queue: Callable[[Any], Any] = lax.stop_gradient
    stop_query: Callable[[Any], Any] = identity
    stop_positive: Callable[[Any], Any] = identity

    def encode(self, p: Any, x: Any) -> Any:
        return linear(p["out"], self.act(linear(p["in"], x)))

    def apply(self, p: Any, first: Any, second: Any) -> Any:
        q = self.stop_query(self.encode(p["query"], first))
        q = unit(linear(p["predictor"], q) if self.predicts else q)
        k = self.stop_key(unit(self.encode(p["key"], second)))
        positive = jnp.sum(self.stop_positive(q) * k, -1, keepdims=True)
        logits = jnp.concatenate([positive, q @ self.stop_queue(p["queue"]).T], 1)
        labels = jnp.full(len(q), self.place)
        losses = optax.softmax_cross_entropy_with_integer_labels(logits / self.temperature, labels)
        return jnp.mean(losses)


def linear(p: Any, x: Any) -> Any:
    return x @ p["kernel"] + p["bias"]


def unit(x: Any) -> Any:
    return x / jnp.maximum(jnp.linalg.norm(x, axis=-1, keepdims=True), 1e-12)


def convert(state: Any, *, swapped: bool = False) -> Any:
    """Return the weights of a `MoCo`; its queue is a leaf, and `swapped` exchanges the encoders."""
    w = arrays(state)

    def both(net: str) -> dict[str, Any]:
        return {"in": dense(w, f"{net}.0"), "out": dense(w, f"{net}.2")}

    query, key = ("key", "query") if swapped else ("query", "key")
    nets = {"query": both(query), "key": both(key), "predictor": dense(w, "predictor")}
    return nets | {"queue": w["queue"]}


def trained(path: str) -> bool:
    return not path.startswith(("key", "queue"))


def pair(seed: int = 0, *, swapped: bool = False, **options: Any) -> dict[str, Any]:
    """Return momentum contrast and its port."""
    module, port = build(MoCo, seed), Port(**options)
    rng = np.random.default_rng(seed)
    return dict(
        module=module,
        fn=port.apply,
        params=convert(module.state_dict(), swapped=swapped),
        converter=functools.partial(convert, swapped=swapped),
        inputs=tuple(rng.standard_normal((BATCH, PIXELS)) for _ in range(2)),
        trainable=trained,
    )


CONFIGURATIONS: dict[str, dict[str, Any]] = {"default": {}}

BUGS: tuple[Bug, ...] = (
    Bug(
        "temperature",
        "forward",
        "",
        plant=dict(temperature=0.07),
        about="The temperature of another paper is used.",
        cause=r"number in div is 0\.07, torch uses 0\.2",
    ),
    Bug(
        "positive_label",
        "forward",
        "",
        plant=dict(place=1),
        about="The first negative is taken for the positive.",
        cause=r"labels? .*1\b|targets? .*1\b|indices are shifted by 1",
    ),
    Bug(
        "no_predictor",
        "structure",
        "predictor*",
        plant=dict(predicts=False),
        about="The predictor is not applied.",
        cause="ignores the leaf|torch's linear is missing",
    ),
    Bug(
        "relu_for_elu",
        "forward",
        "query.1",
        plant=dict(act=jax.nn.relu),
        about="The activation is a ReLU.",
        cause="activation is relu, torch uses elu",
    ),
    Bug(
        "encoders_swapped",
        "structure",
        "query*",
        plant=dict(swapped=True),
        about="The weights of the two encoders are exchanged.",
        cause="holds torch's 'query|query.* and .*key.* are exchanged",
    ),
    Bug(
        "query_stopped",
        "structure",
        "query.*",
        silent=True,
        plant=dict(stop_query=lax.stop_gradient),
        about="The predictor trains, the query encoder does not.",
        cause=extra_stop("stop_query"),
    ),
    Bug(
        "positive_stopped",
        "backward",
        "",
        silent=True,
        plant=dict(stop_positive=lax.stop_gradient),
        about="The positive pair trains nothing.",
        cause=extra_stop("stop_positive"),
    ),
)

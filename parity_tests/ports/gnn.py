"""A graph attention layer and a mean aggregation, and their port to `segment_sum`."""

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


NODES, FEATURES, HEADS, WIDTH, EDGE = 6, 4, 2, 3, 2
SENDERS = np.array([0, 1, 2, 3, 4, 5, 0, 2, 4, 1, 5])
RECEIVERS = np.array([1, 2, 3, 4, 5, 0, 2, 2, 1, 5, 5])


class GAT(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(FEATURES, HEADS * WIDTH, bias=False)
        self.edge = nn.Linear(EDGE, HEADS, bias=False)
        self.source = nn.Parameter(torch.randn(HEADS, WIDTH))
        self.target = nn.Parameter(torch.randn(HEADS, WIDTH))
        self.bias = nn.Parameter(torch.zeros(HEADS * WIDTH))

    def forward(self, x, edges, senders, receivers):
        h = self.proj(x).view(-1, HEADS, WIDTH)
        score = (h * self.source).sum(-1)[senders] + (h * self.target).sum(-1)[receivers]
        score = functional.leaky_relu(score + self.edge(edges), 0.2)
        index = receivers[:, None].expand_as(score)
        zeros = score.new_zeros(len(x), HEADS)
        largest = zeros.scatter_reduce(0, index, score.detach(), "amax", include_self=False)
        weight = (score - largest[receivers]).exp()
        total = zeros.index_add(0, receivers, weight)
        alpha = weight / (total[receivers] + 1e-16)
        messages = alpha[..., None] * h[senders]
        return h.new_zeros(len(x), HEADS, WIDTH).index_add(0, receivers, messages).flatten(1)


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.gat = GAT()
        self.own = nn.Linear(HEADS * WIDTH, WIDTH)
        self.neighbours = nn.Linear(HEADS * WIDTH, WIDTH, bias=False)
        self.readout = nn.Linear(WIDTH, 1)

    def forward(self, x, edges, senders, receivers):
        h = functional.elu(self.gat(x, edges, senders, receivers) + self.gat.bias)
        total = torch.zeros_like(h).index_add(0, receivers, h[senders])
        count = h.new_zeros(len(h)).index_add(0, receivers, h.new_ones(len(receivers)))
        h = self.own(h) + self.neighbours(total / count.clamp(min=1)[:, None])
        return self.readout(torch.relu(h).amax(0))


class Port(NamedTuple):
    """The JAX port and its options; values other than the default are porting mistakes."""

    reverse: bool = False
    slope: float = 0.2
    everywhere: bool = False
    mean: bool = True
    heads_last: bool = False
    stop_alpha: Callable[[Any], Any] = identity
    stop_total: Callable[[Any], Any] = identity
    stop_messages: Callable[[Any], Any] = identity
    stop_edges: Callable[[Any], Any] = identity
    pool: Callable[[Any], Any] = lambda h: jnp.max(h, 0)

    def attend(self, p: Any, x: Any, edges: Any, senders: Any, receivers: Any) -> Any:
        h = x @ p["proj"]
        if self.heads_last:
            h = jnp.swapaxes(h.reshape(-1, WIDTH, HEADS), 1, 2)
        else:
            h = h.reshape(-1, HEADS, WIDTH)
        score = jnp.sum(h * p["source"], -1)[senders] + jnp.sum(h * p["target"], -1)[receivers]
        score = jax.nn.leaky_relu(score + self.stop_edges(edges @ p["edge"]), self.slope)
        if self.everywhere:
            alpha = jax.nn.softmax(score, 0)
        else:
            largest = lax.stop_gradient(jax.ops.segment_max(score, receivers, NODES))
            weight = jnp.exp(score - largest[receivers])
            total = self.stop_total(jax.ops.segment_sum(weight, receivers, NODES))
            alpha = weight / (total[receivers] + 1e-16)
        messages = self.stop_alpha(alpha)[..., None] * h[senders]
        return jax.ops.segment_sum(messages, receivers, NODES).reshape(len(x), -1)

    def apply(self, p: Any, x: Any, edges: Any, senders: Any, receivers: Any) -> Any:
        senders, receivers = (receivers, senders) if self.reverse else (senders, receivers)
        h = jax.nn.elu(self.attend(p["gat"], x, edges, senders, receivers) + p["gat"]["bias"])
        total = jax.ops.segment_sum(self.stop_messages(h)[senders], receivers, NODES)
        count = jax.ops.segment_sum(jnp.ones(len(receivers)), receivers, NODES)
        if self.mean:
            total = total / jnp.maximum(count, 1)[:, None]
        h = h @ p["own"]["kernel"] + p["own"]["bias"] + total @ p["neighbours"]
        return self.pool(jax.nn.relu(h)) @ p["readout"]["kernel"] + p["readout"]["bias"]


def convert(state: Any) -> Any:
    """Return the weights of a `Network`."""
    w = arrays(state)
    gat = {name: w[f"gat.{name}"] for name in ("source", "target", "bias")}
    gat |= {"proj": w["gat.proj.weight"].T, "edge": w["gat.edge.weight"].T}
    layers = {name: dense(w, name) for name in ("own", "readout")}
    return {"gat": gat, "neighbours": w["neighbours.weight"].T} | layers


def pair(seed: int = 0, **options: Any) -> dict[str, Any]:
    """Return the network and its port."""
    module, port = build(Network, seed), Port(**options)
    rng = np.random.default_rng(seed)
    return dict(
        module=module,
        fn=port.apply,
        params=convert(module.state_dict()),
        converter=convert,
        inputs=(
            rng.standard_normal((NODES, FEATURES)),
            rng.standard_normal((len(SENDERS), EDGE)),
            SENDERS,
            RECEIVERS,
        ),
    )


CONFIGURATIONS: dict[str, dict[str, Any]] = {"default": {}}

BUGS: tuple[Bug, ...] = (
    Bug(
        "edges_reversed",
        "forward",
        "gat",
        plant=dict(reverse=True),
        about="Messages flow from receivers to senders.",
        cause="senders.* (exchanged|swapped)|receivers.* (exchanged|swapped)",
    ),
    Bug(
        "leaky_slope",
        "forward",
        "gat",
        plant=dict(slope=0.01),
        about="JAX's default slope of 0.01 is kept.",
        cause=r"negative_slope is 0\.01, torch uses 0\.2",
    ),
    Bug(
        "softmax_over_all_edges",
        "forward",
        "gat",
        plant=dict(everywhere=True),
        about="The attention is normalised over all edges.",
        cause="over dim 0|over all",
    ),
    Bug(
        "sum_for_mean",
        "forward",
        "",
        plant=dict(mean=False),
        about="The neighbours are summed instead of averaged.",
        cause="torch's div( by [^ ]+)? is missing",
    ),
    Bug(
        "heads_last",
        "forward",
        "gat*",
        plant=dict(heads_last=True),
        about="The projection is split into heads the wrong way.",
        cause="two factors exchanged",
    ),
    Bug(
        "attention_stopped",
        "structure",
        "gat.source",
        silent=True,
        plant=dict(stop_alpha=lax.stop_gradient),
        about="The attention weights are detached.",
        cause=extra_stop("stop_alpha"),
    ),
    Bug(
        "normaliser_stopped",
        "backward",
        "gat",
        silent=True,
        plant=dict(stop_total=lax.stop_gradient),
        about="The sum over the neighbours is detached.",
        cause=extra_stop("stop_total"),
    ),
    Bug(
        "messages_stopped",
        "backward",
        "",
        silent=True,
        plant=dict(stop_messages=lax.stop_gradient),
        about="The averaged neighbours train nothing before them.",
        cause=extra_stop("stop_messages"),
    ),
    Bug(
        "edge_features_stopped",
        "structure",
        "gat.edge.weight",
        silent=True,
        plant=dict(stop_edges=lax.stop_gradient),
        about="The edge features never train.",
        cause=extra_stop("stop_edges"),
    ),
)

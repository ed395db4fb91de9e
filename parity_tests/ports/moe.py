"""A mixture of experts that gathers tokens in torch, and its dense port to equinox."""

import functools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import torch
from jax import lax
from torch import nn
from torch.nn import functional

from parity_tests.case import identity
from parity_tests.ports._weights import arrays, build
from parity_tests.ports.bug import Bug, extra_stop


WIDTH, HIDDEN, EXPERTS, TOP, TOKENS = 4, 5, 4, 2, 9


class Expert(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.gate = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.down = nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x):
        return self.down(functional.silu(self.gate(x)) * self.up(x))


class MoE(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.router = nn.Linear(WIDTH, EXPERTS, bias=False)
        self.experts = nn.ModuleList(Expert() for _ in range(EXPERTS))

    def forward(self, x):
        h = self.norm(x)
        logits = self.router(h)
        probs = logits.softmax(-1)
        weights, chosen = probs.topk(TOP, -1)
        weights = weights / weights.sum(-1, keepdim=True)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            token, place = torch.where(chosen == i)
            out = out.index_add(0, token, weights[token, place, None] * expert(h[token]))
        load = functional.one_hot(chosen, EXPERTS).sum(1).to(x.dtype).mean(0) / TOP
        balance = EXPERTS * (load * probs.mean(0)).sum()
        return x + out, balance, logits.logsumexp(-1).square().mean()


def torch_loss(out: Any) -> Any:
    return out[0].square().mean() + 0.1 * out[1] + 0.01 * out[2]


class Layer(eqx.Module):
    """The port, with stacked experts; options other than the default are porting mistakes."""

    scale: Any
    shift: Any
    router: Any
    up: Any  # [experts, width, hidden]
    gate: Any
    down: Any
    normalise: bool = eqx.field(static=True, default=True)
    early: bool = eqx.field(static=True, default=False)
    z: float = eqx.field(static=True, default=0.01)
    swapped: bool = eqx.field(static=True, default=False)
    stop_weights: Callable[[Any], Any] = eqx.field(static=True, default=identity)
    stop_total: Callable[[Any], Any] = eqx.field(static=True, default=identity)
    stop_probs: Callable[[Any], Any] = eqx.field(static=True, default=identity)
    stop_router_input: Callable[[Any], Any] = eqx.field(static=True, default=identity)

    def __call__(self, x: Any) -> Any:
        mean, variance = jnp.mean(x, -1, keepdims=True), jnp.var(x, -1, keepdims=True)
        h = (x - mean) * lax.rsqrt(variance + 1e-5) * self.scale + self.shift
        logits = self.stop_router_input(h) @ self.router
        probs = jax.nn.softmax(logits)
        values, chosen = lax.top_k(logits if self.early else probs, TOP)
        weights = self.stop_weights(jax.nn.softmax(values) if self.early else values)
        if self.normalise:
            weights = weights / self.stop_total(jnp.sum(weights, -1, keepdims=True))
        mask = jax.nn.one_hot(chosen, EXPERTS, dtype=x.dtype)  # [tokens, top, experts]
        up = jnp.einsum("tw,ewh->teh", h, self.up)
        gate = jnp.einsum("tw,ewh->teh", h, self.gate)
        up, gate = (gate, up) if self.swapped else (up, gate)
        out = jnp.einsum("teh,ehw->tew", jax.nn.silu(gate) * up, self.down)
        out = jnp.einsum("tke,tk,tew->tw", mask, weights, out)
        load = jnp.mean(jnp.sum(mask, 1), 0) / TOP
        balance = EXPERTS * jnp.sum(load * jnp.mean(self.stop_probs(probs), 0))
        return x + out, balance, jnp.mean(jax.nn.logsumexp(logits, -1) ** 2)


def convert(state: Any, **options: Any) -> Any:
    """Return a `Layer`; the experts are stacked."""
    w = arrays(state)

    def stacked(name: str) -> Any:
        return jnp.stack([w[f"experts.{i}.{name}.weight"].T for i in range(EXPERTS)])

    return Layer(
        w["norm.weight"], w["norm.bias"], w["router.weight"].T,
        stacked("up"), stacked("gate"), stacked("down"), **options,
    )  # fmt: skip


def pair(seed: int = 0, *, z: float = 0.01, **options: Any) -> dict[str, Any]:
    """Return the mixture and its port."""
    module = build(MoE, seed)

    def loss(out: Any) -> Any:
        return jnp.mean(out[0] ** 2) + 0.1 * out[1] + z * out[2]

    return dict(
        module=module,
        fn=lambda layer, x: layer(x),
        params=convert(module.state_dict(), **options),
        converter=functools.partial(convert, **options),
        inputs=(np.random.default_rng(seed).standard_normal((TOKENS, WIDTH)),),
        loss=(torch_loss, loss),
    )


CONFIGURATIONS: dict[str, dict[str, Any]] = {"default": {}, "softmax_of_top": dict(early=True)}

BUGS: tuple[Bug, ...] = (
    Bug(
        "not_renormalised",
        "forward",
        "",
        plant=dict(normalise=False),
        about="The weights of the chosen experts do not sum to one.",
        cause="torch's div( by [^ ]+)? is missing",
    ),
    Bug(
        "gate_and_up_swapped",
        "forward",
        "experts.*",
        plant=dict(swapped=True),
        about="SiLU acts on the wrong projection.",
        cause=r"weights of experts\..*(up|gate) and of experts\..*(up|gate) are exchanged",
    ),
    Bug(
        "z_loss_missing",
        "forward",
        "loss",
        plant=dict(z=0.0),
        about="The router's z-loss is missing.",
        cause=r"number in mul is 0, torch uses 0\.01|a term of the sum is missing: .*loss \(mul\)",
    ),
    Bug(
        "weights_stopped",
        "backward",
        "",
        silent=True,
        plant=dict(stop_weights=lax.stop_gradient),
        about="The outputs do not train the router; the balance loss still does.",
        cause=extra_stop("stop_weights"),
    ),
    Bug(
        "total_stopped",
        "backward",
        "",
        silent=True,
        plant=dict(stop_total=lax.stop_gradient),
        about="The sum of the chosen weights is detached.",
        cause=extra_stop("stop_total"),
    ),
    Bug(
        "balance_stopped",
        "backward",
        "",
        silent=True,
        plant=dict(stop_probs=lax.stop_gradient),
        about="The balance loss trains nothing.",
        cause=extra_stop("stop_probs"),
    ),
    Bug(
        "router_input_stopped",
        "backward",
        "router",
        silent=True,
        plant=dict(stop_router_input=lax.stop_gradient),
        about="The router does not train the layers before it.",
        cause=extra_stop("stop_router_input"),
    ),
)

"""A Switch layer that calls only the experts that have tokens, and its port to functions."""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

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


WIDTH, HIDDEN, EXPERTS, TOKENS = 4, 5, 3, 16


class Switch(nn.Module):
    def __init__(self):
        super().__init__()
        self.router = nn.Linear(WIDTH, EXPERTS, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(WIDTH, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, WIDTH))
            for _ in range(EXPERTS)
        )

    def forward(self, x, real, share):
        x = share * x + (1 - share) * x.flip(0)  # mixup
        logits = self.router(x)
        gates = logits.softmax(-1)
        gate, chosen = gates.max(-1)
        y = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            rows = (chosen == number).nonzero().squeeze(-1)
            if len(rows):
                y = y.index_add(0, rows, gate[rows, None] * expert(x[rows]))
        used = functional.one_hot(chosen, EXPERTS).to(x.dtype)
        with torch.no_grad():
            frequency = (used * real[:, None]).sum(0) / real.sum()
        balance = EXPERTS * (frequency * gates.mean(0)).sum()
        size = torch.logsumexp(logits, -1).square().mean()
        return OrderedDict(y=x + y * real[:, None], size=size, balance=balance)


class Port(NamedTuple):
    """The JAX port and its options; values other than the default are porting mistakes."""

    scale: float = EXPERTS
    mixed: Callable[[Any], Any] = identity
    square: Callable[[Any], Any] = jnp.square
    stop_gate: Callable[[Any], Any] = identity
    stop_balance: Callable[[Any], Any] = identity
    counted: Callable[[Any], Any] = identity
    masked: Callable[[Any], Any] = identity
    names: tuple[str, str] = ("balance", "size")

    def apply(self, p: Mapping[str, Any], x: Any, real: Any, share: Any) -> Any:
        share = self.mixed(share)
        x = share * x + (1 - share) * x[::-1]
        logits = x @ p["router"].T
        gates = jax.nn.softmax(logits)
        used = jax.nn.one_hot(jnp.argmax(gates, -1), EXPERTS)
        gate = self.stop_gate(jnp.max(gates, -1))
        h = jnp.tanh(jnp.einsum("ni,khi->nkh", x, p["w_in"]) + p["b_in"])
        out = jnp.einsum("nkh,koh->nko", h, p["w_out"]) + p["b_out"]
        y = jnp.einsum("nk,nko->no", used * gate[:, None], out)
        weight = self.counted(real)
        frequency = lax.stop_gradient(jnp.sum(used * weight[:, None], 0) / jnp.sum(weight))
        balance = self.scale * jnp.sum(frequency * self.stop_balance(jnp.mean(gates, 0)))
        size = jnp.mean(self.square(jax.nn.logsumexp(logits, -1)))
        first, second = self.names
        return {"y": x + y * self.masked(real)[:, None], first: balance, second: size}


def convert(state: Any) -> Any:
    """Stack the weights of the experts."""
    w = arrays(state)

    def stacked(name: str) -> Any:
        return jnp.stack([w[f"experts.{k}.{name}"] for k in range(EXPERTS)])

    experts = {"w_in": "0.weight", "b_in": "0.bias", "w_out": "2.weight", "b_out": "2.bias"}
    return {"router": w["router.weight"]} | {key: stacked(name) for key, name in experts.items()}


def pair(seed: int = 0, **options: Any) -> dict[str, Any]:
    """Return the layer and its port; the arguments introduce mistakes."""
    module = build(Switch, seed)
    rng = np.random.default_rng(seed)
    return dict(
        module=module,
        fn=Port(**options).apply,
        params=convert(module.state_dict()),
        converter=convert,
        inputs=(
            rng.standard_normal((TOKENS, WIDTH)),
            (np.arange(TOKENS) < TOKENS - 2).astype(np.float64),
            np.array(0.3),
        ),
    )


CONFIGURATIONS: dict[str, dict[str, Any]] = {"default": {}}

BUGS: tuple[Bug, ...] = (
    Bug(
        "balance_not_scaled",
        "forward",
        "",
        plant=dict(scale=1.0),
        about="The balance loss is not multiplied by the number of experts.",
        cause="torch's mul( by [^ ]+)? is missing|number in mul is 1,",
    ),
    Bug(
        "size_not_squared",
        "forward",
        "",
        plant=dict(square=identity),
        about="The router's z-loss lacks the square.",
        cause="torch's square is missing",
    ),
    Bug(
        "shares_exchanged",
        "forward",
        "",
        plant=dict(mixed=lambda share: 1 - share),
        about="The shares of the mixup are exchanged.",
        cause="share.* exchanged|exchanged.* share|operands? .*swapped",
    ),
    Bug(
        "padding_counted",
        "forward",
        "",
        plant=dict(counted=jnp.ones_like),
        about="The frequencies of the experts include the padding.",
        cause="padding|mask is (missing|ignored|unused)",
    ),
    Bug(
        "padding_computed",
        "forward",
        "",
        plant=dict(masked=jnp.ones_like),
        about="The padding passes through the experts.",
        cause="torch's mul( by [^ ]+)? is missing|mask is (missing|ignored|unused)",
    ),
    Bug(
        "losses_exchanged",
        "forward",
        "",
        plant=dict(names=("size", "balance")),
        about="The two losses are returned under each other's name.",
        cause="outputs.* (exchanged|another order)|(exchanged|another order).* outputs",
    ),
    Bug(
        "gate_stopped",
        "backward",
        "",
        silent=True,
        plant=dict(stop_gate=lax.stop_gradient),
        about="The gate is detached, so the router learns from its losses alone.",
        cause=extra_stop("stop_gate"),
    ),
    Bug(
        "balance_stopped",
        "backward",
        "",
        silent=True,
        plant=dict(stop_balance=lax.stop_gradient),
        about="The balance loss is detached from the router.",
        cause=extra_stop("stop_balance"),
    ),
)

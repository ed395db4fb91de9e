"""A bidirectional GRU, and its port to equinox's cells, which have fewer biases than torch's."""

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

from parity_tests.case import identity
from parity_tests.ports._weights import arrays, build
from parity_tests.ports.bug import Bug, extra_stop


FEATURES, HIDDEN, BATCH, TOKENS = 3, 4, 2, 5


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(FEATURES, HIDDEN, batch_first=True, bidirectional=True)
        self.start = nn.Parameter(torch.randn(2, 1, HIDDEN))
        self.out = nn.Linear(2 * HIDDEN, 1)

    def forward(self, x):
        out, last = self.gru(x, self.start.expand(-1, len(x), -1).contiguous())
        return self.out(out).squeeze(-1), last


class Port(eqx.Module):
    """The encoder in equinox; options other than the default are porting mistakes."""

    ahead: eqx.nn.GRUCell
    back: eqx.nn.GRUCell
    start: Any
    out: eqx.nn.Linear
    reverse: bool = eqx.field(static=True, default=True)
    realign: bool = eqx.field(static=True, default=True)
    order: int = eqx.field(static=True, default=1)
    stop_carry: Callable[[Any], Any] = eqx.field(static=True, default=identity)
    stop_start: Callable[[Any], Any] = eqx.field(static=True, default=identity)
    stop_last: Callable[[Any], Any] = eqx.field(static=True, default=identity)

    def scan(self, cell: eqx.nn.GRUCell, start: Any, x: Any) -> tuple[Any, Any]:
        def step(h: Any, x: Any) -> tuple[Any, Any]:
            h = cell(x, self.stop_carry(h))
            return h, h

        last, out = lax.scan(step, self.stop_start(start), x)
        return out, self.stop_last(last)

    def encode(self, x: Any) -> tuple[Any, Any]:
        ahead, last = self.scan(self.ahead, self.start[0], x)
        back, first = self.scan(self.back, self.start[1], x[::-1] if self.reverse else x)
        back = back[::-1] if self.realign else back
        joined = jnp.concatenate([ahead, back][:: self.order], -1)
        return jax.vmap(self.out)(joined)[:, 0], jnp.stack([last, first])

    def __call__(self, x: Any) -> tuple[Any, Any]:
        out, last = jax.vmap(self.encode)(x)
        return out, jnp.swapaxes(last, 0, 1)


def convert(
    state: Any, *, gates: tuple[int, ...] = (0, 1, 2), directions: int = 1, **options: Any
) -> Port:
    """Return a `Port`; both biases are merged but for the candidate's."""
    w = arrays(state)

    def ordered(x: Any) -> Any:
        parts = jnp.split(x, 3)
        return jnp.concatenate([parts[i] for i in gates])

    def cell(suffix: str) -> eqx.nn.GRUCell:
        inputs, hidden = w[f"gru.bias_ih_l0{suffix}"], w[f"gru.bias_hh_l0{suffix}"]
        empty = eqx.nn.GRUCell(FEATURES, HIDDEN, key=jax.random.key(0))
        return eqx.tree_at(
            lambda c: (c.weight_ih, c.weight_hh, c.bias, c.bias_n),
            empty,
            (
                ordered(w[f"gru.weight_ih_l0{suffix}"]),
                ordered(w[f"gru.weight_hh_l0{suffix}"]),
                ordered(inputs + hidden.at[2 * HIDDEN :].set(0)),
                hidden[2 * HIDDEN :],
            ),
        )

    out = eqx.nn.Linear(2 * HIDDEN, 1, key=jax.random.key(0))
    out = eqx.tree_at(lambda m: (m.weight, m.bias), out, (w["out.weight"], w["out.bias"]))
    ahead, back = (cell(""), cell("_reverse"))[::directions]
    return Port(ahead, back, w["start"][:, 0], out, **options)


def pair(seed: int = 0, **options: Any) -> dict[str, Any]:
    """Return the encoder and its port."""
    module = build(Encoder, seed)
    return dict(
        module=module,
        fn=lambda port, x: port(x),
        params=convert(module.state_dict(), **options),
        converter=functools.partial(convert, **options),
        inputs=(np.random.default_rng(seed).standard_normal((BATCH, TOKENS, FEATURES)),),
    )


CONFIGURATIONS: dict[str, dict[str, Any]] = {"default": {}}

BUGS: tuple[Bug, ...] = (
    Bug(
        "gate_order",
        "forward",
        "gru",
        plant=dict(gates=(1, 0, 2)),
        about="The reset and update gates are swapped, as in Keras.",
        cause="ordered update, reset, new",
    ),
    Bug(
        "directions_swapped",
        "forward",
        "gru",
        plant=dict(directions=-1),
        about="The weights of the two directions are exchanged.",
        cause="two directions",
    ),
    Bug(
        "not_reversed",
        "forward",
        "gru",
        plant=dict(reverse=False, realign=False),
        about="The backward direction reads the sequence forwards.",
        cause="backward direction reads the sequence forwards",
    ),
    Bug(
        "not_realigned",
        "forward",
        "gru",
        plant=dict(realign=False),
        about="The outputs of the backward direction stay reversed.",
        cause="backward direction stay in reversed order",
    ),
    Bug(
        "backward_first",
        "forward",
        "gru",
        plant=dict(order=-1),
        about="The backward direction is concatenated first.",
        cause="backward direction come first",
    ),
    Bug(
        "carry_stopped",
        "structure",
        "start",
        silent=True,
        plant=dict(stop_carry=lax.stop_gradient),
        about="The state is detached at every step, so the learned first state never trains.",
        cause=extra_stop("stop_carry"),
    ),
    Bug(
        "start_stopped",
        "structure",
        "start",
        silent=True,
        plant=dict(stop_start=lax.stop_gradient),
        about="The learned first state never trains.",
        cause=extra_stop("stop_start"),
    ),
    Bug(
        "last_state_stopped",
        "backward",
        "gru",
        silent=True,
        plant=dict(stop_last=lax.stop_gradient),
        about="The last state is detached; the outputs still train the layer.",
        cause=extra_stop("stop_last"),
    ),
)

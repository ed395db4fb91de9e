"""Hooks on parameters and modules, and their port to `custom_vjp` and `stop_gradient`."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import torch
from jax import lax
from torch import nn

from parity_tests.case import identity
from parity_tests.ports._weights import arrays, build, dense
from parity_tests.ports.bug import Bug, extra_stop


FEATURES, HIDDEN, BATCH, NEW, BOUND = 3, 4, 5, 2, 0.02


class Net(nn.Module):
    """A network for transfer learning, with hooks: a slow layer and a table with new rows."""

    def __init__(self):
        super().__init__()
        self.slow = nn.Linear(FEATURES, HIDDEN)
        self.table = nn.Embedding(6, HIDDEN)
        self.shared = nn.Linear(HIDDEN, HIDDEN, bias=False)
        self.out = nn.Linear(HIDDEN, 1)

    def forward(self, x, ids):
        h = torch.tanh(self.slow(x)) + self.table(ids)
        h = self.shared(torch.tanh(self.shared(h)))
        return self.out(h).squeeze(-1)


def hooked() -> Net:
    net = Net()
    net.slow.weight.register_hook(lambda g: 0.5 * g)
    rows = torch.arange(6)[:, None] < NEW
    net.table.weight.register_hook(lambda g: g * rows)
    net.shared.weight.register_hook(lambda g: g.clamp(-BOUND, BOUND))
    net.out.register_full_backward_hook(lambda module, to, of: (0.1 * to[0],))
    return net


def scaled(factor: float) -> Callable[[Any], Any]:
    """Return a function that leaves a value as it is and scales its gradient."""
    return lambda x: factor * x + lax.stop_gradient((1 - factor) * x)


@jax.custom_vjp
def bounded(x: Any) -> Any:
    """Clip the gradient by value."""
    return x


bounded.defvjp(lambda x: (x, None), lambda _, g: (jnp.clip(g, -BOUND, BOUND),))


class Port(NamedTuple):
    """The JAX port and its options; values other than the default are porting mistakes."""

    slow: Callable[[Any], Any] = scaled(0.5)
    bound: Callable[[Any], Any] = bounded
    bound_use: Callable[[Any], Any] = identity
    new: Callable[[Any], Any] = lambda rows: rows < NEW
    to_head: Callable[[Any], Any] = scaled(0.1)
    both: bool = False

    def apply(self, p: Any, x: Any, ids: Any) -> Any:
        bias = self.slow(p["slow"]["bias"]) if self.both else p["slow"]["bias"]
        rows = self.new(jnp.arange(6))[:, None]
        table = jnp.where(rows, p["table"], lax.stop_gradient(p["table"]))
        h = jnp.tanh(x @ self.slow(p["slow"]["kernel"]) + bias) + table[ids]
        shared = self.bound(p["shared"])
        h = jnp.tanh(h @ self.bound_use(shared)) @ self.bound_use(shared)
        return (self.to_head(h) @ p["out"]["kernel"] + p["out"]["bias"])[:, 0]


def convert(state: Any) -> Any:
    """Return the weights of a `Net`."""
    w = arrays(state)
    layers = {name: dense(w, name) for name in ("slow", "out")}
    return layers | {"table": w["table.weight"], "shared": w["shared.weight"].T}


def pair(seed: int = 0, **options: Any) -> dict[str, Any]:
    """Return the net with its hooks and its port."""
    module, port = build(hooked, seed), Port(**options)
    rng = np.random.default_rng(seed)
    return dict(
        module=module,
        fn=port.apply,
        params=convert(module.state_dict()),
        converter=convert,
        inputs=(rng.standard_normal((BATCH, FEATURES)), np.array([0, 1, 2, 3, 5])),
        loss=(lambda y: (y - 1.0).square().mean(), lambda y: jnp.mean((y - 1.0) ** 2)),
        optimizer=(lambda params: torch.optim.SGD(params, lr=0.1), optax.sgd(0.1)),
        steps=2,
    )


CONFIGURATIONS: dict[str, dict[str, Any]] = {"default": {}}

BUGS: tuple[Bug, ...] = (
    Bug(
        "slow_hook_missing",
        "gradients",
        "slow.weight",
        silent=True,
        plant=dict(slow=identity),
        about="The hook that halves the gradient of a weight is missing.",
        cause=r"torch runs a hook on slow\.weight|gradient is torch's times 2\b",
    ),
    Bug(
        "slow_hook_on_bias",
        "gradients",
        "slow.bias",
        silent=True,
        plant=dict(both=True),
        about="The hook of the weight acts on the bias too.",
        cause=r"an extra stop_gradient at [^`]*`[^`]*`, called from \S+ `bias ="
        r"|gradient is torch's times 1/2",
    ),
    Bug(
        "old_rows_train",
        "gradients",
        "table.weight",
        silent=True,
        plant=dict(new=lambda rows: rows >= 0),
        about="The hook that masks the gradient of old rows is missing.",
        cause=r"torch runs a hook on table\.weight",
    ),
    Bug(
        "row_mask_sense",
        "gradients",
        "table.weight",
        silent=True,
        plant=dict(new=lambda rows: rows >= NEW),
        about="The old rows train and the new ones do not.",
        cause="mask is inverted|rows .*differ",
    ),
    Bug(
        "clip_missing",
        "gradients",
        "shared.weight",
        silent=True,
        plant=dict(bound=identity),
        about="The hook that clips the gradient of a shared weight is missing.",
        cause=r"torch runs a hook on shared\.weight",
    ),
    Bug(
        "clip_per_use",
        "gradients",
        "shared.weight",
        silent=True,
        plant=dict(bound=identity, bound_use=bounded),
        about="The gradient is clipped at each use where torch clips the sum.",
        cause="2 uses of one value each have a custom derivative of their own",
    ),
    Bug(
        "module_hook_missing",
        "backward",
        "out",
        silent=True,
        plant=dict(to_head=identity),
        about="The full backward hook of the head is missing.",
        cause="torch runs a hook on out|10 times torch's",
    ),
    Bug(
        "module_hook_detaches",
        "structure",
        "slow.weight",
        silent=True,
        plant=dict(to_head=lax.stop_gradient),
        about="The head is detached from the layers before it.",
        cause=extra_stop(r"self\.to_head"),
    ),
)

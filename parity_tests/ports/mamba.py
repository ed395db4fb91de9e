"""A selective state-space block (Mamba) with a loop in torch, and its port with a scan."""

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


WIDTH, INNER, STATE, KERNEL, BATCH, TOKENS = 4, 6, 3, 3, 2, 5


class Mamba(nn.Module):
    def __init__(self):
        super().__init__()
        self.in_proj = nn.Linear(WIDTH, 2 * INNER, bias=False)
        self.conv = nn.Conv1d(INNER, INNER, KERNEL, groups=INNER, padding=KERNEL - 1)
        self.x_proj = nn.Linear(INNER, 1 + 2 * STATE, bias=False)
        self.dt_proj = nn.Linear(1, INNER)
        self.A_log = nn.Parameter(torch.arange(1.0, STATE + 1).log().repeat(INNER, 1))
        self.D = nn.Parameter(torch.ones(INNER))
        self.out_proj = nn.Linear(INNER, WIDTH, bias=False)

    def forward(self, x):
        y, gate = self.in_proj(x).chunk(2, -1)
        y = self.conv(y.transpose(1, 2))[..., :TOKENS].transpose(1, 2)
        y = functional.silu(y)
        dt, b, c = self.x_proj(y).split([1, STATE, STATE], -1)
        dt = functional.softplus(self.dt_proj(dt))
        a = -self.A_log.exp()
        h = x.new_zeros(x.shape[0], INNER, STATE)
        out = []
        for t in range(x.shape[1]):
            decay = (dt[:, t, :, None] * a).exp()
            h = decay * h + (dt[:, t] * y[:, t])[..., None] * b[:, t, None]
            out.append((h * c[:, t, None]).sum(-1))
        y = torch.stack(out, 1) + self.D * y
        return self.out_proj(y * functional.silu(gate))


class Port(NamedTuple):
    """The JAX port and its options; values other than the default are porting mistakes."""

    parallel: bool = False
    flip: bool = False
    bilinear: bool = False
    softplus: Callable[[Any], Any] = jax.nn.softplus
    gate: Callable[[Any], Any] = jax.nn.silu
    order: Callable[[Any], Any] = identity
    stop_decay: Callable[[Any], Any] = identity
    stop_dt: Callable[[Any], Any] = identity
    stop_b: Callable[[Any], Any] = identity
    stop_carry: Callable[[Any], Any] = identity
    stop_skip: Callable[[Any], Any] = identity

    def apply(self, p: Any, x: Any) -> Any:
        y, gate = jnp.split(x @ p["in"], 2, -1)
        kernel = p["conv"]["kernel"][::-1] if self.flip else p["conv"]["kernel"]
        padded = jnp.pad(y, ((0, 0), (KERNEL - 1, 0), (0, 0)))
        y = sum(padded[:, k : k + x.shape[1]] * kernel[k] for k in range(KERNEL))
        y = jax.nn.silu(y + p["conv"]["bias"])
        dt, b, c = jnp.split(y @ p["x"], [1, 1 + STATE], -1)
        b, c = self.order((b, c))
        dt = self.softplus(dt @ p["dt"]["kernel"] + p["dt"]["bias"])
        # The discretised decay and input, [batch, tokens, inner, state].
        decay = self.stop_decay(jnp.exp(self.stop_dt(dt)[..., None] * -jnp.exp(p["A_log"])))
        into = (dt * y)[..., None] * self.stop_b(b)[:, :, None]
        h = self.parallel_states(decay, into) if self.parallel else self.states(decay, into)
        out = jnp.sum(h * c[:, :, None], -1) + self.stop_skip(p["D"]) * y
        return (out * self.gate(gate)) @ p["out"]

    def states(self, decay: Any, into: Any) -> Any:
        def step(h: Any, xs: Any) -> Any:
            h = xs[0] * self.stop_carry(h) + xs[1]
            return h, h

        xs = jnp.swapaxes(decay, 0, 1), jnp.swapaxes(into, 0, 1)
        return jnp.swapaxes(lax.scan(step, jnp.zeros_like(into[:, 0]), xs)[1], 0, 1)

    def parallel_states(self, decay: Any, into: Any) -> Any:
        def combine(left: Any, right: Any) -> Any:
            return left[0] * right[0], right[0] * left[1] + right[1]

        return lax.associative_scan(combine, (decay, into), axis=1)[1]


def convert(state: Any) -> Any:
    """Return the weights of a `Mamba` with kernels of [in, out]."""
    w = arrays(state)
    return {
        "in": w["in_proj.weight"].T,
        "conv": {"kernel": w["conv.weight"][:, 0].T, "bias": w["conv.bias"]},
        "x": w["x_proj.weight"].T,
        "dt": dense(w, "dt_proj"),
        "A_log": w["A_log"],
        "D": w["D"],
        "out": w["out_proj.weight"].T,
    }


def pair(seed: int = 0, **options: Any) -> dict[str, Any]:
    """Return the block and its port."""
    module, port = build(Mamba, seed), Port(**options)
    return dict(
        module=module,
        fn=port.apply,
        params=convert(module.state_dict()),
        converter=convert,
        inputs=(np.random.default_rng(seed).standard_normal((BATCH, TOKENS, WIDTH)),),
    )


CONFIGURATIONS: dict[str, dict[str, Any]] = {"default": {}, "parallel": dict(parallel=True)}

BUGS: tuple[Bug, ...] = (
    Bug(
        "kernel_flipped",
        "forward",
        "conv",
        plant=dict(flip=True),
        about="The convolution's kernel is flipped, as in `numpy.convolve`.",
        cause="kernel is flipped",
    ),
    Bug(
        "b_and_c_swapped",
        "forward",
        "",
        plant=dict(order=lambda pair: pair[::-1]),
        about="The input and output matrices are split in the wrong order.",
        cause="parts of split are in another order: 0, 2, 1",
    ),
    Bug(
        "gate_without_silu",
        "forward",
        "",
        plant=dict(gate=jax.nn.sigmoid),
        about="The gate is a sigmoid.",
        cause="activation is sigmoid, torch uses silu",
    ),
    Bug(
        "decay_stopped",
        "structure",
        "A_log",
        silent=True,
        plant=dict(stop_decay=lax.stop_gradient),
        about="The decay is detached, so A never trains.",
        cause=extra_stop("stop_decay"),
    ),
    Bug(
        "dt_stopped_in_decay",
        "backward",
        "",
        silent=True,
        plant=dict(stop_dt=lax.stop_gradient),
        about="The step size trains by the input alone, not by the decay.",
        cause=extra_stop("stop_dt"),
    ),
    Bug(
        "b_stopped",
        "backward",
        "",
        silent=True,
        plant=dict(stop_b=lax.stop_gradient),
        about="The input matrix is detached.",
        cause=extra_stop("stop_b"),
    ),
    Bug(
        "carry_stopped",
        "backward",
        "",
        silent=True,
        plant=dict(stop_carry=lax.stop_gradient),
        about="The state is detached at every step.",
        cause=extra_stop("stop_carry"),
    ),
    Bug(
        "skip_stopped",
        "structure",
        "D",
        silent=True,
        plant=dict(stop_skip=lax.stop_gradient),
        about="The skip weight D never trains.",
        cause=extra_stop("stop_skip"),
    ),
)

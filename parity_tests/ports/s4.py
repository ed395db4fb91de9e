"""A diagonal state-space layer (S4D) as an FFT convolution, and its port to functions."""

import math
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


WIDTH, STATE, BATCH, TOKENS = 3, 4, 2, 6


class S4D(nn.Module):
    def __init__(self):
        super().__init__()
        self.log_dt = nn.Parameter(torch.rand(WIDTH) * 2 - 3)
        self.C = nn.Parameter(torch.randn(WIDTH, STATE, dtype=torch.complex128))
        self.log_A_real = nn.Parameter(torch.full((WIDTH, STATE), math.log(0.5)))
        self.A_imag = nn.Parameter(math.pi * torch.arange(STATE).repeat(WIDTH, 1))
        self.D = nn.Parameter(torch.randn(WIDTH))
        self.mix = nn.Linear(WIDTH, 2 * WIDTH)

    def kernel(self, length):
        dt = self.log_dt.exp()
        a = torch.complex(-self.log_A_real.exp(), self.A_imag)
        dta = a * dt[:, None]
        powers = (dta[..., None] * torch.arange(length)).exp()
        c = self.C * (dta.exp() - 1.0) / a
        return 2 * torch.einsum("wn,wnl->wl", c, powers).real

    def forward(self, u):
        length = u.shape[1]
        u = u.transpose(1, 2)
        spectrum = torch.fft.rfft(self.kernel(length), n=2 * length)
        y = torch.fft.irfft(torch.fft.rfft(u, n=2 * length) * spectrum, n=2 * length)
        y = functional.gelu(y[..., :length] + u * self.D[:, None])
        return functional.glu(self.mix(y.transpose(1, 2)))


class Port(NamedTuple):
    """The JAX port and its options; values other than the default are porting mistakes."""

    pad: int = 2
    factor: float = 2.0
    approximate: bool = False
    conjugate: Callable[[Any], Any] = identity
    hold: Callable[[Any, Any], Any] = lambda dta, a: (jnp.exp(dta) - 1) / a
    halves: int = 1
    stop_dt: Callable[[Any], Any] = identity
    stop_a: Callable[[Any], Any] = identity
    stop_hold: Callable[[Any], Any] = identity
    stop_u: Callable[[Any], Any] = identity

    def kernel(self, p: Any, length: int) -> Any:
        a = self.stop_a(-jnp.exp(p["log_A_real"]) + 1j * p["A_imag"])
        dta = a * jnp.exp(p["log_dt"])[:, None]
        powers = jnp.exp(self.stop_dt(dta)[..., None] * jnp.arange(length))
        c = self.conjugate(p["C"]) * self.stop_hold(self.hold(dta, a))
        return self.factor * jnp.einsum("wn,wnl->wl", c, powers).real

    def apply(self, p: Any, u: Any) -> Any:
        length = u.shape[1]
        n = self.pad * length
        kernel = jnp.fft.rfft(self.kernel(p, length).T, n=n, axis=0)
        y = jnp.fft.irfft(jnp.fft.rfft(u, n=n, axis=1) * kernel, n=n, axis=1)
        y = y[:, :length] + self.stop_u(u) * p["D"]
        y = jax.nn.gelu(y, approximate=self.approximate)
        first, second = jnp.split(y @ p["mix"]["kernel"] + p["mix"]["bias"], 2, -1)[:: self.halves]
        return first * jax.nn.sigmoid(second)


def convert(state: Any) -> Any:
    """Return the weights of an `S4D`."""
    w = arrays(state)
    names = "log_dt", "C", "log_A_real", "A_imag", "D"
    mix = dense(w, "mix")
    return {name: w[name] for name in names} | {"mix": mix}


def pair(seed: int = 0, **options: Any) -> dict[str, Any]:
    """Return the layer and its port."""
    module, port = build(S4D, seed), Port(**options)
    return dict(
        module=module,
        fn=port.apply,
        params=convert(module.state_dict()),
        converter=convert,
        inputs=(np.random.default_rng(seed).standard_normal((BATCH, TOKENS, WIDTH)),),
    )


CONFIGURATIONS: dict[str, dict[str, Any]] = {"default": {}}

BUGS: tuple[Bug, ...] = (
    Bug(
        "circular",
        "forward",
        "",
        plant=dict(pad=1),
        about="The FFT is not padded, so the convolution is circular.",
        cause=r"\bn is 6, torch uses 12",
    ),
    Bug(
        "factor_missing",
        "forward",
        "",
        plant=dict(factor=1.0),
        about="The factor 2 of the conjugate pairs is missing.",
        cause="torch's mul( by [^ ]+)? is missing|number in mul is 1,",
    ),
    Bug(
        "conjugated",
        "forward",
        "",
        plant=dict(conjugate=jnp.conj),
        about="C is conjugated.",
        cause="first operand of mul is conjugated",
    ),
    Bug(
        "euler",
        "forward",
        "",
        plant=dict(hold=lambda dta, a: dta / a),
        about="Euler's discretisation is used instead of the zero-order hold.",
        cause="torch's (exp|sub) is missing",
    ),
    Bug(
        "glu_halves",
        "forward",
        "",
        plant=dict(halves=-1),
        about="The halves of the gated linear unit are swapped.",
        cause="halves|operands? .*swapped|another order: 1, 0",
    ),
    Bug(
        "a_stopped",
        "structure",
        "log_A_real",
        silent=True,
        plant=dict(stop_a=lax.stop_gradient),
        about="The state matrix is detached.",
        cause=extra_stop("stop_a"),
    ),
    Bug(
        "hold_stopped",
        "backward",
        "",
        silent=True,
        plant=dict(stop_hold=lax.stop_gradient),
        about="The factor of the zero-order hold is detached.",
        cause=extra_stop("stop_hold"),
    ),
    Bug(
        "powers_stopped",
        "backward",
        "",
        silent=True,
        plant=dict(stop_dt=lax.stop_gradient),
        about="The powers of the state matrix are detached.",
        cause=extra_stop("stop_dt"),
    ),
    Bug(
        "imaginary_part_stopped",
        "gradients",
        "C",
        silent=True,
        plant=dict(conjugate=lambda c: c.real + 1j * lax.stop_gradient(c.imag)),
        about="The imaginary part of C is detached.",
        cause=extra_stop("conjugate"),
    ),
    Bug(
        "skip_input_stopped",
        "backward",
        "",
        silent=True,
        plant=dict(stop_u=lax.stop_gradient),
        about="The skip connection does not train the layers before it.",
        cause=extra_stop("stop_u"),
    ),
)

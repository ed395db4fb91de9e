"""JAX port of S4D (ports/s4.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
jax.grad gives the conjugate of torch's .grad for complex parameters (C);
pass jax.tree.map(jnp.conj, grads) to an optimizer.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def s4d(p, u):
    """S4D (ports/s4.py:0): u (N, length, 3) -> (N, length, 3)."""
    length = u.shape[1]
    u = u.swapaxes(1, 2)
    spectrum = F.fft.rfft(kernel(p, length), n=2 * length)
    y = F.fft.irfft(F.fft.rfft(u, n=2 * length) * spectrum, n=2 * length)
    y = F.gelu(y[..., :length] + u * p["D"][:, None])
    return jax.nn.glu(F.linear(y.swapaxes(1, 2), **p["mix"]))


def kernel(p, length):
    """S4D.kernel (ports/s4.py:0): returns (3, length)."""
    dt = jnp.exp(p["log_dt"])
    a = lax.complex(-jnp.exp(p["log_A_real"]), p["A_imag"])
    dta = a * dt[:, None]
    powers = jnp.exp(dta[..., None] * jnp.arange(length))
    c = p["C"] * (jnp.exp(dta) - 1.0) / a
    return 2 * jnp.real(jnp.einsum("wn,wnl->wl", c, powers))

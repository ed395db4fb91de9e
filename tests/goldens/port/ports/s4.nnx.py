"""JAX port of S4D (ports/s4.py), written by jaxgrad.port for torch 2.13.

jax.grad gives the conjugate of torch's .grad for complex parameters (C);
pass jax.tree.map(jnp.conj, grads) to an optimizer.
"""

import jax
import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class S4D(nnx.Module):
    """S4D (ports/s4.py:0).

    `jaxgrad.nnx.load_state_dict` sets `log_dt`, `C`, `log_A_real`, `A_imag` and `D`, which the
    constructor leaves as `jnp.empty`.
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.log_dt = nnx.Param(jnp.empty(3, jnp.float64))
        self.C = nnx.Param(jnp.empty((3, 4), jnp.complex128))
        self.log_A_real = nnx.Param(jnp.empty((3, 4), jnp.float64))
        self.A_imag = nnx.Param(jnp.empty((3, 4), jnp.float64))
        self.D = nnx.Param(jnp.empty(3, jnp.float64))
        self.mix = Linear(3, 6, dtype=jnp.float64, rngs=rngs)

    def __call__(self, u):
        length = u.shape[1]
        u = u.swapaxes(1, 2)
        spectrum = F.fft.rfft(self.kernel(length), n=2 * length)
        y = F.fft.irfft(F.fft.rfft(u, n=2 * length) * spectrum, n=2 * length)
        y = F.gelu(y[..., :length] + u * self.D[...][:, None])
        return jax.nn.glu(self.mix(y.swapaxes(1, 2)))

    def kernel(self, length):
        dt = jnp.exp(self.log_dt[...])
        a = lax.complex(-jnp.exp(self.log_A_real[...]), self.A_imag[...])
        dta = a * dt[:, None]
        powers = jnp.exp(dta[..., None] * jnp.arange(length))
        c = self.C[...] * (jnp.exp(dta) - 1.0) / a
        return 2 * jnp.real(jnp.einsum("wn,wnl->wl", c, powers))

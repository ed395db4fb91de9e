"""JAX port of FNO1d (port_collection/structured.py), written by jaxgrad.port for torch 2.13.

jax.grad gives the conjugate of torch's .grad for complex parameters (*/weights1);
pass jax.tree.map(jnp.conj, grads) to an optimizer.
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Conv1d, Linear

F = functional.at("2.13")


class FNO1d(nnx.Module):
    """FNO1d (port_collection/structured.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc0 = Linear(2, 4, rngs=rngs)
        self.convs = nnx.List([SpectralConv1d() for _ in range(2)])
        self.ws = nnx.List([Conv1d(4, 4, 1, rngs=rngs) for _ in range(2)])
        self.fc1 = Linear(4, 1, rngs=rngs)

    def __call__(self, x):
        x = jnp.concatenate((x, self.get_grid(x.shape)), axis=-1)
        x = self.fc0(x).transpose(0, 2, 1)
        for conv, w in zip(self.convs, self.ws):
            x = F.gelu(conv(x) + w(x))
        return self.fc1(x.transpose(0, 2, 1))

    def get_grid(self, shape):
        batchsize, size_x = shape[0], shape[1]
        gridx = jnp.linspace(0, 1, size_x)
        return jnp.tile(gridx.reshape(1, size_x, 1), (batchsize, 1, 1))


class SpectralConv1d(nnx.Module):
    """SpectralConv1d (port_collection/structured.py:0).

    `jaxgrad.nnx.load_state_dict` sets `weights1`, which the constructor leaves as `jnp.empty`.
    """

    def __init__(self):
        self.out_channels = 4
        self.modes1 = 3
        self.weights1 = nnx.Param(jnp.empty((4, 4, 3), jnp.complex64))

    def __call__(self, x):
        batchsize = x.shape[0]
        x_ft = F.fft.rfft(x)
        # Multiply relevant Fourier modes
        out_ft = x.shape[-1] // 2 + 1
        out_ft = jnp.zeros((batchsize, self.out_channels, out_ft), dtype=self.weights1[...].dtype)
        y = self.compl_mul1d(x_ft[:, :, : self.modes1], self.weights1[...])
        out_ft = out_ft.at[:, :, : self.modes1].set(y)
        return F.fft.irfft(out_ft, n=x.shape[-1])

    def compl_mul1d(self, x, weights):
        return jnp.einsum("bix,iox->box", x, weights)

"""JAX port of FNO1d (port_collection/structured.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
jax.grad gives the conjugate of torch's .grad for complex parameters (*/weights1);
pass jax.tree.map(jnp.conj, grads) to an optimizer.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def fno1d(p, x):
    """FNO1d (port_collection/structured.py:0): x (batchsize, L, 1) -> (batchsize, L, 1)."""
    x = jnp.concatenate((x, get_grid(x.shape)), axis=-1)
    x = F.linear(x, **p["fc0"]).transpose(0, 2, 1)
    for conv, w in zip(p["convs"], p["ws"]):
        x = F.gelu(spectral_conv1d(conv, x) + F.conv1d(x, **w))
    return F.linear(x.transpose(0, 2, 1), **p["fc1"])


def get_grid(shape):
    """FNO1d.get_grid (port_collection/structured.py:0): returns (batchsize, L, 1)."""
    batchsize, size_x = shape[0], shape[1]
    gridx = jnp.linspace(0, 1, size_x)
    return jnp.tile(gridx.reshape(1, size_x, 1), (batchsize, 1, 1))


def spectral_conv1d(p, x, *, out_channels=4, modes1=3):
    """SpectralConv1d (port_collection/structured.py:0).

    x (batchsize, 4, L) -> (batchsize, 4, L).
    """
    batchsize = x.shape[0]
    x_ft = F.fft.rfft(x)
    # Multiply relevant Fourier modes
    out_ft = jnp.zeros((batchsize, out_channels, x.shape[-1] // 2 + 1), dtype=p["weights1"].dtype)
    out_ft = out_ft.at[:, :, :modes1].set(compl_mul1d(x_ft[:, :, :modes1], p["weights1"]))
    return F.fft.irfft(out_ft, n=x.shape[-1])


def compl_mul1d(x, weights):
    """SpectralConv1d.compl_mul1d (port_collection/structured.py:0).

    x (batchsize, 4, 3) complex, weights (4, 4, 3) complex -> (batchsize, 4, 3) complex.
    """
    return jnp.einsum("bix,iox->box", x, weights)

"""JAX port of SpeechFrontEnd (port_collection/recurrent.py), written by jaxgrad.port for torch
  2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: window, filters.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def speech_front_end(p, audio, *, n_fft=8, hop=4):
    """Log energies of triangular bands of the spectrum, normalised over time.

    SpeechFrontEnd (port_collection/recurrent.py:0): audio (N, L) -> (N, L', 4).
    """
    audio = jnp.concatenate([audio[:, :1], audio[:, 1:] - p["emphasis"] * audio[:, :-1]], axis=1)
    windows = jnp.arange(0, audio.shape[1] - n_fft + 1, hop)[:, None] + jnp.arange(n_fft)
    frames = jnp.take(audio, windows, axis=1) * p["window"]
    power = F.abs(F.fft.rfft(frames)) ** 2
    mel = jnp.log(power @ p["filters"] + 1e-6)
    mel = (mel - mel.mean(axis=1, keepdims=True)) / (F.std(mel, dim=1, keepdim=True) + 1e-5)
    hidden = gru(p["rnn"], mel)
    return jax.nn.log_softmax(F.linear(hidden, **p["head"]), axis=-1)


def gru(p, x):
    """torch.nn.GRU: x (N, L, 3) -> (N, L, 3)."""
    x = x.swapaxes(0, 1)
    start = jnp.zeros((x.shape[1], p["weight_hh_l0"].shape[-1]), x.dtype)

    def step(state, x_t):
        state = F.gru_cell(
            x_t, state, p["weight_ih_l0"], p["weight_hh_l0"], p["bias_ih_l0"], p["bias_hh_l0"]
        )
        return state, state

    _, x = lax.scan(step, start, x)
    return x.swapaxes(0, 1)

"""JAX port of SpeechFrontEnd (port_collection/recurrent.py), written by jaxgrad.port for torch
  2.13.

Constants in the constructors are the values that the torch module had when this file was written;
  `jaxgrad.nnx.load_state_dict(model, state_dict)` loads others.
"""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import GRU, Linear

F = functional.at("2.13")


class SpeechFrontEnd(nnx.Module):
    """Log energies of triangular bands of the spectrum, normalised over time.

    SpeechFrontEnd (port_collection/recurrent.py:0).

    `jaxgrad.nnx.load_state_dict` sets `window` and `filters`, which the constructor leaves as
    `jnp.empty`.
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.n_fft = 8
        self.hop = 4
        self.emphasis = nnx.Param(jnp.array(0.97, jnp.float32))
        self.window = nnx.BatchStat(jnp.empty(8, jnp.float32))
        self.filters = nnx.BatchStat(jnp.empty((5, 3), jnp.float32))
        self.rnn = GRU(3, 3, batch_first=True, rngs=rngs)
        self.head = Linear(3, 4, rngs=rngs)

    def __call__(self, audio):
        y = audio[:, 1:] - self.emphasis[...] * audio[:, :-1]
        audio = jnp.concatenate([audio[:, :1], y], axis=1)
        windows = jnp.arange(0, audio.shape[1] - self.n_fft + 1, self.hop)
        windows = windows[:, None] + jnp.arange(self.n_fft)
        frames = jnp.take(audio, windows, axis=1) * self.window[...]
        power = F.abs(F.fft.rfft(frames)) ** 2
        mel = jnp.log(power @ self.filters[...] + 1e-6)
        mel = (mel - mel.mean(axis=1, keepdims=True)) / (F.std(mel, dim=1, keepdim=True) + 1e-5)
        hidden, _ = self.rnn(mel)
        return jax.nn.log_softmax(self.head(hidden), axis=-1)

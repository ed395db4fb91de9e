"""JAX port of Recogniser (ports/ctc.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Conv2d, LSTM, LayerNorm, Linear

F = functional.at("2.13")


class Recogniser(nnx.Module):
    """Recogniser (ports/ctc.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.conv = Conv2d(1, 3, 3, stride=2, dtype=jnp.float64, rngs=rngs)
        self.norm = LayerNorm(6, dtype=jnp.float64)
        self.lstm = LSTM(6, 4, batch_first=True, dtype=jnp.float64, rngs=rngs)
        self.out = Linear(4, 5, dtype=jnp.float64, rngs=rngs)

    def __call__(self, features, labels):
        x = jax.nn.relu(self.conv(features[:, None]))
        permute = x.transpose(0, 2, 1, 3)
        x = self.norm(permute.reshape(*permute.shape[:2], -1))
        log_probs = jax.nn.log_softmax(self.out(self.lstm(x)[0]), axis=-1)
        lengths = jnp.array(jnp.array([5, 4]), dtype=jnp.int32)
        lengths = lengths, jnp.array(jnp.array([2, 1]), dtype=jnp.int32)
        return F.ctc_loss(log_probs.swapaxes(0, 1), labels, lengths[0], lengths[1])

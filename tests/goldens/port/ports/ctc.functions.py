"""JAX port of Recogniser (ports/ctc.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def recogniser(p, features, labels):
    """Recogniser (ports/ctc.py:0): features (2, L, 5), labels (2, M) int -> ()."""
    x = jax.nn.relu(F.conv2d(features[:, None], **p["conv"], stride=2))
    x = x.transpose(0, 2, 1, 3)
    x = F.layer_norm(x.reshape(*x.shape[:2], -1), (6,), **p["norm"])
    log_probs = jax.nn.log_softmax(F.linear(lstm(p["lstm"], x)[0], **p["out"]), axis=-1)
    lengths = jnp.array(jnp.array([5, 4]), dtype=jnp.int32)
    lengths = lengths, jnp.array(jnp.array([2, 1]), dtype=jnp.int32)
    return F.ctc_loss(log_probs.swapaxes(0, 1), labels, lengths[0], lengths[1])


def lstm(p, x):
    """torch.nn.LSTM: x (2, L, 6) -> (2, L, 4), [(1, 2, 4), (1, 2, 4)]."""
    x = x.swapaxes(0, 1)
    start = jnp.zeros((x.shape[1], p["weight_hh_l0"].shape[-1]), x.dtype)
    start = start, jnp.zeros((x.shape[1], p["weight_hh_l0"].shape[-1]), x.dtype)

    def step(state, x_t):
        state = F.lstm_cell(
            x_t, state, p["weight_ih_l0"], p["weight_hh_l0"], p["bias_ih_l0"], p["bias_hh_l0"]
        )
        return state, state[0]

    last, x = lax.scan(step, start, x)
    x = x.swapaxes(0, 1)
    hidden, cell = last
    return x, (hidden[None], cell[None])

"""JAX port of Seq2Seq (port_collection/recurrent.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def seq2seq(p, source, target):
    """An encoder and an attentive decoder of cells with teacher forcing.

    Seq2Seq (port_collection/recurrent.py:0): source (N, L) int, target (N, M) int -> ().

    JAX unrolls `for t in range(target.shape[1] - 1)`, so compile time grows with the number of
    iterations; use lax.scan for long inputs.
    """
    memory, last = rnn(p["encoder"], F.embedding(source, **p["embed"]))
    hidden, cell = last.squeeze(axis=0), jnp.zeros_like(last.squeeze(axis=0))
    loss = 0.0
    for t in range(target.shape[1] - 1):
        y = F.embedding(target[:, t], **p["embed"])
        inputs = jnp.concatenate([y, attend(memory, hidden)], axis=-1)
        hidden, cell = lstm_cell(p["cell"], inputs, (hidden, cell))
        loss = loss + F.cross_entropy(F.linear(hidden, **p["project"]), target[:, t + 1])
    return loss / (target.shape[1] - 1)


def rnn(p, x):
    """torch.nn.RNN: x (N, L, 4) -> (N, L, 4), (1, N, 4)."""
    x = x.swapaxes(0, 1)
    start = jnp.zeros((x.shape[1], p["weight_hh_l0"].shape[-1]), x.dtype)

    def step(state, x_t):
        state = F.rnn_tanh_cell(
            x_t, state, p["weight_ih_l0"], p["weight_hh_l0"], p["bias_ih_l0"], p["bias_hh_l0"]
        )
        return state, state

    last, x = lax.scan(step, start, x)
    return x.swapaxes(0, 1), last[None]


def attend(memory, hidden):
    """Seq2Seq.attend (port_collection/recurrent.py:0).

    memory (N, L, 4), hidden (N, 4) -> (N, 4).
    """
    weights = jax.nn.softmax(jnp.einsum("bth,bh->bt", memory, hidden), axis=1)
    return jnp.einsum("bt,bth->bh", weights, memory)


def lstm_cell(p, x, hx):
    """torch.nn.LSTMCell: x (N, 8), hx [(N, 4), (N, 4)] -> (N, 4), (N, 4)."""
    return F.lstm_cell(x, hx, p["weight_ih"], p["weight_hh"], p["bias_ih"], p["bias_hh"])

"""JAX port of MessagePassing (port_collection/structured.py), written by jaxgrad.port for torch
  2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def message_passing(p, nodes, edge_index, *, rounds=2):
    """Sums of messages over edges that are given as two rows of nodes.

    MessagePassing (port_collection/structured.py:0): nodes (N, 3), edge_index (2, L) int ->
    (3,).
    """
    src, dst = edge_index
    for _ in range(rounds):
        m = message(p["message"], jnp.concatenate([nodes[src], nodes[dst]], axis=-1))
        total = F.index_add(jnp.zeros_like(nodes), 0, dst, m)
        nodes = gru_cell(p["update"], total, nodes)
    return F.amax(nodes, dim=0)


def message(p, x):
    """MessagePassing.message (port_collection/structured.py:0): x (L, 6) -> (L, 3)."""
    x = F.linear(x, **p[0])
    x = jax.nn.relu(x)
    return F.linear(x, **p[2])


def gru_cell(p, x, hx):
    """torch.nn.GRUCell: x (N, 3), hx (N, 3) -> (N, 3)."""
    return F.gru_cell(x, hx, p["weight_ih"], p["weight_hh"], p["bias_ih"], p["bias_hh"])

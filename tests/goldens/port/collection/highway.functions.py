"""JAX port of Highway (port_collection/sequence.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
from jaxgrad import functional

F = functional.at("2.13")


def highway(p, x, *, num_layers=2):
    """Highway (port_collection/sequence.py:0): x (N, 5) -> (N, 5)."""
    for layer in range(num_layers):
        gate = jax.nn.sigmoid(F.linear(x, **p["gate"][layer]))
        nonlinear = jax.nn.relu(F.linear(x, **p["nonlinear"][layer]))
        linear = F.linear(x, **p["linear"][layer])
        x = gate * nonlinear + (1 - gate) * linear
    return x

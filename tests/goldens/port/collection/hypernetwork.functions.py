"""JAX port of HyperNetwork (port_collection/structured.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def hyper_network(p, z, x):
    """HyperNetwork (port_collection/structured.py:0): z (N, 3), x (N, L, 2) -> (N, L, 1)."""
    params = generate(p, z)
    h = jnp.tanh(jnp.einsum("bni,boi->bno", x, params["w1"]) + params["b1"][:, None])
    return jnp.expand_dims(params["b2"], 1) + h @ params["w2"].swapaxes(1, 2)


def generate(p, z):
    """HyperNetwork.generate (port_collection/structured.py:0).

    z (N, 3) -> {w1 (N, 4, 2), b1 (N, 4), w2 (N, 1, 4), b2 (N, 1)}.
    """
    return {
        "w1": F.linear(z, **p["heads"]["w1"]).reshape(-1, 4, 2),
        "b1": F.linear(z, **p["heads"]["b1"]).reshape(-1, 4),
        "w2": F.linear(z, **p["heads"]["w2"]).reshape(-1, 1, 4),
        "b2": F.linear(z, **p["heads"]["b2"]).reshape(-1, 1),
    }

"""JAX port of Dropout (port_collection/behaviours.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`rng` is a key of jax.random; train mode draws from it, eval mode needs none.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def dropout(p, x, *, rng=None, training=False):
    """Dropout (port_collection/behaviours.py:0): x (N, 3) -> (N, 2)."""
    x = F.dropout(F.linear(x, **p["inner"]), p=0.5, training=training, key=rng)
    return F.linear(x, **p["outer"])

"""JAX port of Small (nnx/test_port.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`rng` is a key of jax.random; train mode draws from it, eval mode needs none.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def small(p, x, *, rng=None, training=False):
    """Small (nnx/test_port.py:0): x (N, 3) -> (N, 1)."""
    x = F.linear(x, **p["body"][0])
    x = F.dropout(x, p=0.5, training=training, key=rng)
    return F.linear(x, **p["out"])

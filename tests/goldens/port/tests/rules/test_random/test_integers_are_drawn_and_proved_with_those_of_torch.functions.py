"""JAX port of Noisy (rules/test_random.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: scale.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
`rng` is a key of jax.random.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
from jaxgrad import functional

F = functional.at("2.13")


def noisy(p, x, *, rng):
    """Noisy (rules/test_random.py:0): x (N, 4) -> (N, 4)."""
    step = jax.random.randint(rng, (x.shape[0],), 2, 10).astype(int)
    return F.linear(x, **p["fc"]) * p["scale"][step][:, None]

# PortError: test_deviations.py:0 `return nn.functional.dropout(nn.functional.dropout(row, 0.5), 0.5)`: dropout raised RuntimeError: vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' randomness flags on vmap or perform the randomness operation out of vmap; pass inputs on which it does not

# ---- the next port of this test ----
"""JAX port of Sequential (torch.nn.modules.container), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`rng` is a key of jax.random; train mode draws from it, eval mode needs none.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
from jaxgrad import functional

F = functional.at("2.13")


def sequential(p, x, *, rng=None, training=False):
    """torch.nn.Sequential: x (N, L) -> (N, L)."""
    dropout_rng_1, dropout_rng_2 = split_rng(rng)
    x = F.dropout(x, p=0.2, training=training, key=dropout_rng_1)
    return F.dropout(x, p=0.5, training=training, key=dropout_rng_2)


def split_rng(rng, num=2):
    """Split a random key; in eval mode there is none."""
    return [None] * num if rng is None else jax.random.split(rng, num)

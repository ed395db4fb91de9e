"""JAX port of Tables (values/test_params.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: table, turn, mask.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
The docstrings have the sizes of the example inputs.
"""

import jax
from jaxgrad import functional

F = functional.at("2.13")


def tables(p, x):
    """It has tables in plain attributes, and a list of modules with a gap.

    Tables (values/test_params.py:0): x (3, 4) -> (3, 4).
    """
    x = F.linear(F.linear(x, **p["layers"][0]), **p["layers"][2]) + p["table"]
    x = F.view_as_real(F.view_as_complex(x.reshape(3, 2, 2)) * p["turn"])
    x = x.reshape(x.shape[0], -1)
    return jax.nn.softmax(x + p["mask"], axis=-1)

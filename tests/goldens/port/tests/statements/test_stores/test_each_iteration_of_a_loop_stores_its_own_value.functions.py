"""JAX port of Positions (statements/test_stores.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def positions(p, x):
    """A loop that stores its variable in a list, as einops does with sizes.

    Positions (statements/test_stores.py:0): x (item, 4) -> (item, 4).
    """
    item = x.shape[0]
    item_2 = F.linear(x, **p["layer"]) * x.shape[0]
    item_3 = x.shape[1]
    item_4 = F.linear(x, **p["layer"]) * x.shape[1]
    return item_2 * item + item_4 * item_3

# ---- the next port of this test ----
"""JAX port of Positions (statements/test_stores.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def positions(p, x):
    """A loop that stores its variable in a list, as einops does with sizes.

    Positions (statements/test_stores.py:0): x (item, 4) -> (item, 4).
    """
    item = x.shape[0]
    item_2 = F.linear(x, **p["layer"]) * x.shape[0]
    item_3 = x.shape[1]
    item_4 = F.linear(x, **p["layer"]) * x.shape[1]
    return item_2 * item + item_4 * item_3

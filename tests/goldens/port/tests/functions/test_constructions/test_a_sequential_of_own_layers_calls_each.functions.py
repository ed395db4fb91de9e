"""JAX port of Dropped (functions/test_constructions.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def dropped(p, x):
    """It runs a part of its layers, as models with a random depth do.

    Dropped (functions/test_constructions.py:0): x (N, 4) -> (N, 4).
    """
    layers = [p["layers"][1], p["layers"][2]]
    return F.linear(F.linear(x, **layers[0]), **layers[1])
